import { maskSsn, maskSsnsIn } from '../contract/employee.ts';
import type { NewHire } from '../contract/employment.ts';
import type { Db } from '../database/tables.ts';
import { CHANGE_KINDS } from '../outbox/manual.ts';
import { PILOT_BODIES_DAYS } from '../outbox/pilot.ts';
import { placeOf } from '../outbox/queue.ts';
import { readContents } from '../outbox/requests.ts';
import type { Sender, Senders, Timeouts } from '../outbox/sender.ts';
import type { Encryptor } from '../security/encryption.ts';

/**
 * Returns a change's body as accepted, or why it is absent, and the first bytes of the response that rejected it, SSNs
 * masked; null if there is no such change. The caller records the read first (pii-reads.ts).
 */
export async function readBody(db: Db, encryptor: Encryptor, changeId: string) {
  const contents = await readContents(db, encryptor, changeId);
  if (contents === null || contents.kind === 'census') return null;
  const { state, body, response } = contents;
  if (body === null) {
    const absent = ABSENT[state] ?? 'The change has no contents.';
    return { body, absent, response: response && maskSsnsIn(response) };
  }
  // It was checked before it was stored, and decrypting it proves that it is the same.
  const change: Record<string, unknown> & { ssn?: string } = JSON.parse(body.toString('utf8'));
  const shown = typeof change.ssn === 'string' ? { ...change, ssn: maskSsn(change.ssn) } : change;
  return { body: shown, absent: null, response: response && maskSsnsIn(response, change.ssn) };
}

const ABSENT: Readonly<Record<string, string>> = {
  delivered: 'Deleted after the service accepted the change.',
  canceled: `Deleted when the change was canceled; in a pilot, ${PILOT_BODIES_DAYS} days later.`,
};

/** A change is a few hundred bytes: a service that needs longer is in trouble, and the request is retried. */
const TIMEOUTS: Timeouts = { idleMs: 30_000, totalMs: 60_000 };

/** Returns the legal name of an employer, or null if no census states it. */
type LegalNameOf = (employerId: string) => Promise<string | null>;

/**
 * Creates the senders of the employment changes: the path depends on the kind, the body is sent as accepted. A hire without the
 * name of its employer gets the legal name, if it is known.
 */
export function createChangeSenders(
  encryptor: Encryptor,
  legalNameOf: LegalNameOf = async () => null,
): Senders {
  const sender: Sender = {
    async prepare(claim) {
      if (claim.body === null) {
        const decide = async () => ({ outcome: 'canceled', reason: 'the request has no body' }) as const;
        return { kind: 'decision', decide };
      }
      const accepted = encryptor.decrypt(claim.body, placeOf(claim.requestId, 'body'));
      return {
        kind: 'post',
        path: ['employee-changes', claim.kind],
        idempotencyKey: claim.requestId,
        body: claim.kind === 'new-hire' ? await withEmployer(accepted, legalNameOf) : accepted,
        timeouts: TIMEOUTS,
      };
    },
  };
  return Object.fromEntries(CHANGE_KINDS.map((kind) => [kind, sender]));
}

async function withEmployer(accepted: Buffer, legalNameOf: LegalNameOf): Promise<Buffer> {
  // It was checked before it was stored.
  const hire: NewHire = JSON.parse(accepted.toString('utf8'));
  if (hire.employer !== undefined) return accepted;
  const employer = await legalNameOf(hire.employer_id);
  return employer === null ? accepted : Buffer.from(JSON.stringify({ ...hire, employer }));
}
