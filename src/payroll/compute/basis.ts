/** Resolves what a run is computed from now: its options, calendar, codes and earlier runs. */
import type { Db, Trx } from '../../database/tables.ts';
import { timeZoneOf } from '../../database/time-zone.ts';
import { readPosition } from '../../ledger/position.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import { lastDecision } from '../facts/decisions.ts';
import { lastOpening } from '../facts/opening-items.ts';
import { overridesOf } from '../facts/overrides.ts';
import { earlierRuns } from '../facts/owed.ts';
import type { Basis } from '../records/basis.ts';
import type { RequestedRun, Run } from '../records/body.ts';
import { previousRun, regularRunsOf } from '../records/runs.ts';
import { readCodes } from '../settings/codes.ts';
import { OPTIONS, type Options, optionsOn, type PolicyVersion, readPolicies } from '../settings/policy.ts';
import { inYear, inYearOrBefore, readSchedules } from '../settings/schedules.ts';
import { assertOneKindOfGroups, calendarUnder, ranDates } from './calendar.ts';
import { transfersTo } from './transfers.ts';

/** Resolves the basis of a run now. `runId` is excluded from its earlier runs. Throws RUN_REFUSED. */
export async function resolveBasis(
  db: Db | Trx,
  runId: string | null,
  requested: RequestedRun,
): Promise<Basis> {
  const run = runUnder(requested, await readPolicies(db, requested.employer_id));
  const schedules = await readSchedules(db, run.employer_id);
  const codes = await readCodes(db, run.employer_id);
  const position = await readPosition(db);
  const year = yearOf(run.pay_date);
  const regular = await regularRunsOf(db, run.employer_id);
  if (run.kind === 'regular') assertOneKindOfGroups(regular, run, year);
  const ofYear = inYear(schedules, year);
  return {
    run,
    time_zone: timeZoneOf(db),
    position,
    calendar: calendarUnder(run, ofYear, await ranDates(db, regular, run, year)),
    schedules: inYearOrBefore(schedules, year).map(({ pay_frequency, pay_group }) => ({
      ...{ pay_frequency, pay_group },
    })),
    transfers: await transfersTo(db, run),
    codes,
    decisions: await lastDecision(db, run.employer_id),
    opening_items: await lastOpening(db, run.employer_id),
    overrides: runId === null ? [] : await overridesOf(db, runId),
    previous: await previousRun(db, run, runId),
    earlier: await earlierRuns(db, run, runId),
  };
}

/** Returns a run with the options of the payroll policy on its pay date. */
export function runUnder(requested: RequestedRun, policies: readonly PolicyVersion[]): Run {
  const policy = optionsOn(policies, requested.pay_date);
  const options = OPTIONS.map((name) => [name, policy[name]]);
  return { ...requested, ...(Object.fromEntries(options) as Options) };
}
