/** A line of a run: what one deduction takes from one employee's paycheck. */
import Type, { type Static } from 'typebox';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import { PAY_FREQUENCIES } from '../../contract/employee.ts';
import { closed, integer, nullable, nullableText, oneOfDescribed, text } from '../../contract/fields.ts';
import { FLAG_NAMES } from '../../formats/flags.ts';
import {
  AMOUNT_PATTERN,
  AMOUNT_RULE,
  amountOf,
  amountOrNull,
  type Cents,
  centsOf,
  centsOrNull,
} from '../../money.ts';
import type { Sides } from './items.ts';

export const LINE_KINDS = ['regular', 'adjustment', 'arrears'] as const;

export const CHANGES = ['new', 'changed', 'replaced', 'ended', 'moved', 'same'] as const;

const AMOUNT_CHANGES = ['same', 'calendar', 'shares', 'override', 'changed'] as const;

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

/** Amounts of different accounts are never offset against one another. */
const ACCOUNT = {
  employee_id: text('The employee.'),
  deduction_id: text('The deduction.'),
  line_of_coverage: oneOfText(LINES_OF_COVERAGE, 'The line of coverage.'),
  taxability: oneOfText(TAXABILITIES, 'Whether the deduction is taken before or after taxes.'),
};

const ELECTION = {
  version: nullable(integer('The version of the deduction. Null if the line has no single version.')),
  coverage_type: nullableText('Who is covered, if the benefits service reported it.'),
  description: nullableText('The description from the benefits service.'),
  period: nullable(oneOfDescribed(PAY_FREQUENCIES, 'The period of the contributions, as received.')),
  member_contribution: nullableText('The employee contribution, as received.'),
  employer_contribution: nullableText('The employer contribution, as received.'),
};

const CODES = {
  payroll_code: nullableText('The payroll code of the employee amount.'),
  employer_payroll_code: nullableText('The payroll code of the employer amount.'),
  employer_treatment: nullable(
    oneOfDescribed(TREATMENTS, 'How payroll treats the employer amount. Null if no code states it.'),
  ),
};

/** What a line of an open item settles. */
const SETTLES = {
  adjustment_for: nullableText('The earlier run that an adjustment or arrears line settles.'),
  item_id: nullableText('The open item that the line takes. Null for a regular line.'),
  outstanding_after: nullable(
    amountField(
      'The employee’s amount of the item that stays open after this line. Null for a regular line.',
    ),
  ),
  adjustment_pay_date: nullableText('The pay date of that run, or of the opening item.'),
  because: nullable(Because),
};

/** How a regular line differs from the previous run. */
const COMPARED = {
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
};

/** A line with its amounts as text: as it is stored and shown. */
export const LineRecord = closed(
  {
    ...ACCOUNT,
    ...ELECTION,
    ...CODES,
    member_amount: amountField('The amount to deduct from this paycheck.'),
    employer_amount: amountField('The employer amount for this paycheck.'),
    kind: Type.Enum([...LINE_KINDS], {
      description:
        '`regular`: for this paycheck. `adjustment`: a difference from an earlier run. `arrears`: an amount not taken in an earlier run, or an opening item.',
    }),
    ...SETTLES,
    shares: nullable({
      ...Type.Array(Share),
      description: 'The pay dates whose amounts a final check takes. Null for other lines.',
    }),
    ...COMPARED,
    flags: Type.Array(Type.Enum(FLAG_NAMES), { description: 'Conditions to review.' }),
    explanation: text('How the amounts were computed.'),
  },
  'One deduction from one paycheck.',
);
export type LineRecord = Static<typeof LineRecord>;

/** Fields of a record, with these amounts in cents. */
type Part<Fields, Amount extends keyof LineRecord = never> = {
  [Field in keyof Fields & keyof LineRecord]: Field extends Amount ? Cents | null : LineRecord[Field];
};

export type Account = Part<typeof ACCOUNT>;
export type Election = Part<typeof ELECTION>;
export type Codes = Part<typeof CODES>;
type Settles = Part<typeof SETTLES, 'outstanding_after'>;
export type Compared = Part<typeof COMPARED, 'previous_amount' | 'member_difference' | 'employer_difference'>;

