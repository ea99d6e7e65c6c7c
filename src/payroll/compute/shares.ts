/** The amounts of a check: its own share of the year, or those of the rest of the month of a final check. Pure. */
import { Temporal } from 'temporal-polyfill';
import type { PayFrequency } from '../../contract/employee.ts';
import type { Flag } from '../../formats/flags.ts';
import type { RunVersion } from '../../ledger/history.ts';
import { amountOf, type Cents, printReadable } from '../../money.ts';
import { classOf } from '../calculation/calendar.ts';
import type { Share } from '../calculation/line.ts';
import { datesInWords } from '../calculation/pay-dates.ts';
import { dayOfCheck } from '../calculation/plan.ts';
import type { Transfer } from '../records/basis.ts';
import type { RunEmployee } from './computation.ts';
import { assignedIn, type History, stateInRun } from './history.ts';
import type { Payee, Payout } from './payout.ts';
import type { Job } from './population.ts';
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

/** The earlier runs of the computation, which settle pay dates. */
type Settling = Pick<Payout, 'earlier'>;

/** Lines of coverage of which all final checks of an employee take one share: the employer may not recover more. */
const ONE_SHARE: ReadonlySet<string> = new Set([
  'healthcare_fsa',
  'limited_purpose_fsa',
  'dependent_care_fsa',
  'hsa',
  'commuter_transit',
]);

/**
 * Returns the amounts that a run takes of a deduction by today's facts; null if none is in effect. `job`: of the
 * employee, as the run knows it.
 */
export function checkAmounts(
  settling: Settling,
  terms: CheckTerms,
  employee: Payee,
  history: History,
  job: Job,
): CheckAmounts | null {
  if (!takesRest(terms, employee, job)) return ownAmounts(terms, employee, history, job);
  const dates = finalDates(settling, terms, employee, history, job);
  if (dates.length > 0) return sharesOn(terms, employee, history, dates, job);
  const amounts = ownAmounts(terms, employee, history, job);
  if (amounts === null || isTakenByAnother(amounts)) return amounts;
  const { run, runId } = terms;
  if (
    run.kind === 'regular' &&
    isPaid(employee, run.pay_date, runId) &&
    takesOn(terms, employee, history, run.pay_date, job)
  )
    return shareTaken(amounts, `another check took the share of ${terms.dayInWords(run.pay_date)}`);
  if (!ONE_SHARE.has(amounts.state.line_of_coverage) || !isShareTaken(employee, history, null, runId))
    return null;
  return shareTaken(amounts, 'a final check took its one share');
}

function shareTaken({ state }: Pick<CheckAmounts, 'state'>, why: string): CheckAmounts {
  return { state, ...NO_AMOUNTS, flags: ['share_taken'], explanation: `${why}; 0.00`, shares: null };
}

/** Reports whether a run takes the rest of the month of an employee instead of its own amounts. */
function takesRest(terms: RunTerms, { employeeId }: Payee, { termination }: Job): boolean {
  if (!terms.finalChecks.has(employeeId) || terms.plan().calendar === null) return false;
  return terms.run.kind === 'off_cycle' || termination !== null;
}

/** Returns the amounts of the run's own pay date; 0.00 if another run took its share. */
function ownAmounts(terms: CheckTerms, employee: Payee, history: History, job: Job): CheckAmounts | null {
  const state = stateInRun(history, employee.employeeId, terms, job);
  if (state === null) return null;
  const { run, runId } = terms;
  const elsewhere = takenElsewhere(terms, employee, history, state, run.pay_date);
  if (elsewhere !== null) {
    const [left, until] = [elsewhere.left_on, elsewhere.until as string].map(terms.dayInWords);
    const explanation = `the employer that the employee left on ${left} takes it until the pay date of ${until}; 0.00`;
    return { state, ...NO_AMOUNTS, flags: ['taken_elsewhere'], explanation, shares: null };
  }
  if (run.kind === 'regular' && isShareTaken(employee, history, run.pay_date, runId))
    return shareTaken({ state }, `a final check took the share of ${terms.dayInWords(run.pay_date)}`);
  const { member_amount, employer_amount, flags, explanation } = terms.amountsOf(state);
  return { state, member_amount, employer_amount, flags, explanation, shares: null };
}

const NO_AMOUNTS = { member_amount: 0n, employer_amount: 0n };

