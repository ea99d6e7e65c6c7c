/** The inputs of a run. They are resolved each time for an open run, and frozen with a finalized one for verification. */
import { createHash } from 'node:crypto';
import type { Selectable } from 'kysely';
import Type, { type Static } from 'typebox';
import { closed, day, nullable, oneOf } from '../../contract/fields.ts';
import type { Db, PayrollRunTable, Trx } from '../../database/tables.ts';
import { AppError, type Problem } from '../../errors.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { readPosition } from '../../ledger/position.ts';
import { type Plan, planOf } from '../calculation/plan.ts';
import { earlierRuns } from '../facts/owed.ts';
import { Run, type StatedRun } from '../records/body.ts';
import { type Input, inputsOf } from '../records/inputs.ts';
import { previousRun } from '../records/runs.ts';
import { PayrollCode, readCodes } from '../settings/codes.ts';
import { OPTIONS, type Options, optionsOn, type PolicyVersion, readPolicies } from '../settings/policy.ts';
import { readSchedules, Schedule } from '../settings/schedules.ts';
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
  earlier: Input[];
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
  return {
    ...storedBasisOf(stored),
    previous: stored.previous_run_id,
    earlier: await inputsOf(db, stored.freeze_id as string),
  };
}

/** Returns the columns in which a final run keeps its basis, apart from its inputs. */
export function columnsOfBasis(basis: Basis) {
  const { previous, earlier, ...rest } = basis;
  return {
    previous_run_id: previous,
    basis: JSON.stringify(rest),
    basis_hash: hashOf(JSON.stringify(basis)),
  };
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

/** Returns the run with its effective options. The policy on its pay date decides options that the run does not state. */
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
