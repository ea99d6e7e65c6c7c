/** Checks that requests and their attempts match, and that every subject can proceed. */
import { sql } from 'kysely';
import { pagesOf, type Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';
import { type StateOfAction, timesOfAction } from '../security/verify-recorded.ts';
import { IS_CANCELED } from './manual.ts';
import { readPilot } from './pilot.ts';

const ROWS_AT_ONCE = 2_000;
/** The most subjects reported. */
const NAMED = 1_000;

/** Checks all requests. Each page is one snapshot, also while requests are being sent. */
export async function verifyOutbox(db: Db, on: Verifying): Promise<number> {
  let looked = 0;
  const page = (after: number) => requestsAfter(db, after).execute();
  for await (const rows of pagesOf(on, 0, ROWS_AT_ONCE, page, (row) => row.seq)) {
    for (const row of rows) {
      const wrong = (field: string, rule: string) => on.report('outbox', row.request_id, field, rule);
      // Retention erases the attempts but keeps their number.
      const begun = row.erased_at === null ? row.attempts : 0;
      if (Number(row.begun) !== begun || Number(row.last ?? 0) !== begun) {
        wrong('attempts', 'is not the number of its attempts');
      }
      if (row.state === 'delivered' && row.attempts === 0) wrong('state', 'is delivered, but was never sent');
    }
    looked += rows.length;
  }
  await verifyOrders(db, on);
  return looked;
}

function requestsAfter(db: Db, seq: number) {
  const ofRequest = sql`from delivery_attempts where delivery_attempts.request_id = outbox.request_id`;
  return db
    .selectFrom('outbox')
    .select(['seq', 'request_id', 'state', 'attempts', 'erased_at'])
    .select(sql<number>`(select count(*) ${ofRequest})`.as('begun'))
    .select(sql<number | null>`(select max(attempt) ${ofRequest})`.as('last'))
    .where('seq', '>', seq)
    .orderBy('seq')
    .limit(ROWS_AT_ONCE);
}

/** Checks that every subject with unfinished requests has exactly one at the front. */
async function verifyOrders(db: Db, { report }: Verifying): Promise<void> {
  const { rows } = await sql<{ oldest: string }>`
    select min(request_id) as oldest from outbox where finished_at is null
      and not exists (
        select 1 from outbox as held where held.subject_type = outbox.subject_type
          and held.subject_id = outbox.subject_id and held.holds_later = 1)
    group by subject_type, subject_id having sum(is_next) <> 1
    order by subject_type, subject_id limit ${NAMED}`.execute(db);
  for (const { oldest } of rows) {
    report('outbox', oldest, 'is_next', 'none of its subject is the next to be sent');
  }
}

/** Checks that audit records state the start and the end of the pilot, and that it started and ended if they do. */
export async function verifyPilot(db: Db, { report }: Verifying): Promise<void> {
  const pilot = await readPilot(db);
  const ends = { 'sending.off': 'started_at', 'sending.on': 'ended_at' } as const;
  for (const [action, column] of Object.entries(ends)) {
    const recorded = await timesOfAction(db, action as keyof typeof ends);
    // A pilot starts and ends at most once.
    if (recorded.join() !== (pilot?.[column] ?? ''))
      report('pilot', '1', column, `is not as its audit record of ${action} states`);
  }
}

const OF_CHANGE = { table: 'outbox', key: 'request_id' } as const;

export const CHANGE_STATES: readonly StateOfAction[] = [
  {
    ...{ ...OF_CHANGE, field: 'request_id', is: sql`kind <> 'census'` },
    ...{ action: 'change.report', at: 'created_at' },
  },
  { ...{ ...OF_CHANGE, field: 'state', is: IS_CANCELED }, ...{ action: 'change.cancel', at: 'finished_at' } },
];
