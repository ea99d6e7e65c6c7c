/** Which open items a run may take: by policy and decisions, pairs together ("Open items" in docs/reconciliation.md). Pure. */
import { latestOf, stateOn } from '../../ledger/state.ts';
import type { Cents } from '../../money.ts';
import { isNothing } from '../calculation/items.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import { dayOfRun } from '../records/body.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { isAdjustment, type OpenItem } from './open-items.ts';

/** Why a run leaves out an item that is outstanding. */
export type LeftOut = 'not_named' | 'other_tax_year' | 'held' | 'not_yet' | 'undecided' | 'needs_decision';

/** An item, or a pair: items that differ only in line of coverage or taxability, which are taken together or not. */
export type Unit = {
  items: readonly OpenItem[];
  /** Null: the run may take it. */
  leftOut: LeftOut | null;
  /** The sum of the employee's amounts to take, and where it counts. */
  wanted: Cents;
  line_of_coverage: string;
  taxability: string;
};

/** Returns the outstanding items of an employee, in order. */
export function unitsOf(computation: Computation, employee: RunEmployee, items: readonly OpenItem[]): Unit[] {
  const outstanding = items.filter((item) => !isNothing(item.outstanding));
  const groups = Map.groupBy(outstanding, ({ identity: { kind, source, deduction_id } }) =>
    JSON.stringify([kind, source, deduction_id]),
  );
  return [...groups.values()].map((group) => ({
    items: group,
    leftOut: group.map((item) => whyLeftOut(computation, item)).find((why) => why !== null) ?? null,
    wanted: group.reduce((sum, item) => sum + wantedOf(item), 0n),
    ...accountOf(computation, employee, group),
  }));
}

/** Returns the employee's amount of an item to take. After a write-off or a direct payment only the employer's is left. */
export function wantedOf({ state, toTake, outstanding }: OpenItem): Cents {
  return state === 'take' ? toTake : outstanding.member;
}

/** A pair counts where its deduction is today, or was last. */
function accountOf(
  { run }: Computation,
  { histories }: RunEmployee,
  items: readonly OpenItem[],
): Pick<Unit, 'line_of_coverage' | 'taxability'> {
  const { identity } = items[0] as OpenItem;
  if (items.length === 1) return identity;
  const history = histories.find(({ deductionId }) => deductionId === identity.deduction_id);
  const counting = history?.timeline.counting ?? [];
  return stateOn(counting, dayOfRun(run)) ?? latestOf(counting) ?? identity;
}

function whyLeftOut({ run }: Computation, item: OpenItem): LeftOut | null {
  const { id, identity, state, decision, payDate } = item;
  if (run.items !== null && !run.items.includes(id)) return 'not_named';
  const isBound = isAdjustment(identity) && identity.taxability === 'pre_tax';
  if (isBound && yearOf(payDate) !== yearOf(run.pay_date)) return 'other_tax_year';
  switch (state) {
    case 'hold':
      return 'held';
    case 'take':
      return decision?.notBefore != null && run.pay_date < decision.notBefore ? 'not_yet' : null;
    case 'open': {
      const policy = isAdjustment(identity) ? run.adjustments : run.arrears;
      if (policy === 'decided') return 'undecided';
      return item.needsDecision ? 'needs_decision' : null;
    }
    default:
      return null;
  }
}
