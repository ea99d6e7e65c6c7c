/** The schema of a finding of a readiness check, as it is stored and shown. */
import Type from 'typebox';
import type { Finding } from '../checks.ts';
import { closed, integer, text } from '../contract/fields.ts';

const of = (what: string) => Type.Optional(text(what));

export const FINDING_FIELDS = {
  check: text('The ID of the check.'),
  text: of('The finding in words. Absent if the token may not see it.'),
  count: Type.Optional(integer('How many findings this one stands for. Absent for a single one.')),
  employer_id: of('The employer that it is about.'),
  employee_id: of('The employee.'),
  deduction_id: of('The deduction.'),
  version: Type.Optional(integer('The version of the deduction.')),
  event_id: of('The event.'),
  change_id: of('The employment change.'),
  sync_id: of('The census sync.'),
  run_id: of('The payroll run that it is about, such as an earlier one.'),
  line_of_coverage: of('The line of coverage.'),
  date: of('The day that it is about: a pay date, a termination, a start or an end.'),
  member_amount: of('The employee’s amount.'),
  employer_amount: of('The employer amount.'),
};

/** A stored finding. A later release may have more fields. */
export const StoredFinding = Type.Unsafe<Finding>(closed(FINDING_FIELDS));
