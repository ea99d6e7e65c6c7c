/** The open items of an employer or an employee as the API and the command line show them, with filters and totals. */
import Type, { type Static } from 'typebox';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import {
  boolean,
  component,
  integer,
  nullable,
  nullableText,
  oneOfDescribed,
  text,
} from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { cursorOf } from '../../formats/cursor.ts';
import { FLAG_NAMES } from '../../formats/flags.ts';
import type { Viewer } from '../../ledger/visibility.ts';
import { amountOf, amountOrNull } from '../../money.ts';
import { Actor, type Made, makerOf, makersOf } from '../../security/audit.ts';
import { ITEM_KINDS, isNothing } from '../calculation/items.ts';
import { amountField, Because } from '../calculation/line.ts';
import { daysBetween } from '../calculation/pay-dates.ts';
import { openItemsOf } from '../compute/item-pages.ts';
import { ITEM_STATES, type OpenItem, REOPENED } from '../compute/item-state.ts';
import { type Decision, ITEM_ACTIONS } from '../facts/decisions.ts';
import { withVisibleCauses } from '../lifecycle/visible-causes.ts';

export const ItemDecision = component(
  'ItemDecision',
  {
    id: text('The ID of the decision: its number at the employer.'),
    action: oneOfDescribed(
      ITEM_ACTIONS,
      '`take`: runs take the item. `hold`: no run takes it. `write_off`: the employee no longer owes or gets it. `paid_directly`: it was paid outside payroll.',
    ),
    covers: oneOfDescribed(
      ['item', 'employee'],
      '`employee`: a hold that covers all items of the employee, also later ones.',
    ),
    amount: nullable(amountField('The amount written off or paid. Null: a decision without an amount.')),
    until: nullableText('The last day on which the hold counts. Null: no end.'),
    paid_on: nullableText('The date of the payment outside payroll.'),
    reason: text('The reason.'),
    decided_at: text('The time of the decision.'),
    decided_by: Actor,
  },
  'A decision about an open item.',
);

export const ShownItem = component(
  'OpenItem',
  {
    id: text('The ID of the item, which stays the same when it is computed again.'),
    employer_id: text('The employer.'),
    employee_id: text('The employee.'),
    kind: oneOfDescribed(
      ITEM_KINDS,
      '`missed_check`: a paycheck that an earlier run left out. `adjustment`: a difference from an earlier run. ' +
        '`arrears`: an amount that payroll did not take. `opening`: owed before the first run.',
    ),
    state: oneOfDescribed(
      ITEM_STATES,
      '`open`: not decided. `take`, `hold`: decided. `settled`, `written_off`, `paid_directly`: the employee owes and gets nothing more.',
    ),
    run_id: nullableText('The earlier run. Null for an opening item.'),
    opening_item_id: nullableText('The ID of an opening item. Null for other kinds.'),
    pay_date: text('The pay date of the earlier run, or of the opening item.'),
    age_days: integer('The number of days since the pay date. Negative before it.'),
    deduction_id: nullableText('The deduction. Null for an opening item without one.'),
    line_of_coverage: Type.Unsafe<string>(oneOfDescribed(LINES_OF_COVERAGE, 'The line of coverage.')),
    taxability: Type.Unsafe<string>(
      oneOfDescribed(TAXABILITIES, 'Whether the deduction is taken before or after taxes.'),
    ),
    member_amount: amountField('The employee amount of the item. Negative: the employee gets it back.'),
    employer_amount: amountField('The employer amount of the item.'),
    outstanding_member_amount: amountField(
      'The employee amount that is neither taken, paid nor written off.',
    ),
    outstanding_employer_amount: amountField('The employer amount that no run took.'),
    needs_decision: boolean('The policy `include` takes the item only after a decision.'),
    reopened: nullable(
      oneOfDescribed(
        REOPENED,
        'Why an item is open again after a decision. `amount_changed`: newer facts changed its amount. `hold_ended`: the hold has ended. ' +
          '`part_taken`, `part_written_off`, `part_paid`: an amount is left. Null otherwise.',
      ),
    ),
    because: nullable(Because),
    flags: Type.Array(Type.Enum(FLAG_NAMES), { description: 'Conditions to review.' }),
    explanation: text('How the amount was computed. It can be read to the employee.'),
    decision: nullable({
      ...ItemDecision,
      description: 'The newest decision that concerns the item. Null without one.',
    }),
  },
  'An amount that payroll still owes or is owed.',
);
export type ShownItem = Static<typeof ShownItem>;

export type ItemFilter = {
  kind?: ShownItem['kind'] | undefined;
  /** Without it, only items with an outstanding amount. */
  state?: ShownItem['state'] | undefined;
  lineOfCoverage?: string | undefined;
  employeeId?: string | undefined;
  /** Only items whose pay date is more than this number of days ago. */
  olderThan?: number | undefined;
};

/** `viewer`: a caller limited to employers; null or none for all. */
export type ItemsOf = { employerId: string; today: string; filter: ItemFilter; viewer?: Viewer | null };

type EmployeeItems = { employeeId: string; items: OpenItem[] };

