/** Decisions on open items: append-only, numbered per employer. A run keeps the number of the last one that it knew. */
import type { SelectQueryBuilder } from 'kysely';
import Type from 'typebox';
import { isOneOf } from '../../database/bulk.ts';
import type { Db, ItemDecisionTable, Tables, Trx } from '../../database/tables.ts';
import { type ListPage, type PageRequest, pagesBy } from '../../formats/cursor.ts';
import { amountOrNull, type Cents, centsOf, centsOrNull } from '../../money.ts';
import type { Acting, Made } from '../../security/audit.ts';
import { type Fact, type FactContent, insertFacts, lastNumber, withMakers } from '../../security/facts.ts';
import type { Sides } from '../calculation/items.ts';

export const DECISION: Fact<'item_decisions'> = {
  table: 'item_decisions',
  actions: ['item.decide'],
  subject: { resource: 'item_id', employer: 'employer_id', employee: 'employee_id' },
  hasReason: true,
};

export const ITEM_ACTIONS = ['take', 'hold', 'write_off', 'paid_directly'] as const;

/** A decision as it is stored, with its amounts. */
export type Decision = Omit<
  ItemDecisionTable,
  'employer_id' | 'member_amount' | 'employer_amount' | 'amount'
> & {
  /** The amounts of the item when it was decided. Null without an item. */
  made_for: Sides | null;
  /** The decision's own amount of the employee's side, with the item's sign: written off, or paid directly. */
  amount: Cents | null;
};

/** A decision with the person or program that made it. */
export type MadeDecision = Decision & { made: Made };

/** A decision without its number and record, which `recordDecisions` adds. */
export type NewDecision = Omit<Decision, 'decision_id' | 'record_id' | 'recorded_at'>;

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
  const contents = decisions.map(
    ({ made_for, amount, reason: _, ...decision }, index): FactContent<'item_decisions'> => ({
      ...decision,
      employer_id: employerId,
      decision_id: ids[index] as number,
      member_amount: amountOrNull(made_for?.member ?? null),
      employer_amount: amountOrNull(made_for?.employer ?? null),
      amount: amountOrNull(amount),
      recorded_at: acting.now,
    }),
  );
  await insertFacts(trx, DECISION, contents, acting, {
    details: { decisions: decisions.length, first_id: ids[0], last_id: ids.at(-1) },
    reason: decisions[0]?.reason ?? null,
  });
  return ids;
}

/** Returns the number of the newest decision of an employer, 0 without one. */
export function lastDecision(db: Db | Trx, employerId: string): Promise<number> {
  return lastNumber(db, DECISION, employerId);
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
  return Map.groupBy(rows.map(decisionOf), ({ employee_id }) => employee_id);
}

/** Returns the first `most` decisions on the items of a run, by number: they do not concern another run. */
export async function decisionsOnRun(db: Db | Trx, runId: string, most: number): Promise<MadeDecision[]> {
  const decisions = db
    .selectFrom('item_decisions')
    .selectAll('item_decisions')
    .where('run_id', '=', runId)
    .orderBy('decision_id')
    .limit(most);
  return withMaker(decisions);
}

/** `itemId`: decisions on this item, and holds of all items of its employee `employeeId`. */
type DecisionFilter = { itemId: string | null; employeeId: string | null };

const decisionPage = pagesBy('item-decisions', { decision_id: Type.Integer({ minimum: 1 }) }, 'desc');

/** Returns a page of the decisions of an employer, the newest first. */
export async function newestDecisions(
  db: Db | Trx,
  employerId: string,
  { itemId, employeeId }: DecisionFilter,
  request: PageRequest,
): Promise<ListPage<MadeDecision>> {
  const decisions = db
    .selectFrom('item_decisions')
    .selectAll('item_decisions')
    .where('employer_id', '=', employerId)
    .$if(employeeId !== null, (query) => query.where('employee_id', '=', employeeId as string))
    .$if(itemId !== null, (query) =>
      query.where((eb) => eb.or([eb('item_id', '=', itemId), eb('item_id', 'is', null)])),
    );
  return decisionPage(decisions, request, withMaker);
}

async function withMaker(
  decisions: SelectQueryBuilder<Tables, 'item_decisions', ItemDecisionTable>,
): Promise<MadeDecision[]> {
  const rows = await withMakers(decisions);
  return rows.map(({ made, ...row }) => ({ ...decisionOf(row), made }));
}

function decisionOf({ employer_id: _, ...row }: ItemDecisionTable): Decision {
  const { member_amount, employer_amount, amount, ...decision } = row;
  const made_for =
    member_amount === null || employer_amount === null
      ? null
      : { member: centsOf(member_amount), employer: centsOf(employer_amount) };
  return { ...decision, made_for, amount: centsOrNull(amount) };
}
