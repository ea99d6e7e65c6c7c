/** Which employers are known. */
import { currentCensus } from '../../census/staged.ts';
import { hasCensusSyncs } from '../../census/syncs.ts';
import type { Db } from '../../database/tables.ts';
import { employeesOf } from '../../ledger/roster.ts';
import { hasSettings } from '../settings/schedules.ts';

/**
 * Reports whether anything is known of an employer: employees, a staged census, a census sync or payroll settings. An
 * employer with a payroll run had one of these when it was created, and none of them is ever removed.
 */
export async function isKnownEmployer(db: Db, employerId: string): Promise<boolean> {
  const [employee] = await employeesOf(db, employerId, { after: '', limit: 1 });
  return (
    employee !== undefined ||
    (await currentCensus(db, employerId)) !== null ||
    (await hasCensusSyncs(db, employerId)) ||
    (await hasSettings(db, employerId))
  );
}
