/** Checks events, their conflicts and their outcomes. */
import { type Selectable, sql } from 'kysely';
import { completionsOfEvents, syncsOfEvents } from '../census/sync-list.ts';
import { DEDUCTION_CREATED, DEDUCTION_UPDATED } from '../contract/events.ts';
import { isTime, pagesOf, type ReportDifference, type Verifying } from '../database/difference.ts';
import { engineOf } from '../database/engine.ts';
import type { Db, InboxTable } from '../database/tables.ts';
import { isInLedger } from '../ledger/record.ts';
import type { StateOfAction } from '../security/verify-recorded.ts';
import { NOT_APPLIED } from './apply.ts';
import { IMPORTED, importId, sha256 } from './inbox.ts';
import { type ParsedEvent, parseEvent } from './parse-event.ts';

/** Events read at once, in tens of milliseconds; most are skipped because they have a version. */
const SEQS_AT_ONCE = 10_000;
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
  const gaps = await sql<{ seq: number }>`
    select before.seq + 1 as seq from (select 0 as seq union all select seq from inbox) as before
    where before.seq < ${newest} and not exists (select 1 from inbox where inbox.seq = before.seq + 1)
    order by before.seq limit ${GAPS_SHOWN}`.execute(db);
  for (const { seq } of gaps.rows) report('inbox', `seq ${seq}`, 'seq', 'is missing: an event was removed');
}

/** Checks all events up to a number. Returns how many have no version. */
export async function verifyEventsWithoutVersion(db: Db, until: number, on: Verifying): Promise<number> {
  let checked = 0;
  for (let after = 0; after < until; after += SEQS_AT_ONCE) {
    on.signal.throwIfAborted();
    const last = Math.min(after + SEQS_AT_ONCE, until);
    const events = await db
      .selectFrom('inbox')
      .selectAll()
      .where('seq', '>', after)
      .where('seq', '<=', last)
      .where((where) => where.not(isInLedger(sql.ref('inbox.event_id'))))
      .orderBy('seq')
      .execute();
    const ids = events.map(({ event_id }) => event_id);
    const employerOf = new Map(
      [...(await syncsOfEvents(db, ids)), ...(await completionsOfEvents(db, ids))].map((row) => [
        row.event_id,
        row.employer_id,
      ]),
    );
    for (const event of events) verifyOutcome(event, employerOf.get(event.event_id), on.report);
    checked += events.length;
    on.looked(last - after);
  }
  return checked;
}

/** `employer`: the employer of the syncs that the event requested or completed. */
function verifyOutcome(event: EventRow, employer: string | undefined, report: ReportDifference): void {
  const wrong = (field: 'state' | 'reason', rule: string) => report('inbox', event.event_id, field, rule);
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
    if (event.state !== meaning.kind)
      wrong('state', `does not follow from its body, which makes the event ${meaning.kind}`);
    else if (event.reason !== meaning.reason) wrong('reason', 'does not follow from its body: reprocess it');
    return;
  }
  if (event.state === 'quarantined' && event.reason?.startsWith(NOT_APPLIED)) return;
  if (event.state !== 'applied') wrong('state', 'is not applied, but can be parsed: reprocess it');
  else if (event.reason !== null) wrong('reason', 'is given, but the event was applied');
  else if (meaning.kind === 'deduction') wrong('state', NO_VERSION);
  else if (employer !== meaning.employerId) {
    const table = meaning.kind === 'sync-request' ? 'census_syncs' : 'census_completions';
    const rule = employer === undefined ? 'no row is of this event' : 'is not the employer of its event';
    report(table, event.event_id, 'employer_id', rule);
  }
}

