/** Opening items: amounts that were owed before the first run, as the caller brought them. Append-only. */
import { isDeepStrictEqual } from 'node:util';
import { isOneOf } from '../../database/bulk.ts';
import type { Db, OpeningItemTable, Trx } from '../../database/tables.ts';
import { conflict, firstIds } from '../../errors.ts';
import { amountOf, centsOf } from '../../money.ts';
import type { Acting } from '../../security/audit.ts';
import { type Fact, type FactContent, insertFacts, lastNumber } from '../../security/facts.ts';
import type { Sides } from '../calculation/items.ts';
import { lockPayroll } from '../settings/lock.ts';

export const OPENING: Fact<'opening_items'> = {
  table: 'opening_items',
  actions: ['item.open'],
  subject: { resource: 'opening_id', employer: 'employer_id' },
};

/** An opening item as it is stored, with its amounts. `deduction_id` is null if the caller named none. */
export type OpeningItem = Omit<
  OpeningItemTable,
  'employer_id' | 'ordinal' | 'member_amount' | 'employer_amount' | 'record_id' | 'recorded_at'
> & { amount: Sides };

/** Ids that a refusal names. */
const IDS_NAMED = 20;

/**
 * Stores the opening items of an employer that are not stored yet, all or none, and returns the ids of these. Ids differ within
 * `items`. Throws CONFLICT for items that are stored with other content.
 */
export async function putOpeningItems(
  trx: Trx,
  employerId: string,
  items: readonly OpeningItem[],
  acting: Acting,
): Promise<string[]> {
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
  if (different.length > 0) {
    const ids = different.map(({ opening_id }) => opening_id);
    throw conflict(
      `Opening items with these IDs are stored with other content: ${firstIds(ids, IDS_NAMED)}. Use other IDs, or decide about the stored items.`,
    );
  }
  const added = items.filter(({ opening_id }) => !known.has(opening_id));
  if (added.length === 0) return [];
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
  return created;
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
