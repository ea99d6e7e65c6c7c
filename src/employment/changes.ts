/** Lists employment changes, without personal data, and acts on them. Their bodies are read in bodies.ts. */
import { sql } from 'kysely';
import Type from 'typebox';
import { isOneOf } from '../database/bulk.ts';
import type { Db, RequestState, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { cursorOf } from '../formats/cursor.ts';
import { employmentsQuery, hasMoved, isEmployedByOneOf, rosterOf } from '../ledger/roster.ts';
import { seesReport, sightsOf, type Viewer } from '../ledger/visibility.ts';
import { CHANGE_KINDS, type ChangeKind, type ManualRefusal, type ManualResult } from '../outbox/manual.ts';
import { type Attempt, attemptsOf, requestsQuery, undeliveredQuery } from '../outbox/requests.ts';

export type AcceptedChange = ReturnType<typeof changeOf>;

type ChangeViewer = Pick<Viewer, 'employers' | 'today'>;

/** All given conditions apply. `from` and `until` (exclusive) are instants. */
export type ChangeFilter = {
  /** Only changes that a limited caller may see; null or none for all. */
  viewer?: ChangeViewer | null;
  state?: RequestState | undefined;
  employeeId?: string | undefined;
  /** Only changes of employees of this employer. If an employee moved, only changes that the employer may see. */
  ofEmployer?: ChangeViewer | null;
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
  filter: ChangeFilter,
  page: { before?: number | undefined; limit: number },
): Promise<{ changes: AcceptedChange[]; next: number | null }> {
  const { viewer = null, ofEmployer = null } = filter;
  const rows: ChangeRow[] = [];
  for (let { before } = page; rows.length <= page.limit; ) {
    const read = await changesBefore(db, filter, before, page.limit + 1);
    const visible = viewer === null ? read : await visibleChanges(db, read, viewer);
    rows.push(...(ofEmployer === null ? visible : await changesOf(db, visible, ofEmployer)));
    if (read.length <= page.limit) break;
    before = read.at(-1)?.seq;
  }
  const shown = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? shown.at(-1) : undefined;
  const changes = await viewChanges(db, shown, viewer);
  return { changes, next: last?.seq ?? null };
}

/** Returns changes with a seq below `before`, newest first. They may include changes that `viewer` or `ofEmployer` hides. */
function changesBefore(
  db: Db,
  { viewer = null, ofEmployer = null, state, employeeId, kind, from, until }: ChangeFilter,
  before: number | undefined,
  limit: number,
): Promise<ChangeRow[]> {
  let query = selectChanges(db);
  if (before !== undefined) query = query.where('seq', '<', before);
  for (const sight of [viewer, ofEmployer])
    if (sight !== null) query = query.where(isEmployedByOneOf(sight.employers, sql.ref('outbox.subject_id')));
  // A literal, because SQLite does not use a partial index for a bound value.
  if (state !== undefined) query = query.where('state', '=', sql.lit(state));
  if (state === 'pending' || state === 'sending') query = query.where('finished_at', 'is', null);
  if (employeeId !== undefined) {
    query = query.where('subject_type', '=', 'employee').where('subject_id', '=', employeeId);
  }
  if (kind !== undefined) query = query.where('kind', '=', kind);
  if (from !== undefined) query = query.where('created_at', '>=', from);
  if (until !== undefined) query = query.where('created_at', '<', until);
  return query.orderBy('seq', 'desc').limit(limit).execute();
}

/** The facts by which a limited caller may see a change or not. */
type Reported = Pick<ChangeRow, 'request_id' | 'subject_id' | 'created_at'>;

/** Returns the changes that were reported while their employee belonged to one of the employers, or that name one. */
async function visibleChanges<C extends Reported>(
  db: Db,
  changes: readonly C[],
  viewer: ChangeViewer,
): Promise<C[]> {
  const employees = changes.map(({ subject_id }) => subject_id);
  const sights = await sightsOf(db, employees, viewer);
  return changes.filter(({ request_id, subject_id, created_at }) =>
    seesReport(sights.get(subject_id), request_id, created_at),
  );
}

/** Returns the changes of an employer's employees. If an employee moved, only changes that the employer may see. */
async function changesOf<C extends Reported>(
  db: Db,
  changes: readonly C[],
  employer: ChangeViewer,
): Promise<C[]> {
  const ids = changes.map(({ subject_id }) => subject_id);
  const rows = await employmentsQuery(db, employer.employers)
    .where(isOneOf(db, 'employee_id', ids))
    .where(hasMoved(sql.ref('roster.employee_id')))
    .execute();
  const moved = new Set(rows.map(({ employee_id }) => employee_id));
  const ofMoved = changes.filter(({ subject_id }) => moved.has(subject_id));
  const visible = new Set(await visibleChanges(db, ofMoved, employer));
  return changes.filter((change) => !moved.has(change.subject_id) || visible.has(change));
}

/** Returns changes as they are shown. A limited caller does not see which hidden change is sent first. */
async function viewChanges(
  db: Db,
  rows: readonly ChangeRow[],
  viewer: ChangeViewer | null,
): Promise<AcceptedChange[]> {
  const changes = rows.map(changeOf);
  const earlierIds = changes.flatMap(({ earlier_change_id }) => earlier_change_id ?? []);
  if (viewer === null || earlierIds.length === 0) return changes;
  const earlier = await selectChanges(db).where('request_id', 'in', earlierIds).execute();
  const visible = await visibleChanges(db, earlier, viewer);
  const ids = new Set<string | null>(visible.map(({ request_id }) => request_id));
  return changes.map((change) =>
    ids.has(change.earlier_change_id) ? change : { ...change, earlier_change_id: null },
  );
}

/** Returns whether a limited caller may see a change. */
export async function isVisibleChange(db: Db, changeId: string, viewer: ChangeViewer): Promise<boolean> {
  const rows = await selectChanges(db)
    .where('request_id', '=', changeId)
    .where(isEmployedByOneOf(viewer.employers, sql.ref('outbox.subject_id')))
    .execute();
  return (await visibleChanges(db, rows, viewer)).length > 0;
}

export type WholeChange = AcceptedChange & { last_attempts: Attempt[] };

/** Returns a change with its last attempts, newest first, or null if there is none with this id. */
export async function findChange(
  db: Db,
  changeId: string,
  viewer: ChangeViewer | null = null,
): Promise<WholeChange | null> {
  const change = await readChange(db, changeId, viewer);
  return change && { ...change, last_attempts: await attemptsOf(db, changeId, ATTEMPTS_SHOWN) };
}

async function readChange(
  db: Db,
  changeId: string,
  viewer: ChangeViewer | null,
): Promise<AcceptedChange | null> {
  const rows = await selectChanges(db).where('request_id', '=', changeId).execute();
  const [change = null] = await viewChanges(db, rows, viewer);
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
export type UndeliveredChanges = { waiting: number; rejected: number };

/**
 * Counts the changes that `listChanges` lists as `ofEmployer`, by employer, without employers that have none. `employers`: null
 * for all.
 */
export async function undeliveredChanges(
  db: Db,
  employers: readonly string[] | null,
  today: string,
): Promise<Map<string, UndeliveredChanges>> {
  const changes = db
    .selectFrom(undeliveredQuery(db).as('change'))
    .innerJoin(
      employmentsQuery(db, employers).as('employment'),
      'employment.employee_id',
      'change.subject_id',
    )
    .select(['employment.employer_id', 'change.state']);
  const counts = await changes
    .select(({ fn }) => fn.countAll().as('changes'))
    .where(({ not }) => not(hasMoved(sql.ref('change.subject_id'))))
    .groupBy(['employment.employer_id', 'change.state'])
    .execute();
  const ofMoved = await changes
    .select(['change.request_id', 'change.subject_id', 'change.created_at'])
    .where(hasMoved(sql.ref('change.subject_id')))
    .execute();
  const totals = new Map<string, UndeliveredChanges>();
  const add = (employerId: string, state: RequestState, number: number): void => {
    const total = totals.get(employerId) ?? { waiting: 0, rejected: 0 };
    total[state === 'rejected' ? 'rejected' : 'waiting'] += number;
    totals.set(employerId, total);
  };
  for (const { employer_id, state, changes: number } of counts) add(employer_id, state, Number(number));
  for (const [employerId, reported] of Map.groupBy(ofMoved, ({ employer_id }) => employer_id))
    for (const { state } of await visibleChanges(db, reported, { employers: [employerId], today }))
      add(employerId, state, 1);
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
  viewer: ChangeViewer | null = null,
): Promise<ActedOn> {
  const outcome = await transact(db, work);
  const change = outcome === 'not-found' ? null : await readChange(db, changeId, viewer);
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
