import { setImmediate as immediately } from 'node:timers/promises';
import { insertMany, isOneOf } from '../database/bulk.ts';
import type { SharedNow } from '../database/engine.ts';
import type { Db, Trx } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import type { Problem } from '../errors.ts';
import { nearIds } from '../ledger/near-ids.ts';
import { transactOnLedger } from '../ledger/position.ts';
import { type Roster, rosterOf } from '../ledger/roster.ts';
import { belongsTo } from '../ledger/visibility.ts';
import { changedNames, type NamedEmployee, storeNames } from '../names/names.ts';
import { isSendingOff, SENDING_OFF, unsentRecord } from '../outbox/pilot.ts';
import { employeeSubject, encryptBody, enqueue, placeOf } from '../outbox/queue.ts';
import { type Fingerprint, fingerprintsOf } from '../outbox/requests.ts';
import {
  type Acting,
  type Actor,
  forEmployers,
  type NewRecord,
  recordAll,
  SYSTEM,
} from '../security/audit.ts';
import type { Encryptor, Place } from '../security/encryption.ts';
import { type Hasher, openHasher } from '../security/hashing.ts';
import { bytesOf, type Change } from './change.ts';
import { changeIdAt } from './change-id.ts';
import { createChangeFacts } from './facts.ts';
import { type Claims, type LimitRefusal, type Limits, limitRefusal } from './limits.ts';

export type Accepting = { db: Db; encryptor: Encryptor; sharedNow: SharedNow };

/** The caller has checked the key with `keyProblem`. `limits`: of a limited token; null or none otherwise. */
export type Submission = {
  readonly change: Change;
  readonly idempotencyKey: string | null;
  readonly actor: Actor;
  readonly limits?: Limits | null;
};

export type Accepted =
  /** `repeated`: the key was used before for the same change, and this is its result. */
  | ({
      readonly outcome: 'accepted' | 'repeated';
      readonly changeId: string;
      readonly createdAt: string;
      /** `canceled`: sending was off, so it will not be sent. */
      readonly state: 'pending' | 'canceled';
    } & Near)
  /**
   * `conflict`: the key was used before for another change. `employee-unknown`: the employee is not one of the token's
   * employers. `employer-refused`: a new hire names another employer. `elsewhere`: it names an employee who is active at an
   * employer outside the token's limit. Nothing was accepted.
   */
  | { readonly outcome: 'conflict' }
  | { [R in LimitRefusal]: { readonly outcome: R } & Near }[LimitRefusal];

/** For an employee whom the roster lacks: the similar id that it has, as far as the caller sees it. */
type Near = { readonly near?: string | undefined };

/** Changes per transaction: about 10 of the 50 ms that the API thread may hold the write lock. */
export const CHANGES_AT_ONCE = 100;

/** Several times a UUID. Longer keys are mistakes, such as a whole body. */
export const KEY_MAX_CHARACTERS = 255;

const KEY = new RegExp(`^[!-~]{1,${KEY_MAX_CHARACTERS}}$`);

/** Returns the problem of an idempotency key given at `path` (a header or a field of a batch), or null. */
export function keyProblem(path: string, key: unknown): Problem | null {
  if (typeof key === 'string' && KEY.test(key)) return null;
  const rule = `must be 1 to ${KEY_MAX_CHARACTERS} visible ASCII characters, without spaces`;
  return { path, rule };
}

