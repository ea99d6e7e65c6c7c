/**
 * An employer's payroll, written by the functions that write it in production: employees, deductions, schedules and runs. All
 * suites build theirs here. Everything is written at `LATELY` unless a parameter says otherwise.
 */
import type { Test } from 'tap';
import { type Found, findingOf, type Question, type ReadinessReport } from '../../src/checks.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import type { Problem } from '../../src/errors.ts';
import type { RowResult } from '../../src/formats/rows.ts';
import type { IncomingDeduction } from '../../src/ledger/fold.ts';
import { recordDeductions } from '../../src/ledger/record.ts';
import { FACTS_AT_ONCE, type NewFact, recordFacts } from '../../src/ledger/roster.ts';
import { centsOf } from '../../src/money.ts';
import type { LineRecord } from '../../src/payroll/calculation/line.ts';
import type { FoundInRun, RunCheck } from '../../src/payroll/checks/check.ts';
import { runUnder } from '../../src/payroll/compute/basis.ts';
import { beginComputation } from '../../src/payroll/compute/computation.ts';
import { computeRun } from '../../src/payroll/compute/compute.ts';
import { openItemsOf } from '../../src/payroll/compute/item-pages.ts';
import type { OpenItem } from '../../src/payroll/compute/item-state.ts';
import { type NewDecision, recordDecisions } from '../../src/payroll/facts/decisions.ts';
import { recordTaken } from '../../src/payroll/facts/taken.ts';
import { previewWithLines } from '../../src/payroll/lifecycle/begin.ts';
import {
  type CheckReadiness,
  type Finalized,
  type Finalizing,
  finalizeRun,
} from '../../src/payroll/lifecycle/finalize.ts';
import { linesOfRun } from '../../src/payroll/lifecycle/line-pages.ts';
import { overrideAmounts } from '../../src/payroll/lifecycle/overrides.ts';
import { type RunView, viewRun } from '../../src/payroll/lifecycle/results.ts';
import { type Verification, verifyRun } from '../../src/payroll/lifecycle/verify.ts';
import { NO_TERMS } from '../../src/payroll/reconciliation/requested-decisions.ts';
import { type RequestedRun, type Run, type RunBody, runOf } from '../../src/payroll/records/body.ts';
import { deleteRun, findRun, putRun, type StoredRun, voidRun } from '../../src/payroll/records/runs.ts';
import { type PayrollCode, putCodes } from '../../src/payroll/settings/codes.ts';
import { lockPayroll } from '../../src/payroll/settings/lock.ts';
import { DEFAULTS, type Options, putPolicy } from '../../src/payroll/settings/policy.ts';
import { type PayDate, putSchedules, type Schedule } from '../../src/payroll/settings/schedules.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { deduction as sample } from '../contract/samples.ts';
import { scratch } from '../database/scratch.ts';
import { every } from '../payroll/calendars.ts';
import { acting } from './audit.ts';

export const EMPLOYER = 'acme';
export const NOW = new Date('2026-07-13T09:00:00.000Z');
export const LATELY = '2026-07-10T09:00:00.000Z';
export const OVERDUE_MS = 3_600_000;
export const QUESTION: Question = {
  now: NOW,
  clockWarning: null,
  overdueMs: OVERDUE_MS,
  silentAfterMs: null,
};

const DAY_MS = 86_400_000;

export function daysAfter(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}

// Employees

/** An employment without problems, except for the given fields. */
export function employment(employee_id: string, fields: Partial<NewFact> = {}): NewFact {
  return {
    employee_id,
    employer_id: EMPLOYER,
    hire_date: '2020-01-01',
    termination_date: null,
    employment_status: 'full_time',
    pay_frequency: 'biweekly',
    pay_group: null,
    absent: 0,
    ...fields,
  };
}

let censuses = 0;

/** Records the employments of one census, in the given order. No employee may occur twice with one employer. */
export async function learn(db: Db, ...facts: NewFact[]): Promise<void> {
  censuses += 1;
  const source = { source: 'census', source_id: `census-${censuses}` } as const;
  for (let from = 0; from < facts.length; from += FACTS_AT_ONCE)
    await transact(db, (trx) => recordFacts(trx, facts.slice(from, from + FACTS_AT_ONCE), source, LATELY));
}

export function employ(db: Db, employeeId: string, fields: Partial<NewFact> = {}): Promise<void> {
  return learn(db, employment(employeeId, fields));
}

