/** A payroll run and its lines as the API shows them. */
import Type, { type Static, type TSchema } from 'typebox';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../contract/deduction.ts';
import { PAY_FREQUENCIES } from '../contract/employee.ts';
import { closed, day, identifier, nullable, oneOf } from '../contract/fields.ts';
import { AMOUNT_CHANGES, CHANGES, FLAGS, LINE_KINDS } from '../payroll/calculation/line.ts';
import { APPLIES_ON, EXTRA_PAYCHECKS, REMAINDERS, SCHEMES } from '../payroll/calculation/plan.ts';
import { KINDS, RUN_ID_PATTERN, type Run, RunBody } from '../payroll/runs/body.ts';
import { Comparison } from '../payroll/runs/comparison.ts';
import { REASONS } from '../payroll/runs/population.ts';
import { amountField, Totals } from '../payroll/runs/totals.ts';
import { TREATMENTS } from '../payroll/settings/codes.ts';
import { COLLECTIONS, OPTIONS } from '../payroll/settings/policy.ts';
import { ownInstant } from './schemas.ts';

/** What each field of a run says; the same for the request and for the answer. */
const WORDS: Readonly<Record<keyof Run, string>> = {
  employer_id: 'Whose employees are paid. Something must be known of the employer.',
  kind: '`regular`: one of the pay dates of the year. `off_cycle`: names its employees and takes only the `deductions` that it names.',
  pay_frequency: 'How often these employees are paid.',
  pay_group: 'Only employees of this pay group.',
  period_start: 'The first day of the pay period.',
  period_end: 'The last day of the pay period.',
  pay_date: 'The day on which is paid.',
  employee_ids: 'Only these employees.',
  deductions: 'Only these deductions, by id.',
  final_checks: 'Employees whose employment ended before the pay period and who get a last paycheck.',
  pay_dates:
    "The calendar year's regular pay dates, the run's own among them. Else those of the employer's pay schedule, " +
    'else, for weekly and biweekly, stepped from the pay date.',
  scheme: 'Which checks share which part of a year.',
  applies_on: 'The day on which a deduction must be in effect.',
  remainder: 'Which check takes the cents that a division leaves. Always `none` without a list of pay dates.',
  extra_paycheck:
    'Whether a contribution for the period of the run is taken on a check beyond the usual number of a year.',
  adjustments:
    'Differences of earlier finalized runs, by what is known now: only reported, or included in this paycheck.',
  arrears: 'Amounts that payroll did not take in earlier runs: only reported, or included in this paycheck.',
  policy_reason:
    "Why the run differs from the employer's payroll policy. Required if a stated option differs.",
};

/** What holds where a body says nothing. */
export const RUN_DEFAULTS: Readonly<Partial<Record<keyof Run, string>>> = {
  kind: 'regular',
};

/** The body of a run for the reference: the schema that it is checked by, with words and defaults. */
export const DescribedRunBody = Type.Unsafe<unknown>({
  ...RunBody,
  description: 'What payroll asks for.',
  properties: Object.fromEntries(
    Object.entries(RunBody.properties as Record<keyof Run, TSchema>).map(([name, schema]) => {
      const field = name as keyof Run;
      const preset = RUN_DEFAULTS[field];
      return [
        name,
        { ...schema, description: WORDS[field], ...(preset !== undefined && { default: preset }) },
      ];
    }),
  ),
});

const said = <const S extends TSchema>(schema: S, field: keyof Run): S => ({
  ...schema,
  description: WORDS[field],
});
const ids = Type.Array(identifier);

