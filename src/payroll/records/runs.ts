/** The table of payroll runs: create, find, list, delete while open, finalize, void with a reason. */
import { type Selectable, sql, type Updateable } from 'kysely';
import Type from 'typebox';
import { employersIn, isOneOf, isOneOfOrAny, pagesByKey, startsWithOneOf } from '../../database/bulk.ts';
import type { Db, PayrollRunTable, RunState, Trx } from '../../database/tables.ts';
import { type AppError, conflict, notFound } from '../../errors.ts';
import { type ListPage, type PageRequest, pagesBy } from '../../formats/cursor.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { forget } from '../../notifications/known.ts';
import { notify } from '../../notifications/store.ts';
import { runSubject } from '../../notifications/types.ts';
import { type Acting, record, recordedEmployers } from '../../security/audit.ts';
import type { ReasonColumn } from '../../security/reasons.ts';
import { lockPayroll } from '../settings/lock.ts';
import { approvalFor, approvalMissing, removeApprovalsOf } from './approvals.ts';
import { hashOf } from './basis.ts';
import { RequestedRun, type RunDates } from './body.ts';
import { removeComputation } from './computations.ts';

export type StoredRun = Selectable<PayrollRunTable>;

/** The fields of a run's body that also have columns. */
export const OF_BODY = [
  'employer_id',
  'kind',
  'pay_frequency',
  'pay_group',
  'period_start',
  'period_end',
  'pay_date',
] as const;
type OfBody = Pick<RequestedRun, (typeof OF_BODY)[number]>;

/** Returns what a notification says of a run. */
export function notifiedRun({
  run_id,
  employer_id,
  pay_date,
}: Pick<StoredRun, 'run_id' | 'employer_id' | 'pay_date'>) {
  return { run_id, employer_id, pay_date };
}

/**
 * Stores a requested run. The same body under the same id changes nothing, even if the run is finalized or voided. Returns whether
 * it is new. Throws CONFLICT.
 */
export async function putRun(trx: Trx, runId: string, run: RequestedRun, acting: Acting): Promise<boolean> {
  await lockPayroll(trx);
  const known = await findRun(trx, runId);
  if (await isOfAnotherEmployer(trx, runId, run.employer_id)) throw idOfAnotherEmployer();
  if (known !== null) {
    assertSameRun(known, run);
    return false;
  }
  const open = run.kind === 'regular' ? await regularRunOn(trx, run, 'open') : null;
  if (open !== null)
    throw conflict(
      `The run ${open.run_id} is already open for this pay date, frequency and pay group. Use it, or delete it first.`,
    );
  const body = JSON.stringify(run);
  const columns = Object.fromEntries(OF_BODY.map((field) => [field, run[field]])) as OfBody;
  await trx
    .insertInto('payroll_runs')
    .values({ run_id: runId, ...columns, body, state: 'open', created_at: acting.now })
    .execute();
  await recordRun(trx, acting, 'run.create', { run_id: runId, ...columns }, { body_hash: hashOf(body) });
  return true;
}

/**
 * Reports whether an id belongs to another employer. It never changes hands, also after its run was deleted, so that a caller
 * whose employer was checked before the payroll lock acts on no other employer's run.
 */
export async function isOfAnotherEmployer(trx: Trx, runId: string, employerId: string): Promise<boolean> {
  const [owner = employerId] = await recordedEmployers(trx, 'run.create', runId);
  return owner !== employerId;
}

export async function findRun(db: Db | Trx, runId: string): Promise<StoredRun | null> {
  const row = await db.selectFrom('payroll_runs').selectAll().where('run_id', '=', runId).executeTakeFirst();
  return row ?? null;
}

/** Throws NOT_FOUND. */
export async function storedRun(db: Db | Trx, runId: string): Promise<StoredRun> {
  const stored = await findRun(db, runId);
  if (stored === null) throw notFound('payroll run');
  return stored;
}

/** Throws NOT_FOUND, or CONFLICT if the run is final. */
export async function openRun(db: Db | Trx, runId: string): Promise<StoredRun> {
  const stored = await storedRun(db, runId);
  if (stored.state !== 'open') throw notOpen();
  return stored;
}

/** Returns the refusal of changing a run that is final. */
export function notOpen(): AppError {
  return conflict('The run is no longer open. Void it and create another one.');
}

/** Returns the refusal of what only a finalized run allows. */
export function notFinalized({ state }: Pick<StoredRun, 'state'>): AppError {
  const todo = state === 'open' ? 'Finalize it first.' : 'Create another run.';
  return conflict(`The run is ${state}. ${todo}`);
}

