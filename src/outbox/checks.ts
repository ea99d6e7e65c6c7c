/** The readiness checks of sending and of the requests that are not delivered. */
import { type RawBuilder, sql } from 'kysely';
import { ago, type Check, FOUND_AT_MOST, type Found, type Question } from '../checks.ts';
import { responseInWords } from '../contract/responses.ts';
import type { Db } from '../database/tables.ts';
import { isEmployedBy } from '../ledger/roster.ts';
import { isRecordedAt } from '../security/audit.ts';
import { readCircuitBreaker } from './circuit-breaker.ts';
import { readPilot } from './pilot.ts';
import { IS_HELD } from './queue.ts';

/** Attempts are at most 15 minutes apart, so several failed within an hour. */
const STUCK_HOURS = 1;
/** After a day without a response, the problem will not resolve automatically. */
const STUCK_FOR_GOOD_HOURS = 24;

/** A due request goes out within a second, or once a slow one has held its slot for 30 s. This is longer. */
const STALLED_SECONDS = 45;
const HOUR_MS = 3_600_000;

/**
 * Finds requests, of one employer or all, that have been due for too long, or that a sender left behind, while no request
 * at all was finished. It reads the database only, so that any process can detect it. A paused circuit breaker has its own check.
 */
async function sendingStalled(db: Db, { now, employerId }: Question): Promise<RequestFound[]> {
  const late = ago(now, STALLED_SECONDS * 1_000);
  const requestsIn = (condition: RawBuilder<boolean>) =>
    db
      .selectFrom('outbox')
      .select(['request_id', 'subject_id', 'kind', 'status', 'due_at'])
      .where(condition)
      .where(employerId === undefined ? sql<boolean>`true` : isAbout(employerId));
  const requests = await requestsIn(sql`state = 'pending' and is_next = 1 and due_at <= ${late}`)
    .unionAll(requestsIn(sql`state = 'sending' and lease_expires_at <= ${late}`))
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
  return requests.map(({ due_at: since, ...request }) => ({
    ...requestFound(request),
    since,
    result: 'warn',
  }));
}

/** Returns the condition that a request uploads the census of an employer, or reports a change of one of its employees. */
function isAbout(employerId: string): RawBuilder<boolean> {
  return sql`case kind when 'census' then subject_id = ${employerId} else ${isEmployedBy(employerId, sql.ref('outbox.subject_id'))} end`;
}

/** A finding about a request that is not delivered. For an upload, it is about the employer. */
type RequestFound = Found & { kind: string; status?: number | null; since?: string | null };

type Request = { request_id: string; subject_id: string; kind: string; status: number | null };

function requestFound({ request_id, subject_id, kind, status }: Request) {
  return kind === 'census'
    ? { employer_id: subject_id, kind, status }
    : { change_id: request_id, employee_id: subject_id, kind, status };
}

/** `chg_1: termination`. */
function requestInWords({ change_id, employer_id, kind }: RequestFound): string {
  return `${change_id ?? employer_id}: ${kind}`;
}

/** `chg_1: termination, the service does not know this employee (status 404)`. */
function withResponse(request: RequestFound): string {
  const { status, kind } = request;
  const words = requestInWords(request);
  return status == null ? words : `${words}, ${responseInWords(status, kind)}`;
}

/** Finds the employment changes of an employer that meet a condition with an index, oldest first. */
async function changesOf(
  db: Db,
  { employerId, employees, viewer }: Question,
  condition: RawBuilder<boolean>,
) {
  const isSeen =
    viewer == null
      ? sql<boolean>`true`
      : isRecordedAt(viewer.employers, 'change.report', sql.ref('outbox.request_id'));
  let query = db
    .selectFrom('outbox')
    .select(['request_id', 'subject_id', 'kind', 'status', 'created_at', isSeen.as('is_seen')])
    .where(condition)
    .where('kind', '<>', 'census')
    .orderBy('seq');
  if (employerId !== undefined) query = query.where(isEmployedBy(employerId, sql.ref('outbox.subject_id')));
  if (employees === undefined) query = query.limit(FOUND_AT_MOST);
  const changes = (await query.execute()).filter((change) => employees?.has(change.subject_id) ?? true);
  return changes.map(({ is_seen, created_at, ...change }) => ({
    ...requestFound(change),
    ...{ since: created_at, isHidden: !is_seen },
  }));
}

/** Finds the held uploads, of one employer or all. */
async function heldUploads(db: Db, { employerId }: Question) {
  let query = db
    .selectFrom('outbox')
    .select(['request_id', 'subject_id', 'kind', 'status'])
    .where(IS_HELD)
    .where('kind', '=', 'census')
    .orderBy('seq')
    .limit(FOUND_AT_MOST);
  if (employerId !== undefined) query = query.where('subject_id', '=', employerId);
  return (await query.execute()).map(requestFound);
}