/** A run with its defaults filled in. */
const RUN = {
  employer_id: said(identifier, 'employer_id'),
  kind: said(oneOf(KINDS), 'kind'),
  pay_frequency: said(oneOf(PAY_FREQUENCIES), 'pay_frequency'),
  pay_group: said(nullable(identifier), 'pay_group'),
  period_start: said(day, 'period_start'),
  period_end: said(day, 'period_end'),
  pay_date: said(day, 'pay_date'),
  employee_ids: said(nullable(ids), 'employee_ids'),
  deductions: said(nullable(ids), 'deductions'),
  final_checks: said(ids, 'final_checks'),
  pay_dates: said(nullable(Type.Array(day)), 'pay_dates'),
  scheme: said(oneOf(SCHEMES), 'scheme'),
  applies_on: said(oneOf(APPLIES_ON), 'applies_on'),
  remainder: said(oneOf(REMAINDERS), 'remainder'),
  extra_paycheck: said(oneOf(EXTRA_PAYCHECKS), 'extra_paycheck'),
  adjustments: said(oneOf(COLLECTIONS), 'adjustments'),
  arrears: said(oneOf(COLLECTIONS), 'arrears'),
  policy_reason: said(nullable(Type.String()), 'policy_reason'),
  stated_options: Type.Array(oneOf(OPTIONS), {
    description: "The options that the run states itself. The employer's payroll policy decides the others.",
  }),
};

export const RunId = closed({
  run_id: Type.String({
    pattern: RUN_ID_PATTERN,
    rule: 'must be 1 to 128 of A-Z a-z 0-9 . _ -, and not only one or two dots',
    description: 'The id that payroll gave the run: 1 to 128 of A-Z a-z 0-9 . _ -, not only one or two dots',
  }),
});

/** What a run comes to, stored or only looked at. */
const COMPUTED = {
  pay_dates_used: nullable(
    Type.Array(day, {
      description: 'The pay dates that shares are counted in; null when they are not known, and need not be.',
    }),
  ),
  calendar_assumed: Type.Boolean({
    description: 'They were stepped from the pay date, not given: bank holidays move pay dates.',
  }),
  position: Type.Integer({ minimum: 0, description: "The ledger's position that it was computed at." }),
  rules_version: Type.String({ description: 'The rules that it was computed by.' }),
  etag: Type.String({
    description:
      'Changes with the lines and with who is in the run. Send it as `If-Match` to finalize just these.',
  }),
  employees: Type.Integer({ description: 'Employees who are in the run, with or without a line.' }),
  totals: Totals,
  comparison: nullable(Comparison),
  not_in_run: Type.Array(
    closed({
      employee_id: Type.String({ description: 'The employee.' }),
      reason: oneOfDescribed(
        REASONS.filter((reason) => reason !== 'other_employer'),
        'The first reason that holds.',
      ),
    }),
    {
      description:
        'Employees of the employer with a deduction in effect who are not in a regular run, up to 10,000. Empty for a preview that names its employees.',
    },
  ),
  not_in_run_count: Type.Integer({ description: 'The number of these employees.' }),
};

const LIFE = {
  state: Type.Enum(['open', 'finalized', 'voided'], {
    description: 'An open run is computed anew whenever it is read; another one stands as it was frozen.',
  }),
  created_at: ownInstant('When it was put.'),
  finalized_at: nullable(ownInstant('When it was finalized.')),
  voided_at: nullable(ownInstant('When it was taken back.')),
};

export const PayrollRun = closed(
  {
    ...RunId.properties,
    ...RUN,
    ...LIFE,
    ...COMPUTED,
    accept_reason: nullable(
      Type.String({
        description: 'Why failed checks were accepted when it was finalized; null if none failed.',
      }),
    ),
    accepted_checks: Type.Array(Type.String(), {
      description: 'The failed checks that were accepted when it was finalized, by their ids.',
    }),
    void_reason: nullable(Type.String({ description: 'Why it was taken back.' })),
    taken_reports: Type.Array(
      closed({
        report: Type.Integer({ description: 'Its number.' }),
        recorded_at: ownInstant('When it was recorded.'),
        lines: Type.Integer({ description: 'Lines that it names.' }),
      }),
      { description: 'Reports of amounts taken. A later report replaces the lines that it names.' },
    ),
  },
  'A payroll run, and what it comes to.',
);
export type PayrollRun = Static<typeof PayrollRun>;

const {
  pay_dates_used,
  calendar_assumed,
  position,
  rules_version,
  employees,
  comparison,
  not_in_run,
  not_in_run_count,
  ...STORED
} = PayrollRun.properties;

/** All of a run but what an open one would have to be computed for. */
export const PayrollRunOutline = closed(
  {
    ...STORED,
    etag: nullable({ ...COMPUTED.etag, description: 'Null for an open run: it is not computed.' }),
    totals: nullable({ ...Totals, description: 'Null for an open run: it is not computed.' }),
  },
  'A payroll run as it was put, and what became of it.',
);

