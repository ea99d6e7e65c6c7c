/** The outbox's queue: requests in order per subject, an employer (census uploads) or an employee (changes). */
import { sql } from 'kysely';
import { insertRows, isOneOf } from '../database/bulk.ts';
import { forUpdate, forUpdateSkipLocked, lockNames } from '../database/engine.ts';
import type { Db, RequestKind, Subject, Trx } from '../database/tables.ts';
import type { EncryptedColumn } from '../security/encrypted-columns.ts';
import type { Encryptor, Place, StoredValue } from '../security/encryption.ts';
import type { Hasher } from '../security/hashing.ts';

export function employerSubject(employerId: string): Subject {
  return { subject_type: 'employer', subject_id: employerId };
}

export function employeeSubject(employeeId: string): Subject {
  return { subject_type: 'employee', subject_id: employeeId };
}

/** Returns the name of the subject's lock. */
export function subjectName({ subject_type, subject_id }: Subject): string {
  return `${subject_type}:${subject_id}`;
}

export function lockSubject(trx: Trx, subject: Subject): Promise<void> {
  return lockNames(trx, [subjectName(subject)]);
}

/** The keyed hash stays when the body is erased. */
type EncryptedBody = { body: Buffer; body_hash: Buffer };

type NewRequest = Subject & {
  requestId: string;
  kind: RequestKind;
  /** Null if the sender creates the body when it sends. */
  encrypted: EncryptedBody | null;
  /** Fields that the caller of an employment change added for payroll. They are never sent. */
  forPayroll?: { effective_on: string | null; pay_group: string | null };
};

export function placeOf(requestId: string, column: 'body' | 'response'): Place {
  return { table: 'outbox', row: requestId, column };
}

/** Called before the transaction that enqueues the request. */
export function encryptBody(
  encryptor: Encryptor,
  hasher: Hasher,
  requestId: string,
  body: Uint8Array,
): EncryptedBody {
  const place = placeOf(requestId, 'body');
  return { body: encryptor.encrypt(body, place), body_hash: hasher.hash(body, place) };
}

/** For key rotation. A thousand bodies or responses are a few megabytes. */
export const ENCRYPTED_REQUESTS = (['body', 'response'] as const).map((column): EncryptedColumn => {
  const placed = ({ request_id }: Record<string, unknown>) => placeOf(String(request_id), column);
  return { table: 'outbox', column, also: ['request_id'], placeOf: placed, rowsAtOnce: 1_000 };
});

/**
 * Adds requests to the queue, in the order given for each subject. Their ids must be new. A caller with several subjects
 * holds the ledger lock, because locking many names in different orders could deadlock. `unsent`: why they are canceled at
 * once, with their bodies kept.
 */
export async function enqueue(
  trx: Trx,
  requests: readonly NewRequest[],
  now: string,
  unsent: string | null = null,
): Promise<void> {
  const state =
    unsent === null
      ? { state: 'pending', reason: null, finished_at: null }
      : { state: 'canceled', reason: unsent, finished_at: now };
  const subjects = new Map(requests.map((request) => [subjectName(request), request]));
  await lockNames(trx, [...subjects.keys()]);
  // Subjects that have a request at the front, or are held: a new request of theirs waits.
  const taken = new Set<string>();
  for (const [type, ids] of idsByType([...subjects.values()])) {
    const ofThese = trx
      .selectFrom('outbox')
      .select(['subject_type', 'subject_id'])
      .where('subject_type', '=', type)
      .where(isOneOf(trx, 'subject_id', ids));
    const rows = await ofThese
      .where(sql<boolean>`is_next = 1`)
      .union(ofThese.where(sql<boolean>`holds_later = 1`))
      .execute();
    for (const row of rows) taken.add(subjectName(row));
  }
  const rows = requests.map((request) => {
    const { requestId: request_id, kind, subject_type, subject_id, encrypted, forPayroll } = request;
    const name = subjectName(request);
    const is_next = taken.has(name) || unsent !== null ? 0 : 1;
    taken.add(name);
    const queued = { request_id, kind, subject_type, subject_id, ...state, is_next };
    const stored = encrypted ?? { body: null, body_hash: null };
    return { ...queued, due_at: now, created_at: now, ...NOT_FOR_PAYROLL, ...forPayroll, ...stored };
  });
  await insertRows(trx, 'outbox', rows);
}

const NOT_FOR_PAYROLL = { effective_on: null, pay_group: null };

function idsByType(subjects: readonly Subject[]): [Subject['subject_type'], string[]][] {
  return [...Map.groupBy(subjects, ({ subject_type }) => subject_type)].map(([type, those]) => [
    type,
    [...new Set(those.map(({ subject_id }) => subject_id))],
  ]);
}

/**
 * Returns a pending request of this kind and subject, which stays pending until the transaction ends, or null. A caller
 * that then enqueues one has locked the subject's name first.
 */