const SENDING_OFF: Check<Db, Question, Found & { since: string }> = {
  id: 'sending-off',
  isGeneral: true,
  title: 'Sending is off: this is a pilot',
  severity: 'warn',
  async find(db) {
    const pilot = await readPilot(db);
    return pilot === null || pilot.ended_at !== null ? [] : [{ since: pilot.started_at, result: 'warn' }];
  },
  text: ({ since }) => `since ${since}`,
  advice:
    'Nothing is sent to the benefits service, and nothing of the pilot is sent afterward. End it on the server, once the sidecar replaces the present receiver.',
  passed: 'Sending is on.',
  fixed: { command: 'sending on', docs: 'pilot.md#switch' },
};

const CIRCUIT_BREAKER_PAUSED: Check<Db, Question, Found & { reason: string | null; since: string | null }> = {
  id: 'circuit-breaker-paused',
  isGeneral: true,
  title: 'Sending is paused: the service rejects the address or the API key',
  severity: 'fail',
  async find(db) {
    const { state, reason, paused_at } = await readCircuitBreaker(db);
    return state === 'active' ? [] : [{ reason, since: paused_at, result: 'fail' }];
  },
  text: ({ reason, since }) => `${reason} (since ${since})`,
  advice:
    'The benefits service rejects the base address or the API key. Correct BENEFITS_BASE_URL or BENEFITS_API_KEY and restart. A key in a file is reread within a minute.',
  passed: 'The benefits service accepts the base address and the API key.',
};

const REQUEST_CHECKS: readonly Check<Db, Question, RequestFound>[] = [
  {
    id: 'sending-stalled',
    isGeneral: true,
    title: 'Sending to the service is stalled',
    severity: 'warn',
    find: sendingStalled,
    text: (request) => `${requestInWords(request)}, due since ${request.since}`,
    advice: `These requests are due, and no request has finished for ${STALLED_SECONDS} seconds. Check that a sidecar serves this database with a BENEFITS_API_KEY and that the benefits service responds. Sending resumes automatically.`,
    passed: 'No due request is stalled.',
    fixed: { command: 'doctor' },
  },
  {
    id: 'requests-rejected',
    title: 'The service rejected employment changes',
    severity: 'fail',
    async find(db, question) {
      const requests = await changesOf(db, question, sql<boolean>`state = 'rejected'`);
      return requests.map((request) => ({ ...request, result: 'fail' }));
    },
    text: withResponse,
    advice:
      'The benefits service rejected these employment changes. Review each, then retry it, report it again, or cancel it. An employee’s later changes wait for a rejected new hire.',
    passed: 'The benefits service rejected no employment change.',
    fixed: {
      at: 'changes',
      query: { state: 'rejected' },
      docs: 'employment-changes.md#see-and-correct-changes',
    },
  },
  {
    id: 'requests-held',
    title: 'The service refuses requests of some employers or employees',
    severity: 'fail',
    async find(db, question) {
      const requests = [...(await heldUploads(db, question)), ...(await changesOf(db, question, IS_HELD))];
      return requests.map((request) => ({ ...request, result: 'fail' }));
    },
    text: withResponse,
    advice:
      'The benefits service does not accept these requests, although it may accept others. Ask the service to correct it. They are retried within a minute, after a 403 within 15, and later requests of the same employer or employee wait.',
    passed: 'The benefits service refuses no employer or employee.',
    fixed: { at: 'changes', query: { state: 'pending' } },
  },
  {
    id: 'requests-stuck',
    title: 'Employment changes are waiting to be sent',
    severity: `warn after ${STUCK_HOURS} h, fail after ${STUCK_FOR_GOOD_HOURS} h`,
    async find(db, question) {
      const late = ago(question.now, STUCK_HOURS * HOUR_MS);
      const forGood = ago(question.now, STUCK_FOR_GOOD_HOURS * HOUR_MS);
      const isLate = sql<boolean>`finished_at is null and created_at < ${late}`;
      return (await changesOf(db, question, isLate)).map((request) => ({
        ...request,
        result: request.since < forGood ? 'fail' : 'warn',
      }));
    },
    text: (request) => `${requestInWords(request)}, since ${request.since}`,
    advice:
      'These employment changes have not reached the benefits service. Check why each is not sent, and wait until it is.',
    passed: `No employment change has waited longer than ${STUCK_HOURS} hour.`,
    fixed: {
      at: 'changes',
      query: { state: 'pending' },
      docs: 'employment-changes.md#see-and-correct-changes',
    },
  },
];

export const SENDING_CHECKS: readonly Check<Db>[] = [SENDING_OFF, CIRCUIT_BREAKER_PAUSED, ...REQUEST_CHECKS];
