/** The checks of employees who left: what continues, what was taken afterward, and what their last paycheck leaves. */
import type { Found } from '../../checks.ts';
import type { Db } from '../../database/tables.ts';
import { undeliveredTerminations } from '../../employment/changes.ts';
import type { RunVersion } from '../../ledger/history.ts';
import { latestOf } from '../../ledger/state.ts';
import { amountOf, type Cents, isZero } from '../../money.ts';
import { isStopped, type Line } from '../calculation/line.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import type { Computation, RunEmployee } from '../compute/computation.ts';
import { type History, historyAt, historyOf, stateInRun } from '../compute/history.ts';
import { sidesInWords } from '../compute/last-check.ts';
import type { EarlierRun } from '../compute/payout.ts';
import { wasInRun } from '../compute/reopened-runs.ts';
import { countOfShares, remainingAfter } from '../compute/shares.ts';
import {
  each,
  factsOf,
  foundIn,
  linesWith,
  NAMED_ONCE,
  NONE,
  onlyOne,
  type RunCheck,
  type RunQuestion,
  versionId,
  versionOf,
} from './check.ts';

/** The most employees that one sentence names. */
const NAMED = 5;

/** A line that continues. `end`: the last day of its coverage, or null. */
type Open = { coverage: string; amount: Cents; end: string | null };

/**
 * Reports deductions that continue, and terminations that the service has not received: it cannot end the deductions before it
 * receives them.
 */
export const OPEN_AFTER_TERMINATION: RunCheck<Found & { lines: readonly Open[] }> = {
  id: 'open-after-termination',
  title: 'Deductions continue after employment ended',
  severity: 'warn',
  detail: 'The finding also names terminations that the service has not received yet.',
  flag: 'open_after_termination',
  look: () =>
    each(({ employee: { employeeId, histories, termination: date }, lines }) => {
      const open = linesWith(lines, 'open_after_termination');
      if (open.length === 0 || date === null) return NONE;
      const ids = open.map(versionOf);
      const line = onlyOne(open);
      const facts = line === null ? { employee_id: employeeId } : factsOf(line);
      return [
        { ...facts, date, lines: open.map((line) => openLine(line, histories, date)), ids, result: 'warn' },
      ];
    }),
  async find(db: Db, question: RunQuestion) {
    const findings = foundIn(question, OPEN_AFTER_TERMINATION);
    const employees = findings.flatMap(({ employee_id }) => employee_id ?? []);
    const undelivered = await undeliveredTerminations(db, question.employerId, employees);
    const advice = `The service has not received the termination of ${namesOf([...undelivered])} yet.`;
    return findings.map((finding) =>
      undelivered.has(finding.employee_id ?? '') ? { ...finding, advice } : finding,
    );
  },
  text({ employee_id, date, lines }) {
    const inWords = ({ coverage, amount, end }: Open) =>
      `${coverage} ${amountOf(amount)} (${coverageInWords(end)})`;
    return `${employee_id}: left on ${date}, ${lines.map(inWords).join(', ')}`;
  },
  advice:
    'These employees were terminated, but their deductions continue. Check whether this is their last paycheck, and ask the service to end the deductions.',
  passed: 'No terminated employee has a deduction that continues.',
  fixed: { at: 'lines', query: {} },
};

/** An end after the year that follows the termination counts as none. */
function openLine(line: Line, histories: readonly History[], left: string): Open {
  const end = endOf(historyOf(histories, line.account.deduction_id));
  const isFarAhead = end !== null && end > `${Number(yearOf(left)) + 1}-12-31`;
  return {
    coverage: line.account.line_of_coverage,
    amount: line.amounts.member,
    end: isFarAhead ? null : end,
  };
}

/** `emp-1, emp-2 and 7 more`. */
function namesOf(employeeIds: readonly string[]): string {
  const more = employeeIds.length - NAMED;
  const names = employeeIds.slice(0, NAMED).join(', ');
  return more > 0 ? `${names} and ${more} more` : names;
}

/** Reports deductions without an end that runs took for pay periods after the termination. */
export const PAID_AFTER_TERMINATION: RunCheck<Found & { payDates: readonly string[] }> = {
  id: 'paid-after-termination',
  title: 'Deductions were taken after employment ended',
  severity: 'warn',
  detail: NAMED_ONCE,
  look: (computation) =>
    each(({ employee }) => {
      const { termination: date } = employee;
      if (computation.run.kind !== 'regular' || date === null) return NONE;
      const after = runsAfter(computation, employee, date);
      if (after.length === 0) return NONE;
      const { previous } = computation;
      const wasNamed = (latest: RunVersion): boolean =>
        previous !== null &&
        !after.includes(previous) &&
        latest.position <= previous.position &&
        employee.jobAt(previous, previous.position).termination === date;
      return employee.histories.flatMap((history) => {
        const latest = latestOf(history.timeline.counting);
        if (latest === null || latest.ends_on !== null || hasNoAmount(latest)) return [];
        const payDates = after
          .filter((earlier) => tookIn(earlier, employee, history))
          .map((earlier) => earlier.run.pay_date);
        if (payDates.length === 0) return [];
        const { line_of_coverage, deduction_id, version } = latest;
        const facts = { employee_id: employee.employeeId, deduction_id, version, line_of_coverage, date };
        const ids = [versionId(latest)];
        return [{ ...facts, payDates, ids, wasNamed: wasNamed(latest), result: 'warn' as const }];
      });
    }),
  text: ({ employee_id, line_of_coverage, deduction_id, payDates, date }) =>
    `${employee_id}: ${line_of_coverage} (${deduction_id}), paid on ${payDates.join(', ')} after ${date}`,
  advice:
    'Runs after the termination took these deductions, which have no end. Ask the service to end them. An end in the past returns what was taken after it.',
  passed: 'No run after a termination took a deduction without an end that no earlier run named.',
};

