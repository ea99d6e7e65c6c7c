/** The amounts of open items that earlier runs took. Pure. */
import { centsOf } from '../../money.ts';
import type { ItemIdentity } from '../calculation/items.ts';
import { itemLineKey } from '../calculation/line.ts';
import type { Owed } from '../facts/owed.ts';
import type { ItemSettlement } from '../records/settlements.ts';
import type { EarlierRun, Payout, TakenItem } from './payout.ts';

/** Returns, by employee, what finalized runs took of open items, in the order of the runs. A voided run took nothing. */
export function takenItemsOf(
  { earlier }: Payout,
  settlements: readonly ItemSettlement[],
  owed: ReadonlyMap<string, readonly Owed[]>,
): Map<string, TakenItem[]> {
  const places = new Map(earlier.map((run, place) => [run.freezeId, place]));
  const taken = settlements.flatMap((settlement) => {
    const place = places.get(settlement.freeze_id);
    const run = place === undefined ? undefined : earlier[place];
    if (place === undefined || run === undefined || run.isVoided) return [];
    const { employee_id } = settlement;
    return [{ place, employee_id, item: takenItem(run, settlement, owed.get(employee_id) ?? []) }];
  });
  taken.sort((one, other) => one.place - other.place);
  const byEmployee = Map.groupBy(taken, ({ employee_id }) => employee_id);
  return new Map([...byEmployee].map(([employeeId, rows]) => [employeeId, rows.map(({ item }) => item)]));
}

/** An amount that payroll did not take on the line stays in the item. */
function takenItem(
  { runId, decisions }: EarlierRun,
  settlement: ItemSettlement,
  owed: readonly Owed[],
): TakenItem {
  const { kind, settles_kind, settles, deduction_id, line_of_coverage, taxability } = settlement;
  const isOpening = settles_kind === 'opening';
  const key = itemLineKey(settlement);
  const notTaken = owed.find((line) => line.runId === runId && line.line === key)?.owed ?? 0n;
  return {
    ...{ runId, decisions, kind, deduction_id, line_of_coverage, taxability },
    isOpening,
    source: settles,
    member: centsOf(settlement.member_amount) - notTaken,
    employer: centsOf(settlement.employer_amount),
  };
}

/** Reports whether a run took an amount of an item. */
export function isTakenOf(taken: TakenItem, item: ItemIdentity): boolean {
  const kind = item.kind === 'arrears' || item.kind === 'opening' ? 'arrears' : 'adjustment';
  return (
    taken.kind === kind &&
    taken.isOpening === (item.kind === 'opening') &&
    taken.source === item.source &&
    taken.deduction_id === (item.deduction_id ?? '') &&
    taken.line_of_coverage === item.line_of_coverage &&
    taken.taxability === item.taxability
  );
}
