/** Reads stored requests, for the modules that know what their contents mean. */
import { sql } from 'kysely';
import { countOf, isOneOf } from '../database/bulk.ts';
import type { Db, OutboxTable, Tables, Trx } from '../database/tables.ts';
import type { Encryptor } from '../security/encryption.ts';
import { IS_HELD, placeOf } from './queue.ts';

/** `finished_at` is null while it is in progress. */
export type Attempt = Omit<Tables['delivery_attempts'], 'request_id'>;

/** Returns the query of requests, without their contents, in no order. */
export function requestsQuery(db: Db) {
  return db
    .selectFrom('outbox')
    .select(['seq', 'request_id', 'kind', 'subject_id', 'state', 'reason', 'status', 'created_at', 'due_at'])
    .select(['finished_at', 'attempts', 'unknown_outcome', 'may_have_been_applied', 'holds_later'])
    .select(['erased_at', 'effective_on', 'pay_group', WAITS_BEHIND.as('waits_behind')]);
}

/** Returns the query of the changes of employees that the service has not accepted, by the indexes of these states. */
export function undeliveredQuery(db: Db) {
  const changes = db
    .selectFrom('outbox')
    .select(['request_id', 'subject_id', 'state'])
    .where('subject_type', '=', 'employee');
  // A literal, because SQLite does not use a partial index for a bound value.
  const rejected = changes.where('state', '=', sql.lit('rejected'));
  return changes.where('finished_at', 'is', null).unionAll(rejected);
}

/** Requests among which the latest time is found: a clock that was wrong may have stored earlier ones since. */
const LATEST_AMONG = 1_000;

export async function latestRequest(db: Db): Promise<string | null> {
  const newest = db.selectFrom('outbox').select('created_at').orderBy('seq', 'desc').limit(LATEST_AMONG);
  const latest = db.selectFrom(newest.as('newest')).select(({ fn }) => fn.max('created_at').as('at'));
  return (await latest.executeTakeFirstOrThrow()).at;
}

/** The request that a pending one waits for: a rejected new hire, the previous request, or a request in flight. */
const WAITS_BEHIND = sql<string | null>`
  case when outbox.state = 'pending' and outbox.is_next = 0 then coalesce(
    (select held.request_id from outbox as held
      where ${isSameSubject('held')} and held.holds_later = 1 order by held.seq limit 1),
    (select earlier.request_id from outbox as earlier
      where ${isSameSubject('earlier')} and earlier.finished_at is null and earlier.seq < outbox.seq
      order by earlier.seq desc limit 1),
    (select later.request_id from outbox as later
      where ${isSameSubject('later')} and later.is_next = 1)
  ) end`;

function isSameSubject(alias: string) {
  return sql`${sql.ref(alias)}.subject_type = outbox.subject_type and ${sql.ref(alias)}.subject_id = outbox.subject_id`;
}

export function attemptsOf(db: Db, requestId: string, limit: number): Promise<Attempt[]> {
  return db
    .selectFrom('delivery_attempts')
    .select(['attempt', 'started_at', 'finished_at', 'status', 'reason'])
    .where('request_id', '=', requestId)
    .orderBy('attempt', 'desc')
    .limit(limit)
    .execute();
}

/**
 * Returns the decrypted contents of a request, or null if there is none with this id. The caller records the read first
 * (pii-reads.ts in security). Throws DATA_KEY_MISSING or DECRYPTION_FAILED.
 */
export async function readContents(db: Db, encryptor: Encryptor, requestId: string) {
  const row = await db
    .selectFrom('outbox')
    .select(['kind', 'state', 'body', 'response'])
    .where('request_id', '=', requestId)
    .executeTakeFirst();
  if (row === undefined) return null;
  const decrypt = (column: 'body' | 'response'): Buffer | null =>
    row[column] && encryptor.decrypt(row[column], placeOf(requestId, column));
  const { kind, state } = row;
  return { kind, state, body: decrypt('body'), response: decrypt('response')?.toString('utf8') ?? null };
}

/** The columns that identify a request and its contents after its body is erased. */
export type Fingerprint = Pick<OutboxTable, 'kind' | 'subject_id' | 'body_hash' | 'reason' | 'created_at'> & {
  effective_on: string | null;
  pay_group: string | null;
};

export async function fingerprintsOf(
  db: Db | Trx,
  requestIds: readonly string[],
): Promise<Map<string, Fingerprint>> {
  if (requestIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('outbox')
    .select(['request_id', 'kind', 'subject_id', 'body_hash', 'reason', 'created_at'])
    .select(['effective_on', 'pay_group'])
    .where(isOneOf(db, 'request_id', requestIds))
    .execute();
  return new Map(rows.map(({ request_id, ...row }) => [request_id, row]));
}

/** Returns which of these requests an operator canceled. */
export async function canceledAmong(db: Db, requestIds: readonly string[]): Promise<Set<string>> {
  if (requestIds.length === 0) return new Set();
  const rows = await db
    .selectFrom('outbox')
    .select('request_id')
    .where(isOneOf(db, 'request_id', requestIds))
    .where('state', '=', 'canceled')
    .execute();
  return new Set(rows.map(({ request_id }) => request_id));
}

/**
 * Counts the requests that are under way or wait for an operator. Delivered and canceled ones accumulate and are not
 * counted. Conditions are literals, so that a partial index can be used.
 */
export async function readOutboxActivity(db: Db) {
  const outbox = db.selectFrom('outbox').select('seq');
  const unfinished = outbox.where(sql<boolean>`finished_at is null`);
  const sending = await countOf(db, outbox.where(sql<boolean>`state = 'sending'`));
  const all = await countOf(db, unfinished);
  const oldest = await unfinished.select('created_at').orderBy('seq').limit(1).executeTakeFirst();
  return {
    // One index has both states. A request may finish between the two queries.
    pending: Math.max(0, all - sending),
    sending,
    held: await countOf(db, outbox.where(IS_HELD)),
    rejected: await countOf(db, outbox.where(sql<boolean>`state = 'rejected'`)),
    oldest_unfinished_at: oldest?.created_at ?? null,
  };
}
