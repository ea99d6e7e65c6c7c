/** Reads the placeholders that no deduction of the service replaces yet. */
import { type SqlBool, sql } from 'kysely';
import type { Db } from '../database/tables.ts';
import { createReading, type DeductionState, isOpen, withEmployers } from './deductions.ts';
import { PLACEHOLDER_IDS } from './placeholders.ts';
import { latestVersions } from './record.ts';

/** Placeholders per statement: a few milliseconds. Long after an import nearly all are replaced. */
const READ_AT_ONCE = 500;

/** Yields the open placeholders, by id, page by page: of an employer's employees, or of all. `today` decides the employer. */
export async function* openPlaceholders(
  db: Db,
  employerId: string | undefined,
  today: string,
): AsyncGenerator<DeductionState[]> {
  let [after] = PLACEHOLDER_IDS as readonly [string, string];
  for (;;) {
    const page = await placeholdersAfter(db, after, employerId);
    const ids = page.filter(({ may_be_open }) => may_be_open).map(({ deduction_id }) => deduction_id);
    if (ids.length > 0) {
      const versions = await latestVersions(db, ids).selectAll('deduction_versions').execute();
      const states = await withEmployers(createReading(db, null), versions, { day: today });
      const open = states.filter((state) => isOpen(state, today));
      yield open.filter((state) => employerId === undefined || state.employerId === employerId);
    }
    const last = page.at(-1);
    if (last === undefined || page.length < READ_AT_ONCE) return;
    after = last.deduction_id;
    // Lets other work of this thread run.
    await new Promise(setImmediate);
  }
}

/** A placeholder is certainly replaced if the latest state of another deduction has its employee, line and taxability. */
async function placeholdersAfter(db: Db, after: string, employerId: string | undefined) {
  const [, until] = PLACEHOLDER_IDS;
  const isOfEmployer =
    employerId === undefined
      ? sql<SqlBool>`true`
      : sql<SqlBool>`employee_id in (select employee_id from roster where employer_id = ${employerId})`;
  const { rows } = await sql<{ deduction_id: string; may_be_open: unknown }>`
    select next.deduction_id, not exists (
      select 1 from deduction_versions as latest
      join deductions as another on another.deduction_id = latest.deduction_id and another.position = latest.position
      where latest.employee_id = next.employee_id and latest.deduction_id <> next.deduction_id
        and latest.line_of_coverage = placeholder.line_of_coverage and latest.taxability = placeholder.taxability
    ) as may_be_open
    from (
      select deduction_id, employee_id, position from deductions
      where deduction_id > ${after} and deduction_id < ${until} and ${isOfEmployer}
      order by deduction_id limit ${READ_AT_ONCE}
    ) as next
    join deduction_versions as placeholder on placeholder.position = next.position
    order by next.deduction_id`.execute(db);
  return rows;
}
