/** Which open items a run may take: by policy and decisions, groups together ("Open items" in docs/reconciliation.md). Pure. */
import type { Cents } from '../../money.ts';
import { isAdjustment } from '../calculation/items.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { type Group, groupsOf } from './item-groups.ts';
import type { OpenItem } from './item-state.ts';

/** Why a run leaves out an item that is outstanding. `refund_waits`: its refund is more than the paycheck takes. */
type LeftOut = 'not_named' | 'other_tax_year' | 'held' | 'undecided' | 'needs_decision' | 'refund_waits';

/** What is to be said of an item that a run leaves out. */
export const LEFT_OUT_IN_WORDS: Readonly<Record<LeftOut, string>> = {
  not_named: 'must be named by the run, with all items of its group',
  other_tax_year: 'is pre-tax and belongs to another tax year',
  held: 'is on hold',
  undecided: 'needs the decision take',
  needs_decision: 'needs the decision take',
  refund_waits: 'is a refund that is more than the paycheck takes: it needs the decision take',
};

/** An item, or a group of items, which are taken together or not. */
export type Unit = Group & {
  /** Null: the run may take it. */
  leftOut: LeftOut | null;
  /** The sum of the employee's outstanding amounts. */
  wanted: Cents;
};

/** Returns the outstanding items of an employee, in order. */
export function unitsOf(computation: Computation, employee: RunEmployee, items: readonly OpenItem[]): Unit[] {
  return groupsOf(computation, employee, items).map((group) => ({
    ...group,
    leftOut: group.items.map((item) => whyLeftOut(computation, item)).find((why) => why !== null) ?? null,
    wanted: group.items.reduce((sum, { outstanding }) => sum + outstanding.member, 0n),
  }));
}

function whyLeftOut({ run }: Computation, item: OpenItem): LeftOut | null {
  const { id, state, payDate } = item;
  if (run.items !== null && !run.items.includes(id)) return 'not_named';
  if (isBoundToYear(item) && yearOf(payDate) !== yearOf(run.pay_date)) return 'other_tax_year';
  switch (state) {
    case 'hold':
      return 'held';
    case 'open':
      if (run.open_items === 'decided') return 'undecided';
      return item.needsDecision ? 'needs_decision' : null;
    default:
      return null;
  }
}

/** Reports whether only a run of its own tax year takes an item: a pre-tax increase. */
function isBoundToYear({ identity, outstanding: { member, employer } }: OpenItem): boolean {
  if (!isAdjustment(identity) || identity.taxability !== 'pre_tax') return false;
  return (member === 0n ? employer : member) > 0n;
}
