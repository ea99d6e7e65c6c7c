/** Ids that differ only by what spreadsheets and people change: zeros at the front, blanks at the ends, and case. */
import { isOneOf } from '../database/bulk.ts';
import type { Db, Trx } from '../database/tables.ts';

/** Returns what an id has in common with its near matches: `123` for `00123`, ` 123` and `0123`. */
export function nearKey(id: string): string {
  return id
    .trim()
    .replace(/^0+(?=.)/, '')
    .toLowerCase();
}

/** The most zeros that are added to find an id. */
const ZEROS_MAX = 8;

/** Returns the ids that may have the same key, so that an index finds them. */
function candidatesOf(id: string): string[] {
  const written = id.trim().replace(/^0+(?=.)/, '');
  const zeros = /^\d+$/.test(written) ? ZEROS_MAX : 0;
  const padded = Array.from({ length: zeros + 1 }, (_, count) => '0'.repeat(count) + written);
  return [id.trim(), ...padded, written.toLowerCase(), written.toUpperCase()];
}

/** Returns by id its near match in the roster. `employerId`: only employees of this employer. */
export async function nearIds(
  db: Db | Trx,
  ids: readonly string[],
  employerId?: string,
): Promise<ReadonlyMap<string, string>> {
  const candidates = [...new Set(ids.flatMap(candidatesOf))];
  if (candidates.length === 0) return new Map();
  let query = db
    .selectFrom('roster')
    .select('employee_id')
    .where(isOneOf(db, 'employee_id', candidates));
  if (employerId !== undefined) query = query.where('employer_id', '=', employerId);
  const rows = await query.orderBy('employee_id').execute();
  const byKey = Map.groupBy(rows, ({ employee_id }) => nearKey(employee_id));
  const near = ids.map((id) => {
    const match = byKey.get(nearKey(id))?.find(({ employee_id }) => employee_id !== id);
    return [id, match?.employee_id] as const;
  });
  return new Map(near.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
}

/** Returns the end of a rule about an unknown id with a near match. */
export function censusHas(near: string | undefined): string {
  return near === undefined ? '' : `. The census has ${near}`;
}
