/** Manual actions on an accepted change: retry, cancel, release. */
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { cancelManually, releaseManually, retryManually } from '../outbox/manual.ts';
import { type AcceptedChange, findChange } from './changes.ts';

/** `why` states what prevents it and what to do instead. */
export type ActedOn =
  | { outcome: 'done'; change: AcceptedChange }
  | { outcome: 'refused'; why: string }
  | { outcome: 'not-found' };

/** Retries a rejected change, and a pending one immediately. `force`: even if it may undo a newer change. */
export function retryChange(
  db: Db,
  changeId: string,
  { force, now }: { force: boolean; now: string },
): Promise<ActedOn> {
  return act(db, changeId, (trx) => retryManually(trx, changeId, { force, now }));
}

/** Cancels a pending or rejected change and erases its body. */
export function cancelChange(
  db: Db,
  changeId: string,
  { reason, now }: { reason: string; now: string },
): Promise<ActedOn> {
  return act(db, changeId, (trx) => cancelManually(trx, changeId, { reason, now }));
}

/** Releases the changes that wait for a rejected new hire, which stays rejected. */
export function releaseChange(db: Db, changeId: string): Promise<ActedOn> {
  return act(db, changeId, (trx) => releaseManually(trx, changeId));
}

async function act(
  db: Db,
  changeId: string,
  work: (trx: Trx) => Promise<'done' | 'not-found' | keyof typeof WHY>,
): Promise<ActedOn> {
  const outcome = await transact(db, work);
  const found = outcome === 'not-found' ? null : await findChange(db, changeId);
  if (outcome === 'not-found' || found === null) return { outcome: 'not-found' };
  const { change } = found;
  return outcome === 'done' ? { outcome, change } : { outcome: 'refused', why: WHY[outcome](change) };
}

const WHY = {
  'not-retried': ({ state }: AcceptedChange) =>
    state === 'sending'
      ? 'The change is being sent. Try again in a minute.'
      : `The change is ${state}. To send it again, report it again.`,
  'newer-delivered': () =>
    'A newer change of the employee was delivered, which this one may undo. Cancel it, or retry it with force.',
  'being-sent': () => 'The change is being sent and cannot be canceled now. Try again in a minute.',
  finished: ({ state }: AcceptedChange) => `The change is ${state}. There is nothing to cancel.`,
  'not-blocking': ({ kind, state }: AcceptedChange) =>
    `No other change waits for this one. Changes wait only for a rejected new hire, and this is a ${state} ${kind}.`,
};
