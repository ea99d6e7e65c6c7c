import type { FastifyRequest } from 'fastify';
import { transact } from '../database/transaction.ts';
import { type PiiRead, recordPiiRead } from '../security/pii-reads.ts';
import type { ApiParts } from './parts.ts';
import { Refusal } from './problem.ts';

/** Writes down that the caller is about to be shown personal data. When this throws, nothing may be shown. */
export async function writeReadDown(
  { db, now }: ApiParts,
  { caller }: FastifyRequest,
  read: Pick<PiiRead, 'what' | 'whatId' | 'subject'>,
): Promise<void> {
  if (caller === null) throw new Refusal('internal', '');
  await transact(db, (trx) => recordPiiRead(trx, { ...read, caller, now: now().toISOString() }));
}
