/** `--names`: the names of the employees that a command shows, for people who may see them. */
import type { Operation } from '../api/operation.ts';
import { type Column, employeeId } from './output.ts';
import type { Performers } from './performing.ts';

export const NAMES_FLAG = '--names';

type Shown = { readonly columns?: readonly Column<never>[]; readonly isTable?: true };

/** Returns whether a command has `--names`: it only reads, and shows employees. */
export function showsEmployees(op: Pick<Operation, 'action' | 'response' | 'files'>, words: Shown): boolean {
  const { columns, isTable = op.files !== undefined } = words;
  if ((op.action ?? 'none') !== 'none') return false;
  if (columns !== undefined) return columns.some(([, cell]) => cell === employeeId);
  return isTable && hasEmployees(op.response[200] ?? {});
}

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
};

function hasEmployees({ properties = {}, items, anyOf = [] }: Schema): boolean {
  const parts = [...Object.values(properties), ...(items === undefined ? [] : [items]), ...anyOf];
  return 'employee_id' in properties || parts.some(hasEmployees);
}

/** Returns the value with `name` after each `employee_id`: the newest reported name, or null. */
export async function withNames<R>(perform: Performers['perform'], value: R): Promise<R> {
  const { lookUpNames, NAMES_AT_ONCE } = await import('../api/operations/names.ts');
  const ids = [...new Set(idsIn(value))];
  const names = new Map<string, string>();
  for (let at = 0; at < ids.length; at += NAMES_AT_ONCE) {
    const body = { employee_ids: ids.slice(at, at + NAMES_AT_ONCE) };
    const { result } = await perform(lookUpNames, { body });
    for (const { employee_id, first_name, last_name } of result.employees)
      names.set(employee_id, `${first_name} ${last_name}`);
  }
  return named(value, names) as R;
}

function* idsIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, field] of Object.entries(value))
    if (key === 'employee_id' && typeof field === 'string') yield field;
    else yield* idsIn(field);
}

function named(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => named(item, names));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).flatMap(([key, field]) =>
    key === 'employee_id' && typeof field === 'string'
      ? [
          [key, field],
          ['name', names.get(field) ?? null],
        ]
      : [[key, named(field, names)]],
  );
  return Object.fromEntries(fields);
}
