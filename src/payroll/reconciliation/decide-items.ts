/** Records decisions about open items: all of a request or none, for the amounts that the caller reviewed. */
import type { Db } from '../../database/tables.ts';
import { dayAt } from '../../database/time-zone.ts';
import { transact } from '../../database/transaction.ts';
import { conflict, type Problem, refused } from '../../errors.ts';
import { censusHas, nearIds } from '../../ledger/near-ids.ts';
import { employeesKnownAt } from '../../ledger/roster.ts';
import { amountOf, type Cents, parseAmount } from '../../money.ts';
import type { Acting } from '../../security/audit.ts';
import { isNothing, itemIdentity } from '../calculation/items.ts';
import { openItemsOf } from '../compute/item-pages.ts';
import type { OpenItem } from '../compute/item-state.ts';
import { type NewDecision, recordDecisions } from '../facts/decisions.ts';
import { lockPayroll, readPayrollRevision } from '../settings/lock.ts';
import {
  type DecisionsRequest,
  NO_TERMS,
  pathOf,
  problemsOfForm,
  type RequestedDecision,
} from './requested-decisions.ts';

/** Another caller changes payroll data in between: rare, as the items of a few employees are computed in milliseconds. */
const ATTEMPTS = 5;

/** Records decisions on items of an employer, and returns their ids. Throws what `checkDecisions` does, or CONFLICT. */
export async function decideItems(
  db: Db,
  employerId: string,
  request: DecisionsRequest,
  acting: Acting,
): Promise<number[]> {
  const today = dayAt(db, acting.now);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const revision = await readPayrollRevision(db);
    const decisions = await checkDecisions(db, employerId, request, today);
    const ids = await transact(db, async (trx) => {
      await lockPayroll(trx);
      // A run that became final in between may have taken the items.
      if ((await readPayrollRevision(trx)) !== revision + 1) return null;
      return recordDecisions(trx, employerId, decisions, acting);
    });
    if (ids !== null) return ids;
  }
  throw conflict('Payroll data changed while the decisions were recorded. Send the request again.');
}

/**
 * Returns the decisions of a request, which are all possible today. Throws DECISION_REFUSED, or ITEM_CHANGED if the outstanding
 * amounts of items are not the reviewed ones; each problem names the new amount.
 */
export async function checkDecisions(
  db: Db,
  employerId: string,
  { decisions: requested, reason }: DecisionsRequest,
  today: string,
): Promise<NewDecision[]> {
  const problems = problemsOfForm(requested, today);
  if (problems.length > 0) throw refused('DECISION_REFUSED', problems);
  const { items, groups } = await itemsById(db, employerId, requested, today);
  const actions = new Map(requested.map(({ item_id, action }) => [item_id, action]));
  const named = requested.flatMap(({ employee_id }) => employee_id ?? []);
  const employees = await employeesKnownAt(db, employerId, named);
  const unknown = named.filter((id) => !employees.has(id));
  const near = await nearIds(db, unknown, [employerId]);
  const changed: Problem[] = [];
  const decisions = requested.flatMap((decision, index): NewDecision[] => {
    const { item_id, employee_id } = decision;
    const path = pathOf(index);
    if (item_id === undefined) {
      if (employees.has(employee_id as string))
        return [newDecision(decision, reason, { employee_id: employee_id as string, item: null })];
      const rule = `must be an employee of the employer${censusHas(near.get(employee_id as string))}`;
      problems.push({ path: `${path}.employee_id`, rule });
      return [];
    }
    const item = items.get(item_id);
    if (item === undefined) {
      problems.push({ path: `${path}.item_id`, rule: 'must be an open item of the employer' });
      return [];
    }
    const differences = differencesOf(decision, item, path);
    changed.push(...differences);
    if (differences.length > 0) return [];
    const impossible = impossibleFor(decision, item, path);
    const { partners, different } = partnersIn(groups.get(item_id) ?? [], decision, actions);
    if (different !== undefined)
      impossible.push({
        path: `${path}.action`,
        rule: `must be that of ${different.id}: a run takes the items of a group together`,
      });
    problems.push(...impossible);
    if (impossible.length > 0) return [];
    return [item, ...partners].map((partner) =>
      newDecision(decision, reason, { employee_id: partner.identity.employee_id, item: partner }),
    );
  });
  if (problems.length > 0) throw refused('DECISION_REFUSED', problems);
  if (changed.length > 0) throw refused('ITEM_CHANGED', changed);
  return decisions;
}

