/** A line of a run: what one deduction takes from one employee's paycheck. */
import Type, { type Static } from 'typebox';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import { PAY_FREQUENCIES } from '../../contract/employee.ts';
import { closed, integer, nullable, nullableText, oneOfDescribed, text } from '../../contract/fields.ts';
import {
  AMOUNT_PATTERN,
  AMOUNT_RULE,
  amountOf,
  amountOrNull,
  type Cents,
  centsOf,
  centsOrNull,
} from '../../money.ts';

export const LINE_KINDS = ['regular', 'adjustment', 'arrears'] as const;

export const CHANGES = ['new', 'changed', 'replaced', 'ended', 'moved', 'same'] as const;

const AMOUNT_CHANGES = ['same', 'calendar', 'shares', 'override', 'changed'] as const;

export const FLAGS = [
  /** Pay dates in the month of the termination remain that a final check may take. */
  'coverage_beyond_last_check',
  /** A check that the employee should have had in an earlier run. */
  'missed_check',
  'negative',
  /** The employee is no longer in a run of this employer: there is no paycheck to take it from. */
  'no_further_paycheck',
  /** The employment has ended, and the deduction has not. */
  'open_after_termination',
  /** A person set the amounts of this paycheck. */
  'overridden',
  /** The first or last line of the year of a deduction that is not in effect on all pay dates that take it. */
  'partial_cycle',
  /** The recoup limit leaves a part of the employee's items for the line of coverage open. */
  'recoup_capped',
  /** The employee's pre-tax deductions for the line of coverage increase retroactively. */
  'retro_pre_tax',
  /** They decrease retroactively. */
  'retro_refund',
  /** A final check took the share of this pay date. */
  'share_taken',
  /** The employer that the employee left takes the deduction on this pay date. */
  'taken_elsewhere',
] as const;
export type Flag = (typeof FLAGS)[number];

/** How payroll treats the employer amount. */
export const TREATMENTS = ['deposit', 'memo'] as const;

export const amountField = (description: string) => text(`${description} Two decimals.`);

/** Returns the schema of an amount in a request, which `parseAmount` parses. */
export const requestedAmount = (description: string) =>
  Type.String({ pattern: AMOUNT_PATTERN, rule: AMOUNT_RULE, description });

/** Returns the schema of a text that the contract has checked. */
const oneOfText = (values: readonly string[], description: string) =>
  Type.Unsafe<string>(oneOfDescribed(values, description));

const BECAUSE = ['event', 'roster', 'decision', 'void', 'taken'] as const;

/** The record since which the amount due for an earlier run is what it is. */
export const Because = closed(
  {
    kind: oneOfDescribed(
      BECAUSE,
      '`event`: a version of the deduction. `roster`: a report about the employment. `decision`: an assignment to an employer. ' +
        '`void`: of the earlier run. `taken`: a report of amounts taken.',
    ),
    id: text(
      'The event, census or employment change, assignment, run, or report. `another employer` for one that the token may not see.',
    ),
    received_at: text('The time of its receipt.'),
  },
  'The record since which the amount due for the earlier run is what it is. Null for a regular line.',
);
export type Because = Static<typeof Because>;

const Share = closed({
  pay_date: text('The regular pay date.'),
  member_amount: amountField('The employee’s amount of that date.'),
  employer_amount: amountField('The employer amount of that date.'),
});
export type Share = Static<typeof Share>;

/** A line with its amounts as text: as it is stored and shown. */
export const LineRecord = closed(
  {
    employee_id: text('The employee.'),
    deduction_id: text('The deduction.'),
    version: nullable(integer('The version of the deduction. Null if the line has no single version.')),
    line_of_coverage: oneOfText(LINES_OF_COVERAGE, 'The line of coverage.'),
    coverage_type: nullableText('Who is covered, if the benefits service reported it.'),
    taxability: oneOfText(TAXABILITIES, 'Whether the deduction is taken before or after taxes.'),
    payroll_code: nullableText('The payroll code of the employee amount.'),
    employer_payroll_code: nullableText('The payroll code of the employer amount.'),
    employer_treatment: nullable(
      oneOfDescribed(TREATMENTS, 'How payroll treats the employer amount. Null if no code states it.'),
    ),
    description: nullableText('The description from the benefits service.'),
    period: nullable(oneOfDescribed(PAY_FREQUENCIES, 'The period of the contributions, as received.')),
    member_contribution: nullableText('The employee contribution, as received.'),
    employer_contribution: nullableText('The employer contribution, as received.'),
    member_amount: amountField('The amount to deduct from this paycheck.'),
    employer_amount: amountField('The employer amount for this paycheck.'),
    kind: Type.Enum([...LINE_KINDS], {
      description:
        '`regular`: for this paycheck. `adjustment`: a difference from an earlier run. `arrears`: an amount not taken in an earlier run, or an opening item.',
    }),
    adjustment_for: nullableText('The earlier run that an adjustment or arrears line settles.'),
    opening_id: nullableText('The opening item that an arrears line settles.'),
    item_id: nullableText('The open item that the line takes. Null for a regular line.'),
    outstanding_after: nullable(
      amountField(
        'The employee’s amount of the item that stays open after this line. Null for a regular line.',
      ),
    ),
    adjustment_pay_date: nullableText('The pay date of that run, or of the opening item.'),
    because: nullable(Because),
    shares: nullable({
      ...Type.Array(Share),
      description: 'The pay dates whose amounts a final check takes. Null for other lines.',
    }),
    change: nullable(
      oneOfDescribed(
        CHANGES,
        'What happened to the election since the previous finalized run of the employer, frequency and pay group; ' +
          '`replaced`: the deduction took the place of another one for the line of coverage, which has no line; ' +
          '`moved`: the employee left this frequency, group or employer, or the deduction was assigned to another employer. Without a previous run it is `new`. Null for adjustments and arrears.',
      ),
    ),
    replaces_deduction_id: nullableText(
      'The deduction of the previous run that a `replaced` one is compared with.',
    ),
    amount_change: nullable(
      oneOfDescribed(
        AMOUNT_CHANGES,
        'Why the amounts differ from that run: `same`: at most by the cents of the last check of a year; `calendar`: another share of the year; `shares`: the shares of a final check, or another check takes it; `override`: an override in one of the runs.',
      ),
    ),
    previous_amount: nullable(amountField('The employee’s amount in that run.')),
    member_difference: nullable(amountField('The employee’s amount less that of the previous run.')),
    employer_difference: nullable(amountField('The employer amount less that of the previous run.')),
    flags: Type.Array(Type.Enum([...FLAGS]), { description: 'Conditions to review.' }),
    explanation: text('How the amounts were computed.'),
  },
  'One deduction from one paycheck.',
);
export type LineRecord = Static<typeof LineRecord>;