export async function stateOf(db: Db | Trx, runId: string): Promise<RunState | undefined> {
  const rows = db.selectFrom('payroll_runs').select('state').where('run_id', '=', runId);
  return (await rows.executeTakeFirst())?.state;
}

export type Payees = Pick<StoredRun, 'employer_id' | 'pay_frequency' | 'pay_group'>;

/** Selects the regular runs of an employer in a state. */
function regularRuns(db: Db | Trx, employerId: string, state: RunState) {
  return db
    .selectFrom('payroll_runs')
    .where('employer_id', '=', employerId)
    .where('state', '=', sql.lit(state))
    .where('kind', '=', sql.lit('regular'));
}

/** Returns the only regular run of a state for a pay date, frequency and exactly this pay group, or null. */
export async function regularRunOn(
  db: Db | Trx,
  { employer_id, pay_frequency, pay_group, pay_date }: Payees & Pick<StoredRun, 'pay_date'>,
  state: 'open' | 'finalized',
): Promise<StoredRun | null> {
  const row = await regularRuns(db, employer_id, state)
    .selectAll()
    .where('pay_frequency', '=', pay_frequency)
    .where(sql`coalesce(pay_group, '')`, '=', pay_group ?? '')
    .where('pay_date', '=', pay_date)
    .executeTakeFirst();
  return row ?? null;
}

/** Selects the finalized regular runs that may pay the same employees. A run without a pay group is for all groups. */
function finalizedRegularRuns(db: Db | Trx, { employer_id, pay_frequency, pay_group }: Payees) {
  return regularRuns(db, employer_id, 'finalized')
    .where('pay_frequency', '=', pay_frequency)
    .$if(pay_group !== null, (query) =>
      query.where((where) => where.or([where('pay_group', 'is', null), where('pay_group', '=', pay_group)])),
    );
}

/** Returns the other finalized regular run that has a run's pay date, or null. Without a pay group it conflicts with every group. */
export async function runOnPayDate(
  db: Db | Trx,
  runId: string | null,
  run: Payees & Pick<StoredRun, 'pay_date'>,
): Promise<string | null> {
  const holder = await finalizedRegularRuns(db, run)
    .select('run_id')
    .where('pay_date', '=', run.pay_date)
    .where('run_id', '<>', runId ?? '')
    .executeTakeFirst();
  return holder?.run_id ?? null;
}

/** Returns the first finalized regular runs whose pay periods share days with a run's, by pay date. */
export function runsOverPeriod(
  db: Db,
  runId: string | null,
  run: Payees & Pick<StoredRun, 'period_start' | 'period_end'>,
  limit: number,
) {
  return finalizedRegularRuns(db, run)
    .select(['run_id', 'period_start', 'period_end'])
    .where('period_start', '<=', run.period_end)
    .where('period_end', '>=', run.period_start)
    .where('run_id', '<>', runId ?? '')
    .orderBy('pay_date')
    .orderBy('run_id')
    .limit(limit)
    .execute();
}

/**
 * Returns the dates of the first finalized regular run of a frequency and group whose pay period contains a day, or null. A
 * run without a group has all groups; null matches any frequency.
 */
export async function finalizedRunOver(
  db: Db | Trx,
  payees: { employer_id: string; pay_frequency: string | null; pay_group: string | null },
  day: string,
): Promise<RunDates | null> {
  const run = await regularRuns(db, payees.employer_id, 'finalized')
    .select(['pay_date', 'period_start', 'period_end'])
    .where('period_start', '<=', day)
    .where('period_end', '>=', day)
    .$if(payees.pay_frequency !== null, (query) => query.where('pay_frequency', '=', payees.pay_frequency))
    .where((eb) => eb.or([eb('pay_group', 'is', null), eb('pay_group', '=', payees.pay_group)]))
    .orderBy('pay_date')
    .limit(1)
    .executeTakeFirst();
  return run ?? null;
}

/** Returns which employers have a finalized regular run that is not voided. */
export function employersWithRegularRuns(db: Db, employers: readonly string[]): Promise<Set<string>> {
  return employersIn(db, 'payroll_runs', employers, sql`state = 'finalized' and kind = 'regular'`);
}

