/** A payroll run and its lines as the API shows them. */
import Type, { type Static, type TSchema } from 'typebox';
import * as field from '../contract/fields.ts';
import { ShownLine } from '../payroll/lifecycle/run-view.ts';
import { RUN_ID_PATTERN, Run, RunBody } from '../payroll/records/body.ts';
import { REASONS } from '../payroll/records/outcome.ts';
import { Comparison, Totals } from '../payroll/records/totals.ts';
import { OPTIONS } from '../payroll/settings/policy.ts';

/** The descriptions of a run's fields, shared by requests and responses. */
const WORDS: Readonly<Record<keyof Run, string>> = {
  employer_id: 'The employer. It must be known from a census, an event or a change.',
  kind: '`regular`: a scheduled pay date. `off_cycle`: names its employees and includes only the `deductions` it names.',
  pay_frequency: 'The pay frequency of the employees.',
  pay_group: 'Only employees of this pay group.',
  period_start: 'The first day of the pay period.',
  period_end: 'The last day of the pay period.',
  pay_date: 'The date employees are paid.',
  employee_ids: 'Only these employees.',
  deductions:
    'The deductions whose regular amounts an off-cycle run takes. A regular run takes all and states none.',
  final_checks: 'Employees who were terminated before the pay period and receive a final paycheck.',
  pay_dates:
    "The regular pay dates of the calendar year, including the date of this run. Default: the employer's pay schedule, " +
    'or, for weekly and biweekly, dates stepped from the pay date.',
  scheme: 'How the amount of a year is divided among paychecks.',
  applies_on: 'The date on which a deduction must be in effect.',
  remainder: 'Which paycheck takes the remaining cents. Always `none` without a list of pay dates.',
  extra_paycheck: 'Whether a paycheck beyond the usual number per year takes a contribution.',
  adjustments:
    'Whether differences from earlier finalized runs are only reported, or included in this paycheck.',
  arrears: 'Whether amounts not taken in earlier runs are only reported, or included in this paycheck.',
  policy_reason:
    "Why the run differs from the employer's payroll policy. Required if a stated option differs.",
};

export const RUN_DEFAULTS = { kind: 'regular' } as const;

const BODY = described(RunBody.properties);

/** The body of a run for the reference: the schema that it is checked by, with words and defaults. */
export const DescribedRunBody = field.named(
  'PayrollRunRequest',
  Type.Unsafe<unknown>({
    ...RunBody,
    description: 'The definition of a payroll run.',
    properties: { ...BODY, kind: { ...BODY.kind, default: RUN_DEFAULTS.kind } },
  }),
);

/** A run with its defaults filled in. */
const RUN = {
  ...described(Run.properties),
  stated_options: Type.Array(field.oneOf(OPTIONS), {
    description:
      "The options that the run states itself. The employer's payroll policy decides the other options.",
  }),
};

function described<const P extends Partial<Record<keyof Run, TSchema>>>(fields: P): P {
  const entries = Object.entries(fields) as [keyof Run, TSchema][];
  const all = entries.map(([name, schema]) => [name, { ...schema, description: WORDS[name] }]);
  return Object.fromEntries(all) as P;
}

export const RunId = field.closed({
  run_id: Type.String({
    pattern: RUN_ID_PATTERN,
    rule: 'must be 1 to 128 of A-Z a-z 0-9 . _ -, and not only one or two dots',
    description: 'The ID of the run: 1 to 128 of A-Z a-z 0-9 . _ -, not only one or two dots',
  }),
});

/** The computed fields of a run, stored or previewed. */
const COMPUTED = {
  pay_dates_used: field.nullable(
    Type.Array(field.day, {
      description: 'The pay dates used to divide amounts. Null if they are unknown and not needed.',
    }),
  ),
  calendar_assumed: field.boolean(
    'The pay dates were stepped from the pay date. Bank holidays can move real pay dates.',
  ),
  position: Type.Integer({ minimum: 0, description: 'The ledger position at which the run was computed.' }),
  rules_version: field.text('The version of the payroll rules.'),
  etag: field.text(
    'Identifies the lines and the employees of the run. Send it as `If-Match` to finalize exactly these.',
  ),
  employees: field.integer('The number of employees in the run, with or without a line.'),
  totals: Totals,
  comparison: field.nullable(Comparison),
  not_in_run: Type.Array(
    field.closed({
      employee_id: field.text('The employee.'),
      reason: field.oneOfDescribed(
        REASONS.filter((reason) => reason !== 'other_employer'),
        'The first reason that applies.',
      ),
    }),
    {
      description:
        'Employees of the employer with a deduction in effect who are not in a regular run, up to 10,000. Empty for a preview that names its employees.',
    },
  ),
  not_in_run_count: field.integer('The number of these employees.'),
};

const LIFE = {
  state: Type.Enum(['open', 'finalized', 'voided'], {
    description: 'An open run is recomputed on each read. A finalized or voided run never changes.',
  }),
  created_at: field.text('The time the run was created.'),
  finalized_at: field.nullableText('The time the run was finalized.'),
  voided_at: field.nullableText('The time the run was voided.'),
};

const id = field.text('The ID of the run.');

const DECISIONS = {
  accept_reason: field.nullableText(
    'Why failed checks were accepted when the run was finalized. Null if none failed.',
  ),
  accepted_checks: Type.Array(Type.String(), {
    description: 'The IDs of the failed checks that were accepted when it was finalized.',
  }),
  void_reason: field.nullableText('The reason the run was voided.'),
  taken_reports: Type.Array(
    field.closed({
      id: field.text('The ID of the report, unique for the run.'),
      recorded_at: field.text('The time it was recorded.'),
      lines: field.integer('The number of lines reported.'),
    }),
    { description: 'Reports of amounts taken. A later report replaces only the lines that it names.' },
  ),
};

export const PayrollRun = field.component(
  'PayrollRun',
  { id, ...RUN, ...LIFE, ...COMPUTED, ...DECISIONS },
  'A payroll run with its totals.',
);
export type PayrollRun = Static<typeof PayrollRun>;

/** A run without the fields for which an open run must be computed. */
export const PayrollRunOutline = field.component(
  'PayrollRunOutline',
  {
    id,
    ...RUN,
    ...LIFE,
    etag: field.nullableText('Null for an open run, which is not computed.'),
    totals: field.nullable({ ...Totals, description: 'Null for an open run, which is not computed.' }),
    ...DECISIONS,
  },
  'A payroll run as created, with its state.',
);

const { employer_id, kind, pay_frequency, pay_group, period_start, period_end, pay_date } = RUN;

/** The same, also without the lists of ids. */
export const PayrollRunSummary = field.component(
  'PayrollRunSummary',
  {
    id,
    employer_id,
    kind,
    pay_frequency,
    pay_group,
    period_start,
    period_end,
    pay_date,
    ...LIFE,
    etag: field.nullableText('Null for an open run. Get the run to compute it.'),
    totals: field.nullable({ ...Totals, description: 'Null for an open run. Get the run to compute it.' }),
  },
  'A payroll run in a list.',
);

export const PayrollRunPreview = field.component(
  'PayrollRunPreview',
  {
    ...RUN,
    ...COMPUTED,
    lines: field.nullable(
      Type.Array(ShownLine, {
        description:
          'The first lines, if the run names `employee_ids`; the totals contain their number. Otherwise null.',
      }),
    ),
  },
  'A computed run that is not stored.',
);
