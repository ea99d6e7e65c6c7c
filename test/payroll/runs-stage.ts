/** A ledger and payroll runs for the tests of runs, written by the real code. */
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import type { IncomingDeduction } from '../../src/ledger/fold.ts';
import { recordDeductions } from '../../src/ledger/record.ts';
import { FACTS_AT_ONCE, type NewFact, recordFacts } from '../../src/ledger/roster.ts';
import { decideStart } from '../../src/ledger/start-decisions.ts';
import type { Line } from '../../src/payroll/calculation/line.ts';
import { runUnder } from '../../src/payroll/runs/basis.ts';
import { type Run, type RunBody, runOf } from '../../src/payroll/runs/body.ts';
import { type Finalized, type Finalizing, finalizeRun } from '../../src/payroll/runs/finalize.ts';
import { linesOfRun } from '../../src/payroll/runs/line-pages.ts';
import {
  findRun,
  putRun,
  type RunView,
  type StoredRun,
  viewRun,
  voidRun,
} from '../../src/payroll/runs/store.ts';
import { type Verification, verifyRun } from '../../src/payroll/runs/verify.ts';
import type { PayrollCode } from '../../src/payroll/settings/codes.ts';
import { putCodes } from '../../src/payroll/settings/codes.ts';
import { putSchedules, type Schedule } from '../../src/payroll/settings/schedules.ts';
import { deduction as sample } from '../contract/samples.ts';
import { withReason } from './policy-reason.ts';

export const NOW = '2026-06-01T12:00:00.000Z';

const DAY_MS = 86_400_000;

export function daysAfter(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Returns the run of a biweekly pay date by index: 0 is 2026-01-02, 1 is 2026-01-16; -1 is 2025-12-19. */
export function body(place: number, changes: Partial<RunBody> = {}): RunBody {
  const pay_date = daysAfter('2026-01-02', 14 * place);
  return {
    employer_id: 'acme',
    pay_frequency: 'biweekly',
    period_start: daysAfter(pay_date, -14),
    period_end: daysAfter(pay_date, -1),
    pay_date,
    ...withReason(changes),
  };
}

export function run(place: number, changes: Partial<RunBody> = {}): Run {
  const checked = runOf(body(place, changes));
  if (!checked.ok) throw new Error(JSON.stringify(checked.problems));
  return runUnder(checked.run, []);
}

export function employment(employee_id: string, changes: Partial<NewFact> = {}): NewFact {
  return {
    employee_id,
    employer_id: 'acme',
    hire_date: '2020-01-01',
    termination_date: null,
    employment_status: 'full_time',
    pay_frequency: 'biweekly',
    pay_group: null,
    absent: 0,
    ...changes,
  };
}

let sources = 0;

/** Records the facts of one census in order, at most one per employee and employer. */
export async function learn(db: Db, ...facts: NewFact[]): Promise<void> {
  sources += 1;
  const source = { source: 'census', source_id: `census-${sources}` } as const;
  for (let from = 0; from < facts.length; from += FACTS_AT_ONCE) {
    await transact(db, (trx) => recordFacts(trx, facts.slice(from, from + FACTS_AT_ONCE), source, NOW));
  }
}

type Deduction = IncomingDeduction['deduction'];

let events = 0;

/** An event of a deduction; `sent` is its `created_at`, a day or an instant. */
export function event(id: string, sent: string, changes: Partial<Deduction> = {}): IncomingDeduction {
  events += 1;
  return {
    eventId: `event-${events}`,
    receivedAt: NOW,
    createdAt: sent.includes('T') ? sent : `${sent}T12:00:00Z`,
    deduction: { ...sample, employer_contribution: '0.00', id, ...changes } as Deduction,
  };
}

/** Delivers events together, in order. */
export function send(db: Db, ...incoming: IncomingDeduction[]): Promise<void> {
  return transact(db, (trx) => recordDeductions(trx, incoming, NOW));
}

/** Creates a run and returns it. */
export async function put(db: Db, runId: string, given: RunBody): Promise<StoredRun> {
  const checked = runOf(given);
  if (!checked.ok) throw new Error(JSON.stringify(checked.problems));
  const outcome = await transact(db, (trx) => putRun(trx, runId, checked.run, NOW));
  if (outcome === 'different') throw new Error('another run has the id');
  return found(db, runId);
}

export async function found(db: Db, runId: string): Promise<StoredRun> {
  return (await findRun(db, runId)) as StoredRun;
}

export function finalize(db: Db, runId: string, changes: Partial<Finalizing> = {}): Promise<Finalized> {
  return finalizeRun(db, runId, { ifMatch: null, accept: null, now: NOW, ...changes });
}

/** Creates a run and finalizes it. */
export async function finalized(db: Db, runId: string, given: RunBody): Promise<StoredRun> {
  await put(db, runId, given);
  const { outcome } = await finalize(db, runId);
  if (outcome !== 'finalized') throw new Error(outcome);
  return found(db, runId);
}

export async function voided(db: Db, runId: string): Promise<void> {
  const outcome = await transact(db, (trx) => voidRun(trx, runId, { reason: 'a mistake', now: NOW }));
  if (outcome !== 'voided') throw new Error(outcome);
}

/** Returns the lines of a stored run as payroll reads them. */
export async function linesOf(db: Db, runId: string): Promise<Line[]> {
  const lines: Line[] = [];
  const { pages } = await linesOfRun(db, await found(db, runId), null);
  for await (const page of pages) lines.push(...page.flatMap((employee) => employee.lines));
  return lines;
}

/** Creates a run with a new id and returns its lines, optionally of one kind. */
export async function lines(db: Db, given: RunBody, kind?: Line['kind']): Promise<Line[]> {
  sources += 1;
  const runId = `look-${sources}`;
  await put(db, runId, given);
  return (await linesOf(db, runId)).filter((line) => kind === undefined || line.kind === kind);
}

export async function view(db: Db, runId: string): Promise<RunView> {
  return viewRun(db, await found(db, runId));
}

export async function verified(db: Db, runId: string): Promise<Verification> {
  return verifyRun(db, await found(db, runId));
}

export function schedule(db: Db, employerId: string, schedules: readonly Schedule[]): Promise<void> {
  return transact(db, (trx) => putSchedules(trx, employerId, schedules, NOW));
}

export function codes(db: Db, employerId: string, list: readonly PayrollCode[]): Promise<void> {
  return transact(db, (trx) => putCodes(trx, employerId, list, NOW));
}

/** Decides whether a version with a moved start applies. */
export async function decide(
  db: Db,
  deductionId: string,
  version: number,
  decision: 'keep' | 'drop',
): Promise<void> {
  const given = { deductionId, version, decision, reason: 'asked the employee', decidedBy: 'test' };
  const { outcome } = await transact(db, (trx) => decideStart(trx, given, NOW));
  if (outcome !== 'decided') throw new Error(outcome);
}
