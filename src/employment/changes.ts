/** Lists employment changes, without personal data, and acts on them. Their bodies are read in bodies.ts. */
import { sql } from 'kysely';
import Type from 'typebox';
import type { Db, RequestState, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { cursorOf } from '../formats/cursor.ts';
import { CHANGE_KINDS, type ChangeKind, type ManualRefusal, type ManualResult } from '../outbox/manual.ts';
import { type Attempt, attemptsOf, requestsQuery } from '../outbox/requests.ts';

export type AcceptedChange = ReturnType<typeof changeOf>;

/** All given conditions apply. `from` and `until` (exclusive) are instants. */
export type ChangeFilter = {
  state?: RequestState | undefined;
  employeeId?: string | undefined;
  kind?: ChangeKind | undefined;
  from?: string | undefined;
  until?: string | undefined;
};

/** The most attempts shown of one change. One that gets 403 for a year has 35,000. */
export const ATTEMPTS_SHOWN = 100;

export const changeCursor = cursorOf('employee-changes', Type.Integer({ minimum: 1 }));

/** Returns a page of changes with a seq below `before`, newest first. `next` continues the list. */
export async function listChanges(
  db: Db,
  { state, employeeId, kind, from, until }: ChangeFilter,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<{ changes: AcceptedChange[]; next: number | null }> {
  let query = selectChanges(db);
  if (before !== undefined) query = query.where('seq', '<', before);
  // A literal, because SQLite does not use a partial index for a bound value.
  if (state !== undefined) query = query.where('state', '=', sql.lit(state));
  if (state === 'pending' || state === 'sending') query = query.where('finished_at', 'is', null);
  if (employeeId !== undefined) {
    query = query.where('subject_type', '=', 'employee').where('subject_id', '=', employeeId);
  }
  if (kind !== undefined) query = query.where('kind', '=', kind);
  if (from !== undefined) query = query.where('created_at', '>=', from);
  if (until !== undefined) query = query.where('created_at', '<', until);
  const rows = await query
    .orderBy('seq', 'desc')
    .limit(limit + 1)
    .execute();
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  return { changes: shown.map(changeOf), next: last?.seq ?? null };
}

export type WholeChange = AcceptedChange & { last_attempts: Attempt[] };

/** Returns a change with its last attempts, newest first, or null if there is none with this id. */
export async function findChange(db: Db, changeId: string): Promise<WholeChange | null> {
  const change = await readChange(db, changeId);
  return change && { ...change, last_attempts: await attemptsOf(db, changeId, ATTEMPTS_SHOWN) };
}

async function readChange(db: Db, changeId: string): Promise<AcceptedChange | null> {
  const row = await selectChanges(db).where('request_id', '=', changeId).executeTakeFirst();
  return row === undefined ? null : changeOf(row);
}

function selectChanges(db: Db) {
  return requestsQuery(db).where('kind', 'in', CHANGE_KINDS);
}

type ChangeRow = Awaited<ReturnType<ReturnType<typeof selectChanges>['execute']>>[number];

function changeOf(row: ChangeRow) {
  const { state, unknown_outcome, may_have_been_applied } = row;
  const isUnknown = unknown_outcome === 1 || may_have_been_applied === 1;
  return {
    id: row.request_id,
    kind: row.kind as ChangeKind,
    employee_id: row.subject_id,
    state,
    reason: row.reason,
    status: row.status,
    created_at: row.created_at,
    /** The earliest time of the next attempt; null once it is finished. */
    due_at: row.finished_at === null ? row.due_at : null,
    finished_at: row.finished_at,
    attempts: row.attempts,
    /** It is not delivered, but a response was lost: the service may have applied it. */
    may_have_been_applied: state !== 'delivered' && isUnknown,
    blocking: row.holds_later === 1,
    earlier_change_id: row.waits_behind,
    erased_at: row.erased_at,
    effective_on: row.effective_on,
    pay_group: row.pay_group,
  };
}

/** `why` states what prevents it and what to do instead. */
export type ActedOn =
  | { outcome: 'done'; change: AcceptedChange }
  | { outcome: 'refused'; why: string }
  | { outcome: 'not-found' };

/** Retries, cancels or releases a change, as `work` does (manual.ts in outbox), and returns it as it is then. */
export async function actOnChange(
  db: Db,
  changeId: string,
  work: (trx: Trx) => Promise<ManualResult>,
): Promise<ActedOn> {
  const outcome = await transact(db, work);
  const change = outcome === 'not-found' ? null : await readChange(db, changeId);
  if (outcome === 'not-found' || change === null) return { outcome: 'not-found' };
  return outcome === 'done' ? { outcome, change } : { outcome: 'refused', why: WHY[outcome](change) };
}

const WHY: Record<ManualRefusal, (change: AcceptedChange) => string> = {
  'not-retried': ({ state }) =>
    state === 'sending'
      ? 'The change is being sent. Try again in a minute.'
      : `The change is ${state}. To send it again, report it again.`,
  'newer-delivered': () =>
    'A newer change of the employee was delivered, which this one may undo. Cancel it, or retry it with force.',
  'being-sent': () => 'The change is being sent and cannot be canceled now. Try again in a minute.',
  finished: ({ state }) => `The change is ${state}. There is nothing to cancel.`,
  'not-blocking': ({ kind, state }) =>
    `No other change waits for this one. Changes wait only for a rejected new hire, and this is a ${state} ${kind}.`,
};
