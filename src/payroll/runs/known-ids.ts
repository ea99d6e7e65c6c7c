/** Checks that the ids in a run are known. Otherwise a mistyped id would create a run without employees. */
import { hasCensusSyncs } from '../../census/syncs.ts';
import type { Db } from '../../database/tables.ts';
import type { Problem } from '../../errors.ts';
import { deductionsKnownAt, employeesKnownAt, employeesOf } from '../../ledger/roster.ts';
import { hasSettings } from '../settings/schedules.ts';
import type { StatedRun } from './body.ts';

/** Unknown ids that a problem names; the rest are counted. */
const NAMED = 20;

type Lists = Pick<StatedRun, 'employer_id' | 'employee_ids' | 'final_checks' | 'deductions'>;

/**
 * Returns a problem for each list of a run that names ids never known at its employer. An employee is known if the
 * roster has ever named them there; a deduction, if it ever named such an employee.
 */
export async function unknownIds(
  db: Db,
  { employer_id, employee_ids, final_checks, deductions }: Lists,
): Promise<Problem[]> {
  const employees = [...(employee_ids ?? []), ...final_checks];
  const knownEmployees = await employeesKnownAt(db, employer_id, employees);
  const knownDeductions = await deductionsKnownAt(db, employer_id, deductions ?? []);
  return [
    ...problemOf('employee_ids', employee_ids ?? [], knownEmployees, employer_id),
    ...problemOf('final_checks', final_checks, knownEmployees, employer_id),
    ...problemOf('deductions', deductions ?? [], knownDeductions, employer_id),
  ];
}

function problemOf(
  path: string,
  ids: readonly string[],
  known: ReadonlySet<string>,
  employerId: string,
): Problem[] {
  const unknown = ids.filter((id) => !known.has(id));
  if (unknown.length === 0) return [];
  const more = unknown.length > NAMED ? `, and ${unknown.length - NAMED} more` : '';
  const named = unknown.slice(0, NAMED).join(', ');
  return [{ path, rule: `must name ids known at employer ${employerId}; unknown: ${named}${more}` }];
}

/** Reports whether anything is known of an employer: employees, a census sync or payroll settings. */
export async function isKnownEmployer(db: Db, employerId: string): Promise<boolean> {
  const [employee] = await employeesOf(db, employerId, { after: '', limit: 1 });
  return (
    employee !== undefined || (await hasCensusSyncs(db, employerId)) || (await hasSettings(db, employerId))
  );
}