/** Yields the items that match a filter, by employee. Pages of employees without any are yielded too, so that a reader can stop. */
export async function* matchingItems(
  db: Db,
  { employerId, today, filter }: ItemsOf,
  after?: string,
): AsyncGenerator<EmployeeItems[]> {
  const { kind, state, lineOfCoverage, employeeId, olderThan } = filter;
  const isWanted = (item: OpenItem): boolean =>
    (state === undefined ? !isNothing(item.outstanding) : item.state === state) &&
    (kind === undefined || item.identity.kind === kind) &&
    (lineOfCoverage === undefined || item.identity.line_of_coverage === lineOfCoverage) &&
    (olderThan === undefined || daysBetween(item.payDate, today) > olderThan);
  const only = employeeId === undefined ? null : [employeeId];
  for await (const page of openItemsOf(db, employerId, today, { only, after: after ?? '' }))
    yield page.map((employee) => ({ ...employee, items: employee.items.filter(isWanted) }));
}

export const itemCursor = cursorOf(
  'open-items',
  Type.Object({ employeeId: Type.String(), listed: Type.Integer({ minimum: 0 }) }),
);
/** After `listed` items of the employee who follows `employeeId`. */
type ItemPosition = { employeeId: string; listed: number };

/** Employees read for a page. A filter may match none of them, and the page is still fast. */
const EMPLOYEES_PER_PAGE = 1_024;

/** Returns at most `limit` items by employee, and where the next page begins; null at the end. */
export async function listItems(
  db: Db,
  of: ItemsOf,
  { after, limit }: { after?: ItemPosition | undefined; limit: number },
): Promise<{ items: ShownItem[]; next: ItemPosition | null }> {
  const items: OpenItem[] = [];
  const shown = async (next: ItemPosition | null) => ({ items: await showItems(db, of, items), next });
  let at = after ?? { employeeId: '', listed: 0 };
  let read = 0;
  for await (const page of matchingItems(db, of, after?.employeeId)) {
    for (const { employeeId, items: matching } of page) {
      for (const item of matching.slice(at.listed)) {
        if (items.length === limit) return shown(at);
        items.push(item);
        at = { ...at, listed: at.listed + 1 };
      }
      at = { employeeId, listed: 0 };
      read += 1;
    }
    if (read >= EMPLOYEES_PER_PAGE) return shown(at);
  }
  return shown(null);
}

/** Returns the outstanding items of an employee with each of these employers, at most `limit`. */
export async function itemsOfEmployee(
  db: Db,
  employeeId: string,
  employers: readonly string[],
  {
    limit,
    state,
    ...how
  }: Pick<ItemsOf, 'today' | 'viewer'> & { limit: number; state?: ItemFilter['state'] },
): Promise<ShownItem[]> {
  const shown: ShownItem[] = [];
  for (const employerId of employers) {
    const of = { employerId, ...how, filter: { employeeId, state } };
    const { items } = await listItems(db, of, { limit: limit - shown.length });
    shown.push(...items);
    if (shown.length >= limit) break;
  }
  return shown;
}

/** Yields all items that match, for a file. */
export async function* allItems(db: Db, of: ItemsOf): AsyncGenerator<ShownItem[]> {
  for await (const page of matchingItems(db, of)) {
    const items = page.flatMap((employee) => employee.items);
    if (items.length > 0) yield showItems(db, of, items);
  }
}

/** Returns items as they are shown, with the makers of their decisions. */
async function showItems(
  db: Db,
  { employerId, today, viewer = null }: ItemsOf,
  items: readonly OpenItem[],
): Promise<ShownItem[]> {
  const records = items.flatMap(({ decision }) => (decision === null ? [] : [decision.record_id]));
  const makers = await makersOf(db, [...new Set(records)]);
  const shown = items.map((item) => showItem(employerId, today, item, makers));
  return withVisibleCauses(db, viewer, shown);
}

function showItem(
  employer_id: string,
  today: string,
  item: OpenItem,
  makers: ReadonlyMap<number, Made>,
): ShownItem {
  const { id, identity, payDate, line, outstanding, state, reopened, decision, needsDecision } = item;
  const { kind, source, ...account } = identity;
  return {
    id,
    employer_id,
    employee_id: account.employee_id,
    kind,
    state,
    run_id: kind === 'opening' ? null : source,
    opening_item_id: kind === 'opening' ? source : null,
    pay_date: payDate,
    age_days: daysBetween(payDate, today),
    deduction_id: account.deduction_id,
    line_of_coverage: account.line_of_coverage,
    taxability: account.taxability,
    member_amount: amountOf(line.amounts.member),
    employer_amount: amountOf(line.amounts.employer),
    outstanding_member_amount: amountOf(outstanding.member),
    outstanding_employer_amount: amountOf(outstanding.employer),
    needs_decision: needsDecision,
    reopened,
    because: line.settles?.because ?? null,
    flags: line.flags,
    explanation: line.explanation,
    decision: decision === null ? null : viewDecision(decision, makerOf(makers, decision.record_id).by),
  };
}

/** Returns a decision as it is shown. */
export function viewDecision(decision: Decision, decided_by: Actor): Static<typeof ItemDecision> {
  const {
    decision_id,
    employee_id: _,
    item_id,
    run_id,
    made_for,
    record_id,
    recorded_at,
    ...terms
  } = decision;
  return {
    id: String(decision_id),
    ...terms,
    covers: item_id === null ? 'employee' : 'item',
    amount: amountOrNull(terms.amount),
    decided_by,
    decided_at: recorded_at,
  };
}
