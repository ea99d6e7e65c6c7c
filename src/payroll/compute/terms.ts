/** The terms of a run: everything that decides its lines, apart from its employees. Pure. */
import type { RunVersion } from '../../ledger/history.ts';
import { type Amounts, type Contribution, calculator } from '../calculation/amounts.ts';
import type { Account, Election, Line } from '../calculation/line.ts';
import { dayInWords, yearOf } from '../calculation/pay-dates.ts';
import { type Plan, planOf } from '../calculation/plan.ts';
import type { Override, StoredBasis, Transfer } from '../records/basis.ts';
import { dayOfRun, type Run } from '../records/body.ts';
import { codeFinder, type PayrollCode } from '../settings/codes.ts';

export type RunTerms = {
  run: Run;
  /** The day on which it looks deductions up. */
  day: string;
  /** The employees to which `employee_ids` narrows the run; null: not narrowed. */
  employees: ReadonlySet<string> | null;
  /** The employees who get a final check. */
  finalChecks: ReadonlySet<string>;
  /** The employer has at most one pay schedule, so an employee of unknown frequency is in no other. */
  hasOneScheduleAtMost: boolean;
  /** The deductions that an off-cycle run takes; null: a regular run takes all. */
  deductions: ReadonlySet<string> | null;
  /** The amounts that people set for a paycheck of this run, by employee. */
  overrides: ReadonlyMap<string, readonly Override[]>;
  /** The transfers to the employer, by employee. */
  transfers: ReadonlyMap<string, readonly Transfer[]>;
  plan: () => Plan;
  /** Returns the terms of the regular check on another pay date of the run's calendar. */
  onDate: (payDate: string) => RunTerms;
  /** Returns the amounts of a deduction's state. */
  amountsOf: (version: RunVersion) => Amounts;
  /** Returns a day in words, with its year unless it is in the year of the pay date. */
  dayInWords: (day: string) => string;
  /** Returns what a line has from the state of its deduction, or from an earlier line, with the codes of the run. */
  contentOf: (account: Account, election: Election) => Pick<Line, 'account' | 'election' | 'codes'>;
};

/** Returns the terms of a run from its basis, of today or as frozen. */
export function termsOf(basis: StoredBasis): RunTerms {
  const { run, schedules, codes } = basis;
  // Nothing is computed for most earlier runs, and an employer with many pay groups has hundreds.
  let plan: Plan | undefined;
  let calculate: ReturnType<typeof calculator> | undefined;
  const byDate = new Map<string, RunTerms>();
  const planned = (): Plan => {
    plan ??= planOf(run, basis.calendar);
    return plan;
  };
  const terms: RunTerms = {
    run,
    day: dayOfRun(run),
    employees: run.employee_ids === null ? null : new Set(run.employee_ids),
    finalChecks: new Set(run.final_checks),
    hasOneScheduleAtMost: schedules.length <= 1,
    deductions: run.kind === 'off_cycle' ? new Set(run.deductions) : null,
    overrides: Map.groupBy(basis.overrides, ({ employee_id }) => employee_id),
    transfers: Map.groupBy(basis.transfers, ({ employee_id }) => employee_id),
    plan: planned,
    onDate(payDate) {
      if (run.kind === 'regular' && payDate === run.pay_date) return terms;
      const known = byDate.get(payDate);
      if (known !== undefined) return known;
      const listed = basis.calendar?.find(({ pay_date }) => pay_date === payDate);
      const period_end = listed?.period_end ?? payDate;
      const onDate = termsOf({
        ...basis,
        run: { ...run, kind: 'regular', pay_date: payDate, period_end },
        overrides: [],
      });
      byDate.set(payDate, onDate);
      return onDate;
    },
    amountsOf(version) {
      calculate ??= calculator(planned());
      return calculate(version as RunVersion & Pick<Contribution, 'period'>);
    },
    dayInWords: (day) => dayInWords(day, yearOf(run.pay_date)),
    contentOf: contentUnder(codes),
  };
  return terms;
}

/** Returns the function that makes the content of lines with these codes. */
export function contentUnder(codes: readonly PayrollCode[]): RunTerms['contentOf'] {
  const codesOf = codeFinder(codes);
  return (account, election) => {
    const { line_of_coverage, taxability } = account;
    const { coverage_type } = election;
    return { account, election, codes: codesOf({ line_of_coverage, taxability, coverage_type }) };
  };
}
