/** Proposes the format of a file from its header and its values, for a person to confirm. */
import { folded } from '../contract/meant.ts';
import { totalIn } from './csv.ts';
import { usualName } from './csv-header.ts';
import { type FileFormat, type FileKind, headerKey } from './file-format.ts';
import type { FormatFinder, Repairs } from './repair.ts';

export type Proposal = {
  readonly find: FormatFinder;
  /** Returns the format after the file was read, with the rules that changed values; null without a header. */
  formatAfter(repairs: Repairs): FileFormat | null;
};

const EMPTY: FileFormat = { columns: [], constants: {}, id_prefix: null, leave_out: [] };

/** Proposes a format. What `before`, the employer's format, has for the same headers stays. */
export function proposeFormat(kind: FileKind, before: FileFormat | null): Proposal {
  const { names } = kind;
  const earlier = new Map(before?.columns.map((column) => [headerKey(column.header), column]));
  let format = null as FileFormat | null;
  const totals = new Map<string, Set<string>>();
  const find: FormatFinder = {
    isColumn: (cell) => earlier.has(headerKey(cell)) || kind.isName(cell) || usualName(cell, names) !== null,
    formatFor(header) {
      const { constants, id_prefix, leave_out } = before ?? EMPTY;
      const fields = fieldsOf(header, kind, (name) => earlier.get(headerKey(name))?.field);
      const columns = [...new Set(header)].flatMap((name) => {
        if (name === '') return [];
        const rules = earlier.get(headerKey(name))?.rules ?? [];
        return [{ header: name, field: fields.get(name) ?? null, rules }];
      });
      const lacking = ([field]: [string, string]) => columns.every((column) => column.field !== field);
      const known = new Set(columns.map((column) => headerKey(column.header)));
      format = {
        columns,
        constants: Object.fromEntries(Object.entries({ ...periodIn(fields), ...constants }).filter(lacking)),
        id_prefix,
        leave_out: leave_out.filter((entry) => known.has(headerKey(entry.header))),
      };
      return format;
    },
    foundTotal(header, text) {
      const words = totals.get(header) ?? new Set();
      totals.set(header, words.add(`${totalIn(text)}*`));
    },
  };
  return {
    find,
    formatAfter({ changes }) {
      if (format === null) return null;
      const rulesOf = (field: string | null) =>
        changes.filter((change) => change.field === field).map(({ rule }) => rule);
      return {
        ...format,
        columns: format.columns.map((column) => ({
          ...column,
          rules: [...new Set([...column.rules, ...rulesOf(column.field)])].sort(),
        })),
        leave_out: [
          ...format.leave_out,
          ...[...totals].map(([header, words]) => ({ header, values: [...words], reason: 'Totals' })),
        ],
      };
    },
  };
}

/** Returns the field of each header: a field's own name first, then its usual names, each field once. */
function fieldsOf(
  header: readonly string[],
  kind: FileKind,
  earlierField: (name: string) => string | null | undefined,
): Map<string, string> {
  const fields = new Map<string, string>();
  const give = (fieldOf: (name: string, free: readonly string[]) => string | null): void => {
    for (const name of header) {
      if (name === '' || fields.has(name) || earlierField(name) === null) continue;
      const taken = new Set(fields.values());
      const field = fieldOf(
        name,
        kind.names.filter((known) => !taken.has(known)),
      );
      if (field !== null && !taken.has(field)) fields.set(name, field);
    }
  };
  give((name) => earlierField(name) ?? null);
  give((name) => (kind.isName(name) ? name : null));
  give((name, free) => free.find((field) => folded(field) === folded(name)) ?? null);
  give(usualName);
  return fields;
}

/** Returns the period of pay rates that the name of their column states. */
function periodIn(fields: ReadonlyMap<string, string>): Record<string, string> {
  const [name = ''] = [...fields].find(([, field]) => field === 'pay_rate[0].amount') ?? [];
  const period = /annual|salary|year/i.test(name) ? 'annually' : /hour/i.test(name) ? 'hourly' : null;
  return period === null ? {} : { 'pay_rate[0].period': period };
}
