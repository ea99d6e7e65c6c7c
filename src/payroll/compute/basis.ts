/** Resolves what a run is computed from now: its options, calendar, codes and earlier runs. */
import type { Db, Trx } from '../../database/tables.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import { overridesOf } from '../facts/overrides.ts';
import type { Basis } from '../records/basis.ts';
import type { RequestedRun, Run } from '../records/body.ts';
import { previousRun, regularRunsOf } from '../records/runs.ts';
import { OPTIONS, type Options, optionsOn, type PolicyVersion, readPolicies } from '../settings/policy.ts';
import { inYear, inYearOrBefore, readSchedules } from '../settings/schedules.ts';
import { assertOneKindOfGroups, calendarUnder, ranDates } from './calendar.ts';
import { payoutBasis } from './payout.ts';

/** Resolves the basis of a run now. `runId` is excluded from its earlier runs. Throws RUN_REFUSED. */
export async function resolveBasis(
  db: Db | Trx,
  runId: string | null,
  requested: RequestedRun,
): Promise<Basis> {
  const run = runUnder(requested, await readPolicies(db, requested.employer_id));
  const schedules = await readSchedules(db, run.employer_id);
  const { earlier, ...known } = await payoutBasis(db, run, runId);
  const year = yearOf(run.pay_date);
  const regular = await regularRunsOf(db, run.employer_id);
  if (run.kind === 'regular') assertOneKindOfGroups(regular, run, year);
  const ofYear = inYear(schedules, year);
  return {
    run,
    ...known,
    calendar: calendarUnder(run, ofYear, await ranDates(db, regular, run, year)),
    schedules: inYearOrBefore(schedules, year).map(({ pay_frequency, pay_group }) => ({
      ...{ pay_frequency, pay_group },
    })),
    overrides: runId === null ? [] : await overridesOf(db, runId),
    // An off-cycle paycheck takes what it names, so no earlier run says what to expect.
    previous: run.kind === 'off_cycle' ? null : await previousRun(db, run, runId),
    earlier,
  };
}

/** Returns a run with the options of the payroll policy on its pay date. */
export function runUnder(requested: RequestedRun, policies: readonly PolicyVersion[]): Run {
  const policy = optionsOn(policies, requested.pay_date);
  const options = OPTIONS.map((name) => [name, policy[name]]);
  return { ...requested, ...(Object.fromEntries(options) as Options) };
}