/** Items and the groups that they are in, by item id. */
type ItemsById = { items: Map<string, OpenItem>; groups: Map<string, readonly OpenItem[]> };

/** Computes the items of the employees that the requested ids name. */
async function itemsById(
  db: Db,
  employerId: string,
  requested: readonly RequestedDecision[],
  today: string,
): Promise<ItemsById> {
  const employees = requested.flatMap(({ item_id }) => {
    const identity = item_id === undefined ? null : itemIdentity(item_id);
    return identity === null ? [] : [identity.employee_id];
  });
  const byId: ItemsById = { items: new Map(), groups: new Map() };
  const only = [...(await employeesKnownAt(db, employerId, employees))];
  if (only.length === 0) return byId;
  for await (const page of openItemsOf(db, employerId, today, { only })) {
    for (const employee of page) {
      for (const item of employee.items) byId.items.set(item.id, item);
      for (const group of employee.groups())
        for (const { id } of group.items) byId.groups.set(id, group.items);
    }
  }
  return byId;
}

/**
 * A `take` or `hold` of one item of a group is one of all: returns the items that the request does not name, and one that it
 * decides differently.
 */
function partnersIn(
  group: readonly OpenItem[],
  { item_id, action }: RequestedDecision,
  actions: ReadonlyMap<string | undefined, RequestedDecision['action']>,
): { partners: OpenItem[]; different?: OpenItem } {
  if (action !== 'take' && action !== 'hold') return { partners: [] };
  const different = group.find(({ id }) => actions.has(id) && actions.get(id) !== action);
  // Several named items of a group decide the others once.
  const isFirst = group.find(({ id }) => actions.has(id))?.id === item_id;
  const partners = isFirst ? group.filter(({ id }) => !actions.has(id)) : [];
  return different === undefined ? { partners } : { partners, different };
}

/** Returns the problems of an item whose outstanding amounts are not the reviewed ones. */
function differencesOf(decision: RequestedDecision, { outstanding }: OpenItem, path: string): Problem[] {
  const amounts = [
    ['outstanding_member_amount', outstanding.member],
    ['outstanding_employer_amount', outstanding.employer],
  ] as const;
  return amounts
    .filter(([name, now]) => parseAmount(decision[name] as string) !== now)
    .map(([name, now]) => ({
      path: `${path}.${name}`,
      rule: `is ${amountOf(now)} now: review the item again`,
    }));
}

/** Returns why an action is impossible for an item as it is. */
function impossibleFor(decision: RequestedDecision, { outstanding }: OpenItem, path: string): Problem[] {
  const { action, amount: text } = decision;
  const { member } = outstanding;
  const problem = (name: string, rule: string) => [{ path: `${path}.${name}`, rule }];
  if (isNothing(outstanding)) return problem('item_id', 'must have an outstanding amount');
  if (member === 0n && (action === 'write_off' || action === 'paid_directly' || text !== undefined))
    return problem('action', 'must be take or hold: only an employer amount is outstanding');
  if (text === undefined) return [];
  const [least, most] = member > 0n ? [1n, member] : [member, -1n];
  const part = parseAmount(text) as Cents;
  if (part >= least && part <= most) return [];
  return problem('amount', `must be from ${amountOf(least)} to ${amountOf(most)}, which is outstanding`);
}

/** What a decision is about: an item, or all items of the employee. */
type Decided = { employee_id: string; item: OpenItem | null };

function newDecision(
  requested: RequestedDecision,
  reason: string,
  { employee_id, item }: Decided,
): NewDecision {
  const {
    item_id,
    employee_id: _,
    outstanding_member_amount,
    outstanding_employer_amount,
    ...terms
  } = requested;
  const { action, amount } = terms;
  const statedAmount = amount === undefined ? null : (parseAmount(amount) as Cents);
  return {
    ...NO_TERMS,
    ...terms,
    amount: action === 'write_off' && item !== null ? item.outstanding.member : statedAmount,
    employee_id,
    item_id: item?.id ?? null,
    run_id: item === null || item.identity.kind === 'opening' ? null : item.identity.source,
    made_for: item?.line.amounts ?? null,
    reason,
  };
}