/** Returns the runs for pay periods after a termination that included the employee. */
function runsAfter({ run, earlier }: Computation, employee: RunEmployee, terminated: string): EarlierRun[] {
  const isOfGroup = (group: string | null) =>
    run.pay_group === null || group === null || run.pay_group === group;
  return earlier.filter(
    (other) =>
      other.run.pay_frequency === run.pay_frequency &&
      isOfGroup(other.run.pay_group) &&
      !other.isVoided &&
      other.isRecent &&
      other.run.period_start > terminated &&
      wasInRun(other, employee),
  );
}

function tookIn(earlier: EarlierRun, { employeeId, jobAt }: RunEmployee, history: History): boolean {
  const then = historyAt(history, earlier.position);
  const state = then && stateInRun(then, employeeId, earlier, jobAt(earlier, earlier.position));
  return state !== null && !hasNoAmount(state);
}

function hasNoAmount({ member_contribution, employer_contribution }: RunVersion): boolean {
  return isZero(member_contribution) && isZero(employer_contribution);
}

/** `shares`: the most that remain of one deduction. `end`: of the coverage that lasts longest, or null. */
type Beyond = Found & { shares: number; member: Cents; employer: Cents; end: string | null };

export const COVERAGE_BEYOND_LAST_CHECK: RunCheck<Beyond> = {
  id: 'coverage-beyond-last-check',
  title: 'The rest of the last month is not taken',
  severity: 'warn',
  flag: 'coverage_beyond_last_check',
  look: (computation) =>
    each(({ employee, lines }) => {
      const flagged = linesWith(lines, 'coverage_beyond_last_check');
      if (flagged.length === 0) return NONE;
      const { employeeId, histories } = employee;
      const remaining = flagged.map(({ account, shares }) =>
        remainingAfter(
          computation,
          computation,
          employee,
          historyOf(histories, account.deduction_id),
          shares,
        ),
      );
      const ends = flagged.map(({ account }) => endOf(historyOf(histories, account.deduction_id)));
      const end = ends.reduce((last, day) => (last === null || day === null || day < last ? last : day));
      const member = remaining.reduce((sum, share) => sum + share.member, 0n);
      const employer = remaining.reduce((sum, share) => sum + share.employer, 0n);
      return [
        {
          ...{
            employee_id: employeeId,
            member_amount: amountOf(member),
            employer_amount: amountOf(employer),
          },
          deduction_id: onlyOne(flagged.map(({ account }) => account.deduction_id)),
          line_of_coverage: onlyOne(flagged.map(({ account }) => account.line_of_coverage)),
          ...{ shares: Math.max(...remaining.map(({ count }) => count)), member, employer, end },
          ...{ ids: flagged.map(versionOf), result: 'warn' },
        },
      ];
    }),
  text: ({ employee_id, shares, end, ...sides }) =>
    `${employee_id}: ${countOfShares(shares)}, ${sidesInWords(sides)}, ${coverageInWords(end)}`,
  advice:
    'Pay dates in the month of the termination remain that no paycheck took. List these employees under “Final paychecks” of a run to take the rest of the month, unless another employer takes it after a transfer.',
  passed: 'No share of the last month of a terminated employee is left.',
  fixed: { at: 'lines', query: {}, docs: 'payroll-runs.md#final-checks' },
};

export const FINAL_CHECK_EMPTY: RunCheck = {
  id: 'final-check-empty',
  title: 'Final paychecks take nothing',
  severity: 'warn',
  look: ({ finalChecks }) => {
    const empty = new Set(finalChecks.keys());
    const isTaken = (line: Line) => !isStopped(line) && !line.flags.includes('share_taken');
    return {
      each({ employee: { employeeId }, regular }) {
        if (empty.size > 0 && regular.some(isTaken)) empty.delete(employeeId);
        return NONE;
      },
      atEnd: () => [...empty].map((employee_id) => ({ employee_id, result: 'warn' })),
    };
  },
  advice:
    'No deduction of these employees is in effect on a pay date that remains, so their final paychecks take nothing. Check the dates of their coverage.',
  passed: 'Every final paycheck takes a deduction.',
};

/** Returns the last day of a deduction by its latest version, which may start after the run; null without an end. */
function endOf({ timeline }: History): string | null {
  return latestOf(timeline.counting)?.ends_on ?? null;
}

function coverageInWords(end: string | null): string {
  return end === null ? 'coverage without an end date' : `coverage through ${end}`;
}
