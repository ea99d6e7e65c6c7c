/** Deduction events on their way into the ledger. */
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import type { IncomingDeduction } from '../../src/ledger/fold.ts';
import { recordDeductions } from '../../src/ledger/record.ts';
import { deduction as sample } from '../contract/samples.ts';

/** When the tests' events are received, and recorded where a test says nothing else. */
export const RECEIVED = '2026-03-01T12:00:00.000Z';

type Changes = Partial<IncomingDeduction['deduction']>;

/** An event that a test tells apart by its id; `changes` are to the sample deduction. */
export function incoming(
  eventId: string,
  createdAt: string | null,
  changes: Changes = {},
  receivedAt = RECEIVED,
): IncomingDeduction {
  return {
    eventId,
    receivedAt,
    createdAt,
    deduction: { ...sample, ...changes } as IncomingDeduction['deduction'],
  };
}

/** Records events in one transaction. */
export function record(db: Db, events: readonly IncomingDeduction[], recordedAt = RECEIVED): Promise<void> {
  return transact(db, (trx) => recordDeductions(trx, events, recordedAt));
}
