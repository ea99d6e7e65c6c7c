/** The schema of a finding of a readiness check, as it is stored and shown. */
import Type, { type TSchema } from 'typebox';
import type { Finding } from '../checks.ts';
import { closed, integer, text } from '../contract/fields.ts';

const optional = (description: string) => Type.Optional(text(description));

export const FINDING_FIELDS = {
  check: text('The ID of the check.'),
  text: optional('The finding in words. Absent if the token may not see it.'),
  count: Type.Optional(integer('How many findings this one stands for. Absent for a single one.')),
  employer_id: optional('The employer that it is about.'),
  employee_id: optional('The employee.'),
  employee_ids: Type.Optional(
    Type.Array(Type.String(), { description: 'The first employees, if it is about several.' }),
  ),
  deduction_id: optional('The deduction.'),
  version: Type.Optional(integer('The version of the deduction.')),
  event_id: optional('The event.'),
  change_id: optional('The employment change.'),
  sync_id: optional('The census sync.'),
  run_id: optional('The payroll run that it is about, such as an earlier one.'),
  line_of_coverage: optional('The line of coverage.'),
  taxability: optional('The taxability of its lines.'),
  coverage_type: optional('The coverage type of its lines. Absent where it does not matter.'),
  side: optional('Whose amount it is about: `employee` or `employer`.'),
  date: optional('The day that it is about: a pay date, a termination, a start or an end.'),
  member_amount: optional('The employee’s amount.'),
  employer_amount: optional('The employer amount.'),
} satisfies Record<keyof Finding, TSchema>;

/** A stored finding. A later release may add fields. */
export const StoredFinding = closed(FINDING_FIELDS);
