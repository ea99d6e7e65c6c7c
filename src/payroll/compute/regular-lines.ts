/** The regular lines of one employee in a run, and their change against the previous run. Pure. */
import { Temporal } from 'temporal-polyfill';
import type { PayFrequency } from '../../contract/employee.ts';
import { type Employment, isAbsentNow, spellOn, valueOn } from '../../ledger/employment.ts';
import type { RunVersion } from '../../ledger/history.ts';
import { hasSameElection } from '../../ledger/state.ts';
import { difference, isZero } from '../../money.ts';
import { type Amounts, type Contribution, cycleTotal } from '../calculation/amounts.ts';
import { type Flag, type Line, NOTHING } from '../calculation/line.ts';
import { isPartialCycle, type Plan } from '../calculation/plan.ts';
import { dayOfRun, type Run } from '../records/body.ts';
import type { CodesOfLine } from '../settings/codes.ts';
import { type History, stateFor } from './history.ts';
import { type Membership, type Scope, UNCLEAR } from './population.ts';

export type Rules = Scope & {
  /** Null: not narrowed. An off-cycle run takes only what it names. */
  deductions: ReadonlySet<string> | null;
  plan: () => Plan;
  calculate: (contribution: Contribution) => Amounts;
  codesOf: (lineOfCoverage: string, taxability: string) => CodesOfLine;
};

/** The finalized run that changes are compared against, and what the employee had in it. */
export type Previous = {
  rules: Rules;
  /** The employee was in it. */
  isIn: boolean;
  lines: readonly Line[];
};

/** An employee of the employer as known to a run. */
export type Employee = {
  employeeId: string;
  membership: Membership;
  /** With every employer. */
  employments: readonly Employment[];
  employmentsAt: (position: number) => readonly Employment[];
  histories: readonly History[];
  /** In the previous run; null without one. */
  previous: Previous | null;
};

export function contributionOf(version: RunVersion): Contribution {
  return version as RunVersion & Pick<Contribution, 'period'>;
}

/** Returns the state that a run takes of a deduction; null if it is not in effect or the run does not take it. */
export function stateInRun(
  history: History,
  employeeId: string,
  { run, deductions }: Pick<Rules, 'run' | 'deductions'>,
): RunVersion | null {
  if (deductions !== null && !deductions.has(history.deductionId)) return null;
  return stateFor(history, employeeId, dayOfRun(run));
}

/** Returns the lines of the deductions in effect for an employee who is in the run. */
export function regularLines(
  { employeeId, membership, histories, previous }: Employee,
  rules: Rules,
): Line[] {
  const lines: Line[] = [];
  if (!membership.isIn) return lines;
  const before = lastingLines(previous);
  const coverages = new Map<string, Line>();
  for (const history of histories) {
    const state = stateInRun(history, employeeId, rules);
    if (state === null) continue;
    const line = regularLine(state, rules, before.get(state.deduction_id), previous);
    const isInEffectOn = (day: string) => stateFor(history, employeeId, day) !== null;
    if (isPartialCycle(rules.plan(), line.period as PayFrequency, isInEffectOn))
      line.flags.push('partial_cycle');
    line.flags.push(...rosterFlags(membership.employment, state, rules.run));
    lines.push(line);
    // A deduction whose amounts became zero has ended (field notes): it does not overlap the one that follows it.
    if (isZero(state.member_contribution) && isZero(state.employer_contribution)) continue;
    const rival = coverages.get(line.line_of_coverage);
    if (rival !== undefined) {
      for (const one of [rival, line]) if (!one.flags.includes('overlap')) one.flags.push('overlap');
    }
    coverages.set(line.line_of_coverage, line);
  }
  return lines;
}

/** Written as one literal: a large run makes tens of thousands, and copies cost more than the arithmetic. */
function regularLine(
  state: RunVersion,
  rules: Rules,
  old: Line | undefined,
  previous: Previous | null,
): Line {
  const { member_amount, employer_amount, flags, explanation } = rules.calculate(contributionOf(state));
  const codes = rules.codesOf(state.line_of_coverage, state.taxability);
  const isSame = old !== undefined && hasSameElection(state, old as Parameters<typeof hasSameElection>[1]);
  const line: Line = {
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
    change: old === undefined ? 'new' : isSame ? 'same' : 'changed',
    amount_change: null,
    previous_amount: old?.member_amount ?? null,
    member_difference: null,
    employer_difference: null,
    flags,
    explanation,
  };
  if (previous === null) return line;
  const [member, employer] = [old?.member_amount ?? NOTHING, old?.employer_amount ?? NOTHING];
  line.member_difference = difference(member_amount, member);
  line.employer_difference = difference(employer_amount, employer);
  if (member_amount === member && employer_amount === employer) line.amount_change = 'same';
  else line.amount_change = isSame ? calendarChange(line, rules, previous) : 'changed';
  return line;
}

