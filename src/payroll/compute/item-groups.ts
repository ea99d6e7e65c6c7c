/** Groups: items that correct one paycheck in both directions ("Open items" in docs/reconciliation.md). Pure. */
import { isNothing } from '../calculation/items.ts';
import { contentOn } from './history.ts';
import type { OpenItem } from './item-state.ts';
import type { Payee, Payout } from './payout.ts';

/** Where an item counts: its deduction's line of coverage, taxability and start today, or its own without a deduction. */
type Place = { line_of_coverage: string; taxability: string; starts_on: string | null; position: number };

/** The items of a group, and where their sum counts. */
export type Group = { items: readonly OpenItem[]; line_of_coverage: string; taxability: string };

/**
 * Returns the outstanding items of an employee, in order: adjustments and missed checks of one run and one line of coverage (of
 * today) together if one is a decrease and one an increase, every other item alone.
 */
export function groupsOf(payout: Payout, employee: Payee, items: readonly OpenItem[]): Group[] {
  const outstanding = items.filter((item) => !isNothing(item.outstanding));
  const places = new Map(outstanding.map((item) => [item, placeOf(payout, employee, item)]));
  const alone = (item: OpenItem): string => item.id;
  const keyOf = (item: OpenItem): string => {
    const { kind, source } = item.identity;
    if (kind !== 'adjustment' && kind !== 'missed_check') return alone(item);
    return JSON.stringify([source, places.get(item)?.line_of_coverage]);
  };
  const correcting = Map.groupBy(outstanding, keyOf);
  const groups = Map.groupBy(outstanding, (item) => {
    const rivals = correcting.get(keyOf(item)) ?? [];
    const hasBoth =
      rivals.some(({ outstanding: { member } }) => member < 0n) &&
      rivals.some(({ outstanding: { member } }) => member > 0n);
    return hasBoth ? keyOf(item) : alone(item);
  });
  return [...groups.values()].map((group): Group => {
    const [first] = group as [OpenItem, ...OpenItem[]];
    if (group.length === 1) {
      const { line_of_coverage, taxability } = first.identity;
      return { items: group, line_of_coverage, taxability };
    }
    const [last] = group.map((item) => places.get(item) as Place).sort(startedLast) as [Place, ...Place[]];
    return { items: group, line_of_coverage: last.line_of_coverage, taxability: last.taxability };
  });
}

function placeOf(payout: Payout, { histories }: Payee, { identity }: OpenItem): Place {
  const state = contentOn(payout, histories, identity.deduction_id);
  return state ?? { ...identity, starts_on: null, position: 0 };
}

/** Orders the place whose deduction started last first. */
function startedLast(one: Place, other: Place): number {
  const [start, otherStart] = [one.starts_on ?? '', other.starts_on ?? ''];
  if (start !== otherStart) return start < otherStart ? 1 : -1;
  return other.position - one.position;
}

/**
 * Returns the items with what concerns their group: a decision on one of its items is one on all, all are open if one outgrew
 * its decision, and all need a decision if one does.
 */
export function withGroups(payout: Payout, employee: Payee, items: readonly OpenItem[]): OpenItem[] {
  const grouped = new Map<OpenItem, OpenItem>();
  for (const { items: group } of groupsOf(payout, employee, items)) {
    if (group.length === 1) continue;
    const needsDecision = group.some((item) => item.needsDecision);
    const standing = standingOfGroup(group);
    for (const item of group) grouped.set(item, { ...item, ...standing(item), needsDecision });
  }
  return grouped.size === 0 ? [...items] : items.map((item) => grouped.get(item) ?? item);
}

type GroupStanding = Partial<Pick<OpenItem, 'state' | 'decision' | 'reopened'>>;

function standingOfGroup(group: readonly OpenItem[]): (item: OpenItem) => GroupStanding {
  const isDecided = ({ state }: OpenItem) => state === 'take' || state === 'hold';
  const outgrown = group.find(({ reopened }) => reopened !== null && reopened !== 'hold_ended');
  if (outgrown !== undefined) {
    const { reopened } = outgrown;
    return (item) => (isDecided(item) ? { state: 'open', reopened } : {});
  }
  const newest = group
    .filter(isDecided)
    .toSorted((one, other) => (other.decision?.decision_id ?? 0) - (one.decision?.decision_id ?? 0))
    .at(0);
  if (newest === undefined) return () => ({});
  const { state, decision } = newest;
  return () => ({ state, decision, reopened: null });
}
