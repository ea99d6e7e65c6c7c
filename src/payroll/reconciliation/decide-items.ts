/** Records decisions about open items: all of a request or none, for the amounts that the caller reviewed. */
import Type, { type Static } from 'typebox';
import { closed, component, day, identifier, oneOfDescribed, reasonField } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import type { Problem } from '../../errors.ts';
import { employeesKnownAt } from '../../ledger/roster.ts';
import { AMOUNT_PATTERN, AMOUNT_RULE, amountOf, type Cents, parseAmount } from '../../money.ts';
import type { Acting } from '../../security/audit.ts';
import { isNothing, itemIdentity } from '../calculation/items.ts';
import { openItemsOf } from '../compute/item-pages.ts';
import type { OpenItem } from '../compute/open-items.ts';
import { ITEM_ACTIONS, type NewDecision, recordDecisions } from '../facts/decisions.ts';
import { lockPayroll, readPayrollRevision } from '../settings/lock.ts';

/** They are one transaction, which holds the write lock of SQLite. */
export const DECISIONS_MAX = 5_000;

const amount = (description: string) =>
  Type.Optional(Type.String({ pattern: AMOUNT_PATTERN, rule: AMOUNT_RULE, description }));
const optionalDay = (description: string) => Type.Optional({ ...day, description });

/** An item id has the ids of a run, an employee and a deduction, percent-encoded. */
const ITEM_ID_MAX_CHARACTERS = 10_000;

const RequestedDecision = closed({
  item_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: ITEM_ID_MAX_CHARACTERS,
      description: 'The open item. Either this or `employee_id` is required.',
    }),
  ),
  employee_id: Type.Optional({
    ...identifier,
    description: 'The employee whose items to hold, also items that arise later.',
  }),
  action: oneOfDescribed(
    ITEM_ACTIONS,
    '`take`: runs take the item, up to `amount` if it is stated. `hold`: no run takes it. `write_off`: the employee no longer owes or gets ' +
      'what is outstanding. `paid_directly`: `amount` was paid outside payroll on `paid_on`.',
  ),
  outstanding_member_amount: amount(
    'The outstanding employee amount that was reviewed. Required with `item_id`.',
  ),
  outstanding_employer_amount: amount(
    'The outstanding employer amount that was reviewed. Required with `item_id`.',
  ),
  amount: amount(
    'The employee amount to take in all following runs, or the amount paid. It has the sign of the item.',
  ),
  not_before: optionalDay('Runs with an earlier pay date do not take the item.'),
  until: optionalDay('From this date on the hold no longer counts.'),
  paid_on: optionalDay('The date of the payment outside payroll.'),
});
export type RequestedDecision = Static<typeof RequestedDecision>;

export const DecisionsRequest = component(
  'ItemDecisionsRequest',
  {
    decisions: Type.Array(RequestedDecision, {
      minItems: 1,
      maxItems: DECISIONS_MAX,
      rule: `must be a list of 1 to ${DECISIONS_MAX} decisions`,
      description: 'All are recorded, or none.',
    }),
    reason: reasonField('The reason for all of them.'),
  },
  'Decisions about open items of one employer.',
);
export type DecisionsRequest = Static<typeof DecisionsRequest>;

export type CheckedDecisions =
  | { ok: true; decisions: NewDecision[] }
  | { ok: false; why: 'refused'; problems: Problem[] }
  /** The outstanding amounts of these items are not the reviewed ones; each problem names the new amount. */
  | { ok: false; why: 'changed'; problems: Problem[] };

export type ItemsDecided =
  | { outcome: 'decided'; ids: number[]; decisions: NewDecision[] }
  | { outcome: 'refused' | 'changed'; problems: Problem[] }
  | { outcome: 'busy' };

/** Another caller changes payroll data in between: rare, as the items of a few employees are computed in milliseconds. */
const ATTEMPTS = 5;

/** Records decisions on items of an employer. */
export async function decideItems(
  db: Db,
  employerId: string,
  request: DecisionsRequest,
  acting: Acting,
): Promise<ItemsDecided> {
  const today = acting.now.slice(0, 'YYYY-MM-DD'.length);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const revision = await readPayrollRevision(db);
    const checked = await checkDecisions(db, employerId, request, today);
    if (!checked.ok) return { outcome: checked.why, problems: checked.problems };
    const { decisions } = checked;
    const ids = await transact(db, async (trx) => {
      await lockPayroll(trx);
      // A run that became final in between may have taken the items.
      if ((await readPayrollRevision(trx)) !== revision + 1) return null;
      return recordDecisions(trx, employerId, decisions, acting);
    });
    if (ids !== null) return { outcome: 'decided', ids, decisions };
  }
  return { outcome: 'busy' };
}

