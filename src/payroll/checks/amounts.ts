/** The checks of a run's amounts and of their payroll codes. Pure. */
import type { Found } from '../../checks.ts';
import { amountOf, type Cents, isZero, printReadable } from '../../money.ts';
import { isEven } from '../calculation/calendar.ts';
import { isNothing } from '../calculation/items.ts';
import { isStopped, type Line } from '../calculation/line.ts';
import { PERIODS_PER_YEAR } from '../calculation/pay-dates.ts';
import type { Computation, RunEmployee } from '../compute/computation.ts';
import { historyOf, stateInRun } from '../compute/history.ts';
import { isWithin } from '../compute/missed-checks.ts';
import type { EarlierRun } from '../compute/payout.ts';
import { wasInRun } from '../compute/reopened-runs.ts';
import type { Taking } from '../compute/taking.ts';
import type { RunTerms } from '../compute/terms.ts';
import { countOfEmployees, memberTotal } from '../compute/totals.ts';
import { NONE, type RunCheck } from './check.ts';

/** `uncoded`: what has no code, such as `dental pre_tax employee`. */
type Uncoded = Found & { uncoded: string };

/** A side without an amount or a contribution needs no code. An employer may have no codes, or none for its own side. */
export const CODES_MISSING: RunCheck<Uncoded> = {
  id: 'codes-missing',
  title: 'Lines have no payroll code',
  severity: 'fail',
  detail:
    'The check applies once the employer has codes, and to the employer’s side once it has codes for that side.',
  look: ({ basis: { codes } }) => {
    const missing = new Map<string, Uncoded>();
    const hasEmployerCodes = codes.some(({ side }) => side === 'employer');
    const add = (line: Line, side: 'employee' | 'employer'): void => {
      const { line_of_coverage, taxability } = line.account;
      const hasTypes = codes.some(
        (code) => code.line_of_coverage === line_of_coverage && code.coverage_type !== null,
      );
      const coverage_type = hasTypes ? line.election.coverage_type : null;
      const typeInWords = hasTypes ? ` ${coverage_type ?? 'without a coverage type'}` : '';
      const uncoded = `${line_of_coverage}${typeInWords} ${taxability} ${side}`;
      missing.set(uncoded, { line_of_coverage, taxability, coverage_type, side, uncoded, result: 'fail' });
    };
    const isUncharged = (amount: Cents, contribution: string | null) =>
      amount === 0n && isZero(contribution ?? '');
    return {
      each({ lines }) {
        for (const line of codes.length === 0 ? NONE : lines) {
          // A line that stops keeps the code of the previous run.
          if (isStopped(line)) continue;
          const { amounts, election, codes: own } = line;
          if (own.payroll_code === null && !isUncharged(amounts.member, election.member_contribution))
            add(line, 'employee');
          if (!hasEmployerCodes || own.employer_payroll_code !== null) continue;
          if (!isUncharged(amounts.employer, election.employer_contribution)) add(line, 'employer');
        }
        return NONE;
      },
      atEnd: () => [...missing].sort(byName).map(([, uncoded]) => uncoded),
    };
  },
  text: ({ uncoded }) => uncoded,
  advice: 'These lines have no payroll code. Set the payroll codes of the employer.',
  passed: async (_, { computation: { basis } }) =>
    basis.codes.length === 0 ? 'The employer has no payroll codes.' : 'Every line has a payroll code.',
  fixed: { at: 'codes', query: {}, docs: 'payroll-settings.md#payroll-codes' },
};

/** What a check takes for a line of coverage beyond the periods of the year, or as the last check of a short year. */
type Beyond = Found & { employees: number; member: Cents; place: string };

