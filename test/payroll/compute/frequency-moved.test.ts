/** The first run after a change of pay frequency or employer is named: "A change of pay frequency" in docs/payroll-settings.md. */
import t, { type Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import type { NewFact } from '../../../src/ledger/roster.ts';
import { FREQUENCY_MOVED } from '../../../src/payroll/checks/roster.ts';
import { beginComputation } from '../../../src/payroll/compute/computation.ts';
import { summarize } from '../../../src/payroll/lifecycle/summary.ts';
import { runOf } from '../../../src/payroll/records/body.ts';
import { scratch } from '../../database/scratch.ts';
import {
  body,
  election,
  employment,
  finalized,
  learn,
  send,
  textsOf,
  voided,
} from '../../support/payroll.ts';

/** Returns what the run of a place notes about moved employees. */
async function moved(db: Db, place: number): Promise<string[]> {
  const { found } = await summarize(db, await beginComputation(db, null, runOf(body(place))));
  return textsOf(FREQUENCY_MOVED, found);
}

async function staged(t: Test, ...facts: NewFact[]): Promise<Db> {
  const { db } = await scratch(t);
  for (const fact of facts) await learn(db, fact);
  await send(db, election('2025-12-01'));
  return db;
}

const weekly = employment('e', { pay_frequency: 'weekly', effective_on: '2020-01-01' });
const biweekly = (effective_on: string) => employment('e', { effective_on });

t.test('the first run after a change of frequency within the year names the employee', async (t) => {
  const db = await staged(t, weekly, biweekly('2026-08-10'));
  t.strictSame(await moved(db, 17), ['e: since 2026-08-10'], 'the period ends on August 27');
  await finalized(db, 'r17', body(17));
  t.strictSame(await moved(db, 18), [], 'once');
  await voided(db, 'r17');
  t.strictSame(await moved(db, 18), ['e: since 2026-08-10']);
  t.strictSame(await moved(await staged(t, weekly, biweekly('2025-08-10')), 1), [], 'of another year');
  t.strictSame(await moved(await staged(t, biweekly('2026-08-10')), 17), [], 'the first frequency');
});

t.test('the first run after a change of employer within the year names the employee', async (t) => {
  const left = employment('e', { employer_id: 'other', termination_date: '2026-08-09' });
  const db = await staged(t, left, employment('e', { hire_date: '2026-08-10' }));
  t.strictSame(await moved(db, 17), ['e: since 2026-08-10']);
  await finalized(db, 'r17', body(17));
  t.strictSame(await moved(db, 18), []);
});
