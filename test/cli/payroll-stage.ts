/** A command line with an employer whose payroll run passes every check. */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { deductionOf, deliver } from '../api/deliver.ts';
import { temporaryFolder } from '../support/memory.ts';
import { BIWEEKLY, EMPLOYER, readyEmployer } from '../support/payroll.ts';
import { type Ran, withDatabase } from './harness.ts';

/** A date of the employer's schedule. The next one is two weeks later. */
export const PAY_DATE = '2026-07-17';

export type Stage = Awaited<ReturnType<typeof withDatabase>> & {
  run: (...argv: string[]) => Promise<Ran>;
  /** Writes a file into the test's folder and returns its path. */
  file: (name: string, content: string | Uint8Array) => string;
  /** Applies a deduction: emp-1, medical, 150.00 and 350.00 monthly from 2026 on, unless overridden. */
  deduct: (eventId: string, fields?: object, createdAt?: string) => Promise<void>;
};

/** Two employees with one deduction each: medical and dental, 150.00 monthly, paid biweekly. */
export async function payrollStage(t: Test): Promise<Stage> {
  const { env, db, cli, json } = await withDatabase(t);
  const now = new Date().toISOString();
  const deduct: Stage['deduct'] = (eventId, fields = {}, createdAt) =>
    deliver(db, [deductionOf(eventId, fields, createdAt)], now);
  await readyEmployer(t, db, now);
  return { env, db, cli, json, run: (...argv) => cli('run', ...argv), file: filesOf(t), deduct };
}

/** Writes files for a test. Avoids `testdir()`, which empties itself on each call and holds the database. */
export function filesOf(t: Test): Stage['file'] {
  const folder = temporaryFolder('test');
  t.teardown(() => rmSync(folder, { recursive: true }));
  return (name, content) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
}

/** The options of a run for a date of the schedule. */
export function optionsOn(payDate: string): string[] {
  const date = BIWEEKLY.find((one) => one.pay_date === payDate);
  return [
    ...['--employer', EMPLOYER, '--frequency', 'biweekly', '--pay-date', payDate],
    ...['--period-start', String(date?.period_start), '--period-end', String(date?.period_end)],
  ];
}
