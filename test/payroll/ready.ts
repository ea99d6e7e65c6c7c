/** An employer whose payroll run passes every check. Tests then break one thing. */
import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import type { Question } from '../../src/checks.ts';
import type { LineOfCoverage } from '../../src/contract/deduction.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { type NewFact, recordFacts } from '../../src/ledger/roster.ts';
import { type RunBody, runOf, type StatedRun } from '../../src/payroll/runs/body.ts';
import { putCodes } from '../../src/payroll/settings/codes.ts';
import { type PayDate, putSchedules, type Schedule } from '../../src/payroll/settings/schedules.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { scratch } from '../database/scratch.ts';
import { every } from './calendars.ts';
import { withReason } from './policy-reason.ts';

export const EMPLOYER = 'acme';
export const NOW = new Date('2026-07-13T09:00:00.000Z');
/** The time of a ready employer's newest event and census. */
export const LATELY = '2026-07-10T09:00:00.000Z';
export const OVERDUE_MS = 3_600_000;
export const QUESTION: Question = { now: NOW, overdueMs: OVERDUE_MS, silentAfterMs: null };

/** The pay dates of 2026. Each period has two weeks and ends five days before its pay date. */
export const BIWEEKLY: PayDate[] = every(14, '2026-01-02', 26).map((pay_date) => ({
  pay_date,
  period_start: moved(pay_date, -18),
  period_end: moved(pay_date, -5),
}));

function moved(day: string, days: number): string {
  return new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
}

export function schedule(fields: Partial<Schedule> = {}): Schedule {
  return { pay_frequency: 'biweekly', pay_group: null, pay_dates: BIWEEKLY, ...fields };
}

/** The run for a pay date of the schedule. */
export function runOn(payDate: string, fields: Partial<RunBody> = {}): StatedRun {
  const date = BIWEEKLY.find((one) => one.pay_date === payDate) as PayDate;
  const made = runOf({ employer_id: EMPLOYER, pay_frequency: 'biweekly', ...date, ...withReason(fields) });
  if (!made.ok) throw new Error(JSON.stringify(made.problems));
  return made.run;
}

/** Records an employment; `fields` change the default. */
export function employ(db: Db, employeeId: string, fields: Partial<NewFact> = {}): Promise<number> {
  const fact: NewFact = {
    employee_id: employeeId,
    employer_id: EMPLOYER,
    hire_date: '2020-01-01',
    termination_date: null,
    employment_status: 'full_time',
    pay_frequency: 'biweekly',
    pay_group: null,
    absent: 0,
    ...fields,
  };
  const source = { source: 'census', source_id: randomUUID() } as const;
  return transact(db, (trx) => recordFacts(trx, [fact], source, LATELY));
}

/** Delivers deduction `ded-1` of `emp-1`, unless overridden. */
export function deduct(db: Db, eventId: string, fields: object = {}, createdAt?: string): Promise<void> {
  return deliver(db, [deductionOf(eventId, fields, createdAt)], LATELY);
}

/** Inserts a census sync in the given state. */
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

export function schedules(db: Db, list: readonly Schedule[]): Promise<void> {
  return transact(db, (trx) => putSchedules(trx, EMPLOYER, list, LATELY));
}

export function code(db: Db, line_of_coverage: LineOfCoverage, side: 'employee' | 'employer' = 'employee') {
  const one = { line_of_coverage, taxability: null, side, code: 'X1', treatment: null };
  return transact(db, (trx) => putCodes(trx, EMPLOYER, [one], LATELY));
}

/**
 * Two employees with one deduction each, a schedule, and a census that the service accepted, in a new or
 * given database.
 */
export async function readyEmployer(t: Test, given?: Db): Promise<Db> {
  const db = given ?? (await scratch(t)).db;
  await employ(db, 'emp-1');
  await employ(db, 'emp-2');
  await deduct(db, 'evt-1', { id: 'ded-1', employee_id: 'emp-1' });
  await deduct(db, 'evt-2', { id: 'ded-2', employee_id: 'emp-2', line_of_coverage: 'dental' });
  await schedules(db, [schedule()]);
  await sync(db);
  return db;
}
