import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import type { IncomingDeduction } from '../../src/ledger/fold.ts';
import { recordDeductions } from '../../src/ledger/record.ts';
import { deduction as sample } from '../contract/samples.ts';

/** The time of receipt, and by default of recording. */
export const RECEIVED = '2026-03-01T12:00:00.000Z';

type Changes = Partial<IncomingDeduction['deduction']>;

/** An event with the given id; `changes` apply to the sample deduction. */
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

export function record(db: Db, events: readonly IncomingDeduction[], recordedAt = RECEIVED): Promise<void> {
  return transact(db, (trx) => recordDeductions(trx, events, recordedAt));
}
