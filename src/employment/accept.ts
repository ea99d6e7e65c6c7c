import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Problem } from '../contract/check.ts';
import { insertMany, isOneOf } from '../database/bulk.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { lockLedger } from '../ledger/position.ts';
import { type EncryptedBody, employeeSubject, encryptBody, enqueueMany, placeOf } from '../outbox/queue.ts';
import type { Encryptor, Place } from '../security/encryption.ts';
import { type Hasher, openHasher } from '../security/hashing.ts';
import { bytesOf, type Change, type ChangeKind } from './change.ts';
import { learnChanges } from './facts.ts';

/** Accepting employment changes: from here on they are owed to the service, and payroll may forget them. */

export type Accepting = { db: Db; encryptor: Encryptor; now: Clock };

/** A change as it comes in. Its key is checked by `keyProblem`. */
export type Submission = { readonly change: Change; readonly idempotencyKey: string | null };

export type Accepted =
  /** `repeated`: the same key came with the same change before, and this is what it led to. Instants are UTC texts. */
  | { readonly outcome: 'accepted' | 'repeated'; readonly changeId: string; readonly createdAt: string }
  /** The key came with another change before. Nothing was accepted. */
  | { readonly outcome: 'conflict' };

/**
 * Changes in one transaction: some 10 ms of the 50 that the private side may hold the write lock, and no more facts
 * than may be written at once.
 */
export const CHANGES_AT_ONCE = 100;

/** Accepts one change; durable when it resolves. Throws what the database throws: then nothing was accepted. */
export async function acceptChange(
  accepting: Accepting,
  change: Change,
  idempotencyKey: string | null,
): Promise<Accepted> {
  const [accepted] = await acceptChanges(accepting, [{ change, idempotencyKey }]);
  return accepted as Accepted;
}

/**
 * Accepts changes in the order given, each by itself: a conflict leaves out only its own. They share one transaction,
 * and with it one sync to disk; a failure of the database is the failure of all. At most `CHANGES_AT_ONCE`.
 */
export async function acceptChanges(
  { db, encryptor, now }: Accepting,
  submissions: readonly Submission[],
): Promise<Accepted[]> {
  const hasher = await openHasher(db, encryptor);
  const prepared = submissions.map((submission) => prepare(encryptor, hasher, submission));
  return transact(db, async (trx) => {
    // One at a time accepts, as one at a time writes the roster: what is known of a key or an employee stays true.
    await lockLedger(trx);
    const at = now().toISOString();
    const first = await firstOf(trx, prepared);
    const fresh: Prepared[] = [];
    const accepted = prepared.map((one): Accepted => {
      const before = one.keyHash === null ? undefined : first.get(one.keyHash);
      if (before !== undefined) return repeatOf(hasher, before, one);
      if (one.keyHash !== null)
        first.set(one.keyHash, {
          ...one,
          ...one.encrypted,
          effective_on: one.change.effectiveOn,
          createdAt: at,
        });
      fresh.push(one);
      return { outcome: 'accepted', changeId: one.changeId, createdAt: at };
    });
    await enqueueMany(trx, fresh.map(requestOf), at);
    const keys = fresh.flatMap(({ keyHash, changeId }) => (keyHash === null ? [] : [[keyHash, changeId]]));
    await insertMany(trx, 'change_keys', ['key_hash', 'request_id'], keys);
    await learnChanges(trx, fresh, at);
    return accepted;
  });
}

type Prepared = {
  changeId: string;
  kind: ChangeKind;
  change: Change;
  bytes: Buffer;
  keyHash: string | null;
  encrypted: EncryptedBody;
};

/** What a key led to. */
type First = {
  changeId: string;
  kind: string;
  body_hash: Buffer | null;
  effective_on: string | null;
  createdAt: string;
};

function prepare(encryptor: Encryptor, hasher: Hasher, { change, idempotencyKey }: Submission): Prepared {
  const changeId = randomUUID();
  const bytes = bytesOf(change);
  const encrypted = encryptBody(encryptor, hasher, changeId, bytes);
  const keyHash =
    idempotencyKey === null ? null : hasher.hash(Buffer.from(idempotencyKey), KEY_PLACE).toString('base64');
  return { changeId, kind: change.kind, change, bytes, keyHash, encrypted };
}