/** Returns the decisions of a request if all are possible today, or every problem. */
export async function checkDecisions(
  db: Db,
  employerId: string,
  { decisions: requested, reason }: DecisionsRequest,
  today: string,
): Promise<CheckedDecisions> {
  const problems = requested.flatMap((decision, index) => formProblems(decision, pathOf(index), today));
  problems.push(...repeatedProblems(requested));
  if (problems.length > 0) return { ok: false, why: 'refused', problems };
  const items = await itemsById(db, employerId, requested, today);
  const named = requested.flatMap(({ employee_id }) => employee_id ?? []);
  const employees = await employeesKnownAt(db, employerId, named);
  const changed: Problem[] = [];
  const decisions = requested.flatMap((decision, index): NewDecision[] => {
    const { item_id, employee_id } = decision;
    const path = pathOf(index);
    if (item_id === undefined) {
      if (employees.has(employee_id as string))
        return [newDecision(decision, reason, { employeeId: employee_id as string, item: null })];
      problems.push({ path: `${path}.employee_id`, rule: 'must be an employee of the employer' });
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
    problems.push(...impossible);
    if (impossible.length > 0) return [];
    return [newDecision(decision, reason, { employeeId: item.identity.employee_id, item })];
  });
  if (problems.length > 0) return { ok: false, why: 'refused', problems };
  if (changed.length > 0) return { ok: false, why: 'changed', problems: changed };
  return { ok: true, decisions };
}

function pathOf(index: number): string {
  return `decisions[${index}]`;
}

type Field = 'amount' | 'not_before' | 'until' | 'paid_on';

/** The fields that an action may state, and those of them that it must. */
const FIELDS: Readonly<
  Record<RequestedDecision['action'], { may: readonly Field[]; must: readonly Field[] }>
> = {
  take: { may: ['amount', 'not_before'], must: [] },
  hold: { may: ['until'], must: [] },
  write_off: { may: [], must: [] },
  paid_directly: { may: ['amount', 'paid_on'], must: ['amount', 'paid_on'] },
};

/** Returns the problems of a decision that need no item. */
function formProblems(decision: RequestedDecision, path: string, today: string): Problem[] {
  const { item_id, employee_id, action } = decision;
  const problems: Problem[] = [];
  const add = (name: string, rule: string) => problems.push({ path: `${path}.${name}`, rule });
  const { may, must } = FIELDS[action];
  for (const name of ['amount', 'not_before', 'until', 'paid_on'] as const) {
    if (decision[name] !== undefined && !may.includes(name)) add(name, `must be omitted for ${action}`);
    if (decision[name] === undefined && must.includes(name)) add(name, `is required for ${action}`);
  }
  for (const name of ['not_before', 'until'] as const) {
    const date = decision[name];
    if (date !== undefined && date < today) add(name, `must not be before today, ${today}`);
  }
  if (decision.paid_on !== undefined && decision.paid_on > today)
    add('paid_on', `must not be after today, ${today}`);
  const reviewed = ['outstanding_member_amount', 'outstanding_employer_amount'] as const;
  if (item_id === undefined && employee_id === undefined)
    add('item_id', 'is required, or employee_id for a hold');
  if (item_id !== undefined && employee_id !== undefined) add('employee_id', 'must be omitted with item_id');
  if (item_id === undefined && employee_id !== undefined) {
    if (action !== 'hold') add('action', 'must be hold for an employee');
    for (const name of reviewed)
      if (decision[name] !== undefined) add(name, 'must be omitted for an employee');
  }
  if (item_id !== undefined)
    for (const name of reviewed) if (decision[name] === undefined) add(name, 'is required with item_id');
  return problems;
}

function repeatedProblems(requested: readonly RequestedDecision[]): Problem[] {
  const seen = new Set<string>();
  return requested.flatMap(({ item_id, employee_id }, index) => {
    const name = item_id === undefined ? 'employee_id' : 'item_id';
    const key = JSON.stringify([name, item_id ?? employee_id]);
    if (!seen.has(key)) {
      seen.add(key);
      return [];
    }
    return [{ path: `${pathOf(index)}.${name}`, rule: 'must be named once' }];
  });
}

/** Computes the items of the employees that the requested ids name, by item id. */
async function itemsById(
  db: Db,
  employerId: string,
  requested: readonly RequestedDecision[],
  today: string,
): Promise<Map<string, OpenItem>> {
  const employees = requested.flatMap(({ item_id }) => {
    const identity = item_id === undefined ? null : itemIdentity(item_id);
    return identity === null ? [] : [identity.employee_id];
  });
  const items = new Map<string, OpenItem>();
  const only = [...(await employeesKnownAt(db, employerId, employees))];
  if (only.length === 0) return items;
  for await (const page of openItemsOf(db, employerId, today, { only }))
    for (const employee of page) for (const item of employee.items) items.set(item.id, item);
  return items;
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

function newDecision(
  { action, amount: text, not_before, until, paid_on }: RequestedDecision,
  reason: string,
  { employeeId, item }: { employeeId: string; item: OpenItem | null },
): NewDecision {
  const ownAmount = text === undefined ? null : (parseAmount(text) as Cents);
  return {
    employeeId,
    itemId: item?.id ?? null,
    runId: item === null || item.identity.kind === 'opening' ? null : item.identity.source,
    action,
    madeFor: item === null ? null : { member: item.line.member_amount, employer: item.line.employer_amount },
    amount: action === 'write_off' && item !== null ? item.outstanding.member : ownAmount,
    notBefore: not_before ?? null,
    until: until ?? null,
    paidOn: paid_on ?? null,
    reason,
  };
}
