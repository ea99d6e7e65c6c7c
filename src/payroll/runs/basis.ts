/** The inputs of a run. They are resolved each time for an open run, and frozen with a finalized one for verification. */
import { createHash } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import Type, { type Static } from 'typebox';
import { closed, day, nullable, oneOf } from '../../contract/fields.ts';
import type { Db, PayrollRunTable, Trx } from '../../database/tables.ts';
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

const BASIS = {
  run: Run,
  /** The ledger's position. Later positions are not part of the run. */
  position: Type.Integer(),
  /** The pay dates of the run or of its schedule; null if they are assumed or unknown. */
  pay_dates: nullable(Type.Array(day)),
  schedules: Type.Array(Type.Pick(Schedule, ['pay_frequency', 'pay_group'])),
  /** The last day of the pay period of each of `pay_dates`; null if no schedule gives them. */
  period_ends: nullable(Type.Array(day)),
  codes: Type.Array(PayrollCode),
};

/** The part of a basis that is stored as JSON. An earlier run is computed again from it alone. */
export const StoredBasis = closed(BASIS);
export type StoredBasis = Static<typeof StoredBasis>;

/** The inputs of a run's computation. */
export type Basis = StoredBasis & {
  /** The previous finalized regular run, which changes are compared with. */
  previous: string | null;
  /** Earlier runs whose differences and arrears this run collects, with their reports of amounts taken. */
  earlier: { run_id: string; report: number | null; is_voided: boolean }[];
};

/** The data stored with a finalized run, in addition to its lines. */
export const Outcome = closed({
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

/** The outcome that a finalized or voided run keeps. */
const FrozenOutcome = closed({
  ...Outcome.properties,
  accepted_checks: Type.Array(Type.String()),
  /** The SHA-256 of the accepted failures. */
  acceptances_hash: Type.String(),
});
export type FrozenOutcome = Static<typeof FrozenOutcome>;

const readBasis = jsonColumn('payroll_runs', 'basis', StoredBasis);
const readOutcome = jsonColumn('payroll_runs', 'outcome', FrozenOutcome);

type Row = Pick<Selectable<PayrollRunTable>, 'run_id' | 'basis'>;

export function storedBasisOf({ run_id, basis }: Row): StoredBasis {
  return readBasis(basis, run_id);
}

export function frozenOutcomeOf({
  run_id,
  outcome,
}: Pick<Selectable<PayrollRunTable>, 'run_id' | 'outcome'>): FrozenOutcome {
  return readOutcome(outcome, run_id);
}

/** Returns the complete basis of a finalized or voided run. */
export async function frozenBasisOf(
  db: Db,
  stored: Row & Pick<Selectable<PayrollRunTable>, 'freeze_id' | 'previous_run_id'>,
): Promise<Basis> {
  const earlier = await db
    .selectFrom('run_inputs')
    .innerJoin('payroll_runs', 'payroll_runs.run_id', 'run_inputs.earlier_run_id')
    .select(['payroll_runs.run_id', 'report', 'is_voided'])
    .where('run_inputs.freeze_id', '=', stored.freeze_id as string)
    .orderBy('pay_date')
    .orderBy('payroll_runs.run_id')
    .execute();
  return {
    ...storedBasisOf(stored),
    previous: stored.previous_run_id,
    earlier: earlier.map((input) => ({ ...input, is_voided: input.is_voided === 1 })),
  };
}

/** Returns the columns in which a final run keeps its basis, and the rows of `run_inputs`. */
export function recordsOfBasis(basis: Basis, freeze_id: string) {
  const { previous, earlier, ...rest } = basis;
  const inputs = earlier.map(({ run_id, report, is_voided }) => [
    freeze_id,
    run_id,
    report,
    is_voided ? 1 : 0,
  ]);
  const columns = {
    previous_run_id: previous,
    basis: JSON.stringify(rest),
    basis_hash: hashOf(JSON.stringify(basis)),
  };
  return { columns, inputs };
}

/** Returns the SHA-256 of a text, as stored with runs. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
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
}: Pick<StoredBasis, 'run' | 'pay_dates' | 'period_ends'>) {
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
  const schedules = await readSchedules(db, run.employer_id);
  const codes = await readCodes(db, run.employer_id);
  const position = await readPosition(db);
  const plan = planWith(run, schedules);
  return {
    run,
    position,
    pay_dates: plan.calendarAssumed ? null : plan.dates,
    schedules: schedules.map(({ pay_frequency, pay_group }) => ({ pay_frequency, pay_group })),
    period_ends: plan.periodEnds,
    codes,
    previous: await previousRun(db, run, runId),
    earlier: await earlierRuns(db, run, runId),
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

/** Returns the last finalized regular run before a run, of its frequency and pay group, or null. */
async function previousRun(db: Db | Trx, run: Run, runId: string | null): Promise<string | null> {
  const previous = await db
    .selectFrom('payroll_runs')
    .select('run_id')
    .where('employer_id', '=', run.employer_id)
    .where('state', '=', sql.lit('finalized'))
    .where('kind', '=', sql.lit('regular'))
    .where('pay_frequency', '=', run.pay_frequency)
    .where('pay_group', run.pay_group === null ? 'is' : '=', run.pay_group)
    .where('pay_date', '<', run.pay_date)
    .where('run_id', '<>', runId ?? '')
    .orderBy('pay_date', 'desc')
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return previous?.run_id ?? null;
}

/**
 * Returns the finalized and voided runs of a run's calendar year and the year before, whose differences are reported.
 * Amounts that were settled for a voided run must be returned.
 */
async function earlierRuns(db: Db | Trx, run: Run, runId: string | null): Promise<Basis['earlier']> {
  const year = yearOf(run.pay_date);
  const runs = await db
    .selectFrom('payroll_runs')
    .select(['run_id', 'state'])
    .select((eb) =>
      eb
        .selectFrom('taken_reports')
        .select((sub) => sub.fn.max('report').as('report'))
        .whereRef('taken_reports.run_id', '=', 'payroll_runs.run_id')
        .where('taken_reports.recorded_at', 'is not', null)
        .as('report'),
    )
    .where('employer_id', '=', run.employer_id)
    .where('state', '<>', sql.lit('open'))
    .where('pay_date', '>=', `${String(Number(year) - 1).padStart(4, '0')}-01-01`)
    .where('pay_date', '<=', `${year}-12-31`)
    .where('run_id', '<>', runId ?? '')
    .orderBy('pay_date')
    .orderBy('run_id')
    .execute();
  return runs.map(({ run_id, report, state }) => ({ run_id, report, is_voided: state === 'voided' }));
}
