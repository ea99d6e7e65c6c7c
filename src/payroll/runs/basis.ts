/** The inputs of a run. They are resolved each time for an open run, and frozen with a finalized one for verification. */
import Type, { type Static } from 'typebox';
import { closed, day, nullable, oneOf } from '../../contract/fields.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { AppError, type Problem } from '../../errors.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { readPosition } from '../../ledger/position.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import { type Plan, planOf } from '../calculation/plan.ts';
import { PayrollCode, readCodes } from '../settings/codes.ts';
import { OPTIONS, type Options, optionsOn, type PolicyVersion, readPolicies } from '../settings/policy.ts';
import { readSchedules, Schedule } from '../settings/schedules.ts';
import { Run, type StatedRun } from './body.ts';
import { REASONS } from './population.ts';
import { Comparison } from './totals.ts';

export const Basis = closed({
  run: Run,
  /** The ledger's position. Later positions are not part of the run. */
  position: Type.Integer(),
  /** The pay dates of the run or of its schedule; null if they are assumed or unknown. */
  pay_dates: nullable(Type.Array(day)),
  schedules: Type.Array(Type.Pick(Schedule, ['pay_frequency', 'pay_group'])),
  /** The last day of the pay period of each of `pay_dates`; null if no schedule gives them. */
  period_ends: nullable(Type.Array(day)),
  codes: Type.Array(PayrollCode),
  /** The previous finalized regular run, which changes are compared with. */
  previous: nullable(Type.String()),
  /** Earlier runs whose differences and arrears this run collects, with their reports of amounts taken. */
  earlier: Type.Array(
    closed({ run_id: Type.String(), report: nullable(Type.Integer()), is_voided: Type.Boolean() }),
  ),
});
export type Basis = Static<typeof Basis>;

/** The data stored with a finalized run, in addition to its lines. */
export const Outcome = closed({
  /** The earlier runs that the run settled something for, each with the employees concerned. */
  settled: Type.Array(Type.Tuple([Type.String(), Type.Array(Type.String())])),
  employees: Type.Integer(),
  comparison: nullable(Comparison),
  /** Employees with a deduction in effect who are not in the run. */
  not_in_run: Type.Array(
    closed({
      employee_id: Type.String(),
      reason: oneOf(REASONS.filter((reason) => reason !== 'other_employer')),
    }),
  ),
  not_in_run_count: Type.Integer(),
});
export type Outcome = Static<typeof Outcome>;

/** The basis and outcome that a finalized or voided run keeps. */
const Frozen = closed({ ...Outcome.properties, basis: Basis, accepted_checks: Type.Array(Type.String()) });
export type Frozen = Static<typeof Frozen>;

const readFrozen = jsonColumn('payroll_runs', 'snapshot', Frozen);

export function frozenOf({ run_id, snapshot }: { run_id: string; snapshot: string | null }): Frozen {
  return readFrozen(snapshot, run_id);
}

/** Returns the error of a run that cannot be computed as requested. Each problem names a field. */
export function runRefused(...problems: readonly Problem[]): AppError<'RUN_REFUSED'> {
  return new AppError('RUN_REFUSED', 'the run cannot be computed', { problems });
}

/**
 * Returns the schedule of a run's pay group. A group without a schedule uses the one that names no group, and a run
 * without a group uses the only schedule of its frequency. Null if there is none, or several are possible.
 */
export function scheduleOf(run: Run, schedules: readonly Schedule[]): Schedule | null {
  const { pay_frequency, pay_group } = run;
  const ofFrequency = schedules.filter((one) => one.pay_frequency === pay_frequency);
  const of = (group: string | null) => ofFrequency.find((one) => one.pay_group === group);
  const own = of(pay_group) ?? of(null);
  if (own !== undefined) return own;
  return pay_group === null && ofFrequency.length === 1 ? (ofFrequency[0] as Schedule) : null;
}

