/** The regular lines of one employee in a run, and what changed since the previous one. Pure. */
import type { PayFrequency } from '../../contract/pay-rate.ts';
import { type Employment, isAbsentNow, spellOn } from '../../ledger/employment.ts';
import type { Version } from '../../ledger/fold.ts';
import { appliesOn, latestOf, stateOn } from '../../ledger/state.ts';
import type { Amounts, Contribution } from '../arithmetic/amounts.ts';
import { isPartialCycle, type Plan } from '../arithmetic/plan.ts';
import { dayOfRun, type Run } from './body.ts';
import type { CodesOfLine } from './codes.ts';
import type { Change, Flag, Line } from './line.ts';

/** What a run reads of a version: of a large employer tens of thousands, and each column costs. */
export const RUN_COLUMNS = [
  'position',
  'previous',
  'version',
  'event_time',
  'deduction_id',
  'employee_id',
  'line_of_coverage',
  'coverage_type',
  'taxability',
  'description',
  'period',
  'member_contribution',
  'employer_contribution',
  'starts_on',
  'ends_on',
] as const satisfies readonly (keyof Version)[];
export type RunVersion = Pick<Version, (typeof RUN_COLUMNS)[number]>;

/** A deduction's versions, as far as the run knows them, oldest position first. */
export type History = readonly RunVersion[];

export type LineRules = {
  run: Run;
  /** Null: not narrowed. An off-cycle run takes only what it names. */
  deductions: ReadonlySet<string> | null;
  plan: () => Plan;
  calculate: (contribution: Contribution) => Amounts;
  codesOf: (lineOfCoverage: string, taxability: string) => CodesOfLine;
};

/** What one employee pays of a deduction on the day of a run; null when it is not in effect. */
export function stateInRun(
  history: History,
  employeeId: string,
  { run, deductions }: Pick<LineRules, 'run' | 'deductions'>,
): RunVersion | null {
  const state = stateInEffect(history, employeeId, dayOfRun(run));
  if (state === null || (deductions !== null && !deductions.has(state.deduction_id))) return null;
  return state;
}

function stateInEffect(history: History, employeeId: string, day: string): RunVersion | null {
  const state = stateOn(history, day);
  return state?.employee_id === employeeId && appliesOn(state, day) ? state : null;
}

/** The contribution that a version stands for. */
export function contributionOf(version: RunVersion): Contribution {
  return version as RunVersion & Pick<Contribution, 'period'>;
}

/** Whether a newer version of the deduction begins only after the day that the state is of. */
export function isStartMovedLater(history: History, state: RunVersion): boolean {
  // Of all that have begun by the day the state is the latest: a later one has not.
  return (latestOf(history) as RunVersion).position !== state.position;
}

/** Whether neither side contributes anything; a plain decimal as received has a digit then that is not 0. */
function isZero({ member_contribution, employer_contribution }: RunVersion): boolean {
  return !/[1-9]/.test(member_contribution) && !/[1-9]/.test(employer_contribution);
}

/** What a payroll with standing deductions has since a run: its lines by deduction. */
export type Standing = ReadonlyMap<string, Line>;

export function standingOf(previous: readonly Line[]): Standing {
  const standing = new Map<string, Line>();
  for (const line of previous) {
    if (line.kind === 'regular' && line.change !== 'ended') standing.set(line.deduction_id, line);
  }
  return standing;
}

/** The lines of what is in effect for an employee who is in the run, each with its change since the previous one. */
export function regularLines(
  employeeId: string,
  employment: Employment,
  histories: readonly History[],
  rules: LineRules,
  before: Standing,
): Line[] {
  const lines: Line[] = [];
  const coverages = new Map<string, Line>();
  for (const history of histories) {
    const state = stateInRun(history, employeeId, rules);
    if (state === null) continue;
    const line = regularLine(state, rules, before.get(state.deduction_id));
    const isInEffectOn = (day: string) => stateInEffect(history, employeeId, day) !== null;
    if (isPartialCycle(rules.plan(), line.period as PayFrequency, isInEffectOn)) {
      line.flags.push('partial_cycle');
    }
    line.flags.push(...rosterFlags(employment, state, rules.run));
    if (isStartMovedLater(history, state)) line.flags.push('start_moved_later');
    lines.push(line);
    // A deduction whose amounts became zero has ended (field notes): it is no rival of the one that follows it.
    if (isZero(state)) continue;
    const rival = coverages.get(line.line_of_coverage);
    if (rival !== undefined) {
      for (const one of [rival, line]) if (!one.flags.includes('overlap')) one.flags.push('overlap');
    }
    coverages.set(line.line_of_coverage, line);
  }
  return lines;
}

