/** The request of decisions about open items, and the rules that need no item. Pure. */
import Type, { type Static } from 'typebox';
import { closed, component, day, identifier, oneOfDescribed, reasonField } from '../../contract/fields.ts';
import type { Problem } from '../../errors.ts';
import { requestedAmount } from '../calculation/line.ts';
import { ITEM_ACTIONS } from '../facts/decisions.ts';

/** They are one transaction, which holds the write lock of SQLite. */
const DECISIONS_MAX = 5_000;

const amount = (description: string) => Type.Optional(requestedAmount(description));
const optionalDay = (description: string) => Type.Optional({ ...day, description });

/** An item id has the ids of a run, an employee and a deduction, percent-encoded. */
const ITEM_ID_MAX_CHARACTERS = 10_000;

export const ItemId = Type.String({ minLength: 1, maxLength: ITEM_ID_MAX_CHARACTERS });

/** The fields that only some decisions have. */
const TERM_FIELDS = {
  amount: amount('The employee amount paid. It has the sign of the item.'),
  until: optionalDay('The last day on which the hold counts.'),
  paid_on: optionalDay('The date of the payment outside payroll.'),
};
type Term = keyof typeof TERM_FIELDS;
const TERMS = Object.keys(TERM_FIELDS) as readonly Term[];

/** A stored decision has null for each term that it lacks. */
export const NO_TERMS = Object.fromEntries(TERMS.map((name) => [name, null])) as Readonly<Record<Term, null>>;

export const RequestedDecision = closed({
  item_id: Type.Optional({
    ...ItemId,
    description: 'The open item. Either this or `employee_id` is required.',
  }),
  employee_id: Type.Optional({
    ...identifier,
    description: 'The employee whose items to hold, also items that arise later.',
  }),
  action: oneOfDescribed(
    ITEM_ACTIONS,
    '`take`: runs take the item. `hold`: no run takes it. `write_off`: the employee no longer owes or gets ' +
      'what is outstanding. `paid_directly`: `amount` was paid outside payroll on `paid_on`.',
  ),
  outstanding_member_amount: amount(
    'The outstanding employee amount that was reviewed. Required with `item_id`.',
  ),
  outstanding_employer_amount: amount(
    'The outstanding employer amount that was reviewed. Required with `item_id`.',
  ),
  ...TERM_FIELDS,
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

/** Returns the problems of decisions that need no item. */
export function problemsOfForm(requested: readonly RequestedDecision[], today: string): Problem[] {
  return [
    ...requested.flatMap((decision, index) => formProblems(decision, pathOf(index), today)),
    ...repeatedProblems(requested),
  ];
}

export function pathOf(index: number): string {
  return `decisions[${index}]`;
}

/** The fields that an action may state, and the fields that it must state. */
const FIELDS: Readonly<Record<RequestedDecision['action'], { may: readonly Term[]; must: readonly Term[] }>> =
  {
    take: { may: [], must: [] },
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
  for (const name of TERMS) {
    if (decision[name] !== undefined && !may.includes(name)) add(name, `must be omitted for ${action}`);
    if (decision[name] === undefined && must.includes(name)) add(name, `is required for ${action}`);
  }
  const { until } = decision;
  if (until !== undefined && until < today) add('until', `must not be before today, ${today}`);
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