/** The hash is what a key is looked up by: it can't depend on the row. */
const KEY_PLACE: Place = { table: 'change_keys', row: '', column: 'key_hash' };

async function firstOf(trx: Trx, prepared: readonly Prepared[]): Promise<Map<string, First>> {
  const hashes = [...new Set(prepared.flatMap(({ keyHash }) => keyHash ?? []))];
  if (hashes.length === 0) return new Map();
  const rows = await trx
    .selectFrom('change_keys')
    .innerJoin('outbox', 'outbox.request_id', 'change_keys.request_id')
    .select(['key_hash', 'outbox.request_id as changeId', 'kind', 'body_hash', 'created_at as createdAt'])
    .select('effective_on')
    .where(isOneOf(trx, 'key_hash', hashes))
    .execute();
  return new Map(rows.map(({ key_hash, ...row }) => [key_hash, row]));
}

/** The body may be erased by now: its keyed hash, which stays, says whether this is the same. */
function repeatOf(hasher: Hasher, first: First, { kind, change, bytes }: Prepared): Accepted {
  const isSame =
    first.kind === kind &&
    first.effective_on === change.effectiveOn &&
    first.body_hash !== null &&
    hasher.isHashOf(first.body_hash, bytes, placeOf(first.changeId, 'body'));
  if (!isSame) return { outcome: 'conflict' };
  return { outcome: 'repeated', changeId: first.changeId, createdAt: first.createdAt };
}

function requestOf({ changeId, kind, change, encrypted }: Prepared) {
  const { body, effectiveOn } = change;
  return { requestId: changeId, kind, subject: employeeSubject(body.employee_id), encrypted, effectiveOn };
}

/** Idempotency keys, as payroll gives them. Pure. */
/** The longest key: twice a UUID's length and more. Longer ones are mistakes, such as a whole body. */
export const KEY_MAX_CHARACTERS = 255;

const KEY = new RegExp(`^[!-~]{1,${KEY_MAX_CHARACTERS}}$`);

/** What is wrong with a key that came at `path` (a header, or a field of a batch), or null. */
export function keyProblem(path: string, key: unknown): Problem | null {
  if (typeof key === 'string' && KEY.test(key)) return null;
  const rule = `must be 1 to ${KEY_MAX_CHARACTERS} visible ASCII characters, without spaces`;
  return { path, rule };
}

export type Gathering = {
  /** As `acceptChange`: resolves when the change is on the disk. */
  accept(submission: Submission): Promise<Accepted>;
};

type Waiting = {
  submission: Submission;
  resolve: (accepted: Accepted) => void;
  reject: (error: unknown) => void;
};

/**
 * Group commit, as intake.ts of inbound does for events: changes that arrive in one turn of the event loop share a
 * transaction and its sync to disk, and what arrives meanwhile forms the next. One is in flight on either engine,
 * because accepting holds the ledger. What waits is bounded by the listener's connections.
 */
export function createGathering(accepting: Accepting): Gathering {
  let waiting: Waiting[] = [];
  let isFlushing = false;

  const flush = async (): Promise<void> => {
    const batch = waiting.slice(0, CHANGES_AT_ONCE);
    waiting = waiting.slice(CHANGES_AT_ONCE);
    try {
      const accepted = await acceptChanges(
        accepting,
        batch.map(({ submission }) => submission),
      );
      batch.forEach(({ resolve }, index) => {
        resolve(accepted[index] as Accepted);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      isFlushing = false;
      if (waiting.length > 0) schedule();
    }
  };

  const schedule = (): void => {
    if (isFlushing) return;
    isFlushing = true;
    setImmediate(flush);
  };

  return {
    accept: (submission) =>
      new Promise((resolve, reject) => {
        waiting.push({ submission, resolve, reject });
        schedule();
      }),
  };
}
