/** Lists employment changes, without personal data, and acts on them. Their bodies are read in bodies.ts. */
import { sql } from 'kysely';
import Type from 'typebox';
import { isOneOf, isOneOfOrAny } from '../database/bulk.ts';
import type { Db, RequestState, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { notFound } from '../errors.ts';
import { type ListPage, type PageRequest, pagesBy } from '../formats/cursor.ts';
import { employmentsQuery, isEmployedBy, rosterOf } from '../ledger/roster.ts';
import { CHANGE_KINDS, type ChangeKind } from '../outbox/manual.ts';
import { type Attempt, attemptsOf, requestsQuery, undeliveredQuery } from '../outbox/requests.ts';
import { isRecordedAt, recordsOf } from '../security/audit.ts';

export type AcceptedChange = ReturnType<typeof changeOf>;

/** All given conditions apply. `from` and `until` (exclusive) are instants. */
export type ChangeFilter = {
  /** Only changes that name one of these employers, which a limited caller sees; null or none for all. */
  employers?: readonly string[] | null;
  state?: RequestState | undefined;
  employeeId?: string | undefined;
  employerId?: string | undefined;
  kind?: ChangeKind | undefined;
  from?: string | undefined;
  until?: string | undefined;
};

/** The most attempts shown of one change. One that gets 403 for a year has 35,000. */
export const ATTEMPTS_SHOWN = 100;

const changePage = pagesBy('employee-changes', { seq: Type.Integer({ minimum: 1 }) }, 'desc');

/** Returns a page of changes, newest first. */
export async function listChanges(
  db: Db,
  { employers = null, state, employeeId, employerId, kind, from, until }: ChangeFilter,
  request: PageRequest,
): Promise<ListPage<AcceptedChange>> {
  let query = selectChanges(db);
  if (employers !== null) query = query.where(names(employers));
  if (employerId !== undefined) query = query.where(concernsEmployer(employerId));
  // A literal, because SQLite does not use a partial index for a bound value.
  if (state !== undefined) query = query.where('state', '=', sql.lit(state));
  if (state === 'pending' || state === 'sending') query = query.where('finished_at', 'is', null);
  if (employeeId !== undefined) {
    query = query.where('subject_type', '=', 'employee').where('subject_id', '=', employeeId);
  }
  if (kind !== undefined) query = query.where('kind', '=', kind);
  if (from !== undefined) query = query.where('created_at', '>=', from);
  if (until !== undefined) query = query.where('created_at', '<', until);
  const page = await changePage(query, request);
  return { ...page, data: await viewChanges(db, page.data, employers) };
}

/** Returns the condition that a change names one of the employers: its record at acceptance does. */
function names(employers: readonly string[]) {
  return isRecordedAt(employers, 'change.report', sql.ref('outbox.request_id'));
}

/** Like `names`. A change that was reported before its employee had an employer concerns the employers that came to know it. */
export function concernsEmployer(employerId: string) {
  const isOfEmployee = isEmployedBy(employerId, sql.ref('outbox.subject_id'));
  return sql<boolean>`(${names([employerId])}
    or (${isOfEmployee} and not ${isRecordedAt(null, 'change.report', sql.ref('outbox.request_id'))}))`;
}

/** Returns changes as they are shown. A limited caller does not see which hidden change is sent first. */
async function viewChanges(
  db: Db,
  rows: readonly ChangeRow[],
  employers: readonly string[] | null,
): Promise<AcceptedChange[]> {
  const changes = rows.map(changeOf);
  const earlierIds = changes.flatMap(({ earlier_change_id }) => earlier_change_id ?? []);
  if (employers === null || earlierIds.length === 0) return changes;
  const visible = await selectChanges(db)
    .where('request_id', 'in', earlierIds)
    .where(names(employers))
    .execute();
  const ids = new Set<string | null>(visible.map(({ request_id }) => request_id));
  return changes.map((change) =>
    ids.has(change.earlier_change_id) ? change : { ...change, earlier_change_id: null },
  );
}

/** Returns whether a limited caller may see a change, and act on it. */
export async function isVisibleChange(
  db: Db,
  changeId: string,
  employers: readonly string[],
): Promise<boolean> {
  const change = selectChanges(db).where('request_id', '=', changeId).where(names(employers));
  return (await change.executeTakeFirst()) !== undefined;
}

type WholeChange = AcceptedChange & { last_attempts: Attempt[] };

/** Returns a change with its last attempts, newest first, or null if there is none with this id. */
export async function findChange(
  db: Db,
  changeId: string,
  employers: readonly string[] | null = null,
): Promise<WholeChange | null> {
  const change = await readChange(db, changeId, employers);
  return change && { ...change, last_attempts: await attemptsOf(db, changeId, ATTEMPTS_SHOWN) };
}

async function readChange(
  db: Db,
  changeId: string,
  employers: readonly string[] | null,
): Promise<AcceptedChange | null> {
  const rows = await selectChanges(db).where('request_id', '=', changeId).execute();
  const [change = null] = await viewChanges(db, rows, employers);
  return change;
}

/** Returns which of an employer's employees have a latest termination that the service has not received. */
export async function undeliveredTerminations(
  db: Db,
  employerId: string,
  employeeIds: readonly string[],
): Promise<Set<string>> {
  const ids: string[] = [];
  for (const reports of (await rosterOf(db, employeeIds)).values()) {
    const ofEmployer = reports.filter(({ employer_id }) => employer_id === employerId);
    const last = ofEmployer.findLast(({ source }) => source === 'termination');
    if (last !== undefined) ids.push(last.source_id);
  }
  if (ids.length === 0) return new Set();
  const rows = await selectChanges(db)
    .where(isOneOf(db, 'request_id', ids))
    .where('state', '<>', 'delivered')
    .orderBy('seq')
    .execute();
  return new Set(rows.map(({ subject_id }) => subject_id));
}

/** How many changes of an employer's employees the service lacks: sent automatically, or waiting for a person. */
type UndeliveredChanges = { waiting: number; rejected: number };

/**
 * Counts the changes that `listChanges` lists as of an employer, by employer, without employers that have none. `employers`: null
 * for all.
 */
export async function undeliveredChanges(
  db: Db,
  employers: readonly string[] | null,
): Promise<Map<string, UndeliveredChanges>> {
  const changes = db.selectFrom(undeliveredQuery(db).as('change'));
  const naming = await changes
    .innerJoin(recordsOf(db, 'change.report').as('report'), 'report.resource_id', 'change.request_id')
    .select(({ fn }) => ['report.employer_id', 'change.state', fn.countAll().as('changes')])
    .where(isOneOfOrAny(db, 'report.employer_id', employers))
    .groupBy(['report.employer_id', 'change.state'])
    .execute();
  const namingNone = await changes
    .innerJoin(
      employmentsQuery(db, employers).as('employment'),
      'employment.employee_id',
      'change.subject_id',
    )
    .select(({ fn }) => ['employment.employer_id', 'change.state', fn.countAll().as('changes')])
    .where(({ not }) => not(isRecordedAt(null, 'change.report', sql.ref('change.request_id'))))
    .groupBy(['employment.employer_id', 'change.state'])
    .execute();
  const totals = new Map<string, UndeliveredChanges>();
  for (const { employer_id, state, changes } of [...naming, ...namingNone]) {
    const total = totals.get(employer_id) ?? { waiting: 0, rejected: 0 };
    total[state === 'rejected' ? 'rejected' : 'waiting'] += Number(changes);
    totals.set(employer_id, total);
  }
  return totals;
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

/** Retries, cancels or releases a change, as `work` does (manual.ts in outbox), and returns it as it is then. */
export async function actOnChange(
  db: Db,
  changeId: string,
  work: (trx: Trx) => Promise<void>,
  employers: readonly string[] | null = null,
): Promise<AcceptedChange> {
  await transact(db, work);
  const change = await readChange(db, changeId, employers);
  if (change === null) throw notFound('employment change');
  return change;
}
