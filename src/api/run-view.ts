/** Runs as the API shows them. */
import type { Db } from '../database/tables.ts';
import { readTaken } from '../payroll/reconciliation/taken.ts';
import { planOfBasis, planWith, runUnder } from '../payroll/runs/basis.ts';
import type { Run, StatedRun } from '../payroll/runs/body.ts';
import { bodyOf, frozenOf, type RunRow, type RunView, type StoredRun } from '../payroll/runs/store.ts';
import { OPTIONS, readPolicies } from '../payroll/settings/policy.ts';
import { readSchedules } from '../payroll/settings/schedules.ts';
import type { PayrollRun, PayrollRunOutline, PayrollRunSummary } from './run-schemas.ts';

/** A stored run with what it comes to. */
export async function runOfView(db: Db, view: RunView, stored: StoredRun): Promise<PayrollRun> {
  return { ...(await outlineOf(db, stored)), ...(await computedOf(db, view)) };
}

/** A stored run with all that needs no computing. */
export async function outlineOf(db: Db, stored: StoredRun): Promise<PayrollRunOutline> {
  return {
    run_id: stored.run_id,
    ...fieldsOf(await effectiveRun(db, stored), bodyOf(stored)),
    ...lifeOf(stored),
    etag: stored.etag,
    totals: totalsOf(stored),
    accept_reason: stored.accept_reason,
    accepted_checks: stored.state === 'open' ? [] : [...frozenOf(stored).accepted_checks],
    void_reason: stored.void_reason,
    taken_reports: await readTaken(db, stored.run_id),
  };
}

/** What a run comes to, whether it is stored or not. */
export async function computedOf(db: Db, { run, stored, ...view }: RunView) {
  const plan =
    stored === null || stored.state === 'open'
      ? planWith(run, await readSchedules(db, run.employer_id))
      : planOfBasis(frozenOf(stored).basis);
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

/** A stored run without anything that must be computed. */
export function summaryOf(stored: RunRow): PayrollRunSummary {
  const { run_id, employer_id, kind, pay_group, period_start, period_end, pay_date, etag } = stored;
  return {
    run_id,
    employer_id,
    kind,
    pay_frequency: stored.pay_frequency as Run['pay_frequency'],
    pay_group,
    period_start,
    period_end,
    pay_date,
    ...lifeOf(stored),
    etag,
    totals: totalsOf(stored),
  };
}

function totalsOf({ totals }: RunRow): PayrollRunSummary['totals'] {
  return totals === null ? null : (JSON.parse(totals) as PayrollRunSummary['totals']);
}

async function effectiveRun(db: Db, stored: StoredRun): Promise<Run> {
  if (stored.state !== 'open') return frozenOf(stored).basis.run;
  return runUnder(bodyOf(stored), await readPolicies(db, stored.employer_id));
}

/** Returns the run with its effective options, and the names of those that it states itself. */
export function fieldsOf(run: Run, stated: StatedRun) {
  return {
    employer_id: run.employer_id,
    kind: run.kind,
    pay_frequency: run.pay_frequency,
    pay_group: run.pay_group,
    period_start: run.period_start,
    period_end: run.period_end,
    pay_date: run.pay_date,
    employee_ids: listOf(run.employee_ids),
    deductions: listOf(run.deductions),
    final_checks: [...run.final_checks],
    pay_dates: listOf(run.pay_dates),
    scheme: run.scheme,
    applies_on: run.applies_on,
    remainder: run.remainder,
    extra_paycheck: run.extra_paycheck,
    adjustments: run.adjustments,
    arrears: run.arrears,
    policy_reason: run.policy_reason,
    stated_options: OPTIONS.filter((name) => stated[name] !== null),
  };
}

function listOf(given: readonly string[] | null): string[] | null {
  return given === null ? null : [...given];
}

function lifeOf({ state, created_at, finalized_at, voided_at }: RunRow) {
  return { state, created_at, finalized_at, voided_at };
}
