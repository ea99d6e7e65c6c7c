/** Payroll runs as the API and the command line show them. */
import Type from 'typebox';
import type { Db } from '../database/tables.ts';
import { cursorOf } from '../formats/cursor.ts';
import type { Line } from './calculation/line.ts';
import { readTaken } from './reconciliation/taken.ts';
import { type Frozen, frozenOf, planOfBasis, planWith, runUnder } from './runs/basis.ts';
import type { Run, StatedRun } from './runs/body.ts';
import { bodyOf, type RunRow, type RunView, type StoredRun, totalsOf } from './runs/store.ts';
import { OPTIONS, readPolicies } from './settings/policy.ts';
import { readSchedules } from './settings/schedules.ts';

/** The position of a page in the list of runs. */
export const runCursor = cursorOf(
  'payroll-runs',
  Type.Object({ payDate: Type.String(), runId: Type.String() }),
);

/** A stored run with its computed values. */
export type PayrollRun = Awaited<ReturnType<typeof viewStoredRun>>;
/** A stored run in a list. */
export type PayrollRunSummary = ReturnType<typeof viewRunSummary>;
/** A run that is not stored, with its lines. */
export type PayrollRunPreview = Awaited<ReturnType<typeof viewPreview>>;

/** Returns a stored run with its computed values. */
export async function viewStoredRun(db: Db, view: RunView, stored: StoredRun) {
  const frozen = finalOf(stored);
  return { ...(await outlinedOf(db, stored, frozen)), ...(await computedOf(db, view, frozen)) };
}

/** Returns a stored run without its computed values. */
export function outlineOf(db: Db, stored: StoredRun) {
  return outlinedOf(db, stored, finalOf(stored));
}

/** Returns what a finalized or voided run keeps, which may be megabytes; null for an open run. */
function finalOf(stored: StoredRun): Frozen | null {
  return stored.state === 'open' ? null : frozenOf(stored);
}

async function outlinedOf(db: Db, stored: StoredRun, frozen: Frozen | null) {
  const stated = bodyOf(stored);
  const run = frozen?.basis.run ?? runUnder(stated, await readPolicies(db, stored.employer_id));
  return {
    id: stored.run_id,
    ...fieldsOf(run, stated),
    ...lifeOf(stored),
    etag: stored.etag,
    totals: stored.totals === null ? null : totalsOf(stored),
    accept_reason: stored.accept_reason,
    accepted_checks: [...(frozen?.accepted_checks ?? [])],
    void_reason: stored.void_reason,
    taken_reports: await readTaken(db, stored.run_id),
  };
}

/** Returns a run that is not stored, with its lines. */
export async function viewPreview(db: Db, view: RunView, stated: StatedRun, lines: readonly Line[] | null) {
  return {
    ...fieldsOf(view.run, stated),
    ...(await computedOf(db, view, null)),
    lines: lines === null ? null : [...lines],
  };
}

async function computedOf(db: Db, { run, ...view }: RunView, frozen: Frozen | null) {
  const plan =
    frozen === null ? planWith(run, await readSchedules(db, run.employer_id)) : planOfBasis(frozen.basis);
  return {
    pay_dates_used: plan.dates === null ? null : [...plan.dates],
    calendar_assumed: plan.calendarAssumed,
    position: view.position,
    rules_version: view.rulesVersion,
    etag: view.etag,
    employees: view.outcome.employees,
    totals: view.totals,
    comparison: view.outcome.comparison,
    not_in_run: view.outcome.not_in_run,
    not_in_run_count: view.outcome.not_in_run_count,
  };
}

/** Returns a stored run as a list shows it: without computed values and lists of ids. */
export function viewRunSummary(stored: RunRow) {
  const { run_id, totals, ...row } = stored;
  return {
    id: run_id,
    ...row,
    pay_frequency: row.pay_frequency as Run['pay_frequency'],
    totals: totals === null ? null : totalsOf(stored),
  };
}

/** Returns the run with its effective options, and the names of those that it states itself. */
function fieldsOf(run: Run, stated: StatedRun) {
  return { ...run, stated_options: OPTIONS.filter((name) => stated[name] !== null) };
}

function lifeOf({ state, created_at, finalized_at, voided_at }: RunRow) {
  return { state, created_at, finalized_at, voided_at };
}