/** Returns why the amounts of the same election differ: a cent of rounding, the calendar, or the policy. */
function calendarChange(line: Line, rules: Rules, previous: Previous): Line['amount_change'] {
  const [now, then] = [rules.run, previous.rules.run];
  const isSamePolicy = (['scheme', 'remainder', 'extra_paycheck', 'applies_on'] as const).every(
    (option) => now[option] === then[option],
  );
  if (!isSamePolicy) return 'changed';
  const [plan, planThen] = [rules.plan(), previous.rules.plan()];
  const isWithinCent = [line.member_contribution, line.employer_contribution].every((contribution) => {
    const [total, before] = [plan, planThen].map((one) =>
      cycleTotal(contribution as string, line.period as PayFrequency, one),
    ) as [bigint, bigint];
    return total - before <= 1n && before - total <= 1n;
  });
  return plan.N === planThen.N && isWithinCent ? 'rounding' : 'calendar';
}

export function contentOf(state: RunVersion, { codesOf }: Pick<Rules, 'codesOf'>) {
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

/** Returns the lines of the previous run that payroll still takes, by deduction. */
function lastingLines(previous: Previous | null): Map<string, Line> {
  const lasting = new Map<string, Line>();
  for (const line of previous?.lines ?? []) {
    const isOver = line.change === 'ended' || line.change === 'moved';
    if (line.kind === 'regular' && !isOver) lasting.set(line.deduction_id, line);
  }
  return lasting;
}

/**
 * Returns one line of 0.00 for each deduction of the previous run without a line, so that standing deductions stop.
 * An off-cycle run does not stop the lines it does not take.
 */
export function stoppedLines(
  lines: readonly Line[],
  { membership, employments, previous }: Employee,
  { run, deductions: named }: Rules,
): Line[] {
  if (run.kind === 'off_cycle' || (!membership.isIn && UNCLEAR.some((why) => why === membership.why)))
    return [];
  const stopped = lastingLines(previous);
  for (const line of lines) stopped.delete(line.deduction_id);
  const moved = movedTo(membership, employments, run);
  const why = moved === null ? 'ended' : `moved: ${moved}`;
  return [...stopped.values()]
    .filter((line) => named?.has(line.deduction_id) !== false)
    .map((old) => ({
      ...old,
      member_amount: NOTHING,
      employer_amount: NOTHING,
      change: moved === null ? 'ended' : 'moved',
      amount_change: old.member_amount === NOTHING && old.employer_amount === NOTHING ? 'same' : 'changed',
      previous_amount: old.member_amount,
      member_difference: difference(NOTHING, old.member_amount),
      employer_difference: difference(NOTHING, old.employer_amount),
      flags: [],
      explanation: `${why}; ${old.member_amount} in the previous run, nothing to take now`,
    }));
}

/** Returns the destination of an employee who left the run's population. Null if the employee did not move. */
function movedTo(membership: Membership, employments: readonly Employment[], run: Run): string | null {
  const own = employments.find((one) => one.employer_id === run.employer_id);
  if (membership.isIn || own === undefined) return null;
  const { why } = membership;
  if (why === 'other_frequency') return `paid ${valueOn(own, 'pay_frequency', run.period_end)} now`;
  if (why === 'other_pay_group') return `in pay group ${valueOn(own, 'pay_group', run.period_end)} now`;
  return why === 'other_employer' ? 'with another employer now' : null;
}

/** Returns the flags by which the roster questions a deduction. */
function rosterFlags(employment: Employment, { ends_on }: RunVersion, run: Run): Flag[] {
  const termination = spellOn(employment, run.period_end)?.termination_date ?? null;
  if (termination === null || termination > run.period_end)
    return termination === null && isAbsentNow(employment) ? ['absent_from_census'] : [];
  // These are the employee's last lines.
  if (ends_on === null || ends_on > lastOfMonth(termination)) return ['open_after_termination'];
  return ends_on > run.period_end ? ['coverage_beyond_last_check'] : [];
}

function lastOfMonth(day: string): string {
  const date = Temporal.PlainDate.from(day);
  return date.with({ day: date.daysInMonth }).toString();
}
