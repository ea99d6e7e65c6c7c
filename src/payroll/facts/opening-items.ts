/** Opening items: amounts that were owed before the first run, as the caller brought them. Append-only. */
import { insertRows, isOneOf } from '../../database/bulk.ts';
import type { Db, OpeningItemTable, Trx } from '../../database/tables.ts';
import { amountOf, centsOf } from '../../money.ts';
import { type Acting, record } from '../../security/audit.ts';
import { type Content, contentHash } from '../../security/verify-contents.ts';
import type { Sides } from '../calculation/items.ts';
import { lockPayroll } from '../settings/lock.ts';
import { lastNumber } from './last-number.ts';

export type OpeningItem = {
  openingId: string;
  employeeId: string;
  /** Null if the caller named none. */
  deductionId: string | null;
  lineOfCoverage: string;
  taxability: string;
  amount: Sides;
  payDate: string;
};

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
    items.map(({ openingId }) => openingId),
  );
  const isDifferent = (item: OpeningItem) => {
    const stored = known.get(item.openingId);
    return stored !== undefined && contentOf(stored) !== contentOf(item);
  };
  const different = items.filter(isDifferent);
  if (different.length > 0) return { outcome: 'different', ids: different.map(({ openingId }) => openingId) };
  const added = items.filter(({ openingId }) => !known.has(openingId));
  if (added.length === 0) return { outcome: 'same' };
  const created = added.map(({ openingId }) => openingId);
  const before = await lastOpening(trx, employerId);
  const contents = added.map(
    (item, index): Omit<OpeningItemTable, 'record_id'> => ({
      employer_id: employerId,
      opening_id: item.openingId,
      ordinal: before + index + 1,
      employee_id: item.employeeId,
      deduction_id: item.deductionId,
      line_of_coverage: item.lineOfCoverage,
      taxability: item.taxability,
      member_amount: amountOf(item.amount.member),
      employer_amount: amountOf(item.amount.employer),
      pay_date: item.payDate,
      recorded_at: acting.now,
    }),
  );
  const record_id = await record(trx, acting, {
    action: 'item.open',
    resource: created.length === 1 ? (created[0] as string) : null,
    employer: employerId,
    details: { items: created.length, content_hash: contentHash(OPENINGS_CONTENT, contents) },
  });
  const rows = contents.map((content): OpeningItemTable => ({ ...content, record_id }));
  await insertRows(trx, 'opening_items', rows);
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
  return lastNumber(db, 'opening_items', employerId);
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
  return Map.groupBy(rows.map(openingOf), ({ employeeId }) => employeeId);
}

function openingOf(row: OpeningItemTable): OpeningItem {
  return {
    openingId: row.opening_id,
    employeeId: row.employee_id,
    deductionId: row.deduction_id,
    lineOfCoverage: row.line_of_coverage,
    taxability: row.taxability,
    amount: { member: centsOf(row.member_amount), employer: centsOf(row.employer_amount) },
    payDate: row.pay_date,
  };
}

function contentOf(item: OpeningItem): string {
  const { employeeId, deductionId, lineOfCoverage, taxability, amount, payDate } = item;
  const amounts = [amountOf(amount.member), amountOf(amount.employer)];
  return JSON.stringify([employeeId, deductionId, lineOfCoverage, taxability, ...amounts, payDate]);
}

export const OPENINGS_CONTENT: Content<'opening_items'> = {
  table: 'opening_items',
  key: ['employer_id', 'ordinal'],
  changing: [],
  actions: ['item.open'],
  isRemovable: false,
};
