/** The readiness checks of sending and of the requests that are not delivered. */
import { type RawBuilder, sql } from 'kysely';
import { ago, type Check, FOUND_AT_MOST, type Found, fail, type Question } from '../checks.ts';
import type { Db } from '../database/tables.ts';
import { isEmployedBy } from '../ledger/roster.ts';
import { isRecordedAt } from '../security/audit.ts';
import { readCircuitBreaker } from './circuit-breaker.ts';
import { IS_HELD } from './queue.ts';

/** Attempts are at most 15 minutes apart, so several failed within an hour. */
const STUCK_HOURS = 1;
/** After a day without a response, the problem will not resolve automatically. */
const STUCK_FOR_GOOD_HOURS = 24;

/** A due request goes out within a second, or once a slow one has held its slot for 30 s. This is longer. */
const STALLED_SECONDS = 45;
const HOUR_MS = 3_600_000;

/**
 * Finds requests that have been due for too long, or that a sender left behind, while no request at all was finished.
 * It reads the database only, so that any process can detect it. A paused circuit breaker has its own check.
 */
async function sendingStalled(db: Db, { now }: Question): Promise<Found[]> {
  const late = ago(now, STALLED_SECONDS * 1_000);
  const requests = await db
    .selectFrom('outbox')
    .select(['request_id', 'kind', 'due_at'])
    .where(sql<boolean>`state = 'pending' and is_next = 1`)
    .where('due_at', '<=', late)
    .unionAll(
      db
        .selectFrom('outbox')
        .select(['request_id', 'kind', 'due_at'])
        .where(sql<boolean>`state = 'sending'`)
        .where('lease_expires_at', '<=', late),
    )
    .orderBy('due_at')
    .limit(FOUND_AT_MOST)
    .execute();
  if (requests.length === 0) return [];
  const finished = await db
    .selectFrom('outbox')
    .select('seq')
    // The conditions of the index `outbox_to_erase`.
    .where(sql<boolean>`finished_at is not null and erased_at is null`)
    .where('finished_at', '>=', late)
    .limit(1)
    .executeTakeFirst();
  if (finished !== undefined || (await readCircuitBreaker(db)).state === 'paused') return [];
  return requests.map(({ request_id, kind, due_at }) => ({
    example: `${kind} ${request_id}: due since ${due_at}`,
    result: 'warn',
  }));
}

/** Returns the employment changes of these employees in a state with an index, oldest first. `is_seen`: by the viewer. */
async function changesOf(db: Db, { employerId, employees, viewer }: Question, isMeant: RawBuilder<boolean>) {
  const isSeen =
    viewer == null
      ? sql<boolean>`true`
      : isRecordedAt(viewer.employers, 'change.report', sql.ref('outbox.request_id'));
  let query = db
    .selectFrom('outbox')
    .select(['request_id', 'subject_id', 'kind', 'status', 'created_at', isSeen.as('is_seen')])
    .where(isMeant)
    .where('kind', '<>', 'census')
    .orderBy('seq');
  if (employerId !== undefined) query = query.where(isEmployedBy(employerId, sql.ref('outbox.subject_id')));
  if (employees === undefined) query = query.limit(FOUND_AT_MOST);
  const changes = (await query.execute()).filter((change) => employees?.has(change.subject_id) ?? true);
  return changes.map(({ is_seen, ...change }) => ({ ...change, isHidden: !is_seen }));
}

/** Returns the employers whose uploads are held. */
async function heldUploads(db: Db, { employerId }: Question) {
  let query = db
    .selectFrom('outbox')
    .select(['subject_id', 'status'])
    .where(IS_HELD)
    .where('kind', '=', 'census')
    .orderBy('seq')
    .limit(FOUND_AT_MOST);
  if (employerId !== undefined) query = query.where('subject_id', '=', employerId);
  return query.execute();
}

export const SENDING_CHECKS: readonly Check<Db>[] = [
  {
    id: 'circuit-breaker-paused',
    isGeneral: true,
    title: 'Sending is paused: the service rejects the address or the API key',
    ask: async (db) => {
      const breaker = await readCircuitBreaker(db);
      return breaker.state === 'active' ? [] : [fail(`${breaker.reason} (since ${breaker.paused_at})`)];
    },
    advice:
      'The benefits service rejects the base address or the API key. Correct BENEFITS_BASE_URL or BENEFITS_API_KEY and restart. A key in a file is reread within a minute.',
    passed: 'The benefits service accepts the base address and the API key.',
  },
  {
    id: 'sending-stalled',
    isGeneral: true,
    title: 'Sending to the service is stalled',
    command: 'doctor',
    ask: sendingStalled,
    advice: `These requests are due, and no request has finished for ${STALLED_SECONDS} seconds. Check that a sidecar serves this database and that the benefits service responds. Sending resumes automatically.`,
    passed: 'No due request is stalled.',
  },
  {
    id: 'requests-rejected',
    title: 'The service rejected employment changes',
    ask: async (db, question) => {
      const requests = await changesOf(db, question, sql<boolean>`state = 'rejected'`);
      return requests.map(({ request_id, kind, status, isHidden }) => ({
        ...fail(`${kind} ${request_id}: status ${status}`),
        isHidden,
      }));
    },
    advice:
      'The benefits service rejected these employment changes. Review each, then retry it, report it again, or cancel it. An employee’s later changes wait for a rejected new hire.',
    passed: 'The benefits service rejected no employment change.',
  },
  {
    id: 'requests-held',
    title: 'The service refuses requests of some employers or employees',
    ask: async (db, question) => {
      const uploads = await heldUploads(db, question);
      const changes = await changesOf(db, question, IS_HELD);
      return [
        ...uploads.map(({ subject_id, status }) => fail(`census of ${subject_id}: status ${status}`)),
        ...changes.map(({ request_id, kind, status, isHidden }) => ({
          ...fail(`${kind} ${request_id}: status ${status}`),
          isHidden,
        })),
      ];
    },
    advice:
      'The benefits service does not accept these requests, although it may accept others: 404 if it does not know the employer or employee, 401 or 403 if the key may not be used for them, 3xx if it moved. Ask the service to correct it. They are retried within a minute, after a 403 within 15, and later requests of the same employer or employee wait.',
    passed: 'The benefits service refuses no employer or employee.',
  },
  {
    id: 'requests-stuck',
    title: 'Employment changes are waiting to be sent',
    ask: async (db, question) => {
      const late = ago(question.now, STUCK_HOURS * HOUR_MS);
      const forGood = ago(question.now, STUCK_FOR_GOOD_HOURS * HOUR_MS);
      const isLate = sql<boolean>`finished_at is null and created_at < ${late}`;
      return (await changesOf(db, question, isLate)).map(({ request_id, kind, created_at, isHidden }) => ({
        isHidden,
        example: `${kind} ${request_id}: since ${created_at}`,
        result: created_at < forGood ? 'fail' : 'warn',
      }));
    },
    advice:
      'These employment changes have not reached the benefits service. Check why each is not sent, and wait until it is.',
    passed: `No employment change has waited longer than ${STUCK_HOURS} hour.`,
  },
];