/** Accepts at most `CHANGES_AT_ONCE` changes, in order. A conflict affects only its own change. */
export async function acceptChanges(
  { db, encryptor, sharedNow }: Accepting,
  submissions: readonly Submission[],
): Promise<Accepted[]> {
  const hasher = await openHasher(db, encryptor);
  const received = await sharedNow(db);
  const prepared = submissions.map((submission) => prepare(encryptor, hasher, received, submission));
  // One caller at a time, so that what is read about keys and employees stays true.
  return transactOnLedger(db, async (trx, position) => {
    const at = (await sharedNow(trx)).toISOString();
    const today = dayAt(trx, at);
    const first = await firstOf(trx, prepared);
    const fresh: Prepared[] = [];
    const employees = submissions.map(({ change }) => change.body.employee_id);
    const roster = await rosterOf(trx, [...new Set(employees)]);
    const claimed = await claimsOfHires(trx, submissions);
    const nearOf = await nearMatches(trx, prepared, roster, today);
    const facts = createChangeFacts({ roster, position }, at, today);
    const reason = (await isSendingOff(trx)) ? SENDING_OFF : null;
    const employers = new Map<string, readonly string[]>();
    const accepted = prepared.map((submission): Accepted => {
      const before = submission.keyHash === null ? undefined : first.get(submission.keyHash);
      const near = nearOf.get(submission.changeId);
      if (before !== undefined) return repeatOf(hasher, before, submission, near);
      const { keyHash, changeId, encrypted, change, limits } = submission;
      const limit = limits?.employers ?? null;
      const { employee_id } = change.body;
      const viewer = limit && { employers: limit, today };
      const refused =
        viewer && limitRefusal(change, viewer, facts.reportsOf(employee_id), claimed.get(employee_id) ?? []);
      if (refused !== null) return { outcome: refused, near };
      employers.set(changeId, facts.add(changeId, change, limit));
      const request = {
        changeId,
        kind: change.kind,
        ...encrypted,
        ...columnsOf(change),
        reason,
        created_at: at,
      };
      if (keyHash !== null) first.set(keyHash, request);
      fresh.push(submission);
      return { outcome: 'accepted', changeId, createdAt: at, state: stateFor(reason), near };
    });
    const requests = fresh.map(({ changeId, change, encrypted }) => {
      const subject = employeeSubject(change.body.employee_id);
      return { requestId: changeId, kind: change.kind, ...subject, encrypted, forPayroll: columnsOf(change) };
    });
    await enqueue(trx, requests, at, reason);
    const keys = fresh.flatMap(({ keyHash, changeId }) => (keyHash === null ? [] : [[keyHash, changeId]]));
    await insertMany(trx, 'change_keys', ['key_hash', 'request_id'], keys);
    await facts.append(trx);
    await storeNames(trx, await changedNames(trx, encryptor, namesOfHires(fresh), at));
    await recordAll(
      trx,
      fresh.flatMap((submission) => {
        const { changeId, actor, change } = submission;
        const records: (Acting & NewRecord)[] = [{ actor, now: at, ...reportOf(submission) }];
        if (reason !== null)
          records.push({ actor: SYSTEM, now: at, ...unsentRecord(changeId, change.body.employee_id) });
        return records.flatMap((record) => forEmployers(record, employers.get(changeId) ?? []));
      }),
    );
    return accepted;
  });
}

/** Returns what `Limits.claimedAt` does, for the hires by limited tokens. */
async function claimsOfHires(trx: Trx, submissions: readonly Submission[]): Promise<Claims> {
  const hires = submissions.filter(({ change }) => change.kind === 'new-hire');
  const limits = hires.find(({ limits }) => limits != null)?.limits ?? null;
  if (limits === null) return new Map();
  return limits.claimedAt(trx, [...new Set(hires.map(({ change }) => change.body.employee_id))]);
}

/** Returns by change id the near match of its employee. A new hire is of a new employee. */
async function nearMatches(
  trx: Trx,
  prepared: readonly Prepared[],
  roster: Roster,
  today: string,
): Promise<ReadonlyMap<string, string>> {
  const unknown = prepared.filter(({ change: { kind, body }, limits }) => {
    const reports = roster.get(body.employee_id) ?? [];
    const isKnown =
      limits === null ? reports.length > 0 : belongsTo(reports, { employers: limits.employers, today });
    return kind !== 'new-hire' && !isKnown;
  });
  const matches = new Map<string, string>();
  for (const [limits, changes] of Map.groupBy(unknown, (change) => change.limits)) {
    const ids = changes.map(({ change }) => change.body.employee_id);
    const near = await nearIds(trx, [...new Set(ids)], limits?.employers ?? null);
    for (const { changeId, change } of changes) {
      const match = near.get(change.body.employee_id);
      if (match !== undefined) matches.set(changeId, match);
    }
  }
  return matches;
}

function namesOfHires(fresh: readonly Prepared[]): NamedEmployee[] {
  return fresh.flatMap(({ change }) => (change.kind === 'new-hire' ? [change.body] : []));
}