/** Returns the plan of a run under its employer's schedules. Throws RUN_REFUSED. */
export function planWith(run: Run, schedules: readonly Schedule[]): Plan {
  const schedule = scheduleOf(run, schedules);
  const isOfGroup = schedules.some((one) => one.pay_frequency === run.pay_frequency);
  if (schedule === null && run.pay_group === null && run.pay_dates === null && isOfGroup) {
    // Each group has its own pay dates, and assumed dates would ignore them.
    throw runRefused({
      path: 'pay_group',
      rule: 'is required unless pay_dates is given: the employer has several pay schedules of this frequency, each for a pay group',
    });
  }
  return planned(planOf(run, schedule?.pay_dates ?? null));
}

export function planOfBasis({
  run,
  pay_dates,
  period_ends,
}: Pick<Basis, 'run' | 'pay_dates' | 'period_ends'>) {
  return planned(planOf({ ...run, pay_dates, period_ends }, null));
}

function planned(result: ReturnType<typeof planOf>): Plan {
  if (!result.ok) throw runRefused(result.problem);
  return result.plan;
}

/** Resolves the basis of a run now. `runId` is excluded from its earlier runs. Throws RUN_REFUSED. */
export async function resolveBasis(db: Db | Trx, runId: string | null, stated: StatedRun): Promise<Basis> {
  const policies = await readPolicies(db, stated.employer_id);
  assertReason(stated, policies);
  const run = runUnder(stated, policies);
  const [schedules, codes, position, final] = [
    await readSchedules(db, run.employer_id),
    await readCodes(db, run.employer_id),
    await readPosition(db),
    await finalRuns(db, run.employer_id),
  ];
  const plan = planWith(run, schedules);
  const others = final.filter((one) => one.run_id !== runId);
  const previous = others.findLast(
    (one) =>
      one.state === 'finalized' &&
      one.kind === 'regular' &&
      one.pay_frequency === run.pay_frequency &&
      one.pay_group === run.pay_group &&
      one.pay_date < run.pay_date,
  );
  // Differences of the calendar year before are still reported.
  const isNear = (payDate: string) => [0, 1].includes(Number(yearOf(run.pay_date)) - Number(yearOf(payDate)));
  return {
    run,
    position,
    pay_dates: plan.calendarAssumed ? null : plan.dates,
    schedules: schedules.map(({ pay_frequency, pay_group }) => ({ pay_frequency, pay_group })),
    period_ends: plan.periodEnds,
    codes,
    previous: previous?.run_id ?? null,
    earlier: others
      .filter(({ pay_date }) => isNear(pay_date))
      .map(({ run_id, report, state }) => ({ run_id, report, is_voided: state === 'voided' })),
  };
}

/** Returns the run with its effective options: those that it states, else those of the policy on its pay date. */
export function runUnder(stated: StatedRun, policies: readonly PolicyVersion[]): Run {
  const policy = optionsOn(policies, stated.pay_date);
  const options = OPTIONS.map((name) => [name, stated[name] ?? policy[name]]);
  return { ...stated, ...(Object.fromEntries(options) as Options) };
}

/** Throws RUN_REFUSED if the run states an option that differs from the policy without a `policy_reason`. */
function assertReason(stated: StatedRun, policies: readonly PolicyVersion[]): void {
  const policy = optionsOn(policies, stated.pay_date);
  const differing = OPTIONS.filter((name) => stated[name] !== null && stated[name] !== policy[name]);
  if (stated.policy_reason !== null || differing.length === 0) return;
  const named = differing.map((name) => `${name} (${policy[name]})`).join(', ');
  const rule = `is required to differ from the employer's payroll policy in ${named}`;
  throw runRefused({ path: 'policy_reason', rule });
}

/** Returns finalized and voided runs: adjustments for a voided run must be reversed. */
function finalRuns(db: Db | Trx, employerId: string) {
  return db
    .selectFrom('payroll_runs')
    .select(['run_id', 'state', 'kind', 'pay_frequency', 'pay_group', 'pay_date'])
    .select((eb) =>
      eb
        .selectFrom('taken_reports')
        .select((sub) => sub.fn.max('report').as('report'))
        .whereRef('taken_reports.run_id', '=', 'payroll_runs.run_id')
        .where('taken_reports.recorded_at', 'is not', null)
        .as('report'),
    )
    .where('employer_id', '=', employerId)
    .where('state', '<>', 'open')
    .orderBy('pay_date')
    .orderBy('run_id')
    .execute();
}
