/** Which employers have facts that arrived after a position. */
import { sql } from 'kysely';
import type { Db } from '../database/tables.ts';

/** Reports whether a roster report, deduction version or assignment concerns an employer or its employees after a position. */
export async function hasFactsAfter(db: Db, employerId: string, position: number): Promise<boolean> {
  const employees = sql`select employee_id from roster where employer_id = ${employerId}`;
  const { rows } = await sql<{ found: number }>`select 1 as found where
    exists (select 1 from roster_facts where position > ${position}
      and (employer_id = ${employerId} or employee_id in (${employees})))
    or exists (select 1 from deduction_versions where position > ${position} and employee_id in (${employees}))
    or exists (select 1 from deduction_assignments as assigned
      join deductions on deductions.deduction_id = assigned.deduction_id
      where assigned.position > ${position} and deductions.employee_id in (${employees}))`.execute(db);
  return rows.length > 0;
}

/** Returns the employers for which `hasFactsAfter` is true. It costs as much as there are facts after the position. */
export async function employersWithFactsAfter(db: Db, position: number): Promise<Set<string>> {
  const { rows } = await sql<{ employer_id: string }>`
    select employer_id from roster_facts where position > ${position}
    union select employer_id from roster where employee_id in (
      select employee_id from roster_facts where position > ${position}
      union select employee_id from deduction_versions where position > ${position}
      union select deductions.employee_id from deduction_assignments as assigned
        join deductions on deductions.deduction_id = assigned.deduction_id
        where assigned.position > ${position})`.execute(db);
  return new Set(rows.map(({ employer_id }) => employer_id));
}