export async function verifyConflicts(db: Db, on: Verifying): Promise<void> {
  const page = (after: number) =>
    db
      .selectFrom('event_conflicts')
      .leftJoin('inbox', 'inbox.event_id', 'event_conflicts.event_id')
      .leftJoin('conflicted_events', 'conflicted_events.event_id', 'event_conflicts.event_id')
      .select(['conflict_id', 'event_conflicts.body', 'event_conflicts.body_hash', 'seq'])
      .select([
        'stored_count',
        'event_conflicts.dismissed_at',
        'conflicted_events.dismissed_at as event_dismissed_at',
      ])
      .where('conflict_id', '>', after)
      .orderBy('conflict_id')
      .limit(CONFLICTS_AT_ONCE)
      .execute();
  for await (const rows of pagesOf(on, 0, CONFLICTS_AT_ONCE, page, (row) => row.conflict_id)) {
    for (const row of rows) {
      const { conflict_id, body, body_hash, seq, stored_count, dismissed_at, event_dismissed_at } = row;
      const wrong = (field: string, rule: string) => on.report('event_conflicts', conflict_id, field, rule);
      if (body !== null && !sha256(body).equals(body_hash)) wrong('body', 'does not have its stored hash');
      if (seq === null) wrong('event_id', 'there is no such event');
      if (stored_count === null) wrong('event_id', 'is not counted');
      if (dismissed_at === null && event_dismissed_at !== null)
        wrong('dismissed_at', 'is null, but the conflicts of its event are dismissed');
    }
  }
  await verifyConflictCounts(db, on);
}

async function verifyConflictCounts(db: Db, on: Verifying): Promise<void> {
  const page = (after: string) =>
    db
      .selectFrom('conflicted_events')
      .leftJoin('event_conflicts', 'event_conflicts.event_id', 'conflicted_events.event_id')
      .select(['conflicted_events.event_id', 'stored_count'])
      .select(({ fn }) => fn.count<number>('conflict_id').as('count'))
      .where('conflicted_events.event_id', '>', after)
      .groupBy(['conflicted_events.event_id', 'stored_count'])
      .orderBy('conflicted_events.event_id')
      .limit(CONFLICTS_AT_ONCE)
      .execute();
  for await (const rows of pagesOf(on, '', CONFLICTS_AT_ONCE, page, (row) => row.event_id)) {
    for (const { event_id, stored_count, count } of rows) {
      if (stored_count === Number(count)) continue;
      on.report('conflicted_events', event_id, 'stored_count', 'is not the number of its conflicts');
    }
  }
}

export type EventRow = Selectable<InboxTable>;

const SHA256_BYTES = 32;

/** Compares what every event has; `parsed` is null where the body was dropped. */
export function verifyEvent(event: EventRow, parsed: ParsedEvent | null, report: ReportDifference): void {
  const wrong = (field: keyof EventRow, rule: string) => report('inbox', event.event_id, field, rule);
  if (!isTime(event.received_at)) wrong('received_at', 'is not a time');
  if (event.finished_at !== null && !isTime(event.finished_at)) wrong('finished_at', 'is not a time');
  if (event.dismissed_at !== null && !isTime(event.dismissed_at)) wrong('dismissed_at', 'is not a time');
  if (event.body === null && event.body_hash?.length !== SHA256_BYTES) wrong('body_hash', 'is no SHA-256');
  const isNamedByBody = event.event_id.startsWith(IMPORTED);
  if ((event.source === 'import') !== isNamedByBody) wrong('source', 'does not match its id');
  if (isNamedByBody) {
    const hash = event.body === null ? (event.body_hash ?? Buffer.alloc(0)) : sha256(event.body);
    const field = event.body === null ? 'body_hash' : 'body';
    if (event.event_id !== importId(hash)) wrong(field, 'does not have the hash in its id');
  }
  // An event that is pending again keeps the results of the last time.
  if (parsed === null || (event.state === 'pending' && event.reprocessed === 0)) return;
  if (event.event_type !== parsed.eventType) wrong('event_type', 'does not match the body');
  if (event.envelope_id !== parsed.envelopeId) wrong('envelope_id', 'does not match the body');
}

export const EVENT_STATES: readonly StateOfAction[] = (['inbox', 'conflicted_events'] as const).map(
  (table) => ({
    ...{ table, key: 'event_id', field: 'dismissed_at', is: sql`dismissed_at is not null` },
    ...{ action: 'event.dismiss', at: 'dismissed_at' },
  }),
);
