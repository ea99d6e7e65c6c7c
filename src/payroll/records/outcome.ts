/** The results that a final run keeps, in addition to its lines and totals. */
import type { Selectable } from 'kysely';
import Type, { type Static } from 'typebox';
import { PAY_FREQUENCIES } from '../../contract/employee.ts';
import { closed, integer, nullable, nullableText, oneOfDescribed, text } from '../../contract/fields.ts';
import type { PayrollRunTable } from '../../database/tables.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { contentHash } from '../../security/facts.ts';
import { ITEM_KINDS } from '../calculation/items.ts';
import { amountField } from '../calculation/line.ts';
import { Comparison } from './totals.ts';

/** Why an employee is not in a run, in the order of the checks. */
export const REASONS = [
  'other_employer',
  'terminated',
  'not_hired_yet',
  'unknown_frequency',
  'other_frequency',
  'unknown_pay_group',
  'other_pay_group',
  'not_selected',
] as const;
export type Reason = (typeof REASONS)[number];

/** The number and amounts of open items of a kind. */
export const OpenItemSum = closed({
  kind: oneOfDescribed(ITEM_KINDS, 'The kind of the items.'),
  employees: integer('The number of employees with such an item.'),
  items: integer('The number of items.'),
  member_amount: amountField('The employees’ amount that stays open.'),
  employer_amount: amountField('The employer amount that stays open.'),
});
export type OpenItemSum = Static<typeof OpenItemSum>;

/** The results of a run, apart from its lines and totals. */
export const RunOutcome = closed({
  employees: integer('The number of employees in the run, with or without a line.'),
  comparison: nullable(Comparison),
  not_in_run: Type.Array(
    closed({
      employee_id: text('The employee.'),
      reason: oneOfDescribed(
        REASONS.filter((reason) => reason !== 'other_employer'),
        'The first reason that applies.',
      ),
    }),
    {
      description:
        'Employees of the employer with a deduction in effect who are not in a regular run and on no other pay schedule, up to 10,000. Empty for a preview that names its employees.',
    },
  ),
  not_in_run_count: integer('The number of these employees.'),
  on_other_schedules: Type.Array(
    closed({
      pay_frequency: oneOfDescribed(PAY_FREQUENCIES, 'Their pay frequency.'),
      pay_group: nullableText('Their pay group.'),
      employees: integer('The number of these employees.'),
    }),
    {
      description:
        'Employees with a deduction in effect who are not in a regular run because another pay schedule of the employer has their pay frequency and group.',
    },
  ),
  open_items: Type.Array(OpenItemSum, {
    description: 'What stays open of the items of the employees in the run, by kind.',
  }),
});
export type RunOutcome = Static<typeof RunOutcome>;

/** The outcome that a finalized or voided run keeps. */
const FrozenOutcome = closed({
  ...RunOutcome.properties,
  accepted_checks: Type.Array(Type.String()),
  /** The approval with which the run was finalized; null if none was required. */
  approval_id: nullable(Type.String()),
  /** The SHA-256 of the accepted findings. */
  acceptances_hash: Type.String(),
});
export type FrozenOutcome = Static<typeof FrozenOutcome>;

const readOutcome = jsonColumn('payroll_runs', 'outcome', FrozenOutcome);

export function frozenOutcomeOf({
  run_id,
  outcome,
}: Pick<Selectable<PayrollRunTable>, 'run_id' | 'outcome'>): FrozenOutcome {
  return readOutcome(outcome, run_id);
}

type FinalRun = Selectable<PayrollRunTable>;

/** What finalizing sets, without the texts that have a hash of their own, and without the reason, which may be erased. */
export const FINAL_COLUMNS = [
  ...(['finalized_at', 'freeze_id', 'position', 'rules_version', 'finalize_key_hash', 'etag'] as const),
  ...(['previous_run_id', 'basis_hash', 'outcome_hash', 'totals'] as const),
] as const satisfies readonly (keyof FinalRun)[];

/** Returns the SHA-256 of what finalizing sets, for the details of its audit record. */
export function hashOfFinal(run: Pick<FinalRun, (typeof FINAL_COLUMNS)[number]>): string {
  return contentHash([Object.fromEntries(FINAL_COLUMNS.map((column) => [column, run[column]]))]);
}
