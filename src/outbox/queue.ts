/**
 * The outbox's queue: requests in order per subject, which is an employer (census uploads) or an employee
 * (changes). Both kinds of id are payroll's own and may be equal, so a subject has a prefix.
 */
import { sql } from 'kysely';
import { insertMany, isOneOf } from '../database/bulk.ts';
import { forUpdate, lockNames } from '../database/engine.ts';
import type { Db, RequestKind, Trx } from '../database/tables.ts';
import type { Encryptor, Place, StoredValue } from '../security/encryption.ts';
import type { Hasher } from '../security/hashing.ts';
import type { EncryptedColumn } from '../security/rotation.ts';

const EMPLOYER = 'employer:';
const EMPLOYEE = 'employee:';

export function employerSubject(employerId: string): string {
  return EMPLOYER + employerId;
}

export function employeeSubject(employeeId: string): string {
  return EMPLOYEE + employeeId;
}

/** Returns the employer or employee id of a subject. */
export function idOf(subject: string): string {
  return subject.slice(subject.indexOf(':') + 1);
}

/** An encrypted body and its keyed hash, which stays when the body is erased. */
export type EncryptedBody = { body: Buffer; body_hash: Buffer };

type NewRequest = {
  requestId: string;
  kind: RequestKind;
  subject: string;
  /** Null if the sender creates the body when it sends. */
  encrypted: EncryptedBody | null;
  /** The date that the caller of an employment change added for payroll. It is never sent. */
  effectiveOn?: string | null;
};

/** Returns where the body or the response of a request is stored. */
export function placeOf(requestId: string, column: 'body' | 'answer'): Place {
  return { table: 'outbox', row: requestId, column };
}

/** Encrypts a request's body, before the transaction that enqueues it. */
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
export const ENCRYPTED_REQUESTS: readonly EncryptedColumn[] = (['body', 'answer'] as const).map((column) => ({
  table: 'outbox',
  column,
  key: ['seq'],
  also: ['request_id'],
  placeOf: ({ request_id }) => placeOf(String(request_id), column),
  rowsAtOnce: 1_000,
}));

/** Adds a request to the queue. Its id must be new. */
export function enqueue(trx: Trx, request: NewRequest, now: string): Promise<void> {
  return enqueueMany(trx, [request], now);
}

/**
 * Adds requests to the queue, in the order given for each subject. Their ids must be new. A caller with
 * several subjects holds the ledger lock, because locking many names in different orders could deadlock.
 */
export async function enqueueMany(trx: Trx, requests: readonly NewRequest[], now: string): Promise<void> {
  const subjects = [...new Set(requests.map(({ subject }) => subject))];
  await lockNames(trx, subjects);
  const taken = await blockedSubjects(trx, subjects);
  const rows = requests.map(({ requestId, kind, subject, encrypted, effectiveOn = null }) => {
    const head = taken.has(subject) ? 0 : 1;
    taken.add(subject);
    return [
      requestId,
      kind,
      subject,
      'pending',
      head,
      now,
      now,
      encrypted?.body ?? null,
      encrypted?.body_hash ?? null,
      effectiveOn,
    ];
  });
  await insertMany(trx, 'outbox', COLUMNS, rows);
}

const COLUMNS = [
  'request_id',
  'kind',
  'subject',
  'state',
  'head',
  'due_at',
  'created_at',
  'body',
  'body_hash',
  'effective_on',
] as const;

/** Returns the subjects that have a request at the front, or are held: a new request of theirs waits. */
async function blockedSubjects(trx: Trx, subjects: readonly string[]): Promise<Set<string>> {
  const ofThese = trx
    .selectFrom('outbox')
    .select('subject')
    .where(isOneOf(trx, 'subject', subjects));
  const rows = await ofThese
    .where(sql<boolean>`head = 1`)
    .union(ofThese.where(sql<boolean>`holding = 1`))
    .execute();
  return new Set(rows.map(({ subject }) => subject));
}

/**
 * Returns the id of a pending request of this kind and subject, which stays pending until the transaction
 * ends, or null. A caller that then enqueues one has locked the subject's name first.
 */
