/** The audit log of personal data that was shown: who, when, what, and whose. Append-only. */
import type { Trx } from '../database/tables.ts';
import type { Caller } from './tokens.ts';

export type PiiRead = {
  caller: Caller;
  /** `change`: the body of an employment change. `census`: a staged census, or the response to an upload of one. */
  what: 'change' | 'census';
  /** The id of the change or census, or of the sync whose response was shown. */
  whatId: string;
  /** Whose data it is: an employee, or all employees of an employer, as an outbox subject. */
  subject: string;
  now: string;
};

/** Records a read. Commit it before the data is shown. */
export async function recordPiiRead(
  trx: Trx,
  { caller, what, whatId, subject, now }: PiiRead,
): Promise<void> {
  await trx
    .insertInto('pii_reads')
    .values({
      read_at: now,
      token_id: caller.tokenId,
      token_name: caller.name,
      what,
      what_id: whatId,
      subject,
    })
    .execute();
}