export async function pendingRequest(trx: Trx, kind: RequestKind, subject: Subject): Promise<string | null> {
  // Locked, because a send loop may be claiming it now and would miss a sync that joins it.
  const pending = await forUpdate(
    trx,
    trx
      .selectFrom('outbox')
      .select('request_id')
      .where('subject_type', '=', subject.subject_type)
      .where('subject_id', '=', subject.subject_id)
      .where(sql<boolean>`finished_at is null`)
      .where('kind', '=', kind)
      .where('state', '=', 'pending')
      .orderBy('seq')
      .limit(1),
  ).executeTakeFirst();
  return pending?.request_id ?? null;
}

/**
 * The condition of an unfinished request whose last response holds its subject: the address or the key is wrong, or the
 * service refuses this subject. `refusals` also counts successes that report a failure.
 */
export const IS_HELD = sql<boolean>`refusals > 0 and status >= 300 and finished_at is null`;

/** Makes the requests of all held subjects due. It waits for no lock: a request that is locked keeps its due time. */
export async function makeHeldDue(trx: Trx, now: Date): Promise<void> {
  const held = trx.selectFrom('outbox').select('seq').where(IS_HELD).where('state', '=', 'pending');
  const rows = await forUpdateSkipLocked(trx, held).execute();
  if (rows.length === 0) return;
  const due = trx.updateTable('outbox').set({ due_at: now.toISOString() });
  const seqs = rows.map(({ seq }) => seq);
  await due.where(isOneOf(trx, 'seq', seqs)).execute();
}

export async function makeDue(trx: Trx, requestId: string, now: string): Promise<void> {
  const due = trx.updateTable('outbox').set({ due_at: now }).where('state', '=', 'pending');
  await due.where('request_id', '=', requestId).execute();
}

/**
 * Moves the right request of each subject to the front: the request that is being sent, else the oldest unfinished one.
 * Only it can be claimed. No request is at the front while a rejected new hire holds the subject. Call it after finishing or
 * retrying requests, with the subjects' names locked. The front requests of `finishedSubjects` have just finished.
 *
 * Conditions of a partial index are literal SQL here: SQLite would not use the index for bound values.
 */
export async function updateFronts(
  trx: Trx,
  subjects: readonly Subject[],
  finishedSubjects: ReadonlySet<string> = new Set(),
): Promise<void> {
  const fronts = [];
  const unfinished = subjects.filter((subject) => !finishedSubjects.has(subjectName(subject)));
  for (const [type, ids] of idsByType(unfinished)) {
    const ofType = trx
      .selectFrom('outbox')
      .select(['seq', 'state', 'subject_type', 'subject_id'])
      .where('subject_type', '=', type)
      .where(isOneOf(trx, 'subject_id', ids))
      .where(sql<boolean>`is_next = 1`);
    // Locked, because a send loop may be claiming one and takes no other lock.
    fronts.push(...(await forUpdate(trx, ofType).execute()));
  }
  const sending = new Set(fronts.filter(({ state }) => state === 'sending').map(subjectName));
  const before = fronts.filter(({ state }) => state !== 'sending').map(({ seq }) => seq);
  const next: number[] = [];
  for (const [type, ids] of idsByType(subjects.filter((subject) => !sending.has(subjectName(subject))))) {
    const { rows } = await nextRequestsOf(type, ids).execute(trx);
    next.push(...rows.flatMap((row) => row.next ?? []));
  }
  const mark = async (seqs: readonly number[], is_next: 0 | 1): Promise<void> => {
    if (seqs.length === 0) return;
    const marked = trx.updateTable('outbox').set({ is_next });
    await marked.where(isOneOf(trx, 'seq', seqs)).execute();
  };
  const former = before.filter((seq) => !next.includes(seq));
  const fresh = next.filter((seq) => !before.includes(seq));
  // A subject never has two: clear the old one first.
  await mark(former, 0);
  await mark(fresh, 1);
}

/**
 * Returns the oldest unfinished request of each subject of one type that is not held by a rejected new hire. The query
 * finds the first row from the subject on, which only the index can do. If it filtered by subject, PostgreSQL might read
 * the whole table in order, which is slow for an employee with thousands of delivered requests.
 */
export function nextRequestsOf(type: Subject['subject_type'], ids: readonly string[]) {
  const subjects = sql.join(ids.map((id) => sql`(cast(${id} as text))`));
  const ofType = sql`outbox.subject_type = ${sql.lit(type)}`;
  return sql<{ next: number | null }>`
    with subjects (id) as (values ${subjects})
    select (
      select case when outbox.subject_id = subjects.id then seq end from outbox
      where ${ofType} and outbox.subject_id >= subjects.id and finished_at is null
      order by outbox.subject_id, seq limit 1
    ) as next
    from subjects
    where not exists (
      select 1 from outbox where ${ofType} and outbox.subject_id = subjects.id and holds_later = 1)`;
}

/** Returns the encrypted bodies of the oldest unfinished requests. */
export async function oldestBodies(db: Db, limit: number): Promise<StoredValue[]> {
  const rows = await db
    .selectFrom('outbox')
    .select(['request_id', 'body'])
    .where('finished_at', 'is', null)
    .where('body', 'is not', null)
    .orderBy('seq')
    .limit(limit)
    .execute();
  return rows.flatMap(({ request_id, body }) =>
    body === null ? [] : [{ encrypted: body, place: placeOf(request_id, 'body') }],
  );
}