/** Written as one literal: a large run makes some ten thousand of them, and copies cost more than the arithmetic. */
function regularLine(state: RunVersion, { calculate, codesOf }: LineRules, old: Line | undefined): Line {
  const { member_amount, employer_amount, flags, explanation } = calculate(contributionOf(state));
  const codes = codesOf(state.line_of_coverage, state.taxability);
  const amounts = { member_amount, employer_amount };
  return {
    employee_id: state.employee_id,
    deduction_id: state.deduction_id,
    version: state.version,
    line_of_coverage: state.line_of_coverage,
    coverage_type: state.coverage_type,
    taxability: state.taxability,
    payroll_code: codes.payroll_code,
    employer_payroll_code: codes.employer_payroll_code,
    employer_treatment: codes.employer_treatment,
    description: state.description,
    period: state.period as PayFrequency,
    member_contribution: state.member_contribution,
    employer_contribution: state.employer_contribution,
    member_amount,
    employer_amount,
    kind: 'regular',
    adjustment_for: null,
    change: changeOf(state, amounts, old),
    previous_amount: old?.member_amount ?? null,
    flags: [...flags],
    explanation,
  };
}

/** What a line that settles something says of its version. */
export function contentOf(state: RunVersion, { codesOf }: Pick<LineRules, 'codesOf'>) {
  return {
    employee_id: state.employee_id,
    deduction_id: state.deduction_id,
    version: state.version,
    line_of_coverage: state.line_of_coverage,
    coverage_type: state.coverage_type,
    taxability: state.taxability,
    ...codesOf(state.line_of_coverage, state.taxability),
    description: state.description,
    period: state.period as PayFrequency,
    member_contribution: state.member_contribution,
    employer_contribution: state.employer_contribution,
  };
}

/**
 * The one line of 0.00 of each deduction that was in the previous finalized run and is not among these: a payroll with
 * standing deductions learns of the stop. Only those that are named, where some are.
 */
export function endedLines(
  lines: readonly Line[],
  before: Standing,
  named: ReadonlySet<string> | null,
): Line[] {
  const ended = new Map(before);
  for (const line of lines) ended.delete(line.deduction_id);
  return [...ended.values()].filter((line) => named?.has(line.deduction_id) !== false).map(endedLine);
}

/** Whether something must be entered anew in payroll: an amount, what it is taken for, or how it is taxed. */
function changeOf(
  state: RunVersion,
  { member_amount, employer_amount }: Pick<Line, 'member_amount' | 'employer_amount'>,
  old: Line | undefined,
): Change {
  if (old === undefined) return 'new';
  const isSame =
    member_amount === old.member_amount &&
    employer_amount === old.employer_amount &&
    state.line_of_coverage === old.line_of_coverage &&
    state.taxability === old.taxability;
  return isSame ? 'same' : 'changed';
}

function endedLine(old: Line): Line {
  return {
    ...old,
    member_amount: '0.00',
    employer_amount: '0.00',
    change: 'ended',
    previous_amount: old.member_amount,
    flags: [],
    explanation: `ended: ${old.member_amount} in the run before, nothing to take any more`,
  };
}

/** Flags what the roster contradicts in a deduction. */
function rosterFlags(employment: Employment, { ends_on }: RunVersion, run: Run): Flag[] {
  const termination = spellOn(employment, run.period_end)?.termination_date ?? null;
  if (termination === null || termination > run.period_end) {
    return termination === null && isAbsentNow(employment) ? ['absent_from_census'] : [];
  }
  // These are its last lines; one that ends with the pay period, or before, leaves nothing open.
  return ends_on === null || ends_on > run.period_end ? ['open_after_termination'] : [];
}
