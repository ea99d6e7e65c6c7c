/** Checks events without a version: whether they should have one, and their outcome. */
import { sql } from 'kysely';
import { syncsOfEvents } from '../census/sync-list.ts';
import { DEDUCTION_CREATED, DEDUCTION_UPDATED } from '../contract/events.ts';
import { pagesOf, type ReportDifference, type Verifying } from '../database/difference.ts';
import { engineOf } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { isInLedger } from '../ledger/record.ts';
import { NOT_APPLIED } from './apply.ts';
import { parseEvent } from './parse-event.ts';
import { sha256 } from './stored-body.ts';
import { EVENT_COLUMNS, type EventRow, verifyEvent } from './verify-event.ts';

/** Events read at once, in tens of milliseconds; most are skipped because they have a version. */
const SEQS_AT_ONCE = 10_000;
/** The most gaps reported. */
const GAPS_SHOWN = 1_000;
/** Conflicts read at once: rare, with bodies of up to 256 KiB. */
const CONFLICTS_AT_ONCE = 100;
const NO_VERSION = 'is applied, but there is no version';

/** Checks that no event was removed. PostgreSQL leaves gaps, so it cannot be checked there. */
export async function verifySeqs(db: Db, report: ReportDifference): Promise<void> {
  if (engineOf(db) === 'postgres') return;
  const { rows, newest } = await db
    .selectFrom('inbox')
    .select((eb) => [eb.fn.countAll<number>().as('rows'), eb.fn.max('seq').as('newest')])
    .executeTakeFirstOrThrow();
  if (rows === (newest ?? 0)) return;
  const last = await db
    .selectFrom('inbox')
    .select('inbox.seq')
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('inbox as next')
            .select('next.seq')
            .whereRef('next.seq', '=', sql<number>`inbox.seq + 1`),
        ),
      ),
    )
    .where('inbox.seq', '<', newest)
    .orderBy('inbox.seq')
    .limit(GAPS_SHOWN)
    .execute();
  const first = await db.selectFrom('inbox').select('seq').where('seq', '=', 1).executeTakeFirst();
  for (const before of [...(first === undefined ? [0] : []), ...last.map(({ seq }) => seq)]) {
    report('inbox', `seq ${before + 1}`, 'seq', 'is missing: an event was removed');
  }
}

/** Checks all events up to a number. Returns how many have no version. */
export async function verifyEventsWithoutVersion(db: Db, until: number, on: Verifying): Promise<number> {
  let found = 0;
  for (let after = 0; after < until; after += SEQS_AT_ONCE) {
    on.signal.throwIfAborted();
    const rows = await eventsWithoutVersion(db, after, Math.min(after + SEQS_AT_ONCE, until));
    for (const row of rows) verifyOutcome(row, on.report);
    found += rows.length;
    on.looked(Math.min(SEQS_AT_ONCE, until - after));
  }
  return found;
}

type Row = EventRow & { sync_employer: string | null };

async function eventsWithoutVersion(db: Db, after: number, until: number): Promise<Row[]> {
  const events = await db
    .selectFrom('inbox')
    .select(['inbox.event_id', ...EVENT_COLUMNS])
    .where('seq', '>', after)
    .where('seq', '<=', until)
    .where((where) => where.not(isInLedger(sql.ref('inbox.event_id'))))
    .orderBy('seq')
    .execute();
  const ids = events.map(({ event_id }) => event_id);
  const employers = new Map((await syncsOfEvents(db, ids)).map((sync) => [sync.event_id, sync.employer_id]));
  return events.map((event) => ({ ...event, sync_employer: employers.get(event.event_id) ?? null }));
}

function verifyOutcome(event: Row, report: ReportDifference): void {
  const wrong = (field: 'state' | 'reason' | 'event_id', rule: string) =>
    report('inbox', event.event_id, field, rule);
  const parsed = event.body === null ? null : parseEvent(event.body);
  verifyEvent(event, parsed, report);
  if (event.state === 'pending') return;
  if (parsed === null) {
    const isDeduction = event.event_type === DEDUCTION_UPDATED || event.event_type === DEDUCTION_CREATED;
    if (event.state === 'applied' && isDeduction) wrong('state', NO_VERSION);
    return;
  }
  const { meaning } = parsed;
  if (meaning.kind === 'ignored' || meaning.kind === 'quarantined') {
    if (event.state !== meaning.kind) wrong('state', `is not what its body makes it: ${meaning.kind}`);
    else if (event.reason !== meaning.reason) wrong('reason', 'is not what its body makes it: reprocess it');
    return;
  }
  if (event.state === 'quarantined' && event.reason?.startsWith(NOT_APPLIED)) return;
  if (event.state !== 'applied') wrong('state', 'is not applied, but can be parsed: reprocess it');
  else if (event.reason !== null) wrong('reason', 'is given, but the event was applied');
  else if (meaning.kind === 'deduction') wrong('state', NO_VERSION);
  else if (meaning.kind === 'sync-request' && event.sync_employer !== meaning.employerId) {
    report('census_syncs', event.event_id, 'employer_id', 'no sync is of this event');
  }
}

/** Verifies the conflicts: other bodies received under a known ID. */
export async function verifyConflicts(db: Db, on: Verifying): Promise<void> {
  const page = (after: number) =>
    db
      .selectFrom('event_conflicts')
      .leftJoin('inbox', 'inbox.event_id', 'event_conflicts.event_id')
      .select(['conflict_id', 'event_conflicts.body', 'event_conflicts.body_hash', 'seq'])
      .where('conflict_id', '>', after)
      .orderBy('conflict_id')
      .limit(CONFLICTS_AT_ONCE)
      .execute();
  for await (const rows of pagesOf(on, 0, CONFLICTS_AT_ONCE, page, (row) => row.conflict_id)) {
    for (const { conflict_id, body, body_hash, seq } of rows) {
      const wrong = (field: string, rule: string) => on.report('event_conflicts', conflict_id, field, rule);
      if (body !== null && !sha256(body).equals(body_hash)) wrong('body', 'is not that of its hash');
      if (seq === null) wrong('event_id', 'there is no such event');
    }
  }
}
