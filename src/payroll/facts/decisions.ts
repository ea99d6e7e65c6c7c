/** Decisions on open items: append-only, numbered per employer. A run keeps the number of the last one that it knew. */
import { insertRows, isOneOf } from '../../database/bulk.ts';
import type { Db, ItemDecisionTable, Trx } from '../../database/tables.ts';
import { amountOrNull, type Cents, centsOf, centsOrNull } from '../../money.ts';
import { type Acting, record } from '../../security/audit.ts';
import type { ReasonColumn } from '../../security/reasons.ts';
import { type Content, contentHash } from '../../security/verify-contents.ts';
import type { Sides } from '../calculation/items.ts';
import { lastNumber } from './last-number.ts';

export const ITEM_ACTIONS = ['take', 'hold', 'write_off', 'paid_directly'] as const;
type ItemAction = (typeof ITEM_ACTIONS)[number];

export type Decision = {
  /** Its number among the decisions of the employer. */
  decisionId: number;
  employeeId: string;
  /** Null: a hold that covers all items of the employee. */
  itemId: string | null;
  /** The run whose item it is; null for an opening item and for an employee. */
  runId: string | null;
  action: ItemAction;
  /** The amounts of the item when it was decided. Null without an item. */
  madeFor: Sides | null;
  /** The decision's own amount of the employee's side, with the item's sign: written off, or paid directly. */
  amount: Cents | null;
  /** The last day on which a hold counts. */
  until: string | null;
  paidOn: string | null;
  reason: string;
  recordId: number;
  recordedAt: string;
};

/** A decision without its number and record, which `recordDecisions` adds. */
export type NewDecision = Omit<Decision, 'decisionId' | 'recordId' | 'recordedAt'>;

/**
 * Appends decisions of an employer, made with one reason, and returns their numbers. They share an audit record. The caller has
 * checked that they are possible, and locks the payroll in the same transaction.
 */
export async function recordDecisions(
  trx: Trx,
  employerId: string,
  decisions: readonly NewDecision[],
  acting: Acting,
): Promise<number[]> {
  const before = await lastDecision(trx, employerId);
  const ids = decisions.map((_, index) => before + index + 1);
  const [only] = decisions.length === 1 ? decisions : [];
  const contents = decisions.map(
    (decision, index): Omit<ItemDecisionTable, 'record_id'> => ({
      employer_id: employerId,
      decision_id: ids[index] as number,
      employee_id: decision.employeeId,
      item_id: decision.itemId,
      run_id: decision.runId,
      action: decision.action,
      member_amount: amountOrNull(decision.madeFor?.member ?? null),
      employer_amount: amountOrNull(decision.madeFor?.employer ?? null),
      amount: amountOrNull(decision.amount),
      until: decision.until,
      paid_on: decision.paidOn,
      reason: decision.reason,
      recorded_at: acting.now,
    }),
  );
  const employees = new Set(decisions.map(({ employeeId }) => employeeId));
  const details = {
    ...{ decisions: decisions.length, first_id: ids[0], last_id: ids.at(-1) },
    content_hash: contentHash(DECISIONS_CONTENT, contents),
  };
  const record_id = await record(trx, acting, {
    action: 'item.decide',
    resource: only?.itemId ?? null,
    employer: employerId,
    employee: employees.size === 1 ? (decisions[0]?.employeeId ?? null) : null,
    details,
    reason: decisions[0]?.reason ?? null,
  });
  const rows = contents.map((content): ItemDecisionTable => ({ ...content, record_id }));
  await insertRows(trx, 'item_decisions', rows);
  return ids;
}

/** Returns the number of the newest decision of an employer, 0 without one. */
export function lastDecision(db: Db | Trx, employerId: string): Promise<number> {
  return lastNumber(db, 'item_decisions', employerId);
}

/** Returns the decisions of an employer up to a number, by employee, in the order of their numbers. */
export async function decisionsOf(
  db: Db | Trx,
  employerId: string,
  employees: readonly string[],
  upTo: number,
): Promise<Map<string, Decision[]>> {
  if (upTo === 0) return new Map();
  const rows = await db
    .selectFrom('item_decisions')
    .selectAll()
    .where(isOneOf(db, 'employee_id', employees))
    .where('employer_id', '=', employerId)
    .where('decision_id', '<=', upTo)
    .orderBy('decision_id')
    .execute();
  return Map.groupBy(rows.map(decisionOf), ({ employeeId }) => employeeId);
}

/** Returns the first `most` decisions on the items of a run, by number: they do not concern another run. */
export async function decisionsOnRun(db: Db | Trx, runId: string, most: number): Promise<Decision[]> {
  const rows = await db
    .selectFrom('item_decisions')
    .selectAll()
    .where('run_id', '=', runId)
    .orderBy('decision_id')
    .limit(most)
    .execute();
  return rows.map(decisionOf);
}

/** `itemId`: decisions on this item, and holds of all items of its employee `employeeId`. */
type DecisionFilter = { itemId: string | null; employeeId: string | null };

/** Returns at most `limit` decisions of an employer, the newest first, with numbers below `before`. */
export async function newestDecisions(
  db: Db | Trx,
  employerId: string,
  { itemId, employeeId }: DecisionFilter,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<Decision[]> {
  const rows = await db
    .selectFrom('item_decisions')
    .selectAll()
    .where('employer_id', '=', employerId)
    .$if(employeeId !== null, (query) => query.where('employee_id', '=', employeeId as string))
    .$if(itemId !== null, (query) =>
      query.where((eb) => eb.or([eb('item_id', '=', itemId), eb('item_id', 'is', null)])),
    )
    .$if(before !== undefined, (query) => query.where('decision_id', '<', before as number))
    .orderBy('decision_id', 'desc')
    .limit(limit)
    .execute();
  return rows.map(decisionOf);
}

function decisionOf(row: ItemDecisionTable): Decision {
  const { member_amount, employer_amount, amount } = row;
  return {
    decisionId: row.decision_id,
    employeeId: row.employee_id,
    itemId: row.item_id,
    runId: row.run_id,
    action: row.action,
    madeFor:
      member_amount === null || employer_amount === null
        ? null
        : { member: centsOf(member_amount), employer: centsOf(employer_amount) },
    amount: centsOrNull(amount),
    until: row.until,
    paidOn: row.paid_on,
    reason: row.reason,
    recordId: row.record_id,
    recordedAt: row.recorded_at,
  };
}

export const DECISION_REASONS: ReasonColumn = {
  ...{ table: 'item_decisions', column: 'reason', actions: ['item.decide'] },
  by: { column: 'record_id', is: 'record_id' },
};

export const DECISIONS_CONTENT: Content<'item_decisions'> = {
  table: 'item_decisions',
  key: ['employer_id', 'decision_id'],
  changing: ['reason'],
  actions: ['item.decide'],
  isRemovable: false,
};
