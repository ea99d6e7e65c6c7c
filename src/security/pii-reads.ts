/** The audit log of personal data that was shown: who, when, what, and whose. Append-only. */
import type { Tables, Trx } from '../database/tables.ts';
import type { Caller } from './tokens.ts';

/**
 * The subject is the employee whose data it is, or the employer whose employees' data it is. The resource is a change, a
 * staged census, or the response to an upload of one (then by the id of its sync).
 */
export type PiiRead = Omit<Tables['pii_reads'], 'read_id' | 'read_at' | 'token_id' | 'token_name'> & {
  caller: Caller;
  now: string;
};

/** Records a read. Commit it before the data is shown. */
export async function recordPiiRead(trx: Trx, { caller, now, ...read }: PiiRead): Promise<void> {
  await trx
    .insertInto('pii_reads')
    .values({ read_at: now, token_id: caller.tokenId, token_name: caller.name, ...read })
    .execute();
}
