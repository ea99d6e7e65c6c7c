/** Creates, finalizes and reads biweekly runs of a ready employer, and reports deductions taken. */
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import type { Row } from '../../src/formats/rows.ts';
import { FACTS_AT_ONCE, type NewFact, recordFacts } from '../../src/ledger/roster.ts';
import { isIncluded, type Line } from '../../src/payroll/calculation/line.ts';
import { type Recorded, recordTaken } from '../../src/payroll/reconciliation/taken.ts';
import type { RunBody } from '../../src/payroll/runs/body.ts';
import { finalizeRun } from '../../src/payroll/runs/finalize.ts';
import { linesOfRun } from '../../src/payroll/runs/line-pages.ts';
import { findRun, putRun, type StoredRun, voidRun } from '../../src/payroll/runs/store.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { EMPLOYER, LATELY, runOn } from './ready.ts';

const EMPLOYED: Omit<NewFact, 'employee_id'> = {
  employer_id: EMPLOYER,
  hire_date: '2020-01-01',
  termination_date: null,
  employment_status: 'full_time',
  pay_frequency: 'biweekly',
  pay_group: null,
  absent: 0,
};

export type Given = Record<string, string>;

/** Rows in the form that `readRows` returns. */
export function rowsOf(...rows: Given[]): Row[] {
  return rows.map((fields, index) => ({ path: `lines[${index}]`, fields }));
}

export async function storedRun(db: Db, runId: string): Promise<StoredRun> {
  return (await findRun(db, runId)) as StoredRun;
}

/** Creates the run of a pay date of the schedule. The date is its id. */
export async function put(db: Db, payDate: string, fields: Partial<RunBody> = {}): Promise<StoredRun> {
  await transact(db, (trx) => putRun(trx, payDate, runOn(payDate, fields), LATELY));
  return storedRun(db, payDate);
}

export async function finalized(db: Db, payDate: string, fields: Partial<RunBody> = {}): Promise<StoredRun> {
  await put(db, payDate, fields);
  const done = await finalizeRun(db, payDate, { ifMatch: null, accept: null, now: LATELY });
  if (done.outcome !== 'finalized') throw new Error(done.outcome);
  return done.stored;
}

export async function voided(db: Db, runId: string): Promise<void> {
  await transact(db, (trx) => voidRun(trx, runId, { reason: 'wrong', now: LATELY }));
}

/** Records the deductions taken of a finalized run. */
export async function taken(db: Db, runId: string, ...rows: Given[]): Promise<Recorded> {
  return recordTaken(db, await storedRun(db, runId), rowsOf(...rows), LATELY);
}

export async function linesIn(db: Db, runId: string): Promise<Line[]> {
  const lines: Line[] = [];
  const { pages } = await linesOfRun(db, await storedRun(db, runId), null);
  for await (const page of pages) lines.push(...page.flatMap((employee) => employee.lines));
  return lines;
}

/**
 * Returns the arrears lines of a run: deduction, amount, the run they belong to, and whether they are only
 * reported.
 */
export async function arrearsIn(db: Db, runId: string): Promise<string[]> {
  return (await linesIn(db, runId))
    .filter((line) => line.kind === 'arrears')
    .map(
      (line) =>
        `${line.deduction_id} ${line.member_amount} of ${line.adjustment_for}${isIncluded(line) ? '' : ' reported'}`,
    );
}

/** Creates employees with a deduction of 150.00 a month each, changed by the fields. Returns their ids. */
export async function hireMany(db: Db, count: number, fields: object = {}): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `many-${String(index).padStart(4, '0')}`);
  for (let from = 0; from < count; from += FACTS_AT_ONCE) {
    const facts = ids.slice(from, from + FACTS_AT_ONCE).map((id) => ({ ...EMPLOYED, employee_id: id }));
    await transact(db, (trx) => recordFacts(trx, facts, { source: 'census', source_id: 'c-2' }, LATELY));
  }
  const events = ids.map((employee_id) =>
    deductionOf(`evt-${employee_id}`, { id: `ded-${employee_id}`, employee_id, ...fields }),
  );
  await deliver(db, events, LATELY);
  return ids;
}
