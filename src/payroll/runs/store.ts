/** Stored payroll runs: create, find, list, delete while open, void with a reason. */
import { type Selectable, sql } from 'kysely';
import type { Db, PayrollRunTable, RunState, Trx } from '../../database/tables.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { RULES_VERSION } from '../calculation/amounts.ts';
import { changePayroll } from '../settings/lock.ts';
import {
  type Basis,
  type FrozenOutcome,
  frozenOutcomeOf,
  resolveBasis,
  type StoredBasis,
  storedBasisOf,
} from './basis.ts';
import { type Run, StatedRun } from './body.ts';
import { computeRun, type EmployeeLines } from './compute.ts';
import { createSummary, type Summary } from './summary.ts';
import { Totals } from './totals.ts';

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
type OfBody = Pick<StatedRun, (typeof OF_BODY)[number]>;

/** Stores a requested run. The same body under the same id is `same`, even if the run is finalized or voided. */
export async function putRun(
  trx: Trx,
  runId: string,
  run: StatedRun,
  now: string,
): Promise<'created' | 'same' | 'different'> {
  const body = JSON.stringify(run);
  await changePayroll(trx);
  const known = await findRun(trx, runId);
  if (known !== null) return known.body === body ? 'same' : 'different';
  const columns = Object.fromEntries(OF_BODY.map((field) => [field, run[field]])) as OfBody;
  await trx
    .insertInto('payroll_runs')
    .values({ run_id: runId, ...columns, body, state: 'open', created_at: now })
    .execute();
  return 'created';
}

export async function findRun(db: Db | Trx, runId: string): Promise<StoredRun | null> {
  const row = await db.selectFrom('payroll_runs').selectAll().where('run_id', '=', runId).executeTakeFirst();
  return row ?? null;
}

/** Selects the finalized regular runs that may pay the same employees. A run without a pay group is for all groups. */
export function finalizedRegularRuns(
  db: Db | Trx,
  { employer_id, pay_frequency, pay_group }: Pick<StoredRun, 'employer_id' | 'pay_frequency' | 'pay_group'>,
) {
  return db
    .selectFrom('payroll_runs')
    .where('employer_id', '=', employer_id)
    .where('state', '=', sql.lit('finalized'))
    .where('kind', '=', sql.lit('regular'))
    .where('pay_frequency', '=', pay_frequency)
    .$if(pay_group !== null, (query) =>
      query.where((where) => where.or([where('pay_group', 'is', null), where('pay_group', '=', pay_group)])),
    );
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

type RunFilter = { employerId?: string | undefined; state?: RunState | undefined };
type RunCursor = { payDate: string; runId: string };

/** Returns runs by pay date, latest first, after a cursor. `next` continues the list. */
export async function listRuns(
  db: Db,
  { employerId, state }: RunFilter,
  page: { after?: RunCursor | undefined; limit: number },
): Promise<{ runs: RunRow[]; next: RunCursor | null }> {
  const { after, limit } = page;
  let query = db.selectFrom('payroll_runs').select(ROW_COLUMNS);
  if (employerId !== undefined) query = query.where('employer_id', '=', employerId);
  if (state !== undefined) query = query.where('state', '=', state);
  if (after !== undefined)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('pay_date', 'run_id'), '<', tuple(after.payDate, after.runId)),
    );
  const latestFirst = query.orderBy('pay_date', 'desc').orderBy('run_id', 'desc');
  const rows = await latestFirst.limit(limit + 1).execute();
  const runs = rows.slice(0, limit);
  const last = runs.at(-1);
  const next =
    rows.length > limit && last !== undefined ? { payDate: last.pay_date, runId: last.run_id } : null;
  return { runs, next };
}

export async function deleteRun(trx: Trx, runId: string): Promise<'deleted' | 'unknown' | 'not-open'> {
  await changePayroll(trx);
  const run = await findRun(trx, runId);
  if (run === null) return 'unknown';
  if (run.state !== 'open') return 'not-open';
  await trx.deleteFrom('payroll_runs').where('run_id', '=', runId).execute();
  return 'deleted';
}

/** Voids a finalized run: it stays readable, no longer counts and frees its pay date. */
export async function voidRun(
  trx: Trx,
  runId: string,
  { reason, now }: { reason: string; now: string },
): Promise<'voided' | 'unknown' | 'not-finalized'> {
  await changePayroll(trx);
  // A frozen basis may be megabytes, and the write lock is held.
  const rows = trx.selectFrom('payroll_runs').select('state').where('run_id', '=', runId);
  const run = await rows.executeTakeFirst();
  if (run === undefined) return 'unknown';
  if (run.state !== 'finalized') return 'not-finalized';
  await trx
    .updateTable('payroll_runs')
    .set({ state: 'voided', voided_at: now, void_reason: reason })
    .where('run_id', '=', runId)
    .execute();
  return 'voided';
}

/** The result of a run: computed now if it is open, otherwise as stored. */
export type RunView = Omit<Summary, 'notes'> & {
  run: Run;
  position: number;
  rulesVersion: string;
  /** The stored basis and results of a finalized or voided run; null for an open one. */
  frozen: { basis: StoredBasis; outcome: FrozenOutcome } | null;
};

const readBody = jsonColumn('payroll_runs', 'body', StatedRun);

export function bodyOf({ run_id, body }: StoredRun): StatedRun {
  return readBody(body, run_id);
}

const readTotals = jsonColumn('payroll_runs', 'totals', Totals);

export function totalsOf({ run_id, totals }: Pick<StoredRun, 'run_id' | 'totals'>): Totals {
  return readTotals(totals, run_id);
}

/** Returns the view of a stored run. Throws RUN_REFUSED if an open run can no longer be computed. */
export async function viewRun(db: Db, stored: StoredRun): Promise<RunView> {
  if (stored.state === 'open') return previewRun(db, stored.run_id, bodyOf(stored));
  const frozen = { basis: storedBasisOf(stored), outcome: frozenOutcomeOf(stored) };
  return {
    run: frozen.basis.run,
    position: stored.position as number,
    rulesVersion: stored.rules_version as string,
    totals: totalsOf(stored),
    etag: stored.etag as string,
    outcome: frozen.outcome,
    frozen,
  };
}

/** Computes a run without storing anything. Throws RUN_REFUSED. */
export async function previewRun(
  db: Db,
  runId: string | null,
  run: StatedRun,
  onPage?: OnPage,
): Promise<RunView> {
  const basis = await resolveBasis(db, runId, run);
  const summary = await summarize(db, basis, onPage);
  return { ...summary, run: basis.run, position: basis.position, rulesVersion: RULES_VERSION, frozen: null };
}

/** Receives each computed page, and the lines of its employees as JSON. */
type OnPage = (page: readonly EmployeeLines[], texts: readonly string[]) => void | Promise<void>;

export async function summarize(db: Db, basis: Basis, onPage: OnPage = () => {}): Promise<Summary> {
  const summary = createSummary(basis);
  for await (const page of computeRun(db, basis)) {
    const texts = page.map((employee) => summary.add(employee));
    await onPage(page, texts);
  }
  return summary.summary();
}
