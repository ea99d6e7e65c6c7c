import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { createEmployeeSets, KEPT_MAX } from '../../src/ledger/employee-sets.ts';
import { recordFacts } from '../../src/ledger/roster.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { scratch } from '../database/scratch.ts';
import { onEachEngine } from '../support/engine.ts';

let events = 0;
/** Delivers deductions of these employees. */
const deduct = (db: Db, employees: readonly string[]) =>
  deliver(
    db,
    employees.map((employee_id) => {
      events += 1;
      return deductionOf(`e-${events}`, { id: `d-${events}`, employee_id });
    }),
  );

/** Stages a census with these employees. */
const name = (db: Db, employer_id: string, employees: readonly string[]) =>
  transact(db, (trx) =>
    recordFacts(
      trx,
      employees.map((employee_id) => ({
        ...{ employee_id, employer_id, hire_date: null, termination_date: null, employment_status: null },
        ...{ pay_frequency: null, pay_group: null, absent: 0 as const },
      })),
      { source: 'census', source_id: 'c-1' },
      '2026-01-01T00:00:00.000Z',
    ),
  );

onEachEngine('the set of employees without a census follows new deductions and censuses', async (t) => {
  const { db } = await scratch(t);
  const { unmatched } = createEmployeeSets(db);
  t.strictSame(await unmatched(), []);
  await deduct(db, ['e-2', 'e-1', 'E-3']);
  t.strictSame(await unmatched(), ['E-3', 'e-1', 'e-2'], 'in byte order');
  await name(db, 'acme', ['e-1', 'e-9']);
  t.strictSame(await unmatched(), ['E-3', 'e-2']);
  await deduct(db, ['e-9', 'e-4']);
  await name(db, 'acme', ['E-3']);
  t.strictSame(await unmatched(), ['e-2', 'e-4']);
  await name(db, 'acme', ['e-2', 'e-4']);
  t.strictSame(await unmatched(), []);
});

onEachEngine('the set of employees with two employers follows new censuses', async (t) => {
  const { db } = await scratch(t);
  const { shared } = createEmployeeSets(db);
  await name(db, 'acme', ['e-1', 'e-2']);
  t.strictSame(await shared(), []);
  await name(db, 'birch', ['e-2', 'e-3']);
  t.strictSame(await shared(), ['e-2']);
  await name(db, 'cedar', ['e-1', 'e-2']);
  t.strictSame(await shared(), ['e-1', 'e-2']);
});

onEachEngine('a repeated call reads only what was added since', async (t) => {
  const { db } = await scratch(t);
  const { unmatched } = createEmployeeSets(db);
  await name(db, 'acme', ['e-1']);
  await deduct(db, ['e-1', 'e-2']);
  await unmatched();
  // A read of the whole ledger would find this row.
  await transact(db, (trx) =>
    trx.insertInto('deduction_employees').values({ employee_id: 'e-0', deduction_id: 'd-0' }).execute(),
  );
  await deduct(db, ['e-3']);
  t.strictSame(await unmatched(), ['e-2', 'e-3']);
});

onEachEngine('a set beyond the limit is reported up to the limit until it shrinks', async (t) => {
  const { db } = await scratch(t);
  const { unmatched } = createEmployeeSets(db);
  const many = Array.from({ length: KEPT_MAX + 5 }, (_, at) => `e-${String(at).padStart(5, '0')}`);
  await deduct(db, many);
  t.strictSame(await unmatched(), many.slice(0, KEPT_MAX));
  for (let at = 0; at < many.length - 3; at += 250)
    await name(db, 'acme', many.slice(at, Math.min(at + 250, many.length - 3)));
  t.strictSame(await unmatched(), many.slice(-3));
  await name(db, 'acme', many.slice(-3));
  t.strictSame(await unmatched(), []);
});