/** Employs people with a deduction of 150.00 a month each, unless overridden. Returns their ids. */
export async function hireMany(db: Db, count: number, fields: object = {}): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `many-${String(index).padStart(4, '0')}`);
  await learn(db, ...ids.map((id) => employment(id)));
  const events = ids.map((employee_id) =>
    deductionOf(`evt-${employee_id}`, { id: `ded-${employee_id}`, employee_id, ...fields }),
  );
  await deliver(db, events, LATELY);
  return ids;
}

export function sync(
  db: Db,
  fields: { employer_id?: string; state?: 'completed' | 'waiting' | 'requested'; at?: string } = {},
): Promise<unknown> {
  const { employer_id = EMPLOYER, state = 'completed', at = LATELY } = fields;
  const row = { employer_id, state, requested_at: at, completed_at: state === 'completed' ? at : null };
  return transact(db, (trx) =>
    trx
      .insertInto('census_syncs')
      .values({ sync_id: `sync-${employer_id}-${state}-${at}`, ...row })
      .execute(),
  );
}

// Deductions

/** Delivers a webhook of `ded-1` of `emp-1`, unless overridden: medical, 150.00 and 350.00 monthly. */
export function deduct(db: Db, eventId: string, fields: object = {}, createdAt?: string): Promise<void> {
  return deliver(db, [deductionOf(eventId, fields, createdAt)], LATELY);
}

type Deduction = IncomingDeduction['deduction'];

let events = 0;

/** An event of a deduction without an employer amount. `sent` is its `created_at`, a date or a timestamp. */
export function event(id: string, sent: string, fields: Partial<Deduction> = {}): IncomingDeduction {
  events += 1;
  return {
    eventId: `event-${events}`,
    receivedAt: LATELY,
    createdAt: sent.includes('T') ? sent : `${sent}T12:00:00Z`,
    deduction: { ...sample, employer_contribution: '0.00', id, ...fields } as Deduction,
  };
}

/** An event of a deduction of `e` that takes ten dollars per biweekly check, so that amounts equal contributions. */
export function election(sent: string, fields: Partial<Deduction> = {}, id = 'a'): IncomingDeduction {
  return event(id, sent, { employee_id: 'e', period: 'biweekly', member_contribution: '10.00', ...fields });
}

export function send(db: Db, ...incoming: IncomingDeduction[]): Promise<void> {
  return transact(db, (trx) => recordDeductions(trx, incoming, LATELY));
}

/** A database with the employees `e` and `f`, and the deduction of `election`. */
export async function elected(t: Test): Promise<Db> {
  const { db } = await scratch(t);
  await learn(db, employment('e'), employment('f'));
  await send(db, election('2025-12-01'));
  return db;
}

// Settings

/** A pay date for a period of these days, which ends `lag` days before it. */
export const dateOf = (pay_date: string, days = 14, lag = 5): PayDate => ({
  pay_date,
  period_start: daysAfter(pay_date, 1 - days - lag),
  period_end: daysAfter(pay_date, -lag),
  takes: 'all',
});

/** The pay dates of 2026. */
export const BIWEEKLY: PayDate[] = every(14, '2026-01-02', 26).map((date) => dateOf(date));

export function schedule(fields: Partial<Schedule> = {}): Schedule {
  return {
    ...{ pay_frequency: 'biweekly', pay_group: null, pay_dates: BIWEEKLY, year_in_fewer_checks: false },
    ...fields,
  };
}

export function setSchedules(db: Db, list: readonly Schedule[], employerId = EMPLOYER): Promise<void> {
  return transact(db, (trx) => putSchedules(trx, employerId, list, acting(LATELY)));
}

/** A code without a coverage type is for any. */
type GivenCode = Omit<PayrollCode, 'coverage_type'> & Partial<PayrollCode>;

export function setCodes(db: Db, list: readonly GivenCode[], employerId = EMPLOYER): Promise<void> {
  const codes = list.map((code) => ({ ...code, coverage_type: code.coverage_type ?? null }));
  return transact(db, (trx) => putCodes(trx, employerId, codes, acting(LATELY)));
}

/** Sets the code X1 for a line of coverage as the employer's only one. */
export function setCode(
  db: Db,
  line_of_coverage: PayrollCode['line_of_coverage'],
  side: PayrollCode['side'] = 'employee',
) {
  return setCodes(db, [{ line_of_coverage, taxability: null, side, code: 'X1', treatment: null }]);
}

// Runs

/** Adds a version to the employer's payroll policy. Options that are not given have their defaults. */
export function setPolicy(
  db: Db,
  options: Partial<Options>,
  effective_from = '2020-01-01',
  employerId = EMPLOYER,
): Promise<void> {
  const policy = { ...DEFAULTS, ...options, effective_from };
  return transact(db, (trx) => putPolicy(trx, employerId, policy, acting(LATELY)));
}

