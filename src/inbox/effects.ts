/** What an event did, found by its id: each effect remembers the event that it came from. */
import type { Selectable } from 'kysely';
import type { CensusSyncTable, Db, VersionTable } from '../database/tables.ts';

export type LedTo = {
  /** The state of a deduction that it added to the ledger. */
  version: Pick<
    Selectable<VersionTable>,
    'deduction_id' | 'version' | 'position' | 'late' | 'tie_changed' | 'ahead'
  > | null;
  /** The round of a census that it asked for. */
  sync: Pick<Selectable<CensusSyncTable>, 'sync_id' | 'employer_id'> | null;
};

/** Both null while it is pending, and where it did nothing of these. */
export async function ledTo(db: Db, eventId: string): Promise<LedTo> {
  const version = await db
    .selectFrom('deduction_versions')
    .select(['deduction_id', 'version', 'position', 'late', 'tie_changed', 'ahead'])
    .where('event_id', '=', eventId)
    .executeTakeFirst();
  const sync = await db
    .selectFrom('census_syncs')
    .select(['sync_id', 'employer_id'])
    .where('event_id', '=', eventId)
    .executeTakeFirst();
  return { version: version ?? null, sync: sync ?? null };
}