/** Returns the finalized regular runs that pay all employees of a run, by pay date. */
export function paidRuns(db: Db, run: Payees) {
  return (
    finalizedRegularRuns(db, run)
      .select(['run_id', 'pay_date', 'totals'])
      // A run of one pay group does not pay the employees of other groups.
      .$if(run.pay_group === null, (query) => query.where('pay_group', 'is', null))
      .orderBy('pay_date')
      .execute()
  );
}

/** Returns the last finalized regular run before a run, of its frequency and pay group, or null. */
export async function previousRun(
  db: Db | Trx,
  run: Payees & Pick<StoredRun, 'pay_date'>,
  runId: string | null,
): Promise<string | null> {
  const previous = await regularRuns(db, run.employer_id, 'finalized')
    .select('run_id')
    .where('pay_frequency', '=', run.pay_frequency)
    .where('pay_group', run.pay_group === null ? 'is' : '=', run.pay_group)
    .where('pay_date', '<', run.pay_date)
    .where('run_id', '<>', runId ?? '')
    .orderBy('pay_date', 'desc')
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return previous?.run_id ?? null;
}

/** Returns the finalized regular runs of an employer, by pay date. */
export function regularRunsOf(db: Db | Trx, employerId: string) {
  return regularRuns(db, employerId, 'finalized')
    .select(['run_id', 'pay_frequency', 'pay_group', 'pay_date'])
    .orderBy('pay_date')
    .orderBy('run_id')
    .execute();
}

/** Returns the finalized and voided runs of an employer by pay date, without one of them. */
export function finalRuns(db: Db | Trx, employerId: string, except: string | null) {
  return db
    .selectFrom('payroll_runs')
    .select(['run_id', 'state', 'freeze_id', 'pay_date'])
    .where('employer_id', '=', employerId)
    .where('state', '<>', sql.lit('open'))
    .where('run_id', '<>', except ?? '')
    .orderBy('pay_date')
    .orderBy('run_id')
    .execute();
}

/** The columns of a list. The body and the frozen basis may take megabytes each. */
const ROW_COLUMNS = [
  'run_id',
  ...OF_BODY,
  'state',
  'created_at',
  'finalized_at',
  'voided_at',
  'etag',
  'totals',
] as const satisfies readonly (keyof StoredRun)[];
export type RunRow = Pick<StoredRun, (typeof ROW_COLUMNS)[number]>;

/** `employers`: only runs of these; null or none for all. */
type RunFilter = {
  employerId?: string | undefined;
  employers?: readonly string[] | null;
  state?: RunState | undefined;
  payDate?: string | undefined;
  /** UTC. */
  finalizedFrom?: string | undefined;
};

const runPage = pagesBy('payroll-runs', { pay_date: Type.String(), run_id: Type.String() }, 'desc');

/** Returns a page of runs by pay date, latest first. */
export function listRuns(
  db: Db,
  { employerId, employers = null, state, payDate, finalizedFrom }: RunFilter,
  page: PageRequest,
): Promise<ListPage<RunRow>> {
  let query = db.selectFrom('payroll_runs').select(ROW_COLUMNS);
  if (employerId !== undefined) query = query.where('employer_id', '=', employerId);
  if (employers !== null) query = query.where('employer_id', 'in', employers);
  if (state !== undefined) query = query.where('state', '=', state);
  if (payDate !== undefined) query = query.where('pay_date', '=', payDate);
  if (finalizedFrom !== undefined) query = query.where('finalized_at', '>=', finalizedFrom);
  return runPage(query, page);
}

/** Returns the `limit` latest runs by pay date whose id starts with one of `texts` or whose pay date is one of them. */
export function runsStartingWith(
  db: Db,
  texts: readonly string[],
  { employers, limit }: { employers: readonly string[] | null; limit: number },
) {
  return db
    .selectFrom('payroll_runs')
    .select(['run_id', 'employer_id', 'pay_date'])
    .where(({ or, eb }) => or([startsWithOneOf('run_id', texts), eb('pay_date', 'in', texts)]))
    .where(isOneOfOrAny(db, 'employer_id', employers))
    .orderBy('pay_date', 'desc')
    .orderBy('run_id')
    .limit(limit)
    .execute();
}

export async function employersOfRuns(db: Db | Trx, runIds: readonly string[]): Promise<Map<string, string>> {
  if (runIds.length === 0) return new Map();
  const runs = db.selectFrom('payroll_runs').select(['run_id', 'employer_id']);
  const rows = await runs.where(isOneOf(db, 'run_id', runIds)).execute();
  return new Map(rows.map(({ run_id, employer_id }) => [run_id, employer_id]));
}