/** Reports contributions per paycheck that add up to more or less than a year on this check. */
export const CHECK_BEYOND_YEAR: RunCheck<Beyond> = {
  id: 'check-beyond-year',
  title: 'The year has extra or missing paychecks',
  severity: 'warn',
  detail:
    'The check warns on a paycheck after the 26th biweekly one of the year (or after the 12th, 24th or 52nd), and on the last paycheck of a year with fewer.',
  look: (terms) => {
    const coverages = new Map<string, Beyond>();
    let place: string | null | undefined;
    return {
      each({ regular }) {
        if (regular.length > 0 && place === undefined) place = placeOf(terms);
        if (place == null) return NONE;
        const taken = regular.filter(
          ({ election, amounts }) => election.period === terms.run.pay_frequency && !isNothing(amounts),
        );
        for (const [line_of_coverage, lines] of Map.groupBy(taken, (line) => line.account.line_of_coverage)) {
          const { employees = 0, member = 0n } = coverages.get(line_of_coverage) ?? {};
          const sum = member + memberTotal(lines);
          const added = { employees: employees + 1, member: sum, member_amount: amountOf(sum) };
          coverages.set(line_of_coverage, { line_of_coverage, ...added, place, result: 'warn' });
        }
        return NONE;
      },
      atEnd: () => [...coverages].sort(byName).map(([, beyond]) => beyond),
    };
  },
  text: ({ line_of_coverage, employees, member, place }) =>
    `${line_of_coverage}: ${countOfEmployees(employees)}, ${printReadable(member)} on ${place}`,
  advice:
    'Contributions per paycheck add up to more or less than a year of them, because the year has another number of pay dates. Mark a date in the pay schedule as not taking them if it should not.',
  passed: 'No contribution per paycheck adds up to more or less than a year of them on this check.',
  fixed: { at: 'settings', query: {}, docs: 'payroll-settings.md#pay-dates' },
};

/** Returns the place of the check in the year; null if it is an ordinary one, or takes its share of a year that is divided. */
function placeOf(terms: RunTerms): string | null {
  const { run } = terms;
  const { k, N, share } = terms.plan().cycleOf(run.pay_frequency);
  if (k === null || share === null || !isEven(share)) return null;
  const periods = PERIODS_PER_YEAR[run.pay_frequency];
  if (k > periods) return `check ${k}, after the first ${periods}`;
  if (k !== N || N >= periods) return null;
  return `check ${k}, the last of a year with fewer than ${periods}`;
}

/** Reports what an off-cycle run takes in addition to the pay dates of the year: docs/payroll-settings.md. */
export const OFF_CYCLE_ADDS: RunCheck<Found & { employees: number; member: Cents }> = {
  id: 'off-cycle-adds',
  title: 'An off-cycle run takes amounts beyond the year',
  severity: 'warn',
  detail: 'A paycheck that the employee missed in the pay period of the run does not count.',
  look: (computation) => {
    let employees = 0;
    let member = 0n;
    return {
      each({ employee, regular, taking }) {
        if (computation.run.kind !== 'off_cycle') return NONE;
        const added = addedToYear(computation, employee, regular, taking);
        if (added.length > 0) employees += 1;
        for (const amount of added) member += amount;
        return NONE;
      },
      atEnd: () =>
        employees === 0 ? NONE : [{ member_amount: amountOf(member), employees, member, result: 'warn' }],
    };
  },
  text: ({ employees, member }) => `${countOfEmployees(employees)}, ${printReadable(member)}`,
  advice:
    'The regular pay dates take a whole year of each deduction. This run takes its amounts in addition to them.',
  passed: 'The run takes no regular amount in addition to the pay dates of the year.',
};

/** Returns the amounts of an employee's off-cycle lines, less what they pay of a check that the employee missed. */
function addedToYear(
  computation: Computation,
  employee: RunEmployee,
  regular: readonly Line[],
  { units }: Taking,
): Cents[] {
  const missed = computation.earlier.filter(
    (earlier) =>
      !earlier.isVoided &&
      earlier.isRecent &&
      earlier.run.kind === 'regular' &&
      isWithin(computation.run, earlier.run) &&
      !wasInRun(earlier, employee) &&
      employee.jobAt(earlier).belongs,
  );
  const addedBy = ({ account: { deduction_id }, amounts }: Line): Cents => {
    const history = historyOf(employee.histories, deduction_id);
    const isDue = (earlier: EarlierRun) =>
      stateInRun(history, employee.employeeId, earlier, employee.jobAt(earlier)) !== null;
    const run = missed.find(isDue);
    if (run === undefined) return amounts.member;
    const item = units
      .flatMap(({ items }) => items)
      .find(({ identity }) => identity.source === run.runId && identity.deduction_id === deduction_id);
    // What the missed check leaves below zero was taken twice.
    const beyond = -(item?.outstanding.member ?? 0n);
    return beyond > 0n ? beyond : 0n;
  };
  return regular
    .filter(({ shares }) => shares === null)
    .map(addedBy)
    .filter((amount) => amount !== 0n);
}

function byName([name]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return name < other ? -1 : 1;
}
