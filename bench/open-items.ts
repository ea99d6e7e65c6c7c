/** `npm run bench -- --items`: open items of a large employer, on SQLite. README.md describes the measurements. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../src/database/migrate.ts';
import { openDatabase } from '../src/database/open.ts';
import type { Db } from '../src/database/tables.ts';
import { computeNow } from '../src/payroll/lifecycle/results.ts';
import { decideItems } from '../src/payroll/reconciliation/decide-items.ts';
import { listItems } from '../src/payroll/reconciliation/open-items.ts';
import { acting } from '../test/support/audit.ts';
import {
  body,
  EMPLOYER,
  finalized,
  hireMany,
  LATELY,
  run,
  setPolicy,
  taken,
} from '../test/support/payroll.ts';
import { median, type Report, whole } from './report.ts';

export const ITEM_EMPLOYEES = 10_000;
/** Finalized runs in which payroll took nothing: an item for each employee. */
const RUNS = 5;
const DECISIONS = 5_000;
const TIMES = 5;
/** The targets of issue 28. */
const TARGET = { listMs: 200, decideMs: 2_000, ratio: 1.2 };

export async function reportItems(report: Report, employees: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'open-items-'));
  const db = openDatabase(`sqlite:${join(folder, 'sidecar.db')}`);
  try {
    await migrate(db, 'sandbox', new Date(LATELY));
    report.line(
      `An employer with ${whole(employees)} employees and ${whole(RUNS * employees)} open items. CPU time, medians of ${TIMES}.`,
    );
    report.line();
    report.table(['what', 'measured', 'target'], await measure(db, employees));
  } finally {
    await db.destroy();
    rmSync(folder, { recursive: true });
  }
}

async function measure(db: Db, employees: number): Promise<string[][]> {
  const ids = await hireMany(db, employees);
  for (let place = 0; place < RUNS; place += 1) await finalized(db, `r${place}`, body(place));
  const without = await medianMs(() => compute(db));
  for (let place = 0; place < RUNS; place += 1)
    await taken(db, `r${place}`, ...ids.map((employee_id) => ({ employee_id, amount: '0.00' })));
  const decided = await medianMs(() => compute(db));
  await setPolicy(db, { open_items: 'include', recoup: { method: 'all' } });
  const included = await medianMs(() => compute(db));
  const list = { employerId: EMPLOYER, today: LATELY.slice(0, 10), filter: {} };
  const listed = await medianMs(() => listItems(db, list, { limit: 100 }));
  const { items } = await listItems(db, list, { limit: DECISIONS });
  const decisions = items.map(({ id, outstanding_member_amount, outstanding_employer_amount }) => ({
    item_id: id,
    action: 'take' as const,
    outstanding_member_amount,
    outstanding_employer_amount,
  }));
  const decidedMs = await cpuMsOf(() =>
    decideItems(db, EMPLOYER, { decisions, reason: 'measured' }, acting(LATELY)),
  );
  return [
    ['the first page of the list, 100 items', `${listed.toFixed(0)} ms`, `< ${TARGET.listMs} ms`],
    [
      `deciding ${whole(decisions.length)} items at once`,
      `${decidedMs.toFixed(0)} ms`,
      `< ${TARGET.decideMs} ms`,
    ],
    ['a run without open items', `${without.toFixed(0)} ms`, ''],
    ['a run that leaves all items open', `${decided.toFixed(0)} ms`, ''],
    ['a run that takes all items', `${included.toFixed(0)} ms`, ''],
  ];
}

function compute(db: Db): Promise<unknown> {
  return computeNow(db, null, run(RUNS));
}

async function medianMs(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let time = 0; time < TIMES; time += 1) {
    times.push(await cpuMsOf(work));
  }
  return median(times);
}

/** CPU time does not depend on other work of the machine. SQLite waits for nothing else here. */
async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}