/** A line in a computation. A version of a deduction and the record of a line have the fields of an account and an election. */
export type Line = Pick<LineRecord, 'kind' | 'shares' | 'flags' | 'explanation'> & {
  account: Account;
  election: Election;
  codes: Codes;
  amounts: Sides;
  /** Null for a regular line. */
  settles: Settles | null;
  /** Null for adjustments and arrears. */
  compared: Compared | null;
};

export const NO_ITEM = {
  adjustment_for: null,
  item_id: null,
  outstanding_after: null,
  adjustment_pay_date: null,
  because: null,
};

export const NOT_COMPARED = {
  change: null,
  replaces_deduction_id: null,
  amount_change: null,
  previous_amount: null,
  member_difference: null,
  employer_difference: null,
};

/** Reports whether a line stops a deduction of the previous run. */
export function isStopped({ compared }: Pick<Line, 'compared'>): boolean {
  return isStop(compared?.change ?? null);
}

/** Reports whether a change is that of a stopped deduction. */
export function isStop(change: LineRecord['change']): boolean {
  return change === 'ended' || change === 'moved';
}

/** Returns a line as it is stored and shown. Written as one literal: copies cost more than the arithmetic of a large run. */
export function lineRecord(line: Line): LineRecord {
  const { account, election, codes, amounts } = line;
  const settles = line.settles ?? NO_ITEM;
  const compared = line.compared ?? NOT_COMPARED;
  return {
    employee_id: account.employee_id,
    deduction_id: account.deduction_id,
    line_of_coverage: account.line_of_coverage,
    taxability: account.taxability,
    version: election.version,
    coverage_type: election.coverage_type,
    description: election.description,
    period: election.period,
    member_contribution: election.member_contribution,
    employer_contribution: election.employer_contribution,
    payroll_code: codes.payroll_code,
    employer_payroll_code: codes.employer_payroll_code,
    employer_treatment: codes.employer_treatment,
    member_amount: amountOf(amounts.member),
    employer_amount: amountOf(amounts.employer),
    kind: line.kind,
    adjustment_for: settles.adjustment_for,
    item_id: settles.item_id,
    outstanding_after: amountOrNull(settles.outstanding_after),
    adjustment_pay_date: settles.adjustment_pay_date,
    because: settles.because,
    shares: line.shares,
    change: compared.change,
    replaces_deduction_id: compared.replaces_deduction_id,
    amount_change: compared.amount_change,
    previous_amount: amountOrNull(compared.previous_amount),
    member_difference: amountOrNull(compared.member_difference),
    employer_difference: amountOrNull(compared.employer_difference),
    flags: line.flags,
    explanation: line.explanation,
  };
}

/** Returns the line of a record that `lineRecord` made. */
export function lineOf(record: LineRecord): Line {
  const { kind, shares, flags, explanation } = record;
  const isRegular = kind === 'regular';
  return {
    account: record,
    election: record,
    codes: record,
    amounts: { member: centsOf(record.member_amount), employer: centsOf(record.employer_amount) },
    kind,
    settles: isRegular ? null : { ...record, outstanding_after: centsOrNull(record.outstanding_after) },
    shares,
    compared: isRegular ? comparedOf(record) : null,
    flags,
    explanation,
  };
}

function comparedOf(record: LineRecord): Compared {
  const { change, replaces_deduction_id, amount_change } = record;
  return {
    change,
    replaces_deduction_id,
    amount_change,
    previous_amount: centsOrNull(record.previous_amount),
    member_difference: centsOrNull(record.member_difference),
    employer_difference: centsOrNull(record.employer_difference),
  };
}

/** Returns the regular line of a deduction among those of one employee, or undefined. */
export function regularLineOf(lines: readonly Line[], deductionId: string): Line | undefined {
  return lines.find(({ kind, account }) => kind === 'regular' && account.deduction_id === deductionId);
}

/** Returns a key that is unique among an employee's lines in a run: the open item that the line takes, or its deduction. */
export function lineKey({ item_id, deduction_id }: Pick<LineRecord, 'item_id' | 'deduction_id'>): string {
  return item_id ?? regularLineKey(deduction_id);
}

export function regularLineKey(deductionId: string): string {
  return `regular ${deductionId}`;
}

/** Compares ids and codes for the order of lines and items. */
export function byText(text: string, other: string): number {
  return text === other ? 0 : text < other ? -1 : 1;
}
