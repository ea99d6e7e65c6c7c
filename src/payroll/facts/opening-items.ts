/** Opening items: amounts that were owed before the first run, as the caller brought them. Append-only. */
import { isDeepStrictEqual } from 'node:util';
import { isOneOf } from '../../database/bulk.ts';
import type { Db, OpeningItemTable, Trx } from '../../database/tables.ts';
import { amountOf, centsOf } from '../../money.ts';
import type { Acting } from '../../security/audit.ts';
import { type Fact, type FactContent, insertFacts, lastNumber } from '../../security/facts.ts';
import type { Sides } from '../calculation/items.ts';
import { lockPayroll } from '../settings/lock.ts';

export const OPENING: Fact<'opening_items'> = {
  table: 'opening_items',
  key: ['employer_id', 'ordinal'],
  actions: ['item.open'],
  subject: { resource: 'opening_id', employer: 'employer_id' },
};

/** An opening item as it is stored, with its amounts. `deduction_id` is null if the caller named none. */
export type OpeningItem = Omit<
  OpeningItemTable,
  'employer_id' | 'ordinal' | 'member_amount' | 'employer_amount' | 'record_id' | 'recorded_at'
> & { amount: Sides };

type OpeningsPut =
  | { outcome: 'created'; created: readonly string[] }
  /** Every item is already stored with this content. */
  | { outcome: 'same' }
  /** These ids are stored with other content. Nothing was stored. */
  | { outcome: 'different'; ids: readonly string[] };

/** Stores the opening items of an employer that are not stored yet, all or none. Ids differ within `items`. */
export async function putOpeningItems(
  trx: Trx,
  employerId: string,
  items: readonly OpeningItem[],
  acting: Acting,
): Promise<OpeningsPut> {
  await lockPayroll(trx);
  const known = await storedUnder(
    trx,
    employerId,
    items.map(({ opening_id }) => opening_id),
  );
  const isDifferent = (item: OpeningItem) => {
    const stored = known.get(item.opening_id);
    return stored !== undefined && !isDeepStrictEqual(stored, item);
  };
  const different = items.filter(isDifferent);
  if (different.length > 0)
    return { outcome: 'different', ids: different.map(({ opening_id }) => opening_id) };
  const added = items.filter(({ opening_id }) => !known.has(opening_id));
  if (added.length === 0) return { outcome: 'same' };
  const created = added.map(({ opening_id }) => opening_id);
  const before = await lastOpening(trx, employerId);
  const contents = added.map(
    ({ amount, ...item }, index): FactContent<'opening_items'> => ({
      ...item,
      employer_id: employerId,
      ordinal: before + index + 1,
      member_amount: amountOf(amount.member),
      employer_amount: amountOf(amount.employer),
      recorded_at: acting.now,
    }),
  );
  await insertFacts(trx, OPENING, contents, acting, { details: { items: created.length } });
  return { outcome: 'created', created };
}

async function storedUnder(
  trx: Trx,
  employerId: string,
  ids: readonly string[],
): Promise<Map<string, OpeningItem>> {
  const rows = await trx
    .selectFrom('opening_items')
    .selectAll()
    .where('employer_id', '=', employerId)
    .where(isOneOf(trx, 'opening_id', ids))
    .execute();
  return new Map(rows.map((row) => [row.opening_id, openingOf(row)]));
}

/** Returns the place of the newest opening item of an employer, 0 without one. */
export function lastOpening(db: Db | Trx, employerId: string): Promise<number> {
  return lastNumber(db, OPENING, employerId);
}

/** Returns the opening items of an employer up to a place, by employee. */
export async function openingItemsOf(
  db: Db | Trx,
  employerId: string,
  employees: readonly string[],
  upTo: number,
): Promise<Map<string, OpeningItem[]>> {
  if (upTo === 0) return new Map();
  const rows = await db
    .selectFrom('opening_items')
    .selectAll()
    .where(isOneOf(db, 'employee_id', employees))
    .where('employer_id', '=', employerId)
    .where('ordinal', '<=', upTo)
    .orderBy('ordinal')
    .execute();
  return Map.groupBy(rows.map(openingOf), ({ employee_id }) => employee_id);
}

function openingOf(row: OpeningItemTable): OpeningItem {
  const { employer_id: _, ordinal, member_amount, employer_amount, record_id, recorded_at, ...item } = row;
  return { ...item, amount: { member: centsOf(member_amount), employer: centsOf(employer_amount) } };
}
