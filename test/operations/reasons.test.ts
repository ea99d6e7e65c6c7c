/** Erasing a reason: every column that has a text that a person typed loses it, and nothing else changes. */
import { sql } from 'kysely';
import type { Test } from 'tap';
import { KEYS } from '../../src/database/keys.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { acceptLosses } from '../../src/inbox/data-loss.ts';
import { REASON_COLUMNS } from '../../src/operations/reasons.ts';
import { verifyRows } from '../../src/operations/verify.ts';
import { eraseReason } from '../../src/security/reasons.ts';
import { deductionOf, deliver, receive } from '../api/deliver.ts';
import { PAY_DATE, RUNS, startPayroll } from '../api/payroll-stage.ts';
import { termination } from '../contract/samples.ts';
import { contentOfTables } from '../postgres/filled.ts';
import { ACTING } from '../support/audit.ts';
import { differencesOf } from '../support/differences.ts';
import { onEitherEngine } from '../support/engine.ts';
import { pastTriggers } from '../support/past-triggers.ts';
import { bodyOn, EMPLOYER, LATELY, sync } from '../support/payroll.ts';

const TYPED = 'typed by a person';
const how = { ...ACTING, reason: 'it names an employee' };
const SETTINGS = `/v1/employers/${EMPLOYER}`;

type Case = readonly [method: 'POST' | 'PUT', url: string, body?: object];

/** The requests that keep a reason in a column, apart from runs. */
const CASES: readonly Case[] = [
  ['PUT', '/v1/deductions/ded-9/employer', { employer_id: EMPLOYER, effective_on: '2027-01-01' }],
  ['POST', '/v1/events/evt-twice/dismiss'],
  ['POST', `/v1/census-syncs/sync-${EMPLOYER}-waiting-${LATELY}/dismiss`],
  ['POST', `${SETTINGS}/open-items/decisions`, { decisions: [{ employee_id: 'emp-1', action: 'hold' }] }],
  ['PUT', `${SETTINGS}/second-approval`, { required: true }],
];

/** Runs with every reason: `approved` as a second person approved it, `accepted` without an approval. */
async function startTyped(t: Test) {
  const payroll = await startPayroll(t);
  const { db, call, personWith } = payroll;
  const [ann, bob] = [await personWith('ann@example.com', 'all'), await personWith('bob@example.com', 'all')];
  const typed = async (method: 'POST' | 'PUT', url: string, body: object = {}, token = ann, headers = {}) => {
    const { status, text } = await call({ method, url, body: { ...body, reason: TYPED }, token, headers });
    t.ok(status < 300, `${url}: ${text}`);
  };
  const failedChecks = async (runId: string) => {
    const { json, headers } = await call({ url: `${RUNS}/${runId}/readiness` });
    const failed = json.checks.filter(({ result }: { result: string }) => result === 'fail');
    const accept = failed.map(({ id }: { id: string }) => id);
    return { accept, ifMatch: { 'if-match': headers.etag as string } };
  };
  const body = bodyOn(PAY_DATE);
  t.equal((await call({ method: 'PUT', url: `${RUNS}/accepted`, body })).status, 201);
  const amounts = { member_amount: '1.00', employer_amount: '0.00' };
  await typed('PUT', `${RUNS}/accepted/overrides/emp-1/ded-1`, amounts);
  await deliver(db, [deductionOf('evt-9', { id: 'ded-9', employee_id: 'emp-1' })], LATELY);
  const reviewed = await failedChecks('accepted');
  await typed('POST', `${RUNS}/accepted/finalize`, { accept: reviewed.accept }, ann, reviewed.ifMatch);
  await typed('POST', `${RUNS}/accepted/void`);
  await deliver(db, [deductionOf('evt-twice', { member_contribution: 'much' })], LATELY);
  await receive(db, [deductionOf('evt-twice', { member_contribution: 'more' })], LATELY);
  await sync(db, { state: 'waiting' });
  for (const [method, url, fields] of CASES) await typed(method, url, fields);
  const change = await call({ method: 'POST', url: '/v1/employee-changes/termination', body: termination });
  await typed('POST', `/v1/employee-changes/${change.json.id}/cancel`);
  const loss = { found_at: LATELY, position: 1, seq: 1, saved_position: 2, saved_seq: 2 };
  await transact(db, (trx) => trx.insertInto('data_losses').values(loss).execute());
  await transact(db, (trx) => acceptLosses(trx, TYPED, ACTING));
  // The pair of the voided run stays accepted, so another one overlaps.
  const dental = { id: 'ded-10', employee_id: 'emp-2', line_of_coverage: 'dental' };
  await deliver(db, [deductionOf('evt-10', dental)], LATELY);
  await call({ method: 'PUT', url: `${RUNS}/approved`, body: bodyOn(PAY_DATE) });
  const approved = await failedChecks('approved');
  const approving = { action: 'finalize', accept: approved.accept };
  await typed('POST', `${RUNS}/approved/approval`, approving, bob, approved.ifMatch);
  const headers = approved.ifMatch;
  const finalized = await call({ method: 'POST', url: `${RUNS}/approved/finalize`, token: ann, headers });
  t.equal(finalized.status, 200, finalized.text);
  return payroll;
}

async function rowsWith(db: Db, table: string, column: string, text: string): Promise<number> {
  const found = sql`select 1 from ${sql.table(table)} where ${sql.ref(column)} = ${text}`;
  return (await found.execute(db)).rows.length;
}

onEitherEngine('an erased reason is in no table, and the chain stays intact', async (t: Test) => {
  const { db, call } = await startTyped(t);
  for (const { table, column } of REASON_COLUMNS)
    t.ok((await rowsWith(db, table, column, TYPED)) > 0, `${table}.${column} has a reason`);
  const records = db.selectFrom('audit_records').select('record_id').where('reason', '=', TYPED);
  const erase = (id: number) => transact(db, (trx) => eraseReason(trx, id, how, REASON_COLUMNS));
  for (const { record_id } of await records.execute())
    for (const outcome of ['erased', 'no-reason']) t.equal(await erase(record_id), outcome);
  t.equal(await erase(9_999), 'unknown');
  const content = await contentOfTables(db, Object.keys(KEYS));
  for (const [table, rows] of content) t.notMatch(rows.join('\n'), TYPED, table);
  t.match(content.get('audit_records')?.join('\n'), /"reason\.erase".*it names an employee/);
  const run = { accept_reason: '[erased]', void_reason: '[erased]' };
  t.match((await call({ url: `${RUNS}/accepted` })).json, run);
  t.match((await call({ url: `${RUNS}/approved` })).json, { accept_reason: '[erased]' });
  for (const runId of ['accepted', 'approved'])
    t.match((await call({ url: `${RUNS}/${runId}/verify` })).json, { identical: true });

  t.strictSame(await differencesOf((on) => verifyRows(db, null, on)), []);
});

onEitherEngine(
  'a reason in a row that is not the reason of its audit record is reported',
  async (t: Test) => {
    const { db } = await startTyped(t);
    await pastTriggers(db, async (trx) => {
      for (const { table, column } of REASON_COLUMNS)
        await sql`update ${sql.table(table)} set ${sql.ref(column)} = 'forged'
        where ${sql.ref(column)} = ${TYPED}`.execute(trx);
    });
    const reported = await differencesOf((on) => verifyRows(db, null, on));
    const fields = reported
      .filter(({ rule }) => rule === 'is not the reason of its audit record')
      .map(({ table, field }) => `${table}.${field}`);
    const columns = REASON_COLUMNS.map(({ table, column }) => `${table}.${column}`);
    t.strictSame(new Set(fields), new Set(columns));
  },
);