/** Without what would have to be computed, and without its lists of ids. */
export const PayrollRunSummary = closed(
  {
    ...RunId.properties,
    employer_id: RUN.employer_id,
    kind: RUN.kind,
    pay_frequency: RUN.pay_frequency,
    pay_group: RUN.pay_group,
    period_start: RUN.period_start,
    period_end: RUN.period_end,
    pay_date: RUN.pay_date,
    ...LIFE,
    etag: nullable({ ...COMPUTED.etag, description: 'Null for an open run: look at the run.' }),
    totals: nullable({ ...Totals, description: 'Null for an open run: look at the run.' }),
  },
  'A payroll run in a list.',
);

export const Line = closed(
  {
    employee_id: Type.String({ description: 'Whose paycheck.' }),
    deduction_id: Type.String({ description: 'Which deduction.' }),
    version: nullable(
      Type.Integer({ description: 'Which version of it; null where the line is of no single one.' }),
    ),
    line_of_coverage: oneOfText(LINES_OF_COVERAGE, 'What is covered.'),
    coverage_type: nullable(Type.String({ description: 'Who is covered, where the service said so.' })),
    taxability: oneOfText(TAXABILITIES, 'Before or after taxes.'),
    payroll_code: nullable(Type.String({ description: "Payroll's code for the employee's side." })),
    employer_payroll_code: nullable(Type.String({ description: "Payroll's code for the employer's side." })),
    employer_treatment: nullable(
      oneOfDescribed(TREATMENTS, "What payroll does with the employer's side; null when no code says so."),
    ),
    description: nullable(Type.String({ description: 'As the service sent it.' })),
    period: nullable(oneOfDescribed(PAY_FREQUENCIES, 'What the contributions are for, as received.')),
    member_contribution: nullable(
      Type.String({ description: 'What the employee contributes, as received.' }),
    ),
    employer_contribution: nullable(
      Type.String({ description: 'What the employer contributes, as received.' }),
    ),
    member_amount: amountField('What to deduct from this paycheck.'),
    employer_amount: amountField('What the employer pays with this paycheck.'),
    kind: Type.Enum([...LINE_KINDS], {
      description:
        '`regular`: of this paycheck. `adjustment`: a difference of an earlier run. `arrears`: what payroll took too little of one.',
    }),
    adjustment_for: nullable(
      Type.String({ description: 'The earlier run that an adjustment or an arrears line settles.' }),
    ),
    change: nullable(
      oneOfDescribed(
        CHANGES,
        'What happened to the election since the previous finalized run of the employer, frequency and pay group; ' +
          '`moved`: the employee is paid elsewhere now. Without a previous run it is new. Null for adjustments and arrears.',
      ),
    ),
    amount_change: nullable(
      oneOfDescribed(
        AMOUNT_CHANGES,
        'Why the amounts differ from that run: `rounding` moves cents of the same election, `calendar` other pay dates.',
      ),
    ),
    previous_amount: nullable(amountField('The employee’s amount in that run.')),
    member_difference: nullable(amountField('The employee’s amount less that of the previous run.')),
    employer_difference: nullable(amountField('The employer amount less that of the previous run.')),
    flags: Type.Array(Type.Enum([...FLAGS]), {
      description:
        'What a person should look at. A line with `reported` is shown, and not part of what to deduct.',
    }),
    explanation: Type.String({ description: 'How the amounts were computed.' }),
  },
  'What one deduction takes from one paycheck.',
);

/** The contract has checked it, and a line says it as a text. */
function oneOfText(values: readonly string[], description: string) {
  return Type.Unsafe<string>(oneOfDescribed(values, description));
}

function oneOfDescribed<const Values extends readonly string[]>(values: Values, description: string) {
  return { ...oneOf(values), description };
}

export const PayrollRunPreview = closed(
  {
    ...RUN,
    ...COMPUTED,
    lines: nullable(
      Type.Array(Type.Unsafe<Static<typeof Line>>({ $ref: 'Line#' }), {
        description:
          'The first lines, when the run names `employee_ids`; the totals say how many there are. Else null.',
      }),
    ),
  },
  'What a run would come to. Nothing of it is kept.',
);
