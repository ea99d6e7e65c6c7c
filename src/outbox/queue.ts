/**
 * A subject is whose order requests keep: an employer's census uploads, or an employee's changes. Both kinds of id
 * are payroll's own and may be equal, so a subject says which it is.
 */
import { sql } from 'kysely';
import { insertMany, isOneOf } from '../database/bulk.ts';
import { forUpdate, lockNames } from '../database/engine.ts';
import type { RequestKind, Trx } from '../database/tables.ts';
import type { Encryptor, Place } from '../security/encryption.ts';
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

/** The id of the employer or employee that a subject names. */
export function idOf(subject: string): string {
  return subject.slice(subject.indexOf(':') + 1);
}

/** Puts requests into the outbox. What takes them out again: claims.ts, finish.ts and by-hand.ts. */

/** A body at rest: encrypted, and its keyed hash, which stays when the body is erased. */
export type EncryptedBody = { body: Buffer; body_hash: Buffer };

export type NewRequest = {
  requestId: string;
  kind: RequestKind;
  subject: string;
  /** Null when the sender makes the body at the time of sending. */
  encrypted: EncryptedBody | null;
  /** The date that the caller of an employment change added for payroll. It is never sent. */
  effectiveOn?: string | null;
};

/** Where the body or the answer of a request is stored. */
export function placeOf(requestId: string, column: 'body' | 'answer'): Place {
  return { table: 'outbox', row: requestId, column };
}

/** Seals a request's body, before the transaction that enqueues it. */
export function encryptBody(
  encryptor: Encryptor,
  hasher: Hasher,
  requestId: string,
  body: Uint8Array,
): EncryptedBody {
  const place = placeOf(requestId, 'body');
  return { body: encryptor.encrypt(body, place), body_hash: hasher.hash(body, place) };
}

/** For sealing bodies and answers again. A page of a thousand is a few megabytes. */
export const ENCRYPTED_REQUESTS: readonly EncryptedColumn[] = (['body', 'answer'] as const).map((column) => ({
  table: 'outbox',
  column,
  key: ['seq'],
  also: ['request_id'],
  placeOf: ({ request_id }) => placeOf(String(request_id), column),
  rowsAtOnce: 1_000,
}));

/** Hashes that an earlier release made, of its form, each with the data key of its time. */
export const FORMER_HASHES = { table: 'outbox', column: 'body_hash', key: ['seq'], also: [] } as const;

/** Owes a request from now on. The id must be new. */
export function enqueue(trx: Trx, request: NewRequest, now: string): Promise<void> {
  return enqueueMany(trx, [request], now);
}

/**
 * Owes requests from now on, those of one subject in the order given. The ids must be new. Who may owe several
 * subjects' at once holds the ledger: of two who lock many names in different orders each would wait for the other.
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

/** Those of the subjects that have a head, or are held and so have none: a new request of theirs waits its turn. */
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
 * The id of a request of this kind that still waits to be sent for the subject, and does so until the transaction
 * ends: one more need can join it. Who enqueues one where there is none has locked the subject's name before.
 */
export async function pendingRequest(trx: Trx, kind: RequestKind, subject: string): Promise<string | null> {
  // Locked: a send loop may be claiming it just now, and would not look for who joined meanwhile.
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
 * The order of a subject. Of its unfinished requests the one being sent, else the oldest, is its head; no other
 * may be claimed. While the subject is held by a rejected new hire, no request of it is. Whoever changes a subject's
 * requests has locked its name first (engine.ts): one at a time decides which is the head.
 *
 * Conditions that a partial index stands for are written as SQL text: with bound values SQLite would not use it.
 */

/** Makes the right request of the subject its head. Whoever adds, finishes or revives a request ends with this. */
export function updateFront(trx: Trx, subject: string): Promise<void> {
  return updateFronts(trx, [subject]);
}

/**
 * The same for several subjects, with as many statements as for one. `finishedSubjects`: those whose head the caller has
 * just ended; of them there is none to look for.
 */
export async function updateFronts(
  trx: Trx,
  subjects: readonly string[],
  finishedSubjects: ReadonlySet<string> = new Set(),
): Promise<void> {
  const heads = await frontsOf(
    trx,
    subjects.filter((subject) => !finishedSubjects.has(subject)),
  );
  const sending = new Set(heads.filter(({ state }) => state === 'sending').map(({ subject }) => subject));
  const next = await nextRequests(
    trx,
    [...new Set(subjects)].filter((subject) => !sending.has(subject)),
  );
  const before = heads.filter(({ subject }) => !sending.has(subject)).map(({ seq }) => seq);
  // Never two of a subject at once: the one before goes first.
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

/** Locked: a send loop may be claiming one just now, and takes no other lock for that. */
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
 * Asks for the oldest unfinished request of each subject that has one and is not held by a rejected new hire.
 *
 * It is looked up as the first one from the subject on, which only the index can answer. Asked for the subject's own
 * in their order, PostgreSQL may read the whole table in that order instead: quick while a subject's requests are the
 * oldest, and with thousands of one employee, of which most are delivered, slower with each.
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
