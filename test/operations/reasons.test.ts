import type { Test } from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { KEYS } from '../../src/operations/copy.ts';
import { REASON_COLUMNS } from '../../src/operations/reasons.ts';
import { verifyRows } from '../../src/operations/verify.ts';
import { eraseReason } from '../../src/security/reasons.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { startPayroll } from '../api/payroll-stage.ts';
import { contentOfTables } from '../postgres/filled.ts';
import { ACTING } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { EMPLOYER, LATELY } from '../support/payroll.ts';

const TYPED = 'typed by a person';
const how = { ...ACTING, reason: 'it names an employee' };

onEitherEngine('an erased reason is in no table, and the chain stays intact', async (t: Test) => {
  const { db, call, put, accept } = await startPayroll(t);
  const post = async (url: string, body: object, method: 'POST' | 'PUT' = 'POST') => {
    const { status, text } = await call({ method, url, body: { ...body, reason: TYPED } });
    t.ok(status < 300, `${url}: ${text}`);
  };
  await put('r');
  const amounts = { member_amount: '1.00', employer_amount: '0.00' };
  await post('/v1/payroll-runs/r/overrides/emp-1/ded-1', amounts, 'PUT');
  await deliver(db, [deductionOf('evt-9', { id: 'ded-9', employee_id: 'emp-1' })], LATELY);
  t.equal((await accept('r', TYPED)).status, 200);
  await post('/v1/payroll-runs/r/void', {});
  await post('/v1/deductions/ded-9/employer', { employer_id: EMPLOYER, effective_on: '2027-01-01' }, 'PUT');
  await deliver(db, [deductionOf('evt-bad', { member_contribution: 'much' })], LATELY);
  await post('/v1/events/evt-bad/dismiss', {});

  const given = await db
    .selectFrom('audit_records')
    .select('record_id')
    .where('reason', '=', TYPED)
    .execute();
  t.equal(given.length, 5);
  for (const { record_id } of given) {
    t.equal(await transact(db, (trx) => eraseReason(trx, record_id, how, REASON_COLUMNS)), 'erased');
    t.equal(await transact(db, (trx) => eraseReason(trx, record_id, how, REASON_COLUMNS)), 'no-reason');
  }
  t.equal(await transact(db, (trx) => eraseReason(trx, 9_999, how, REASON_COLUMNS)), 'unknown');
  const content = await contentOfTables(db, Object.keys(KEYS));
  for (const [table, rows] of content) t.notMatch(rows.join('\n'), TYPED, table);
  t.match(content.get('audit_records')?.join('\n'), /"reason\.erase".*it names an employee/);
  t.match((await call({ url: '/v1/payroll-runs/r' })).json, {
    accept_reason: '[erased]',
    void_reason: '[erased]',
  });

  const differences: string[] = [];
  const report = (table: string, id: unknown, field: string) =>
    void differences.push(`${table} ${id} ${field}`);
  await verifyRows(db, null, { report, looked: () => {}, signal: new AbortController().signal });
  t.strictSame(differences, []);
});
