/** The amounts of a check: its own share of the year, or the remaining shares of a final check. Pure. */
import { Temporal } from 'temporal-polyfill';
import { type Employment, spellOn } from '../../ledger/employment.ts';
import type { RunVersion } from '../../ledger/history.ts';
import { amountOf, type Cents, printReadable } from '../../money.ts';
import type { Flag, Share } from '../calculation/line.ts';
import type { RunEmployee } from './computation.ts';
import { amountsInRun, assignedIn, type History, stateInRun } from './history.ts';
import { employmentAt, hasSeveralEmployers } from './population.ts';
import type { RunTerms } from './terms.ts';

/** The amounts of a check for a deduction in a state. `shares`: null if it is no final check. */
export type CheckAmounts = {
  state: RunVersion;
  member_amount: Cents;
  employer_amount: Cents;
  flags: Flag[];
  explanation: string;
  shares: Share[] | null;
};

/** A run whose checks are computed: `runId` is null if it is not stored. */
type CheckTerms = RunTerms & { runId: string | null };

/** Returns the amounts that a run takes of a deduction; null if none is in effect. */
export function checkAmounts(
  terms: CheckTerms,
  employee: RunEmployee,
  history: History,
): CheckAmounts | null {
  const { employments } = employee;
  if (!takesShares(terms, employee)) return ownAmounts(terms, employee, history, employments);
  const count = terms.finalChecks.get(employee.employeeId);
  const dates = remainingDates(terms, employee, history).slice(0, count);
  if (dates.length > 0) return sharesOn(terms, employee, history, dates, employments);
  const amounts = ownAmounts(terms, employee, history, employments);
  return amounts?.flags.includes('share_taken') === true ? amounts : null;
}

/**
 * Returns what an earlier run should have taken of a deduction, by today's facts, on pay dates before the computed run's.
 * `employments`: of the employee, as the earlier run knows them.
 */
export function dueAmounts(
  terms: CheckTerms,
  employee: RunEmployee,
  history: History,
  before: string,
  employments: readonly Employment[],
): CheckAmounts | null {
  if (!takesShares(terms, employee)) return ownAmounts(terms, employee, history, employments);
  // Dates from `before` on remain for other final checks, and for regular runs if the employee returns.
  const dates = remainingDates(terms, employee, history, employments).filter((date) => date < before);
  const count = terms.finalChecks.get(employee.employeeId);
  return sharesOn(terms, employee, history, dates.slice(0, count), employments);
}

/** Reports whether a run takes shares of an employee instead of its own amounts. */
function takesShares(terms: RunTerms, { employeeId, employments }: RunEmployee): boolean {
  if (!terms.finalChecks.has(employeeId) || !isListed(terms)) return false;
  return terms.run.kind === 'off_cycle' || terminationOf(terms, employments) !== null;
}

/** Returns the amounts of the run's own pay date; 0.00 if a final check took its share. */
function ownAmounts(
  terms: CheckTerms,
  employee: RunEmployee,
  history: History,
  employments: readonly Employment[],
): CheckAmounts | null {
  const state = stateInRun(history, employee.employeeId, terms, employments);
  if (state === null) return null;
  const { run, runId } = terms;
  if (run.kind === 'regular' && isShareTaken(employee, history, run.pay_date, runId)) {
    const explanation = `a final check took the share of ${run.pay_date}; 0.00`;
    return {
      state,
      member_amount: 0n,
      employer_amount: 0n,
      flags: ['share_taken'],
      explanation,
      shares: null,
    };
  }
  return { state, ...amountsInRun(terms, employee, state), shares: null };
}

/** Reports whether another run, not voided, took the share of a deduction on a pay date. */
export function isShareTaken(
  { shares }: RunEmployee,
  { deductionId }: History,
  payDate: string,
  runId: string | null,
): boolean {
  return shares.some(
    (share) =>
      !share.isVoided &&
      share.runId !== runId &&
      share.deductionId === deductionId &&
      share.payDate === payDate,
  );
}

/** Returns the sum of a deduction's amounts on these pay dates; null if it is in effect on none of them. */
export function sharesOn(
  terms: RunTerms,
  employee: RunEmployee,
  history: History,
  payDates: readonly string[],
  employments = employee.employments,
): CheckAmounts | null {
  const checks = payDates.flatMap((payDate) => {
    const state = stateOnDate(terms, employee, history, payDate, employments);
    if (state === null) return [];
    return [{ payDate, state, ...amountsInRun(terms.onDate(payDate), employee, state) }];
  });
  const [first] = checks;
  if (first === undefined) return null;
  const [member_amount, employer_amount] = [sumOf(checks, 'member_amount'), sumOf(checks, 'employer_amount')];
  return {
    state: first.state,
    member_amount,
    employer_amount,
    flags: [...new Set(checks.flatMap(({ flags }) => flags))],
    explanation: isOwnCheck(terms, payDates) ? first.explanation : explanationOf(terms, checks),
    shares: checks.map((check) => ({
      pay_date: check.payDate,
      member_amount: amountOf(check.member_amount),
      employer_amount: amountOf(check.employer_amount),
    })),
  };
}

