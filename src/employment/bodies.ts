import { maskSsn, maskSsnsIn } from '../contract/ssn.ts';
import type { Db } from '../database/tables.ts';
import { CHANGE_KINDS } from '../outbox/manual.ts';
import { placeOf } from '../outbox/queue.ts';
import type { Sealer } from '../security/encryption.ts';

/** What a change says, for a person who may read personal data. SSNs are masked. */
export type ChangeBody = {
  /** As it was accepted; null once it is erased, and `absent` says why. */
  body: Readonly<Record<string, unknown>> | null;
  absent: string | null;
  /** What the service answered when it rejected the change, its first bytes; null when it did not. */
  answer: string | null;
};

/**
 * Opens what is stored of a change; null when there is none of this id. Throws `DataKeyMissing` or `SealBroken`. The
 * caller writes the read down first (pii-reads.ts in security).
 */
export async function readBody(db: Db, sealer: Sealer, changeId: string): Promise<ChangeBody | null> {
  const row = await db
    .selectFrom('outbox')
    .select(['state', 'body', 'answer'])
    .where('request_id', '=', changeId)
    .where('kind', 'in', CHANGE_KINDS)
    .executeTakeFirst();
  if (row === undefined) return null;
  const { state, body, answer } = row;
  const said = answer === null ? null : sealer.open(answer, placeOf(changeId, 'answer')).toString('utf8');
  if (body === null) {
    const absent = ABSENT[state] ?? 'there is none';
    return { body: null, absent, answer: said === null ? null : maskSsnsIn(said) };
  }
  const given = JSON.parse(sealer.open(body, placeOf(changeId, 'body')).toString('utf8'));
  const shown = typeof given.ssn === 'string' ? { ...given, ssn: maskSsn(given.ssn) } : given;
  return { body: shown, absent: null, answer: said === null ? null : maskSsnsIn(said, given.ssn) };
}

const ABSENT: Readonly<Record<string, string>> = {
  delivered: 'erased: the service has taken it',
  cancelled: 'erased: the change was cancelled',
};
