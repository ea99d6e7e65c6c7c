/** Lists employment changes, without personal data. Their bodies are read in bodies.ts. */
import { sql } from 'kysely';
import type { Db, RequestState } from '../database/tables.ts';
import { CHANGE_KINDS, type ChangeKind } from '../outbox/manual.ts';
import { type Attempt, attemptsOf, requestsQuery } from '../outbox/requests.ts';

/** An accepted change and its delivery. Times are in milliseconds UTC. */
export type AcceptedChange = ReturnType<typeof changeOf>;

/** All given conditions apply. `from` and `until` (exclusive) are times in milliseconds UTC. */
export type ChangeFilter = {
  state?: RequestState | undefined;
  employeeId?: string | undefined;
  kind?: ChangeKind | undefined;
  from?: string | undefined;
  until?: string | undefined;
};

/** The most attempts shown of one change. One that gets 403 for a year has 35,000. */
export const ATTEMPTS_SHOWN = 100;

/** Returns a page of changes, newest first, after the one with seq `before`. `next` continues the list. */
export async function listChanges(
  db: Db,
  { state, employeeId, kind, from, until }: ChangeFilter,
  page: { before?: number | undefined; limit: number },
): Promise<{ changes: AcceptedChange[]; next: number | null }> {
  const rows = await selectChanges(db)
    .$if(page.before !== undefined, (query) => query.where('seq', '<', page.before as number))
    // Literals, because SQLite does not use a partial index for a bound value.
    .$if(state !== undefined, (query) => query.where('state', '=', sql.lit(state as RequestState)))
    .$if(state === 'pending' || state === 'sending', (query) => query.where('finished_at', 'is', null))
    .$if(employeeId !== undefined, (query) =>
      query.where('subject_type', '=', 'employee').where('subject_id', '=', employeeId as string),
    )
    .$if(kind !== undefined, (query) => query.where('kind', '=', kind as ChangeKind))
    .$if(from !== undefined, (query) => query.where('created_at', '>=', from as string))
    .$if(until !== undefined, (query) => query.where('created_at', '<', until as string))
    .orderBy('seq', 'desc')
    .limit(page.limit + 1)
    .execute();
  const shown = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? shown.at(-1) : undefined;
  return { changes: shown.map(changeOf), next: last?.seq ?? null };
}

/** Returns a change and its attempts, newest first, or null if there is none with this id. */
export async function findChange(
  db: Db,
  changeId: string,
): Promise<{ change: AcceptedChange; attempts: Attempt[] } | null> {
  const row = await selectChanges(db).where('request_id', '=', changeId).executeTakeFirst();
  if (row === undefined) return null;
  const attempts = await attemptsOf(db, changeId, ATTEMPTS_SHOWN);
  return { change: changeOf(row), attempts };
}

type ChangeRow = Awaited<ReturnType<ReturnType<typeof selectChanges>['execute']>>[number];

function selectChanges(db: Db) {
  return requestsQuery(db).where('kind', 'in', CHANGE_KINDS);
}

function changeOf(row: ChangeRow) {
  const { state, unknown_outcome, may_have_been_applied } = row;
  const isUnknown = unknown_outcome === 1 || may_have_been_applied === 1;
  return {
    id: row.request_id,
    kind: row.kind as ChangeKind,
    employee_id: row.subject_id,
    state,
    /** Why it was rejected, canceled or last delayed. */
    reason: row.reason,
    /** The HTTP status of the last response. */
    status: row.status,
    created_at: row.created_at,
    /** The earliest time of the next attempt; null once it is finished. */
    due_at: row.finished_at === null ? row.due_at : null,
    finished_at: row.finished_at,
    attempts: row.attempts,
    /** It is not delivered, but a response was lost: the service may have applied it. */
    may_have_been_applied: state !== 'delivered' && isUnknown,
    /** Whether it is a rejected new hire that delays the employee's later changes. */
    blocking: row.holds_later === 1,
    /** The employee's change that is sent first. */
    earlier_change_id: row.waits_behind,
    /** When its attempts and the service's response were erased (RETENTION_REQUESTS). */
    erased_at: row.erased_at,
    /** The date from which it counts for payroll, if the caller stated one. */
    effective_on: row.effective_on,
  };
}
