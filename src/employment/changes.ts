/** Employment changes as people see them, from their rows in the outbox. No personal data: a body is read in bodies.ts. */
import { sql } from 'kysely';
import type { Db, RequestState } from '../database/tables.ts';
import { CHANGE_KINDS, type ChangeKind } from '../outbox/manual.ts';
import { employeeSubject, idOf } from '../outbox/queue.ts';

/** A change that was accepted, and what became of it. Instants are in milliseconds UTC. */
export type AcceptedChange = {
  change_id: string;
  kind: ChangeKind;
  employee_id: string;
  state: RequestState;
  /** Why it is rejected, cancelled, or was put off last. */
  reason: string | null;
  /** The HTTP status of the last answer. */
  status: number | null;
  created_at: string;
  /** When it is sent next, if nothing is in its way; null once it is finished. */
  due_at: string | null;
  finished_at: string | null;
  /** How often it was tried. */
  attempts: number;
  /** It is not delivered, and an answer was lost: the service may know of it all the same. */
  may_have_been_applied: boolean;
  /** A rejected new hire that holds the employee's later changes back. */
  holding: boolean;
  /** The change of the employee that goes first. */
  waits_behind: string | null;
  /** When its attempts, and what the service had answered, were erased (RETENTION_REQUESTS). */
  erased_at: string | null;
  /** The date from which it counts for payroll, if the caller stated one. */
  effective_on: string | null;
};

/** One try of a change. `finished_at` is null while it is under way. */
export type Attempt = {
  attempt: number;
  started_at: string;
  finished_at: string | null;
  status: number | null;
  reason: string | null;
};

/** Which changes; everything given must hold. `from` and `until` (exclusive) are instants in milliseconds UTC. */
export type ChangeFilter = {
  state?: RequestState | undefined;
  employeeId?: string | undefined;
  kind?: ChangeKind | undefined;
  from?: string | undefined;
  until?: string | undefined;
};

/** Attempts shown of one change, the newest: one that is refused with 403 for a year has 35,000. */
export const ATTEMPTS_SHOWN = 100;

/** Changes in the order of accepting, the newest first, from behind `before` (a seq). `next` continues the list. */
export async function listChanges(
  db: Db,
  { state, employeeId, kind, from, until }: ChangeFilter,
  page: { before?: number | undefined; limit: number },
): Promise<{ changes: AcceptedChange[]; next: number | null }> {
  const rows = await selectChanges(db)
    .$if(page.before !== undefined, (query) => query.where('seq', '<', page.before as number))
    // Literals, not parameters: only then do the indexes of some states alone serve.
    .$if(state !== undefined, (query) => query.where('state', '=', sql.lit(state as RequestState)))
    .$if(state === 'pending' || state === 'sending', (query) => query.where('finished_at', 'is', null))
    .$if(employeeId !== undefined, (query) =>
      query.where('subject', '=', employeeSubject(employeeId as string)),
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

/** One change and its attempts, the newest first, at most `ATTEMPTS_SHOWN`; null when there is none of this id. */
export async function findChange(
  db: Db,
  changeId: string,
): Promise<{ change: AcceptedChange; attempts: Attempt[] } | null> {
  const row = await selectChanges(db).where('request_id', '=', changeId).executeTakeFirst();
  if (row === undefined) return null;
  const attempts = await db
    .selectFrom('delivery_attempts')
    .select(['attempt', 'started_at', 'finished_at', 'status', 'reason'])
    .where('request_id', '=', changeId)
    .orderBy('attempt', 'desc')
    .limit(ATTEMPTS_SHOWN)
    .execute();
  return { change: changeOf(row), attempts };
}

type ChangeRow = Awaited<ReturnType<ReturnType<typeof selectChanges>['execute']>>[number];

function selectChanges(db: Db) {
  return db
    .selectFrom('outbox')
    .select(['seq', 'request_id', 'kind', 'subject', 'state', 'reason', 'status', 'created_at', 'due_at'])
    .select(['finished_at', 'attempts', 'unknown_outcome', 'may_have_been_applied', 'holding', 'erased_at'])
    .select('effective_on')
    .select(WAITS_BEHIND.as('waits_behind'))
    .where('kind', 'in', CHANGE_KINDS);
}

/**
 * What a change that is not the head of its subject waits for: a rejected new hire that holds all, else the change
 * before it, else a later one that was being sent when this one was retried by hand.
 */
const WAITS_BEHIND = sql<string | null>`
  case when outbox.state = 'pending' and outbox.head = 0 then coalesce(
    (select held.request_id from outbox as held
      where held.subject = outbox.subject and held.holding = 1 order by held.seq limit 1),
    (select earlier.request_id from outbox as earlier
      where earlier.subject = outbox.subject and earlier.finished_at is null and earlier.seq < outbox.seq
      order by earlier.seq desc limit 1),
    (select later.request_id from outbox as later
      where later.subject = outbox.subject and later.head = 1)
  ) end`;

function changeOf(row: ChangeRow): AcceptedChange {
  const { request_id, subject, state, unknown_outcome, may_have_been_applied, holding } = row;
  return {
    change_id: request_id,
    kind: row.kind as ChangeKind,
    employee_id: idOf(subject),
    state,
    reason: row.reason,
    status: row.status,
    created_at: row.created_at,
    due_at: row.finished_at === null ? row.due_at : null,
    finished_at: row.finished_at,
    attempts: row.attempts,
    may_have_been_applied: state !== 'delivered' && (unknown_outcome === 1 || may_have_been_applied === 1),
    holding: holding === 1,
    waits_behind: row.waits_behind,
    erased_at: row.erased_at,
    effective_on: row.effective_on,
  };
}
