/** Which employers and employees have facts that arrived after a position. */
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

/** Positions that one query reads: few enough that other requests do not wait for it. */
const POSITIONS_AT_ONCE = 10_000;

/** Yields the past and present employees of an employer about whom facts arrived after a position, up to another position. */
export async function* employeesWithFacts(
  db: Db,
  employerId: string,
  { after, upTo }: { after: number; upTo: number },
): AsyncGenerator<string[]> {
  const employees = sql`select employee_id from roster where employer_id = ${employerId}`;
  for (let from = after; from < upTo; from += POSITIONS_AT_ONCE) {
    const range = sql`position > ${from} and position <= ${Math.min(from + POSITIONS_AT_ONCE, upTo)}`;
    const { rows } = await sql<{ employee_id: string }>`
      select employee_id from roster_facts where ${range} and employee_id in (${employees})
      union select employee_id from deduction_versions where ${range} and employee_id in (${employees})
      union select employee_id from deductions where employee_id in (${employees})
        and deduction_id in (select deduction_id from deduction_assignments where ${range})`.execute(db);
    yield rows.map(({ employee_id }) => employee_id);
  }
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
