/** Resolves what a run is computed from now: its options, calendar, codes and earlier runs. */
import type { Db, Trx } from '../../database/tables.ts';
import { recoupText } from '../../formats/recoup.ts';
import { readPosition } from '../../ledger/position.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import { lastDecision } from '../facts/decisions.ts';
import { lastOpening } from '../facts/opening-items.ts';
import { overridesOf } from '../facts/overrides.ts';
import { earlierRuns } from '../facts/owed.ts';
import type { Basis } from '../records/basis.ts';
import type { Run, StatedRun } from '../records/body.ts';
import { previousRun } from '../records/runs.ts';
import { readCodes } from '../settings/codes.ts';
import {
  isSameOption,
  OPTIONS,
  type Options,
  optionsOn,
  type PolicyVersion,
  readPolicies,
} from '../settings/policy.ts';
import { inYear, inYearOrBefore, readSchedules, type Schedule } from '../settings/schedules.ts';
import { planWith, runRefused } from './calendar.ts';

/** Resolves the basis of a run now. `runId` is excluded from its earlier runs. Throws RUN_REFUSED. */
export async function resolveBasis(db: Db | Trx, runId: string | null, stated: StatedRun): Promise<Basis> {
  const policies = await readPolicies(db, stated.employer_id);
  assertReason(stated, policies);
  const run = runUnder(stated, policies);
  const schedules = await readSchedules(db, run.employer_id);
  const codes = await readCodes(db, run.employer_id);
  const position = await readPosition(db);
  const year = yearOf(run.pay_date);
  const ofYear = inYear(schedules, year);
  const plan = planWith(run, ofYear);
  return {
    run,
    position,
    pay_dates: plan.calendarAssumed ? null : plan.dates,
    schedules: ofYear.length > 0 ? listsOf(ofYear) : listsOf(inYearOrBefore(schedules, year), false),
    period_ends: plan.periodEnds,
    codes,
    decisions: await lastDecision(db, run.employer_id),
    opening_items: await lastOpening(db, run.employer_id),
    overrides: runId === null ? [] : await overridesOf(db, runId),
    previous: await previousRun(db, run, runId),
    earlier: await earlierRuns(db, run, runId),
  };
}

/** `isOfYear`: the schedules have the pay dates of the run's year. */
function listsOf(schedules: readonly Schedule[], isOfYear = true): Basis['schedules'] {
  const hasSeveral = new Set(schedules.map(({ pay_frequency }) => pay_frequency)).size > 1;
  return schedules.map(({ pay_frequency, pay_group, pay_dates }) => ({
    ...{ pay_frequency, pay_group },
    period_ends: isOfYear && hasSeveral ? pay_dates.map(({ period_end }) => period_end) : [],
  }));
}

/** Returns the run with its effective options. The policy on its pay date decides options that the run does not state. */
export function runUnder(stated: StatedRun, policies: readonly PolicyVersion[]): Run {
  const policy = optionsOn(policies, stated.pay_date);
  const options = OPTIONS.map((name) => [name, stated[name] ?? policy[name]]);
  return { ...stated, ...(Object.fromEntries(options) as Options) };
}

/** Throws RUN_REFUSED if the run states an option that differs from the policy without a `policy_reason`. */
function assertReason(stated: StatedRun, policies: readonly PolicyVersion[]): void {
  const policy = optionsOn(policies, stated.pay_date);
  const differing = OPTIONS.filter(
    (name) => stated[name] !== null && !isSameOption(stated[name], policy[name]),
  );
  if (stated.policy_reason !== null || differing.length === 0) return;
  const named = differing.map((name) => `${name} (${wordsOf(policy[name])})`).join(', ');
  const rule = `is required to differ from the employer's payroll policy in ${named}`;
  throw runRefused({ path: 'policy_reason', rule });
}

function wordsOf(option: Options[keyof Options]): string {
  return typeof option === 'string' ? option : recoupText(option);
}
