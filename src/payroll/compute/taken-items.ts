/** The amounts of open items that earlier runs took. Pure. */
import { centsOf } from '../../money.ts';
import type { Owed } from '../facts/owed.ts';
import type { Settlement } from '../records/settlements.ts';
import type { EarlierRun, Payout, TakenItem } from './payout.ts';

/** Returns, by employee, what finalized runs took of open items, in the order of the runs. A voided run took nothing. */
export function takenItemsOf(
  { earlier }: Payout,
  settlements: readonly Settlement[],
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
  { settles, earlier_run_id, member_amount, employer_amount }: Settlement,
  owed: readonly Owed[],
): TakenItem {
  const notTaken = owed.find((line) => line.runId === runId && line.line === settles)?.owed ?? 0n;
  return {
    ...{ itemId: settles, earlierRunId: earlier_run_id, runId, decisions },
    member: centsOf(member_amount) - notTaken,
    employer: centsOf(employer_amount),
  };
}
