/** The checks of open items, and of what a run takes for them. Pure. */
import type { Found } from '../../checks.ts';
import type { Flag } from '../../formats/flags.ts';
import { amountOf } from '../../money.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import type { Computation } from '../compute/computation.ts';
import type { OpenItem } from '../compute/item-state.ts';
import type { Unit } from '../compute/takeable.ts';
import { type Finder, foundAmong, NONE, onlyOne, type RunCheck, type Seen, versionOf } from './check.ts';

/** A finding about items of a line of coverage. `payDates`: of their paychecks, in order. */
type Items = Found & { payDates: readonly string[] };

/** Selects the items of a check from the employee's items that the run may take. */
type Select = (units: readonly Unit[]) => readonly OpenItem[];

/** Makes one finding of the selected items of each line of coverage. */
function itemsIn(select: Select): Finder<Items> {
  return {
    each({ employee: { employeeId }, taking: { units } }: Seen) {
      if (units.length === 0) return NONE;
      const items = select(units);
      if (items.length === 0) return NONE;
      const byCoverage = Map.groupBy(items, ({ identity }) => identity.line_of_coverage);
      return [...byCoverage.values()].map((ofCoverage) => itemsFound(employeeId, ofCoverage));
    },
  };
}

function itemsFound(employee_id: string, items: readonly OpenItem[]): Items {
  const lines = items.map(({ line }) => line);
  const payDates = [...new Set(items.map(({ payDate }) => payDate))].sort();
  const sumOf = (side: 'member' | 'employer') =>
    items.reduce((total, { outstanding }) => total + outstanding[side], 0n);
  return {
    employee_id,
    deduction_id: onlyOne(lines.map(({ account }) => account.deduction_id)),
    version: onlyOne(lines.map(({ election }) => election.version)),
    run_id: onlyOne(lines.map(({ settles }) => settles?.adjustment_for ?? null)),
    line_of_coverage: onlyOne(lines.map(({ account }) => account.line_of_coverage)),
    date: onlyOne(payDates),
    member_amount: amountOf(sumOf('member')),
    employer_amount: amountOf(sumOf('employer')),
    payDates,
    // The version changes with the facts on which the item is based.
    ids: items.flatMap(({ id, line }) => [id, versionOf(line)]),
    result: 'warn',
  };
}

/** Names the pay dates, because another item of the same line of coverage may not belong to the finding. */
function itemsInWords({ employee_id, line_of_coverage, member_amount, payDates }: Items): string {
  const [first = '', last = first] = [payDates[0], payDates.at(-1)];
  const paychecks =
    payDates.length === 1 ? `paycheck of ${first}` : `${payDates.length} paychecks from ${first} to ${last}`;
  return `${employee_id}: ${line_of_coverage} ${member_amount} (${paychecks})`;
}

const undecidedWith =
  (flag: Flag): Select =>
  (units) =>
    units
      .flatMap(({ items }) => items)
      .filter(({ state, line }) => state === 'open' && line.flags.includes(flag));

const leftOutFor =
  (why: Unit['leftOut']): Select =>
  (units) =>
    units.filter(({ leftOut }) => leftOut === why).flatMap(({ items }) => items);

/** Returns a function that reports whether an item arose after the previous run, which reported the earlier ones. */
function isNewSince({ previous }: Computation) {
  const reportedUntil = previous?.finalizedAt ?? '';
  return ({ line }: OpenItem): boolean => (line.settles?.because?.received_at ?? '') > reportedUntil;
}

const DECIDE = {
  at: 'items',
  query: {},
  command: 'items decide --help',
  docs: 'reconciliation.md#decide',
} as const;

export const MISSED_CHECKS: RunCheck<Items> = {
  id: 'missed-checks',
  title: 'Employees missed a paycheck',
  severity: 'warn',
  flag: 'missed_check',
  look: () => itemsIn(undecidedWith('missed_check')),
  text: itemsInWords,
  advice:
    'These employees belonged in earlier runs that did not include them. Decide about the open items of their missed deductions: take, hold or write them off.',
  passed: 'No missed paycheck of an employee needs a decision.',
  fixed: DECIDE,
};

