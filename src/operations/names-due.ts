/** The names of employees that nobody needs any more: payroll answers questions about the last paychecks by name. */
import type { Db } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import { transact } from '../database/transaction.ts';
import { employmentsOf, isActiveFrom } from '../ledger/employment.ts';
import { rosterOf } from '../ledger/roster.ts';
import { dropNames, type NotedName, namesNotedBefore } from '../names/names.ts';
import { employeesPaidSince } from '../payroll/records/frozen-lines.ts';

/**
 * Yields, page by page, the names of employees who left and have no line in a finalized run of this year or the last: a name is
 * kept through the year after the last line.
 */
async function* dueNames(db: Db, now: Date): AsyncGenerator<NotedName[]> {
  const today = dayAt(db, now);
  const since = `${Number(today.slice(0, 4)) - 1}-01-01`;
  for await (const page of namesNotedBefore(db, since)) {
    const ids = [...new Set(page.map(({ employee_id }) => employee_id))];
    const roster = await rosterOf(db, ids);
    const paid = await employeesPaidSince(db, ids, since);
    yield page.filter(({ employer_id, employee_id }) => {
      const employment = employmentsOf(roster.get(employee_id) ?? []).find(
        (employment) => employment.employer_id === employer_id,
      );
      const isEmployed = employment !== undefined && isActiveFrom(employment, today);
      return !isEmployed && !paid.has(employee_id);
    });
  }
}

export async function countDueNames(db: Db, now: Date): Promise<number> {
  let count = 0;
  for await (const names of dueNames(db, now)) count += names.length;
  return count;
}

/** Drops them, page by page, and calls `dropped` with the number after each. Ends early when `signal` aborts. */
export async function dropDueNames(
  db: Db,
  now: Date,
  signal: AbortSignal,
  dropped: (count: number) => void,
): Promise<void> {
  for await (const names of dueNames(db, now)) {
    if (signal.aborted) return;
    if (names.length > 0) dropped(await transact(db, (trx) => dropNames(trx, names)));
  }
}
