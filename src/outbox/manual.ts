import { type SqlBool, sql, type Updateable } from 'kysely';
import { forUpdate } from '../database/engine.ts';
import type { OutboxTable, RequestKind, Subject, Trx } from '../database/tables.ts';
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

export type ManualRefusal = 'not-retried' | 'newer-delivered' | 'being-sent' | 'finished' | 'not-blocking';
export type ManualResult = 'done' | 'not-found' | ManualRefusal;

/**
 * Retries a rejected change before later ones, and a pending one immediately. Refused, unless forced, if a
 * newer change of the subject was delivered, which this one would undo.
 */
export function retryManually(
  trx: Trx,
  requestId: string,
  { force, ...acting }: { force: boolean } & Acting,
): Promise<ManualResult> {
  const { now } = acting;
  return alter(trx, requestId, acting, { action: 'change.retry', details: { force } }, async (change) => {
    if (change.state === 'pending') return set({ due_at: now });
    if (change.state !== 'rejected') return refuse('not-retried');
    if (!force && (await isNewerDelivered(trx, change))) return refuse('newer-delivered');
    const unsent = { status: null, reason: null, refusals: 0, response: null, finished_at: null };
    return set({ state: 'pending', holds_later: 0, due_at: now, ...unsent });
  });
}

/** Cancels a pending or rejected change permanently and erases its body. */
export function cancelManually(
  trx: Trx,
  requestId: string,
  { reason, ...acting }: { reason: string } & Acting,
): Promise<ManualResult> {
  const { now } = acting;
  return alter(trx, requestId, acting, { action: 'change.cancel', reason }, async ({ state }) => {
    if (state === 'sending') return refuse('being-sent');
    if (state !== 'pending' && state !== 'rejected') return refuse('finished');
    return set({ state: 'canceled', is_next: 0, holds_later: 0, body: null, reason, finished_at: now });
  });
}

/** Releases the changes that wait for a rejected new hire. */
export function releaseManually(trx: Trx, requestId: string, acting: Acting): Promise<ManualResult> {
  return alter(trx, requestId, acting, { action: 'change.release' }, async (change) =>
    change.holds_later === 0 ? refuse('not-blocking') : set({ holds_later: 0 }),
  );
}

type ChangeRow = Subject & Pick<OutboxTable, 'state'> & { seq: number; holds_later: number };

type Alteration =
  | { readonly kind: 'set'; readonly columns: Updateable<OutboxTable> }
  | { readonly kind: 'refused'; readonly why: ManualRefusal };

function set(columns: Updateable<OutboxTable>): Alteration {
  return { kind: 'set', columns };
}

function refuse(why: ManualRefusal): Alteration {
  return { kind: 'refused', why };
}

/** Sets the columns that `decide` returns for the change, with its subject locked, or returns its refusal. */
async function alter(
  trx: Trx,
  requestId: string,
  acting: Acting,
  action: Omit<NewRecord, 'resource' | 'employer' | 'employee'>,
  decide: (change: ChangeRow) => Promise<Alteration>,
): Promise<ManualResult> {
  const query = trx
    .selectFrom('outbox')
    .select(['seq', 'subject_type', 'subject_id', 'state', 'holds_later'])
    .where('request_id', '=', requestId)
    .where('kind', 'in', CHANGE_KINDS);
  const subject = await query.executeTakeFirst();
  if (subject === undefined) return 'not-found';
  await lockSubject(trx, subject);
  const alteration = await decide(await forUpdate(trx, query).executeTakeFirstOrThrow());
  if (alteration.kind === 'refused') return alteration.why;
  await trx.updateTable('outbox').set(alteration.columns).where('request_id', '=', requestId).execute();
  await updateFronts(trx, [subject]);
  const employers = await recordedEmployers(trx, 'change.report', requestId);
  const made = { ...acting, ...action, resource: requestId, employee: subject.subject_id };
  await recordAll(trx, forEmployers(made, employers));
  return 'done';
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