export async function pendingRequest(trx: Trx, kind: RequestKind, subject: string): Promise<string | null> {
  // Locked, because a send loop may be claiming it now and would miss a sync that joins it.
  const pending = await forUpdate(
    trx,
    trx
      .selectFrom('outbox')
      .select('request_id')
      .where('subject', '=', subject)
      .where(sql<boolean>`finished_at is null`)
      .where('kind', '=', kind)
      .where('state', '=', 'pending')
      .orderBy('seq')
      .limit(1),
  ).executeTakeFirst();
  return pending?.request_id ?? null;
}

/** Makes a pending request due now. */
export async function makeDue(trx: Trx, requestId: string, now: string): Promise<void> {
  await trx
    .updateTable('outbox')
    .set({ due_at: now })
    .where('request_id', '=', requestId)
    .where('state', '=', 'pending')
    .execute();
}

/**
 * Moves the right request of the subject to the front: the one that is being sent, else the oldest unfinished one. Only
 * it can be claimed. No request is at the front while a rejected new hire holds the subject. Call it after adding,
 * finishing or retrying a request, with the subject's name locked (engine.ts).
 *
 * Conditions of a partial index are literal SQL here: SQLite would not use the index for bound values.
 */
export function updateFront(trx: Trx, subject: string): Promise<void> {
  return updateFronts(trx, [subject]);
}

/**
 * Does the same for several subjects in as many statements as for one. `finishedSubjects` are those whose
 * front request the caller has just finished.
 */
export async function updateFronts(
  trx: Trx,
  subjects: readonly string[],
  finishedSubjects: ReadonlySet<string> = new Set(),
): Promise<void> {
  const fronts = await frontsOf(
    trx,
    subjects.filter((subject) => !finishedSubjects.has(subject)),
  );
  const sending = new Set(fronts.filter(({ state }) => state === 'sending').map(({ subject }) => subject));
  const next = await nextRequests(
    trx,
    [...new Set(subjects)].filter((subject) => !sending.has(subject)),
  );
  const before = fronts.filter(({ subject }) => !sending.has(subject)).map(({ seq }) => seq);
  // A subject never has two: clear the old one first.
  await mark(
    trx,
    before.filter((seq) => !next.includes(seq)),
    0,
  );
  await mark(
    trx,
    next.filter((seq) => !before.includes(seq)),
    1,
  );
}

/** Locked, because a send loop may be claiming one and takes no other lock. */
async function frontsOf(trx: Trx, subjects: readonly string[]) {
  if (subjects.length === 0) return [];
  return forUpdate(
    trx,
    trx
      .selectFrom('outbox')
      .select(['seq', 'state', 'subject'])
      .where(isOneOf(trx, 'subject', subjects))
      .where(sql<boolean>`head = 1`),
  ).execute();
}

async function mark(trx: Trx, seqs: readonly number[], head: 0 | 1): Promise<void> {
  if (seqs.length === 0) return;
  await trx
    .updateTable('outbox')
    .set({ head })
    .where(isOneOf(trx, 'seq', seqs))
    .execute();
}

async function nextRequests(trx: Trx, subjects: readonly string[]): Promise<number[]> {
  if (subjects.length === 0) return [];
  const { rows } = await nextRequestsOf(subjects).execute(trx);
  return rows.flatMap(({ next }) => next ?? []);
}

/**
 * Returns the oldest unfinished request of each subject that is not held by a rejected new hire.
 *
 * The query finds the first row from the subject on, which only the index can do. If it filtered by subject,
 * PostgreSQL might read the whole table in order, which is slow for an employee with thousands of delivered
 * requests.
 */
export function nextRequestsOf(subjects: readonly string[]) {
  const given = sql.join(subjects.map((subject) => sql`(cast(${subject} as text))`));
  return sql<{ next: number | null }>`
    with given (subject) as (values ${given})
    select (
      select case when outbox.subject = given.subject then seq end from outbox
      where outbox.subject >= given.subject and finished_at is null order by outbox.subject, seq limit 1
    ) as next
    from given
    where not exists (select 1 from outbox where outbox.subject = given.subject and holding = 1)`;
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
