import type { Problem } from '../../contract/check.ts';
import { isOneOf } from '../../database/bulk.ts';
import type { Db } from '../../database/tables.ts';
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
  const knownEmployees = await employeesAt(db, employer_id, employees);
  const knownDeductions = await deductionsAt(db, employer_id, deductions ?? []);
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

async function employeesAt(db: Db, employerId: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db
    .selectFrom('roster')
    .select('employee_id')
    .where('employer_id', '=', employerId)
    .where(isOneOf(db, 'employee_id', [...new Set(ids)]))
    .execute();
  return new Set(rows.map(({ employee_id }) => employee_id));
}

async function deductionsAt(db: Db, employerId: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db
    .selectFrom('deduction_employees')
    .innerJoin('roster', 'roster.employee_id', 'deduction_employees.employee_id')
    .select('deduction_id')
    .distinct()
    .where('roster.employer_id', '=', employerId)
    .where(isOneOf(db, 'deduction_id', ids))
    .execute();
  return new Set(rows.map(({ deduction_id }) => deduction_id));
}
