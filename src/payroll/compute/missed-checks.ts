/** Decides whether an employee missed the check of an earlier run: docs/reconciliation.md. Pure. */
import { Temporal } from 'temporal-polyfill';
import { IMPORTED } from '../../inbox/inbox.ts';
import { NOTHING, plus, type Sides } from '../calculation/items.ts';
import type { Line } from '../calculation/line.ts';
import type { Run } from '../records/body.ts';
import type { History } from './history.ts';
import type { Payee, Payout } from './payout.ts';
import type { RunTerms } from './terms.ts';

/** A run that an employee is in, not voided or the current run, with the employee's lines. */
export type Attended = { terms: RunTerms; lines: readonly Line[] };

/** Returns the earlier runs that the employee is in, with the employee's lines. */
export function attendedRuns({ earlier }: Payout, { earlierLines }: Payee): Attended[] {
  return earlier.flatMap((run): Attended[] => {
    const lines = run.isVoided ? undefined : earlierLines.attended.get(run.freezeId);
    return lines === undefined ? [] : [{ terms: run, lines }];
  });
}

/**
 * A missed check, and what off-cycle runs of its pay period took of the deduction. `isPartlyCovered`: other regular runs of
 * the employee cover a part of the period, so a person must decide.
 */
type MissedCheck = { isPartlyCovered: boolean; offCycle: Sides };

/** Returns null if nothing was missed: regular runs that the employee is in cover the whole pay period. */
export function missedCheckOf(
  { dayOf }: Payout,
  run: Run,
  { deductionId, versions }: History,
  attended: readonly Attended[],
): MissedCheck | null {
  const [first] = versions;
  // The amounts that payroll took of an imported deduction before its import are unknown.
  if (first?.event_id.startsWith(IMPORTED) && run.pay_date < dayOf(first.recorded_at)) return null;
  const taken = attended.filter(({ terms }) => terms.deductions?.has(deductionId) !== false);
  const cover = coverOf(
    run,
    taken.flatMap(({ terms: { run: attendedRun } }) => (attendedRun.kind === 'regular' ? [attendedRun] : [])),
  );
  if (cover === 'whole') return null;
  const offCycle = taken
    .filter(({ terms }) => terms.run.kind === 'off_cycle' && isWithin(terms.run, run))
    .flatMap(({ lines }) => lines)
    // A final check takes shares of other pay dates.
    .filter(
      ({ account, kind, shares }) =>
        account.deduction_id === deductionId && kind === 'regular' && shares === null,
    );
  return {
    isPartlyCovered: cover === 'part',
    offCycle: offCycle.map(({ amounts }) => amounts).reduce(plus, NOTHING),
  };
}

type Period = Pick<Run, 'period_start' | 'period_end'>;

/** Reports whether an off-cycle run is for the pay period of a run. */
export function isWithin(offCycle: Period, run: Period): boolean {
  return run.period_start <= offCycle.period_start && offCycle.period_end <= run.period_end;
}

export function overlaps(period: Period, other: Period): boolean {
  return period.period_start <= other.period_end && other.period_start <= period.period_end;
}

/** Returns how much of a pay period other periods cover together. */
function coverOf(period: Period, covering: readonly Period[]): 'none' | 'part' | 'whole' {
  const touching = covering
    .filter((candidate) => overlaps(candidate, period))
    .sort((one, other) => (one.period_start < other.period_start ? -1 : 1));
  if (touching.length === 0) return 'none';
  let next = period.period_start;
  for (const { period_start, period_end } of touching) {
    if (period_start > next) return 'part';
    if (period_end >= next) next = Temporal.PlainDate.from(period_end).add({ days: 1 }).toString();
  }
  return next > period.period_end ? 'whole' : 'part';
}
