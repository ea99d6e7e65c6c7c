/** Whether facts about employees concern a run, by the roster alone. No line is computed. */
import type { Db } from '../../database/tables.ts';
import { employmentsOf, type RosterFact } from '../../ledger/employment.ts';
import { rosterOf } from '../../ledger/roster.ts';
import { bodyOf, type StoredRun } from '../records/runs.ts';
import { resolveBasis } from './basis.ts';
import { jobOf, UNCLEAR } from './population.ts';
import { termsOf } from './terms.ts';

/**
 * Returns a function that reports whether at least one of the employees is or may be in an open run, now or as of a position.
 * Throws RUN_REFUSED.
 */
export async function createMembers(
  db: Db,
  stored: StoredRun,
  position: number,
): Promise<(employeeIds: readonly string[]) => Promise<boolean>> {
  const terms = termsOf(await resolveBasis(db, stored.run_id, bodyOf(stored)));
  const isIn = (reports: readonly RosterFact[]): boolean => {
    const { membership } = jobOf(employmentsOf(reports), terms);
    return membership.isIn || UNCLEAR.some((reason) => reason === membership.why);
  };
  return async (employeeIds) => {
    const selected = employeeIds.filter((id) => terms.employees?.has(id) ?? true);
    const roster = await rosterOf(db, selected);
    return [...roster.values()].some(
      (reports) => isIn(reports) || isIn(reports.filter((report) => report.position <= position)),
    );
  };
}