/** The run of a biweekly pay date by its index: 2026-01-02, -16, -30, …; -1 is 2025-12-19. The period ends the day before. */
export function body(index: number, fields: Partial<RunBody> = {}): RunBody {
  const { takes: _, ...date } = dateOf(daysAfter('2026-01-02', 14 * index), 14, 1);
  return { employer_id: EMPLOYER, pay_frequency: 'biweekly', ...date, ...fields };
}

/** Fields of a run, and options that the employer's policy is set to before it. */
export type Asked = Partial<RunBody> & Partial<Options>;

/** Sets the employer's policy to the options in `asked`, and returns the run of `body`. */
export async function bodyUnder(db: Db, index: number, asked: Asked): Promise<RunBody> {
  const { applies_on, open_items, recoup, ...fields } = asked;
  await setPolicy(db, {
    ...(applies_on && { applies_on }),
    ...(open_items && { open_items }),
    recoup: recoup ?? { method: 'all' },
  });
  return body(index, fields);
}

/** The run of a pay date of `BIWEEKLY`. The API's tests also pass fields that it rejects. */
export function bodyOn(payDate: string, fields: object = {}): RunBody {
  const { takes: _, ...date } = BIWEEKLY.find((one) => one.pay_date === payDate) as PayDate;
  return { employer_id: EMPLOYER, pay_frequency: 'biweekly', ...date, ...fields };
}

/** A run of `body` under the default policy, not stored. */
export function run(index: number, fields: Partial<RunBody> = {}): Run {
  return runUnder(runOf(body(index, fields)), []);
}

/** A run of `bodyOn`, not stored. */
export function runOn(payDate: string, fields: Partial<RunBody> = {}): RequestedRun {
  return runOf(bodyOn(payDate, fields));
}

export async function put(db: Db, runId: string, given: RunBody): Promise<StoredRun> {
  await transact(db, (trx) => putRun(trx, runId, runOf(given), acting(LATELY)));
  return storedRun(db, runId);
}

/** Stores the run of a pay date of `BIWEEKLY`, with that date as its id. */
export function putOn(db: Db, payDate: string, fields: Partial<RunBody> = {}): Promise<StoredRun> {
  return put(db, payDate, bodyOn(payDate, fields));
}

export async function storedRun(db: Db, runId: string): Promise<StoredRun> {
  return (await findRun(db, runId)) as StoredRun;
}

/** Returns the sentences of what a check found in the employees of a run. */
export function textsOf<F extends Found>(check: RunCheck<F>, found: FoundInRun): string[] {
  return (found.get(check.id) ?? []).map((each) => findingOf(check, each as F).text ?? '');
}

/** A readiness report without findings. */
export const READY: ReadinessReport = {
  ready: true,
  checked_at: LATELY,
  checks: [],
  etag: '',
  open: [],
  acceptable: [],
  failed: [],
  remembered: [],
};

/** Sets 3.00 without an employer amount for a deduction of one paycheck, unless overridden. */
export async function override(
  db: Db,
  runId: string,
  employeeId: string,
  deductionId: string,
  { member = '3.00', employer = '0.00' } = {},
): Promise<void> {
  const amounts = { member: centsOf(member), employer: centsOf(employer), reason: 'agreed' };
  const of = { runId, employeeId, deductionId };
  await overrideAmounts(db, of, amounts, acting(LATELY));
}

/** Returns the ETag of the lines of an open run as they are now; null for other runs. */
export async function etagOf(db: Db, runId: string): Promise<string | null> {
  const stored = await findRun(db, runId);
  return stored?.state === 'open' ? (await viewRun(db, stored)).etag : null;
}

/**
 * Finalizes the lines as they are now, unless `ifMatch` names others. Calls `checkReadiness` after the computation and before
 * the run becomes final.
 */
export async function finalize(
  db: Db,
  runId: string,
  options: Partial<Finalizing> = {},
  checkReadiness: CheckReadiness = async () => READY,
): Promise<Finalized> {
  const ifMatch = 'ifMatch' in options ? null : await etagOf(db, runId);
  return finalizeRun(
    db,
    runId,
    { ifMatch, accept: null, actor: SYSTEM, sharedNow: async () => new Date(LATELY), ...options },
    checkReadiness,
  );
}

/** Stores a run and finalizes it. */
export async function finalized(db: Db, runId: string, given: RunBody): Promise<StoredRun> {
  await put(db, runId, given);
  await finalize(db, runId);
  return storedRun(db, runId);
}