function columnsOf({ effectiveOn: effective_on, payGroup: pay_group }: Change) {
  return { effective_on, pay_group };
}

function reportOf({ change, changeId, keyHash }: Prepared): NewRecord {
  const { kind, body } = change;
  const details = { kind, ...columnsOf(change), ...(keyHash !== null && { key_hash: keyHash }) };
  return { action: 'change.report', resource: changeId, employee: body.employee_id, details };
}

type Prepared = ReturnType<typeof prepare>;

/** The first request with a key. */
type First = Omit<Fingerprint, 'subject_id'> & { changeId: string };

function prepare(
  encryptor: Encryptor,
  hasher: Hasher,
  received: Date,
  { change, idempotencyKey, actor, limits = null }: Submission,
) {
  const changeId = changeIdAt(received);
  const bytes = bytesOf(change);
  const encrypted = encryptBody(encryptor, hasher, changeId, bytes);
  // A key has no spaces, so one of a limited token equals no other.
  const key = limits === null ? idempotencyKey : idempotencyKey && `${limits.owner} ${idempotencyKey}`;
  const keyHash = key === null ? null : hasher.hash(Buffer.from(key), KEY_PLACE).toString('base64');
  return { changeId, change, actor, bytes, keyHash, encrypted, limits };
}

/** Keys are found by their hash, so it cannot depend on the row. */
const KEY_PLACE: Place = { table: 'change_keys', row: '', column: 'key_hash' };

async function firstOf(trx: Trx, prepared: readonly Prepared[]): Promise<Map<string, First>> {
  const hashes = [...new Set(prepared.flatMap(({ keyHash }) => keyHash ?? []))];
  if (hashes.length === 0) return new Map();
  const query = trx.selectFrom('change_keys').select(['key_hash', 'request_id']);
  const keys = await query.where(isOneOf(trx, 'key_hash', hashes)).execute();
  const ids = keys.map(({ request_id }) => request_id);
  const requests = await fingerprintsOf(trx, ids);
  return new Map(
    keys.flatMap(({ key_hash, request_id }) => {
      const request = requests.get(request_id);
      return request === undefined ? [] : [[key_hash, { changeId: request_id, ...request }]];
    }),
  );
}

/** The first body may be erased by now; its keyed hash, which stays, shows whether this one is the same. */
function repeatOf(hasher: Hasher, first: First, { change, bytes }: Prepared, near: Near['near']): Accepted {
  const isSame =
    first.kind === change.kind &&
    first.effective_on === change.effectiveOn &&
    first.pay_group === change.payGroup &&
    first.body_hash !== null &&
    hasher.isHashOf(first.body_hash, bytes, placeOf(first.changeId, 'body'));
  if (!isSame) return { outcome: 'conflict' };
  const { changeId, created_at: createdAt, reason } = first;
  return { outcome: 'repeated', changeId, createdAt, state: stateFor(reason), near };
}

/** Returns the state in which a change was accepted: its reason shows whether sending was off. */
function stateFor(reason: string | null): 'pending' | 'canceled' {
  return reason === SENDING_OFF ? 'canceled' : 'pending';
}

/**
 * Creates a group commit: changes of one tick share a transaction. One transaction is in flight at a time, because
 * accepting holds the ledger lock. The listener's connections bound what waits.
 */
export function createGroupCommit(accepting: Accepting) {
  const waiting: (PromiseWithResolvers<Accepted> & { submission: Submission })[] = [];
  let isCommitting = false;

  const commitAll = async (): Promise<void> => {
    isCommitting = true;
    for (await immediately(); waiting.length > 0; await immediately()) {
      const batch = waiting.splice(0, CHANGES_AT_ONCE);
      try {
        const submissions = batch.map(({ submission }) => submission);
        const accepted = await acceptChanges(accepting, submissions);
        for (const [index, { resolve }] of batch.entries()) resolve(accepted[index] as Accepted);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    isCommitting = false;
  };

  return {
    /** Resolves when the change is durable. If the database throws, it was not accepted. */
    accept(submission: Submission): Promise<Accepted> {
      const accepted = Promise.withResolvers<Accepted>();
      waiting.push({ submission, ...accepted });
      if (!isCommitting) void commitAll();
      return accepted.promise;
    },
  };
}
