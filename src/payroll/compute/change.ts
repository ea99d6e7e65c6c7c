/** Compares lines with the previous run, and stops its standing deductions. Pure. */
import type { PayFrequency } from '../../contract/employee.ts';
import { hasSameElection } from '../../ledger/state.ts';
import { amountOf } from '../../money.ts';
import { isStopped, type Line } from '../calculation/line.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { UNCLEAR } from './population.ts';
import { isOwnCheck, isTakenByAnother } from './shares.ts';
import type { RunTerms } from './terms.ts';
import { type WhyStopped, whyStopped } from './why-stopped.ts';

/** Returns the lines of the previous run that payroll still takes, by deduction. */
export function continuingLines({ inPrevious }: RunEmployee): Map<string, Line> {
  const continuing = new Map<string, Line>();
  for (const line of inPrevious.lines) {
    if (line.kind === 'regular' && !isStopped(line)) continuing.set(line.deduction_id, line);
  }
  return continuing;
}

/** Writes into a regular line how it differs from the line of its deduction in the previous run, if there is one. */
export function compareWithPrevious(computation: Computation, line: Line, before: Line | undefined): void {
  const { previous } = computation;
  type Election = Parameters<typeof hasSameElection>[0];
  const isSame = before !== undefined && hasSameElection(line as Election, before as Election);
  if (before !== undefined) {
    line.change = isSame ? 'same' : 'changed';
    line.previous_amount = before.member_amount;
  }
  if (previous === null) return;
  line.member_difference = line.member_amount - (before?.member_amount ?? 0n);
  line.employer_difference = line.employer_amount - (before?.employer_amount ?? 0n);
  if (line.member_difference === 0n && line.employer_difference === 0n) line.amount_change = 'same';
  else if (before === undefined || !isSame) line.amount_change = 'changed';
  else line.amount_change = changeOfCalendar(computation, line, previous, before);
}

/** Returns why the amounts of the same election differ, if they do for more than the cents of a closing check. */
function changeOfCalendar(
  terms: RunTerms,
  line: Line,
  previous: RunTerms,
  before: Line,
): Line['amount_change'] {
  if ([line, before].some(({ flags }) => flags.includes('overridden'))) return 'override';
  if (terms.run.applies_on !== previous.run.applies_on) return 'changed';
  if (isOfShares(terms, line) || isOfShares(previous, before)) return 'shares';
  const [share, shareBefore] = [terms, previous].map(
    (run) => run.plan().cycleOf(line.period as PayFrequency).share?.share ?? null,
  );
  return share === shareBefore ? 'same' : 'calendar';
}

/** Reports whether a line takes the shares of other pay dates, or nothing because another check takes its share. */
function isOfShares(terms: RunTerms, { shares, flags }: Line): boolean {
  const payDates = shares?.map(({ pay_date }) => pay_date);
  return (payDates !== undefined && !isOwnCheck(terms, payDates)) || isTakenByAnother({ flags });
}

/**
 * Compares a deduction that began with the only deduction of its line of coverage that ended, and that payroll need not
 * stop because both have the same codes and taxability. An off-cycle run ends nothing.
 */
export function compareReplaced(
  computation: Computation,
  employee: RunEmployee,
  regular: readonly Line[],
): void {
  const begun = regular.filter(({ change }) => change === 'new');
  if (computation.run.kind === 'off_cycle' || begun.length === 0) return;
  const ended = continuingLines(employee);
  for (const { deduction_id } of regular) ended.delete(deduction_id);
  for (const line of begun) {
    const isOfCoverage = (rival: Line) => rival.line_of_coverage === line.line_of_coverage;
    const [before, another] = [...ended.values()].filter(
      (stopped) =>
        isOfCoverage(stopped) && whyStopped(computation, employee, stopped.deduction_id)?.change === 'ended',
    );
    if (before === undefined || another !== undefined || begun.filter(isOfCoverage).length > 1) continue;
    const isSameForPayroll = (['taxability', 'payroll_code', 'employer_payroll_code'] as const).every(
      (field) => line[field] === before[field],
    );
    if (!isSameForPayroll) continue;
    compareWithPrevious(computation, line, before);
    line.change = 'replaced';
    line.replaces_deduction_id = before.deduction_id;
  }
}

/**
 * Returns one line of 0.00 for each deduction of the previous run without a line, so that standing deductions stop.
 * An off-cycle run does not stop the lines it does not take.
 */
export function stoppedLines(
  computation: Computation,
  employee: RunEmployee,
  regular: readonly Line[],
): Line[] {
  const { run } = computation;
  const { membership } = employee;
  if (run.kind === 'off_cycle' || (!membership.isIn && UNCLEAR.some((reason) => reason === membership.why)))
    return [];
  const stopped = continuingLines(employee);
  for (const line of regular) {
    stopped.delete(line.deduction_id);
    if (line.replaces_deduction_id !== null) stopped.delete(line.replaces_deduction_id);
  }
  return [...stopped.values()].flatMap((before) => {
    const why = whyStopped(computation, employee, before.deduction_id);
    return why === null ? [] : [stoppedLine(before, why)];
  });
}

function stoppedLine(before: Line, { change, reason }: WhyStopped): Line {
  return {
    ...before,
    member_amount: 0n,
    employer_amount: 0n,
    change,
    replaces_deduction_id: null,
    amount_change: before.member_amount === 0n && before.employer_amount === 0n ? 'same' : 'changed',
    previous_amount: before.member_amount,
    member_difference: -before.member_amount,
    employer_difference: -before.employer_amount,
    shares: null,
    flags: [],
    explanation: `${reason}; ${amountOf(before.member_amount)} in the previous run, nothing to take now`,
  };
}
