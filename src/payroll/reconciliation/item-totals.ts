/** The totals of open items, by kind and by state. */
import Type, { type Static } from 'typebox';
import { closed, component, integer, oneOfDescribed } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { hasFacts } from '../../ledger/changed-since.ts';
import { amountOf } from '../../money.ts';
import { ITEM_KINDS, NOTHING, plus } from '../calculation/items.ts';
import { amountField } from '../calculation/line.ts';
import { ITEM_STATES, type OpenItem } from '../compute/item-state.ts';
import { readDataState } from '../records/computations.ts';
import { type ItemsOf, matchingItems } from './open-items.ts';

const SUM = {
  items: integer('The number of items.'),
  employees: integer('The number of employees with such items.'),
  outstanding_member_amount: amountField('The sum of the outstanding employee amounts.'),
  outstanding_employer_amount: amountField('The sum of the outstanding employer amounts.'),
};

export const ItemTotals = component(
  'OpenItemTotals',
  {
    ...SUM,
    by_kind: Type.Array(closed({ kind: oneOfDescribed(ITEM_KINDS, 'The kind.'), ...SUM }), {
      description: 'The sums of each kind that has items.',
    }),
    by_state: Type.Array(closed({ state: oneOfDescribed(ITEM_STATES, 'The state.'), ...SUM }), {
      description: 'The sums of each state that has items.',
    }),
  },
  'The totals of open items.',
);
export type ItemTotals = Static<typeof ItemTotals>;

/** Totals of an employer or a filter. They take about a kilobyte each. */
const TOTALS_KEPT_MAX = 64;

/** Returns a `totalItems` that keeps its results until a fact of the employer, any payroll data or the day changes. */
export function createItemTotals(db: Db): (of: ItemsOf) => Promise<ItemTotals> {
  /** `position`: the totals have the employer's facts up to it. */
  const kept = new Map<string, { totals: Promise<ItemTotals>; position: number }>();
  return async (of) => {
    const { employerId, today, filter } = of;
    const { position, revision } = await readDataState(db);
    const key = JSON.stringify([employerId, today, filter, revision]);
    for (let known = kept.get(key); known !== undefined; known = kept.get(key)) {
      if (!(await hasFacts(db, employerId, { after: known.position, upTo: position }))) {
        known.position = position;
        return known.totals;
      }
      // Another request may have replaced them during the check.
      if (kept.get(key) === known) kept.delete(key);
    }
    const totals = totalItems(db, of);
    kept.set(key, { totals, position });
    for (const oldest of [...kept.keys()].slice(0, -TOTALS_KEPT_MAX)) kept.delete(oldest);
    totals.catch(() => kept.delete(key));
    return totals;
  };
}

/** Adds up the items that match. It computes all employees, like a run. */
export async function totalItems(db: Db, of: ItemsOf): Promise<ItemTotals> {
  const all = createSum();
  const kinds = new Map(ITEM_KINDS.map((kind) => [kind, createSum()]));
  const states = new Map(ITEM_STATES.map((state) => [state, createSum()]));
  for await (const page of matchingItems(db, of)) {
    for (const { items } of page) {
      for (const item of items)
        for (const sum of [all, kinds.get(item.identity.kind), states.get(item.state)]) sum?.add(item);
    }
  }
  const rowsOf = <Name extends string>(sums: ReadonlyMap<Name, ReturnType<typeof createSum>>) =>
    [...sums].filter(([, { isEmpty }]) => !isEmpty());
  return {
    ...all.view(),
    by_kind: rowsOf(kinds).map(([kind, sum]) => ({ kind, ...sum.view() })),
    by_state: rowsOf(states).map(([state, sum]) => ({ state, ...sum.view() })),
  };
}

function createSum() {
  let items = 0;
  let outstanding = NOTHING;
  const employees = new Set<string>();
  return {
    add(item: OpenItem): void {
      items += 1;
      employees.add(item.identity.employee_id);
      outstanding = plus(outstanding, item.outstanding);
    },
    isEmpty: () => items === 0,
    view: () => ({
      items,
      employees: employees.size,
      outstanding_member_amount: amountOf(outstanding.member),
      outstanding_employer_amount: amountOf(outstanding.employer),
    }),
  };
}
