/** The open items of an employee: what payroll still owes or is owed, with what was decided about it. Pure. */
import type { Flag } from '../../formats/flags.ts';
import type { Cents } from '../../money.ts';
import { ITEM_KINDS, isAdjustment, isNothing } from '../calculation/items.ts';
import { byText, type Line } from '../calculation/line.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import { type ItemAmount, itemAmounts } from './item-amounts.ts';
import { withGroups } from './item-groups.ts';
import { type OpenItem, type Standing, standingOf } from './item-state.ts';
import type { Attended } from './missed-checks.ts';
import type { Payee, Payout } from './payout.ts';
import { isGone } from './population.ts';

/**
 * Returns the items of an employee, settled ones too, in the order in which runs take them. `attended`: the runs that the
 * employee is in, the computed one with its regular lines.
 */
export function openItems(payout: Payout, employee: Payee, attended: readonly Attended[]): OpenItem[] {
  const items = itemAmounts(payout, employee, attended).map(
    (amount): StandingItem => ({ amount, standing: standingOfItem(payout, employee, amount) }),
  );
  const nets = netsOf(items);
  const shown = items
    .map(({ amount, standing }): OpenItem => {
      const { id, identity, payDate } = amount;
      const net = nets.get(netOf(amount) ?? '') ?? 0n;
      const flags: Flag[] = [];
      if (net !== 0n && !isNothing(standing.outstanding))
        flags.push(net < 0n ? 'retro_refund' : 'retro_pre_tax');
      if (isGone(employee.employments, payout)) flags.push('no_further_paycheck');
      const line = withFlags(amount.line, flags);
      const item = { ...standing, id, identity, payDate, line };
      return { ...item, needsDecision: amount.isPartlyCovered || needsDecision(payout, item) };
    })
    .sort(byOrder);
  return withGroups(payout, employee, shown);
}

function withFlags(line: Line, flags: readonly Flag[]): Line {
  return flags.length === 0 ? line : { ...line, flags: [...line.flags, ...flags] };
}

type StandingItem = { amount: ItemAmount; standing: Standing };

function standingOfItem({ payday }: Payout, employee: Payee, item: ItemAmount): Standing {
  return standingOf(
    item.line.amounts,
    employee.takenItems.filter(({ itemId }) => itemId === item.id),
    employee.decisions.filter(({ item_id }) => item_id === null || item_id === item.id),
    payday.pay_date,
  );
}

/** Adds up the amounts, before settling, of pre-tax adjustments that are outstanding, per run and line of coverage. */
function netsOf(items: readonly StandingItem[]): Map<string, Cents> {
  const nets = new Map<string, Cents>();
  for (const { amount, standing } of items) {
    const key = netOf(amount);
    if (key === null || isNothing(standing.outstanding)) continue;
    nets.set(key, (nets.get(key) ?? 0n) + amount.line.amounts.member);
  }
  return nets;
}

/** Returns the net that an item counts in, or null. One paycheck is not offset against another. */
function netOf({ identity, isInTime }: ItemAmount): string | null {
  if (!isAdjustment(identity) || identity.taxability !== 'pre_tax' || isInTime) return null;
  return `${identity.line_of_coverage} ${identity.source}`;
}

function needsDecision({ payday }: Payout, item: Omit<OpenItem, 'needsDecision'>): boolean {
  const { identity, line, payDate, reopened, outstanding } = item;
  if (reopened !== null && reopened !== 'hold_ended') return true;
  if (!isAdjustment(identity)) return false;
  if (line.flags.some((flag) => flag === 'retro_pre_tax' || flag === 'retro_refund')) return true;
  const isIncrease = outstanding.member > 0n;
  return isIncrease && identity.taxability === 'post_tax' && yearOf(payDate) < yearOf(payday.pay_date);
}

/** By pay date, run or opening item, deduction, line of coverage, taxability, and kind. */
function byOrder(item: OpenItem, other: OpenItem): number {
  const [one, two] = [item.identity, other.identity];
  return (
    byText(item.payDate, other.payDate) ||
    byText(one.source, two.source) ||
    byText(one.deduction_id ?? '', two.deduction_id ?? '') ||
    byText(one.line_of_coverage, two.line_of_coverage) ||
    byText(one.taxability, two.taxability) ||
    ITEM_KINDS.indexOf(one.kind) - ITEM_KINDS.indexOf(two.kind)
  );
}
