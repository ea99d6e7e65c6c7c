/** The audit log of personal data that was shown: who, when, what, and whose. Append-only. */
import type { Subject, Trx } from '../database/tables.ts';
import type { Caller } from './tokens.ts';

/** The subject is the employee whose data it is, or the employer whose employees' data it is. */
export type PiiRead = Subject & {
  caller: Caller;
  /** `change`: the body of an employment change. `census`: a staged census, or the response to an upload of one. */
  resource_type: 'change' | 'census';
  /** The id of the change or census, or of the sync whose response was shown. */
  resource_id: string;
  now: string;
};

/** Records a read. Commit it before the data is shown. */
export async function recordPiiRead(trx: Trx, { caller, now, ...read }: PiiRead): Promise<void> {
  await trx
    .insertInto('pii_reads')
    .values({ read_at: now, token_id: caller.tokenId, token_name: caller.name, ...read })
    .execute();
}
