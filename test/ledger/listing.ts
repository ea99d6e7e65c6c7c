/** A roster, and short forms of deduction lists. */
import { randomUUID } from 'node:crypto';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import {
  type DeductionCursor,
  type DeductionFilter,
  type DeductionState,
  listDeductions,
} from '../../src/ledger/deductions.ts';
import { type NewFact, recordFacts } from '../../src/ledger/roster.ts';

export const TODAY = '2026-03-15';
export const FEBRUARY = '2026-02-01T00:00:00.000Z';
export const MARCH = '2026-03-01T00:00:00.000Z';

export function employed(employeeId: string, employerId: string, changes: Partial<NewFact> = {}): NewFact {
  return {
    employee_id: employeeId,
    employer_id: employerId,
    hire_date: '2020-01-01',
    termination_date: null,
    employment_status: 'full_time',
    pay_frequency: 'monthly',
    pay_group: null,
    absent: 0,
    ...changes,
  };
}

export function roster(db: Db, facts: NewFact[], at = FEBRUARY): Promise<number> {
  return transact(db, (trx) =>
    recordFacts(trx, facts, { source: 'census', source_id: randomUUID(), asOf: at }, at),
  );
}

/** Returns `employee/deduction amount`, in the order of the list. */
export function brief(deductions: readonly DeductionState[]): string[] {
  return deductions.map(
    ({ version }) => `${version.employee_id}/${version.deduction_id} ${version.member_contribution}`,
  );
}

export async function all(db: Db, filter: DeductionFilter, limit = 100): Promise<DeductionState[]> {
  const listed: DeductionState[] = [];
  let after: DeductionCursor | undefined;
  for (;;) {
    const { deductions, next } = await listDeductions(db, filter, { after, limit }, TODAY);
    if (deductions.length > limit) throw new Error('a page is longer than its limit');
    listed.push(...deductions);
    if (next === null) return listed;
    if (deductions.length !== limit) throw new Error('a page before the last is not full');
    after = next;
  }
}
