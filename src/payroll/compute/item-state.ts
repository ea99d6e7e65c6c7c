/** Computes the outstanding amounts of an open item, and the decision that counts: "Open items" in docs/reconciliation.md. Pure. */
import type { Cents } from '../../money.ts';
import { type ItemIdentity, isNothing, minus, type Sides } from '../calculation/items.ts';
import type { Line } from '../calculation/line.ts';
import type { Decision } from '../facts/decisions.ts';
import type { TakenItem } from './payout.ts';

export const ITEM_STATES = ['open', 'take', 'hold', 'settled', 'written_off', 'paid_directly'] as const;
type ItemState = (typeof ITEM_STATES)[number];

/** Why an item with a decision is open again. */
export const REOPENED = ['amount_changed', 'hold_ended', 'part_written_off', 'part_paid'] as const;
export type Reopened = (typeof REOPENED)[number];

export type Standing = {
  outstanding: Sides;
  state: ItemState;
  /** The newest decision that concerns the item. In the state `open` it no longer applies, for the reason in `reopened`. */
  decision: Decision | null;
  reopened: Reopened | null;
};

export type OpenItem = Standing & {
  id: string;
  identity: ItemIdentity;
  payDate: string;
  /** A line with the content and the amounts of the item, its flags, and its explanation. */
  line: Line;
  /** The policy `include` takes the item only after a decision. */
  needsDecision: boolean;
};

/**
 * Returns the state of an item on a day: the pay date of a run, or today. `taken`: what runs took of it. `decisions`: on the
 * item and on its employee, in the order of their numbers.
 */
export function standingOf(
  amount: Sides,
  taken: readonly TakenItem[],
  decisions: readonly Decision[],
  day: string,
): Standing {
  const outstanding = outstandingOf(amount, taken, decisions);
  const standing = { outstanding, reopened: null };
  const decision = decisions.at(-1) ?? null;
  const onItem = decisions.findLast(({ item_id }) => item_id !== null);
  const ending = onItem?.action === 'write_off' || onItem?.action === 'paid_directly' ? onItem : null;
  if (isNothing(outstanding)) return { ...standing, state: endedState(ending), decision: onItem ?? null };
  if (decision === null) return { ...standing, state: 'open', decision };
  const hasChanged =
    decision.made_for !== null && hasOutgrown(decision, amount, outstanding, taken, decisions);
  const open = (reopened: Reopened): Standing => ({ ...standing, state: 'open', decision, reopened });
  switch (decision.action) {
    case 'hold': {
      if (hasChanged) return open('amount_changed');
      const hasEnded = decision.until !== null && decision.until < day;
      return hasEnded ? open('hold_ended') : { ...standing, state: 'hold', decision };
    }
    case 'take':
      return hasChanged ? open('amount_changed') : { ...standing, state: 'take', decision };
    default:
      // The employer's amount is left, which the next run takes.
      if (outstanding.member === 0n) return { ...standing, state: endedState(decision), decision };
      if (hasChanged) return open('amount_changed');
      return open(decision.action === 'write_off' ? 'part_written_off' : 'part_paid');
  }
}

/** Returns the decisions whose amounts keep counting, also if nothing is due of their items any more. */
export function paidDirectly({ decisions }: { decisions: readonly Decision[] }): readonly Decision[] {
  return decisions.filter(({ action }) => action === 'paid_directly');
}

function endedState(decision: Decision | null): ItemState {
  if (decision === null) return 'settled';
  return decision.action === 'write_off' ? 'written_off' : 'paid_directly';
}

function outstandingOf(amount: Sides, taken: readonly TakenItem[], decisions: readonly Decision[]): Sides {
  let left = taken.reduce(minus, amount);
  for (const { action, amount: paid } of decisions)
    if (action === 'paid_directly') left = minus(left, { member: paid ?? 0n, employer: 0n });
  for (const { action, amount: writtenOff } of decisions)
    if (action === 'write_off')
      left = minus(left, { member: within(writtenOff ?? 0n, left.member), employer: 0n });
  return left;
}

/** Returns the part of an amount that brings an outstanding amount toward zero. */
function within(amount: Cents, outstanding: Cents): Cents {
  if (amount > 0n && outstanding > 0n) return amount < outstanding ? amount : outstanding;
  if (amount < 0n && outstanding < 0n) return amount > outstanding ? amount : outstanding;
  return 0n;
}

/**
 * Reports whether an item is no longer one that a decision was made for: its amount has another sign or is larger, or runs
 * took all that was outstanding when it was decided. The employee's side decides, or the employer's if only that was due.
 */
function hasOutgrown(
  { decision_id, made_for }: Decision,
  amount: Sides,
  outstanding: Sides,
  taken: readonly TakenItem[],
  decisions: readonly Decision[],
): boolean {
  const made = made_for as Sides;
  const side =
    made.member === 0n && amount.member === 0n && outstanding.member === 0n ? 'employer' : 'member';
  if (within(amount[side], made[side]) !== amount[side]) return true;
  if (amount[side] === 0n && made[side] !== 0n) return true;
  const [before, since] = [true, false].map((isBefore) =>
    taken.filter((item) => item.decisions < decision_id === isBefore),
  ) as [TakenItem[], TakenItem[]];
  const earlier = decisions.filter((decision) => decision.decision_id < decision_id);
  const then = outstandingOf(made, before, earlier);
  // A decision on the employer's amount alone decides nothing of the employee's.
  if (then.member === 0n && outstanding.member !== 0n) return true;
  const decided = then.member === 0n ? 'employer' : 'member';
  if (then[decided] === 0n) return false;
  let left = then[decided];
  for (const item of since) {
    left -= item[decided];
    if (left * then[decided] <= 0n) return true;
  }
  return outstanding[decided] * then[decided] < 0n;
}
