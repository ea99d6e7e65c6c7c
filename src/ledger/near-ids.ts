/** Ids that differ only by what spreadsheets and people change: zeros at the front, blanks at the ends, case, width and `.0`. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isOneOf, isOneOfOrAny, piecesOf } from '../database/bulk.ts';
import type { Db, Trx } from '../database/tables.ts';
import type { Problem } from '../errors.ts';

/** Returns what an id has in common with its near matches: `123` for `00123`, ` 123` and `１２３`. */
export function nearKey(id: string): string {
  return written(id).toLowerCase();
}

/** Returns an id in normal width, without blanks at its ends, leading zeros, and the marks `'`, `="…"` and `.0` of spreadsheets. */
function written(id: string): string {
  return id
    .normalize('NFKC')
    .trim()
    .replace(/^'|^="(.*)"$/, '$1')
    .replace(/^(\d+)\.0+$/, '$1')
    .replace(/^0+(?=.)/, '');
}

/** The most zeros that are added to find an id. */
const ZEROS_MAX = 8;

/** Returns the ids that may have the same key, so that an index finds them. */
function candidatesOf(id: string): string[] {
  const bare = written(id);
  const zeros = /^\d+$/.test(bare) ? ZEROS_MAX : 0;
  const padded = Array.from({ length: zeros + 1 }, (_, count) => '0'.repeat(count) + bare);
  const lower = bare.toLowerCase();
  const title = lower.replace(/(?<![a-z])[a-z]/g, (first) => first.toUpperCase());
  const forms = [id.trim(), id.normalize('NFKC').trim(), ...padded, lower, bare.toUpperCase(), title];
  return [id, ...forms.flatMap((form) => [form, fullWidth(form), ` ${form}`, `${form} `])];
}

/** Returns a text as keyboards for East Asian scripts write it. */
function fullWidth(text: string): string {
  return text.replace(/[!-~]/g, (character) => String.fromCharCode(character.charCodeAt(0) + 0xfee0));
}

/** Ids per turn of the event loop. Each has dozens of candidates. */
const IDS_AT_ONCE = 500;

/** Returns the near match of each id that the roster lacks. `employers`: only the roster of these employers; of all if null. */
export async function nearIds(
  db: Db | Trx,
  ids: readonly string[],
  employers: readonly string[] | null,
): Promise<ReadonlyMap<string, string>> {
  const near = new Map<string, string>();
  for (const piece of piecesOf(ids, IDS_AT_ONCE)) {
    for (const [id, match] of await nearIdsIn(db, piece, employers)) near.set(id, match);
    await nextTurn();
  }
  return near;
}

async function nearIdsIn(
  db: Db | Trx,
  ids: readonly string[],
  employers: readonly string[] | null,
): Promise<[id: string, near: string][]> {
  const candidates = [...new Set(ids.flatMap(candidatesOf))];
  const rows = await db
    .selectFrom('roster')
    .select('employee_id')
    .where(isOneOf(db, 'employee_id', candidates))
    .where(isOneOfOrAny(db, 'employer_id', employers))
    .orderBy('employee_id')
    .execute();
  const byKey = Map.groupBy(rows, ({ employee_id }) => nearKey(employee_id));
  return ids.flatMap((id) => {
    const matches = (byKey.get(nearKey(id)) ?? []).map(({ employee_id }) => employee_id);
    const [match] = matches;
    return match === undefined || matches.includes(id) ? [] : [[id, match]];
  });
}

/** Returns the warning about an employee id that no census and no hire has, although the census has a similar one. */
export function nearWarning(path: string, near: string): Problem {
  return { path, rule: `is in no census and no hire${censusHas(near)}` };
}

/** Returns the end of a rule about an unknown id with a near match. */
export function censusHas(near: string | undefined): string {
  return near === undefined ? '' : `. The census has ${near}`;
}