export const RETRO_PRE_TAX: RunCheck<Items> = {
  id: 'retro-pre-tax',
  title: 'Pre-tax deductions rise for past paychecks',
  severity: 'warn',
  flag: 'retro_pre_tax',
  look: () => itemsIn(undecidedWith('retro_pre_tax')),
  text: itemsInWords,
  advice:
    'Open items raise pre-tax deductions of these employees for past paychecks. Section 125 elections are prospective, with few exceptions. Decide about the items, or accept the finding.',
  passed: 'No undecided item raises a pre-tax deduction for a past paycheck.',
  fixed: DECIDE,
};

export const RETRO_REFUND: RunCheck<Items> = {
  id: 'retro-refund',
  title: 'Pre-tax deductions fall for past paychecks',
  severity: 'warn',
  detail: 'Only the first run after they arise names them.',
  flag: 'retro_refund',
  look: (computation) => {
    const [select, isNew] = [undecidedWith('retro_refund'), isNewSince(computation)];
    return itemsIn((units) => select(units).filter(isNew));
  },
  text: itemsInWords,
  advice:
    'Open items return pre-tax deductions of these employees for past paychecks. The money may be at a custodian, or the election irrevocable. Decide about the items, or accept the finding.',
  passed: 'No new undecided item since the previous run returns a pre-tax deduction.',
  fixed: DECIDE,
};

export const OF_ANOTHER_YEAR: RunCheck<Items> = {
  id: 'items-of-another-year',
  title: 'Pre-tax items belong to another tax year',
  severity: 'warn',
  detail: 'Only the first run that leaves them out names them.',
  look: (computation) => {
    const [select, isNew] = [leftOutFor('other_tax_year'), isNewSince(computation)];
    const { previous } = computation;
    const reportedYear = previous === null ? null : yearOf(previous.run.pay_date);
    return itemsIn((units) =>
      select(units).filter((item) => isNew(item) || reportedYear === yearOf(item.payDate)),
    );
  },
  text: itemsInWords,
  advice:
    'Pre-tax adjustments are taken in the tax year of their paycheck. Take these items in an off-cycle run with a pay date in that year, such as December 31, or write them off.',
  passed: 'No pre-tax item of another tax year is new since the previous run.',
  fixed: { ...DECIDE, docs: 'reconciliation.md#correct-the-previous-year' },
};

export const REFUND_WAITS: RunCheck<Items> = {
  id: 'refund-waits',
  title: 'Refunds wait for a decision',
  severity: 'warn',
  look: () => itemsIn(leftOutFor('refund_waits')),
  text: itemsInWords,
  advice:
    'These refunds are more than the deductions of this paycheck, so the run leaves them open. Decide to take them whole, or pay them directly.',
  passed: 'Every refund fits into its paycheck.',
  fixed: DECIDE,
};

/** Looks at each taxability separately: a post-tax deduction must not hide a pre-tax refund. */
export const NEGATIVE_TOTAL: RunCheck<Found & { taxability: string }> = {
  id: 'negative-total',
  title: 'Deductions total less than zero',
  severity: 'fail',
  look: () => ({
    each({ employee: { employeeId }, lines, taking: { byTaxability } }) {
      return foundAmong(byTaxability, ([taxability, sum]) => {
        if (sum >= 0n) return NONE;
        const negative = lines.filter(
          ({ account, amounts }) => account.taxability === taxability && amounts.member < 0n,
        );
        const ids = negative.map((line) => line.settles?.item_id ?? versionOf(line));
        return [{ employee_id: employeeId, member_amount: amountOf(sum), taxability, ids, result: 'fail' }];
      });
    },
  }),
  text: ({ employee_id, member_amount, taxability }) => `${employee_id}: ${member_amount} ${taxability}`,
  advice:
    'The pre-tax or post-tax deductions of these employees sum to less than zero. Confirm that payroll pays out the difference, or hold the open items that return amounts.',
  passed: 'No employee’s deductions sum to less than zero.',
  fixed: DECIDE,
};
