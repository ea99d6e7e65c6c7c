import { type SqlBool, sql, type Updateable } from 'kysely';
import { forUpdate } from '../database/engine.ts';
import type { OutboxTable, RequestKind, Subject, Trx } from '../database/tables.ts';
import { conflict, notFound } from '../errors.ts';
import {
  type Acting,
  forEmployers,
  type NewRecord,
  recordAll,
  recordedEmployers,
} from '../security/audit.ts';
import type { ReasonColumn } from '../security/reasons.ts';
import { lockSubject, updateFronts } from './queue.ts';

/** The kinds that operators can retry, cancel or release. A census upload follows from its syncs instead. */
export const CHANGE_KINDS = [
  'new-hire',
  'termination',
  'demographic',
  'compensation-change',
] as const satisfies readonly RequestKind[];
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/**
 * Retries a rejected change before later ones, and a pending one immediately. Throws NOT_FOUND or CONFLICT, unless forced
 * also if a newer change of the subject was delivered, which this one would undo.
 */
export function retryManually(
  trx: Trx,
  requestId: string,
  { force, ...acting }: { force: boolean } & Acting,
): Promise<void> {
  const { now } = acting;
  return alter(trx, requestId, acting, { action: 'change.retry', details: { force } }, async (change) => {
    const { state } = change;
    if (state === 'pending') return { due_at: now };
    if (state === 'sending') throw conflict('The change is being sent. Try again in a minute.');
    if (state !== 'rejected') throw conflict(`The change is ${state}. To send it again, report it again.`);
    if (!force && (await isNewerDelivered(trx, change)))
      throw conflict(
        'A newer change of the employee was delivered, which this one may undo. Cancel it, or retry it with force.',
      );
    const unsent = { status: null, reason: null, refusals: 0, response: null, finished_at: null };
    return { state: 'pending', holds_later: 0, due_at: now, ...unsent };
  });
}

/** Cancels a pending or rejected change permanently and erases its body. Throws NOT_FOUND or CONFLICT. */
export function cancelManually(
  trx: Trx,
  requestId: string,
  { reason, ...acting }: { reason: string } & Acting,
): Promise<void> {
  const { now } = acting;
  return alter(trx, requestId, acting, { action: 'change.cancel', reason }, async ({ state }) => {
    if (state === 'sending')
      throw conflict('The change is being sent and cannot be canceled now. Try again in a minute.');
    if (state !== 'pending' && state !== 'rejected')
      throw conflict(`The change is ${state}. There is nothing to cancel.`);
    return { state: 'canceled', is_next: 0, holds_later: 0, body: null, reason, finished_at: now };
  });
}

/** Releases the changes that wait for a rejected new hire. Throws NOT_FOUND or CONFLICT. */
export function releaseManually(trx: Trx, requestId: string, acting: Acting): Promise<void> {
  return alter(trx, requestId, acting, { action: 'change.release' }, async ({ holds_later, state, kind }) => {
    if (holds_later === 0)
      throw conflict(
        `No other change waits for this one. Changes wait only for a rejected new hire, and this is a ${state} ${kind}.`,
      );
    return { holds_later: 0 };
  });
}

type ChangeRow = Subject & Pick<OutboxTable, 'state' | 'kind'> & { seq: number; holds_later: number };

/** Sets the columns that `decide` returns for the change, with its subject locked. */
async function alter(
  trx: Trx,
  requestId: string,
  acting: Acting,
  action: Omit<NewRecord, 'resource' | 'employer' | 'employee'>,
  decide: (change: ChangeRow) => Promise<Updateable<OutboxTable>>,
): Promise<void> {
  const query = trx
    .selectFrom('outbox')
    .select(['seq', 'subject_type', 'subject_id', 'state', 'kind', 'holds_later'])
    .where('request_id', '=', requestId)
    .where('kind', 'in', CHANGE_KINDS);
  const subject = await query.executeTakeFirst();
  if (subject === undefined) throw notFound('employment change');
  await lockSubject(trx, subject);
  const columns = await decide(await forUpdate(trx, query).executeTakeFirstOrThrow());
  await trx.updateTable('outbox').set(columns).where('request_id', '=', requestId).execute();
  await updateFronts(trx, [subject]);
  const employers = await recordedEmployers(trx, 'change.report', requestId);
  const made = { ...acting, ...action, resource: requestId, employee: subject.subject_id };
  await recordAll(trx, forEmployers(made, employers));
}

async function isNewerDelivered(trx: Trx, change: ChangeRow): Promise<boolean> {
  const newer = await trx
    .selectFrom('outbox')
    .select('seq')
    .where('subject_type', '=', change.subject_type)
    .where('subject_id', '=', change.subject_id)
    .where('seq', '>', change.seq)
    .where('state', '=', 'delivered')
    .limit(1)
    .executeTakeFirst();
  return newer !== undefined;
}

/** A change that was canceled. */
export const IS_CANCELED = sql<SqlBool>`kind <> 'census' and state = 'canceled'`;

export const CANCELLATION_REASONS: ReasonColumn = {
  ...{ table: 'outbox', column: 'reason', actions: ['change.cancel'] },
  by: { column: 'request_id', is: 'resource_id' },
  onlyIf: IS_CANCELED,
};