/** Stores the run of a pay date of `BIWEEKLY` and finalizes it. */
export function finalizedOn(db: Db, payDate: string, fields: Partial<RunBody> = {}): Promise<StoredRun> {
  return finalized(db, payDate, bodyOn(payDate, fields));
}

export async function voided(db: Db, runId: string): Promise<void> {
  await transact(db, (trx) => voidRun(trx, runId, { reason: 'a mistake', ...acting(LATELY) }));
}

export async function linesOf(db: Db, runId: string): Promise<LineRecord[]> {
  const lines: LineRecord[] = [];
  const { pages } = await linesOfRun(db, await storedRun(db, runId));
  for await (const page of pages) lines.push(...page.flatMap((employee) => employee.lines));
  return lines;
}

let looks = 0;

/** Returns the lines of a run, of all kinds or one kind. Stores the run and deletes it: a pay date has one open run. */
export async function lines(db: Db, given: RunBody, kind?: LineRecord['kind']): Promise<LineRecord[]> {
  looks += 1;
  const runId = `look-${looks}`;
  await put(db, runId, given);
  const all = await linesOf(db, runId);
  await transact(db, (trx) => deleteRun(trx, runId, acting(LATELY)));
  return all.filter((line) => kind === undefined || line.kind === kind);
}

/** Returns the outstanding items that a run considers, taken or not. */
export async function itemsIn(db: Db, given: RunBody): Promise<OpenItem[]> {
  const items: OpenItem[] = [];
  for await (const page of computeRun(db, await beginComputation(db, null, runOf(given))))
    items.push(...page.flatMap(({ taking }) => taking.units).flatMap((unit) => unit.items));
  return items;
}

/** Returns the items of an employer as of a day, settled ones too. */
export async function openItemsOn(db: Db, today: string, employerId = EMPLOYER): Promise<OpenItem[]> {
  const items: OpenItem[] = [];
  for await (const page of openItemsOf(db, employerId, today))
    items.push(...page.flatMap((employee) => employee.items));
  return items;
}

/** Decides about an open item. Omitted fields are null. */
export async function decideItem(
  db: Db,
  item: OpenItem,
  decision: Pick<NewDecision, 'action'> & Partial<NewDecision>,
): Promise<void> {
  const { kind, source, employee_id } = item.identity;
  const made: NewDecision = {
    ...NO_TERMS,
    employee_id,
    item_id: item.id,
    run_id: kind === 'opening' ? null : source,
    made_for: { member: item.line.amounts.member, employer: item.line.amounts.employer },
    reason: 'asked the employee',
    ...decision,
  };
  await transact(db, async (trx) => {
    await lockPayroll(trx);
    await recordDecisions(trx, EMPLOYER, [made], acting(LATELY));
  });
}

export async function view(db: Db, runId: string): Promise<RunView> {
  return viewRun(db, await storedRun(db, runId));
}

export async function verified(db: Db, runId: string): Promise<Verification> {
  return verifyRun(db, await storedRun(db, runId));
}

/** Returns why a run is refused, as `path: rule`. */
export async function refusedRun(db: Db, given: RunBody): Promise<string[]> {
  const previewed = async () => previewWithLines(db, runOf(given));
  const problems = await previewed().then(
    () => [],
    (error): readonly Problem[] => error.problems,
  );
  return problems.map(({ path, rule }) => `${path}: ${rule}`);
}

export type Given = Record<string, string>;

/** Returns rows in the form of `readRows`. */
export function rowsOf(...rows: Given[]): RowResult[] {
  return rows.map((fields, index) => ({ path: `lines[${index}]`, fields }));
}

export async function taken(db: Db, runId: string, ...rows: Given[]) {
  return recordTaken(db, await storedRun(db, runId), rowsOf(...rows), acting(LATELY));
}

// Everything together

/**
 * Adds an employer whose runs on `BIWEEKLY` pass every check: two employees with a deduction each (medical and dental), a
 * schedule and a completed census sync. Creates a database unless one is given.
 */
export async function readyEmployer(t: Test, given?: Db, at = LATELY): Promise<Db> {
  const db = given ?? (await scratch(t)).db;
  await employ(db, 'emp-1');
  await employ(db, 'emp-2');
  const dental = { id: 'ded-2', employee_id: 'emp-2', line_of_coverage: 'dental' };
  for (const event of [deductionOf('evt-1', {}), deductionOf('evt-2', dental)])
    await deliver(db, [event], at);
  await setSchedules(db, [schedule()]);
  await sync(db, { at });
  return db;
}