type Amount = 'member_amount' | 'employer_amount';
type NullableAmount = 'previous_amount' | 'member_difference' | 'employer_difference' | 'outstanding_after';

/** A line in a computation, with its amounts in cents. */
export type Line = Omit<LineRecord, Amount | NullableAmount> &
  Record<Amount, Cents> &
  Record<NullableAmount, Cents | null>;

/** Only lines that take an open item settle anything. */
export const NO_ITEM = {
  adjustment_for: null,
  opening_id: null,
  item_id: null,
  outstanding_after: null,
  adjustment_pay_date: null,
  because: null,
};

/** Only regular lines are compared with the previous run. */
export const NOT_COMPARED = {
  change: null,
  replaces_deduction_id: null,
  amount_change: null,
  previous_amount: null,
  member_difference: null,
  employer_difference: null,
};

/** Reports whether a line stops a deduction of the previous run. */
export function isStopped({ change }: Pick<Line, 'change'>): boolean {
  return change === 'ended' || change === 'moved';
}

/** Returns a line as it is stored and shown. */
export function lineRecord(line: Line): LineRecord {
  return {
    ...line,
    member_amount: amountOf(line.member_amount),
    employer_amount: amountOf(line.employer_amount),
    outstanding_after: amountOrNull(line.outstanding_after),
    previous_amount: amountOrNull(line.previous_amount),
    member_difference: amountOrNull(line.member_difference),
    employer_difference: amountOrNull(line.employer_difference),
  };
}

/** Returns the line of a record that `lineRecord` made. */
export function lineOf(record: LineRecord): Line {
  return {
    ...record,
    member_amount: centsOf(record.member_amount),
    employer_amount: centsOf(record.employer_amount),
    outstanding_after: centsOrNull(record.outstanding_after),
    previous_amount: centsOrNull(record.previous_amount),
    member_difference: centsOrNull(record.member_difference),
    employer_difference: centsOrNull(record.employer_difference),
  };
}

/** What a line settles: an earlier run, or an opening item. */
type Settled = { settles_kind: 'run' | 'opening'; settles: string };

type Sourced = Pick<Line, 'adjustment_for' | 'opening_id'>;

/** Returns what a line settles that takes an open item. */
export function sourceOf({ adjustment_for, opening_id }: Sourced): Settled {
  return adjustment_for === null
    ? { settles_kind: 'opening', settles: opening_id ?? '' }
    : { settles_kind: 'run', settles: adjustment_for };
}

type Keyed = Pick<Line, 'kind' | 'deduction_id' | 'line_of_coverage' | 'taxability'>;

/** Identifies a line among those of its employee in its run. A run may adjust a deduction under two taxabilities. */
export function lineKey(line: Keyed & Sourced): string {
  return line.kind === 'regular' ? regularKey(line) : itemLineKey({ ...line, ...sourceOf(line) });
}

/** Returns the key of the line that takes an open item. */
export function itemLineKey(line: Keyed & Settled): string {
  const { settles_kind, settles, line_of_coverage, taxability } = line;
  // A run id has no colon.
  const source = settles_kind === 'run' ? settles : `opening:${settles}`;
  return `${regularKey(line)} ${source} ${line_of_coverage} ${taxability}`;
}

function regularKey({ kind, deduction_id }: Keyed): string {
  return `${kind} ${deduction_id}`;
}

/** Compares ids and codes for the order of lines and items. */
export function byText(text: string, other: string): number {
  return text === other ? 0 : text < other ? -1 : 1;
}