/** Returns the transfer for which another employer takes a deduction on a pay date, or null. */
function takenElsewhere(
  { run, transfers }: RunTerms,
  { employeeId }: Payee,
  history: History,
  { starts_on }: RunVersion,
  payDate: string,
): Transfer | null {
  if (assignedIn(history, run) !== null) return null;
  const isTaking = ({ left_on, until }: Transfer): boolean =>
    until !== null && payDate <= until && left_on <= run.period_end && (starts_on ?? '') <= left_on;
  return transfers.get(employeeId)?.find(isTaking) ?? null;
}

/** Reports whether another run, not voided, took the share of a deduction on a pay date, or on any date. */
export function isShareTaken(
  { shares }: Payee,
  { deductionId }: History,
  payDate: string | null,
  runId: string | null,
): boolean {
  return shares.some(
    (share) =>
      !share.isVoided &&
      share.runId !== runId &&
      share.deductionId === deductionId &&
      (payDate === null || share.payDate === payDate),
  );
}

/** Reports whether the employee is, or belongs, in another regular run of a pay date. */
function isPaid({ paid }: Payee, payDate: string, runId: string | null): boolean {
  return paid.some((date) => date.runId !== runId && date.payDate === payDate);
}

/** Returns the sum of a deduction's amounts on these pay dates; null if it is in effect on none of them. */
export function sharesOn(
  terms: RunTerms,
  employee: Payee,
  history: History,
  payDates: readonly string[],
  job: Job,
): CheckAmounts | null {
  const checks = payDates.flatMap((payDate) => {
    const state = stateOnDate(terms, employee, history, payDate, job);
    if (state === null) return [];
    return [{ payDate, state, ...terms.onDate(payDate).amountsOf(state) }];
  });
  const [first] = checks;
  if (first === undefined) return null;
  const [member_amount, employer_amount] = [sumOf(checks, 'member_amount'), sumOf(checks, 'employer_amount')];
  return {
    state: first.state,
    member_amount,
    employer_amount,
    flags: member_amount < 0n || employer_amount < 0n ? ['negative'] : [],
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
  { employeeId }: Payee,
  history: History,
  payDate: string,
  job: Job,
): RunVersion | null {
  return stateInRun(history, employeeId, terms.onDate(payDate), job);
}

type Check = { payDate: string; member_amount: Cents; employer_amount: Cents };

function sumOf(checks: readonly Check[], side: 'member_amount' | 'employer_amount'): Cents {
  return checks.reduce((sum, check) => sum + check[side], 0n);
}

/** Reports whether amounts are 0.00 because another check, here or at another employer, takes the share. */
export function isTakenByAnother({ flags }: { flags: readonly string[] }): boolean {
  return flags.some((flag) => flag === 'share_taken' || flag === 'taken_elsewhere');
}

/** Reports whether a final check takes nothing but the share of its run's own pay date. */
export function isOwnCheck({ run }: RunTerms, payDates: readonly string[]): boolean {
  return run.kind === 'regular' && payDates.length === 1 && payDates[0] === run.pay_date;
}

/** Returns `3 shares, September 11, 18 and 25: 69.23 + 69.23 + 69.23`. */
function explanationOf({ run }: RunTerms, checks: readonly Check[]): string {
  const working = (side: 'member_amount' | 'employer_amount') =>
    checks.map((check) => printReadable(check[side])).join(' + ');
  const hasEmployer = checks.some(({ employer_amount }) => employer_amount !== 0n);
  const employer = hasEmployer ? `; plus employer ${working('employer_amount')}` : '';
  const dates = datesInWords(
    checks.map(({ payDate }) => payDate),
    run.pay_date,
  );
  return `${countOfShares(checks.length)}, ${dates}: ${working('member_amount')}${employer}`;
}

export function countOfShares(count: number): string {
  return count === 1 ? '1 share' : `${count} shares`;
}

/** Returns the pay dates whose shares a final check takes of a deduction: its own, and the unsettled ones of the month. */
function finalDates(
  settling: Settling,
  terms: CheckTerms,
  employee: Payee,
  history: History,
  job: Job,
): string[] {
  const { run, runId } = terms;
  const takesOwnDate =
    run.kind === 'regular' &&
    takesOn(terms, employee, history, run.pay_date, job) &&
    !isPaid(employee, run.pay_date, runId) &&
    !isShareTaken(employee, history, run.pay_date, runId);
  const rest = unsettledDates(settling, terms, employee, history, job);
  const dates = [...new Set([...(takesOwnDate ? [run.pay_date] : []), ...rest])];
  const [first] = dates;
  if (first === undefined || !isOneShare(terms, employee, history, first, job)) return dates.sort();
  return isShareTaken(employee, history, null, runId) ? [] : [first];
}

function isOneShare(...[terms, employee, history, date, job]: Parameters<typeof stateOnDate>): boolean {
  return ONE_SHARE.has(stateOnDate(terms, employee, history, date, job)?.line_of_coverage ?? '');
}

/** Reports whether a pay date takes a deduction that is in effect, and no employer that the employee left takes it. */
function takesOn(...[terms, employee, history, date, job]: Parameters<typeof stateOnDate>): boolean {
  const state = stateOnDate(terms, employee, history, date, job);
  if (state === null || takenElsewhere(terms, employee, history, state, date) !== null) return false;
  const periods = classOf(state.period as PayFrequency, terms.run.pay_frequency);
  return (
    terms.plan().calendar?.some((listed) => listed.pay_date === date && listed[periods] !== null) === true
  );
}

/**
 * Returns the pay dates in the month of the termination that take a deduction in effect and that no run settled: no final
 * check took their share, and the employee was not, and does not belong, in their regular run.
 */
function unsettledDates(
  { earlier }: Settling,
  terms: CheckTerms,
  employee: Payee,
  history: History,
  job: Job,
): string[] {
  const { run, runId, deductions } = terms;
  if (deductions?.has(history.deductionId) === false) return [];
  const first = firstDate(earlier, run);
  return datesOfLastMonth(terms, job)
    .map(({ pay_date }) => pay_date)
    .filter(
      (date) =>
        date >= first &&
        takesOn(terms, employee, history, date, job) &&
        !isPaid(employee, date, runId) &&
        !isShareTaken(employee, history, date, runId),
    );
}

/** Returns the pay dates of a run's calendar whose days lie in the month of the termination. */
export function datesOfLastMonth(terms: RunTerms, { termination }: Job) {
  if (termination === null) return [];
  return (terms.plan().calendar ?? []).filter(
    (date) => monthOf(dayOfCheck(terms.run.applies_on, date)) === monthOf(termination),
  );
}

/**
 * Returns the pay date from which final checks take shares: of the first finalized regular run of a run's frequency and
 * group. A regular run is itself one of them when it is final.
 */
function firstDate(earlier: Payout['earlier'], of: RunTerms['run']): string {
  const first = earlier.find(
    ({ run, isVoided }) =>
      !isVoided &&
      run.kind === 'regular' &&
      run.pay_frequency === of.pay_frequency &&
      run.pay_group === of.pay_group,
  );
  const date = first?.run.pay_date ?? of.pay_date;
  return of.kind === 'regular' && of.pay_date < date ? of.pay_date : date;
}

/** The shares that remain after a check. */
export type Remaining = { count: number; member: Cents; employer: Cents };

/** Returns the shares that a final check could take of a deduction after a check that took `shares`. */
export function remainingAfter(
  settling: Settling,
  terms: CheckTerms,
  employee: RunEmployee,
  history: History,
  shares: readonly Share[] | null,
): Remaining {
  const { run, runId } = terms;
  const isTaken = (date: string) =>
    (run.kind === 'regular' && date === run.pay_date) || shares?.some(({ pay_date }) => pay_date === date);
  let dates = unsettledDates(settling, terms, employee, history, employee).filter((date) => !isTaken(date));
  const [first] = dates;
  if (first !== undefined && isOneShare(terms, employee, history, first, employee))
    dates = shares !== null || isShareTaken(employee, history, null, runId) ? [] : [first];
  const left = sharesOn(terms, employee, history, dates, employee);
  return { count: dates.length, member: left?.member_amount ?? 0n, employer: left?.employer_amount ?? 0n };
}

function monthOf(day: string): string {
  return day.slice(0, 'YYYY-MM'.length);
}

export function lastOfMonth(day: string): string {
  const date = Temporal.PlainDate.from(day);
  return date.with({ day: date.daysInMonth }).toString();
}