/** Returns the state of a deduction on the run's check of a pay date. The run's period decides the employers. */
function stateOnDate(
  terms: RunTerms,
  { employeeId }: RunEmployee,
  history: History,
  payDate: string,
  employments: readonly Employment[],
): RunVersion | null {
  const check = terms.onDate(payDate);
  if (assignedIn(history, check.run) === null && hasSeveralEmployers(employments, terms.run)) return null;
  return stateInRun(history, employeeId, check, []);
}

type Check = { payDate: string; member_amount: Cents; employer_amount: Cents };

function sumOf(checks: readonly Check[], side: 'member_amount' | 'employer_amount'): Cents {
  return checks.reduce((sum, check) => sum + check[side], 0n);
}

function isOwnCheck({ run }: RunTerms, payDates: readonly string[]): boolean {
  return run.kind === 'regular' && payDates.length === 1 && payDates[0] === run.pay_date;
}

/** Returns `3 shares, checks 12 to 14 of 26: 69.23 + 69.23 + 69.23 = 207.69`. */
function explanationOf(terms: RunTerms, checks: readonly Check[]): string {
  const dates = terms.plan().dates ?? [];
  const places = checks.map(({ payDate }) => dates.indexOf(payDate) + 1);
  const working = (side: 'member_amount' | 'employer_amount') => {
    const sum = printReadable(sumOf(checks, side));
    if (checks.length === 1) return sum;
    return `${checks.map((check) => printReadable(check[side])).join(' + ')} = ${sum}`;
  };
  const employer =
    sumOf(checks, 'employer_amount') === 0n ? '' : `; plus employer ${working('employer_amount')}`;
  return `${countOfShares(checks.length)}, ${inWords(places)} of ${dates.length}: ${working('member_amount')}${employer}`;
}

export function countOfShares(count: number): string {
  return count === 1 ? '1 share' : `${count} shares`;
}

/** Returns `check 12`, `checks 12 to 14`, or `checks 12, 14`. */
function inWords(places: readonly number[]): string {
  const [first, last] = [places[0] as number, places.at(-1) as number];
  if (places.length === 1) return `check ${first}`;
  const isWithoutGap = last - first === places.length - 1;
  return isWithoutGap ? `checks ${first} to ${last}` : `checks ${places.join(', ')}`;
}

/**
 * Returns the pay dates of the year, from the run's on, on which a deduction is in effect and which no other run of the
 * employee settled. After the month of the termination, the deduction must have an end.
 */
export function remainingDates(
  terms: CheckTerms,
  employee: RunEmployee,
  history: History,
  employments = employee.employments,
): string[] {
  const { paid } = employee;
  if (terms.deductions?.has(history.deductionId) === false) return [];
  const termination = terminationOf(terms, employee.employments);
  if (termination === null) return [];
  const lastDay = lastOfMonth(termination);
  return (terms.plan().dates ?? []).filter((date) => {
    if (date < terms.run.pay_date) return false;
    const state = stateOnDate(terms, employee, history, date, employments);
    if (state === null) return false;
    if (date > lastDay && (state.ends_on === null || state.ends_on < date)) return false;
    if (paid.some(({ runId, payDate }) => runId !== terms.runId && payDate === date)) return false;
    return !isShareTaken(employee, history, date, terms.runId);
  });
}

/** The shares that remain after a check. */
export type Remaining = { count: number; member: Cents; employer: Cents };

/** Returns the shares of a deduction that remain after a check that took `shares`. */
export function remainingAfter(
  terms: CheckTerms,
  employee: RunEmployee,
  history: History,
  shares: readonly Share[] | null,
): Remaining {
  const { run } = terms;
  const dates = remainingDates(terms, employee, history).filter(
    (date) =>
      !(run.kind === 'regular' && date === run.pay_date) &&
      !shares?.some(({ pay_date }) => pay_date === date),
  );
  const left = sharesOn(terms, employee, history, dates);
  return { count: dates.length, member: left?.member_amount ?? 0n, employer: left?.employer_amount ?? 0n };
}

/** Returns the last day of employment in the spell of the run's period; null if it has not ended. */
export function terminationOf({ run }: RunTerms, employments: readonly Employment[]): string | null {
  const employment = employmentAt(employments, run);
  const spell = employment === undefined ? null : spellOn(employment, run.period_end);
  return spell?.termination_date ?? null;
}

/** Reports whether a list has the pay dates of the run's year. */
export function isListed(terms: RunTerms): boolean {
  const { dates, calendarAssumed } = terms.plan();
  return dates !== null && !calendarAssumed;
}

export function lastOfMonth(day: string): string {
  const date = Temporal.PlainDate.from(day);
  return date.with({ day: date.daysInMonth }).toString();
}
