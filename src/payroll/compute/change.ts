/** Compares lines with the previous run, and stops its standing deductions. Pure. */
import type { PayFrequency } from '../../contract/employee.ts';
import { hasSameElection } from '../../ledger/state.ts';
import { amountOf } from '../../money.ts';
import { isNothing, minus, NOTHING } from '../calculation/items.ts';
import { type Compared, isStopped, type Line, NOT_COMPARED } from '../calculation/line.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { UNCLEAR } from './population.ts';
import { isOwnCheck, isTakenByAnother } from './shares.ts';
import type { RunTerms } from './terms.ts';
import { type WhyStopped, whyStopped } from './why-stopped.ts';

/** Returns an employee's lines of the previous run that payroll still takes, by deduction. */
export function continuingLines(previous: readonly Line[]): Map<string, Line> {
  const continuing = new Map<string, Line>();
  for (const line of previous) {
    if (line.kind === 'regular' && !isStopped(line)) continuing.set(line.account.deduction_id, line);
  }
  return continuing;
}

/** Returns how a regular line differs from the line of its deduction in the previous run. An off-cycle run has none. */
export function comparedWith(computation: Computation, line: Line, before: Line | undefined): Compared {
  const { previous, run } = computation;
  if (run.kind === 'off_cycle') return NOT_COMPARED;
  const isSame = before !== undefined && hasSameElection(contentsOf(line), contentsOf(before));
  const compared: Compared = {
    ...NOT_COMPARED,
    change: before === undefined ? 'new' : isSame ? 'same' : 'changed',
    previous_amount: before?.amounts.member ?? null,
  };
  if (previous === null) return compared;
  const difference = minus(line.amounts, before?.amounts ?? NOTHING);
  compared.member_difference = difference.member;
  compared.employer_difference = difference.employer;
  if (isNothing(difference)) compared.amount_change = 'same';
  else if (before === undefined || !isSame) compared.amount_change = 'changed';
  else compared.amount_change = changeOfCalendar(computation, line, previous, before);
  return compared;
}

type Contents = Parameters<typeof hasSameElection>[0];

function contentsOf({ account, election }: Line): Contents {
  const { line_of_coverage, taxability } = account;
  const { coverage_type, period, member_contribution, employer_contribution } = election;
  const contents = {
    line_of_coverage,
    taxability,
    coverage_type,
    period,
    member_contribution,
    employer_contribution,
  };
  return contents as Contents;
}

/** Returns why the amounts of the same election differ, if they do for more than the cents of a closing check. */
function changeOfCalendar(
  terms: RunTerms,
  line: Line,
  previous: RunTerms,
  before: Line,
): Compared['amount_change'] {
  if ([line, before].some(({ flags }) => flags.includes('overridden'))) return 'override';
  if (terms.run.applies_on !== previous.run.applies_on) return 'changed';
  if (isOfShares(terms, line) || isOfShares(previous, before)) return 'shares';
  const [share, shareBefore] = [terms, previous].map(
    (run) => run.plan().cycleOf(line.election.period as PayFrequency).share?.share ?? null,
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
 * stop because both have the same codes and taxability. `ended`: the lines of the previous run without a line in this one.
 */
export function compareReplaced(
  computation: Computation,
  employee: RunEmployee,
  regular: readonly Line[],
  ended: ReadonlyMap<string, Line>,
): void {
  const begun = regular.filter(({ compared }) => compared?.change === 'new');
  for (const line of begun) {
    const { account, codes } = line;
    const isOfCoverage = (rival: Line) => rival.account.line_of_coverage === account.line_of_coverage;
    const [before, another] = [...ended.values()].filter(
      (stopped) =>
        isOfCoverage(stopped) &&
        whyStopped(computation, employee, stopped.account.deduction_id)?.change === 'ended',
    );
    if (before === undefined || another !== undefined || begun.filter(isOfCoverage).length > 1) continue;
    const isSameForPayroll =
      account.taxability === before.account.taxability &&
      codes.payroll_code === before.codes.payroll_code &&
      codes.employer_payroll_code === before.codes.employer_payroll_code;
    if (!isSameForPayroll) continue;
    line.compared = {
      ...comparedWith(computation, line, before),
      change: 'replaced',
      replaces_deduction_id: before.account.deduction_id,
    };
  }
}

/**
 * Returns one line of 0.00 for each deduction of the previous run without a line, so that standing deductions stop. `ended`:
 * as for `compareReplaced`, which ran before.
 */
export function stoppedLines(
  computation: Computation,
  employee: RunEmployee,
  regular: readonly Line[],
  ended: ReadonlyMap<string, Line>,
): Line[] {
  const { membership } = employee;
  if (!membership.isIn && UNCLEAR.some((reason) => reason === membership.why)) return [];
  const replaced = new Set(regular.map(({ compared }) => compared?.replaces_deduction_id));
  return [...ended.values()].flatMap((before) => {
    if (replaced.has(before.account.deduction_id)) return [];
    const why = whyStopped(computation, employee, before.account.deduction_id);
    return why === null ? [] : [stoppedLine(before, why)];
  });
}

function stoppedLine(before: Line, { change, reason }: WhyStopped): Line {
  const { member, employer } = before.amounts;
  return {
    ...before,
    amounts: NOTHING,
    compared: {
      change,
      replaces_deduction_id: null,
      amount_change: isNothing(before.amounts) ? 'same' : 'changed',
      previous_amount: member,
      member_difference: -member,
      employer_difference: -employer,
    },
    shares: null,
    flags: [],
    explanation: `${reason}; ${amountOf(member)} in the previous run, nothing to take now`,
  };
}
