/** Whether facts about employees concern a run, by the roster alone. No line is computed. */
import type { Db } from '../../database/tables.ts';
import { employmentsOf, type RosterFact } from '../../ledger/employment.ts';
import { rosterOf } from '../../ledger/roster.ts';
import { bodyOf, type StoredRun } from '../records/runs.ts';
import { resolveBasis } from './basis.ts';
import { jobOf } from './population.ts';
import { termsOf } from './terms.ts';

/**
 * Returns a function that reports whether any of some employees is or may be in an open run now, or was at a position. Throws
 * RUN_REFUSED.
 */
export async function createMembers(
  db: Db,
  stored: StoredRun,
  position: number,
): Promise<(employeeIds: readonly string[]) => Promise<boolean>> {
  const terms = termsOf(await resolveBasis(db, stored.run_id, bodyOf(stored)));
  const isIn = (reports: readonly RosterFact[]): boolean => {
    const { membership } = jobOf(employmentsOf(reports), terms);
    return (
      membership.isIn || membership.why === 'unknown_frequency' || membership.why === 'unknown_pay_group'
    );
  };
  return async (employeeIds) => {
    const named = employeeIds.filter((id) => terms.employees?.has(id) ?? true);
    const roster = await rosterOf(db, named);
    return [...roster.values()].some(
      (reports) => isIn(reports) || isIn(reports.filter((report) => report.position <= position)),
    );
  };
}