/** Records that a run was created or deleted, with what identifies a run that is gone. */
function recordRun(
  trx: Trx,
  acting: Acting,
  action: 'run.create' | 'run.delete',
  run: Pick<StoredRun, 'run_id' | 'employer_id' | 'kind' | 'pay_frequency' | 'pay_group' | 'pay_date'>,
  hashes: { body_hash?: string } = {},
): Promise<number> {
  const { run_id, employer_id, kind, pay_frequency, pay_group, pay_date } = run;
  const details = { kind, pay_frequency, pay_group, pay_date, ...hashes };
  return record(trx, acting, { action, resource: run_id, employer: employer_id, details });
}

/** Throws NOT_FOUND or CONFLICT. */
export async function deleteRun(trx: Trx, runId: string, acting: Acting): Promise<void> {
  await lockPayroll(trx);
  const run = await openRun(trx, runId);
  await removeComputation(trx, runId);
  await removeApprovalsOf(trx, runId);
  await trx.deleteFrom('payroll_runs').where('run_id', '=', runId).execute();
  await recordRun(trx, acting, 'run.delete', run);
}

/** Writes what a run keeps once it is final. */
export async function setFinalized(
  trx: Trx,
  runId: string,
  columns: Omit<Updateable<PayrollRunTable>, 'state'>,
): Promise<void> {
  await removeComputation(trx, runId);
  await trx
    .updateTable('payroll_runs')
    .set({ state: 'finalized', ...columns })
    .where('run_id', '=', runId)
    .execute();
}

/** `person`: the person who voids it; null if unknown. */
export type Voiding = { reason: string; person?: string | null } & Acting;

/**
 * Voids a finalized run: it stays readable, no longer counts and frees its pay date. Throws NOT_FOUND, CONFLICT or
 * APPROVAL_MISSING.
 */
export async function voidRun(
  trx: Trx,
  runId: string,
  { reason, person = null, ...acting }: Voiding,
): Promise<void> {
  await lockPayroll(trx);
  // A frozen basis may be megabytes, and the write lock is held.
  const run = await trx
    .selectFrom('payroll_runs')
    .select(['run_id', 'state', 'employer_id', 'pay_date', 'etag'])
    .where('run_id', '=', runId)
    .executeTakeFirst();
  if (run === undefined) throw notFound('payroll run');
  if (run.state !== 'finalized') throw notFinalized(run);
  const approved = { runId, employerId: run.employer_id, action: 'void', etag: run.etag as string } as const;
  const approval = await approvalFor(trx, approved, [], { actor: acting.actor, person }, acting.now);
  if (approval.state === 'missing') throw approvalMissing('void');
  await trx
    .updateTable('payroll_runs')
    .set({ state: 'voided', voided_at: acting.now, void_reason: reason })
    .where('run_id', '=', runId)
    .execute();
  const details = approval.state === 'given' ? { approval_id: approval.approval.id } : {};
  const made = { action: 'run.void', resource: runId, employer: run.employer_id, details, reason } as const;
  await forget(trx, runSubject(runId));
  await notify(trx, 'run.voided', notifiedRun(run), acting.now);
  await record(trx, acting, made);
}

const readBody = jsonColumn('payroll_runs', 'body', RequestedRun);

export function bodyOf({ run_id, body }: StoredRun): RequestedRun {
  return readBody(body, run_id);
}

/** Throws CONFLICT if a run was requested for another employer or with other fields. */
export function assertSameRun({ employer_id, body }: StoredRun, run: RequestedRun): void {
  if (employer_id !== run.employer_id) throw idOfAnotherEmployer();
  if (body !== JSON.stringify(run))
    throw conflict('A run with this ID and a different body exists. Use another ID or delete that run.');
}

function idOfAnotherEmployer(): AppError {
  return conflict('This ID belongs to another employer, even if its run was deleted. Use another ID.');
}

/** Yields the ids of all runs in pages, without their bodies. */
export function runIds(db: Db, atOnce: number): AsyncGenerator<{ run_id: string }[]> {
  return pagesByKey<{ run_id: string }>(db, 'payroll_runs', sql`run_id`, atOnce);
}

export const RUN_REASONS: readonly ReasonColumn[] = (
  [
    ['accept_reason', ['run.finalize', 'run.approve']],
    ['void_reason', ['run.void']],
  ] as const
).map(([column, actions]) => ({
  ...{ table: 'payroll_runs', column, actions },
  by: { column: 'run_id', is: 'resource_id' },
  lock: lockPayroll,
}));
