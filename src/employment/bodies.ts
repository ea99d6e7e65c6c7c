import { maskSsn, maskSsnsIn } from '../contract/employee.ts';
import type { Db } from '../database/tables.ts';
import { CHANGE_KINDS } from '../outbox/manual.ts';
import { placeOf } from '../outbox/queue.ts';
import type { Sender, Senders, Timeouts } from '../outbox/sender.ts';
import type { Encryptor } from '../security/encryption.ts';

/** What a change says, for a person who may read personal data. SSNs are masked. */
export type ChangeBody = {
  /** As it was accepted; null once it is erased, and `absent` says why. */
  body: Readonly<Record<string, unknown>> | null;
  absent: string | null;
  /** What the service answered when it rejected the change, its first bytes; null when it did not. */
  answer: string | null;
};

/**
 * Opens what is stored of a change; null when there is none of this id. Throws `DataKeyMissing` or `DecryptionFailed`. The
 * caller writes the read down first (pii-reads.ts in security).
 */
export async function readBody(db: Db, encryptor: Encryptor, changeId: string): Promise<ChangeBody | null> {
  const row = await db
    .selectFrom('outbox')
    .select(['state', 'body', 'answer'])
    .where('request_id', '=', changeId)
    .where('kind', 'in', CHANGE_KINDS)
    .executeTakeFirst();
  if (row === undefined) return null;
  const { state, body, answer } = row;
  const said =
    answer === null ? null : encryptor.decrypt(answer, placeOf(changeId, 'answer')).toString('utf8');
  if (body === null) {
    const absent = ABSENT[state] ?? 'there is none';
    return { body: null, absent, answer: said === null ? null : maskSsnsIn(said) };
  }
  const given = JSON.parse(encryptor.decrypt(body, placeOf(changeId, 'body')).toString('utf8'));
  const shown = typeof given.ssn === 'string' ? { ...given, ssn: maskSsn(given.ssn) } : given;
  return { body: shown, absent: null, answer: said === null ? null : maskSsnsIn(said, given.ssn) };
}

const ABSENT: Readonly<Record<string, string>> = {
  delivered: 'erased: the service has taken it',
  cancelled: 'erased: the change was cancelled',
};

/** A change is a few hundred bytes: a service that needs longer is in trouble, and the request comes again. */
const TIMEOUTS: Timeouts = { idleMs: 30_000, totalMs: 60_000 };

/** Sends the four employment changes: the path by the kind, the body as it was accepted. */
export function createChangeSenders(encryptor: Encryptor): Senders {
  const sender: Sender = {
    async prepare(claim) {
      const reason = 'has no body';
      if (claim.body === null) {
        return { kind: 'not-now', decide: async () => ({ outcome: 'cancelled', reason }) };
      }
      return {
        kind: 'post',
        path: ['employee-changes', claim.kind],
        idempotencyKey: claim.requestId,
        body: encryptor.decrypt(claim.body, placeOf(claim.requestId, 'body')),
        timeouts: TIMEOUTS,
      };
    },
  };
  return Object.fromEntries(CHANGE_KINDS.map((kind) => [kind, sender]));
}
