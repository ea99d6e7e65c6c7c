/** Which employers and employees have facts that arrived between two positions. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../database/tables.ts';

/** Positions of the ledger after one, up to another. */
type Range = { after: number; upTo: number };

/** Positions that one query reads: few enough that other requests do not wait for it. */
const POSITIONS_AT_ONCE = 10_000;

/** Yields a condition for each part of a range. PostgreSQL plans a condition with two ends for few rows. */
function* partsOf({ after, upTo }: Range): Generator<RawBuilder<unknown>> {
  for (let from = after; from < upTo; from += POSITIONS_AT_ONCE)
    yield sql`position > ${from} and position <= ${Math.min(from + POSITIONS_AT_ONCE, upTo)}`;
}

/**
 * Selects the employees whom facts in a range concern, perhaps several times. A version of a deduction that ever moved, and an
 * assignment, concern everyone whom the deduction ever named: a version that names the new employee may change the history of
 * the former one.
 */
const concerned = (range: RawBuilder<unknown>) => sql`
  with recursive named (previous_position, employee_id) as (
    select previous_position, employee_id from deduction_versions where position in (
      select last_received_position from deductions where deduction_id in (
        select deduction_id from deduction_assignments where ${range}
        union select deduction_id from deduction_versions as changed where ${range} and exists (
          select 1 from deduction_versions as other where other.deduction_id = changed.deduction_id and other.moved = 1)))
    union all
    select older.previous_position, older.employee_id from named
      join deduction_versions as older on older.position = named.previous_position)
  select employee_id from deduction_versions where ${range}
  union all select employee_id from roster_facts where ${range}
  union all select employee_id from named`;

/** Looks up the employee of each fact by key. With `in`, all employees of the employer would be read before the first fact. */
const isOf = (employerId: string) => sql`(select employer_id from roster
  where roster.employee_id = fact.employee_id and employer_id = ${employerId}) is not null`;

/** Reports whether a roster report, deduction version or assignment in a range concerns an employer or its employees. */
export async function hasFacts(db: Db, employerId: string, range: Range): Promise<boolean> {
  for (const part of partsOf(range)) {
    const { rows } = await sql<{ employee_id: string }>`
      select employee_id from (${concerned(part)}) as fact where ${isOf(employerId)} limit 1`.execute(db);
    if (rows.length > 0) return true;
  }
  return false;
}

/** Yields the past and present employees of an employer whom facts in a range concern. */
export async function* employeesWithFacts(
  db: Db,
  employerId: string,
  range: Range,
): AsyncGenerator<string[]> {
  for (const part of partsOf(range)) {
    const { rows } = await sql<{ employee_id: string }>`
      select distinct employee_id from (${concerned(part)}) as fact where ${isOf(employerId)}`.execute(db);
    yield rows.map(({ employee_id }) => employee_id);
  }
}

/** Returns the employers for which `hasFacts` is true. It costs as much as there are facts in the range. */
export async function employersWithFacts(db: Db, range: Range): Promise<Set<string>> {
  const employers = new Set<string>();
  for (const part of partsOf(range)) {
    const { rows } = await sql<{ employer_id: string }>`
      select distinct employer_id from (${concerned(part)}) as fact
        join roster on roster.employee_id = fact.employee_id`.execute(db);
    for (const { employer_id } of rows) employers.add(employer_id);
  }
  return employers;
}
