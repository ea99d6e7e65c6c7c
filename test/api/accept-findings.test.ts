/** Findings of an open run are accepted before it is finalized. */
import { transact } from '../../src/database/transaction.ts';
import { REASON_COLUMNS } from '../../src/operations/reasons.ts';
import { verifyRows } from '../../src/operations/verify.ts';
import { pauseSending } from '../../src/outbox/circuit-breaker.ts';
import { ERASED, eraseReason } from '../../src/security/reasons.ts';
import { acting } from '../support/audit.ts';
import { differencesOf } from '../support/differences.ts';
import { onEitherEngine } from '../support/engine.ts';
import { bodyOn, deduct, EMPLOYER, LATELY, NOW, setCodes } from '../support/payroll.ts';
import { type Payroll, RUNS, startPayroll } from './payroll-stage.ts';

const REASON = { reason: 'two plans until August' };
const BODY = { accept: ['overlap'], ...REASON };

const test = onEitherEngine.with(async (t: Parameters<typeof startPayroll>[0]) => {
  const payroll = await startPayroll(t);
  const { call, db, put, get } = payroll;
  await put('r');
  const overlap = (id: string) => deduct(db, `evt-${id}`, { id, employee_id: 'emp-1' }, LATELY);
  await overlap('ded-9');
  const etagOf = async (run: string) => (await get(`/${run}/readiness`)).headers.etag as string;
  return {
    ...payroll,
    overlap,
    etagOf,
    /** Accepts findings of the readiness report with `etag`, by default the current report. */
    async acceptIn(
      run: string,
      body: object = BODY,
      { etag, token }: { etag?: string; token?: string } = {},
    ) {
      const headers = { 'if-match': etag ?? (await etagOf(run)) };
      const url = `${RUNS}/${run}/acceptances`;
      return call({ method: 'POST', url, body, headers, ...(token && { token }) });
    },
    checkOf: async (run: string, id = 'overlap') =>
      (await get(`/${run}/readiness`)).json.checks.find((check: { id: string }) => check.id === id),
  };
});

const differences = ({ db }: Payroll) => differencesOf((on) => verifyRows(db, null, on));

const refusal = (status: number, detail: RegExp) => ({ status, json: { detail } });

test('an accepted finding is remembered, and finalizing needs no acceptance of it', async (t, world) => {
  const { put, get, finalize, call, acceptIn, checkOf } = world;
  const { status, json } = await acceptIn('r');
  t.equal(status, 201);
  t.strictSame(json, { run_id: 'r', accepted_checks: ['overlap'], findings: 1 });
  t.match(await checkOf('r'), {
    result: 'accepted',
    count: 0,
    accepted: [{ ...REASON, employee_id: 'emp-1' }],
  });
  const [record] = (await call({ url: '/v1/audit?resource_type=run&resource_id=r' })).json.data;
  const details = { accepted_checks: ['overlap'], findings: 1 };
  t.match(record, { action: 'run.accept-findings', employer_id: EMPLOYER, details, ...REASON });
  await put('next', bodyOn('2026-07-31'));
  t.match(await checkOf('next'), { result: 'accepted' }, 'in every run of the employer');
  t.strictSame(await differences(world), []);
  t.match(await finalize('r'), { status: 200, json: { accepted_checks: [], accept_reason: null } });
  const { findings } = (await get('/r/findings')).json;
  t.match(findings, [
    { check: 'overlap', ...REASON, accepted_by: { kind: 'token' }, accepted_at: NOW.toISOString() },
  ]);
  t.strictSame(await differences(world), []);
});

test('only the findings of the report whose ETag is sent are accepted', async (t, world) => {
  const { call, acceptIn, etagOf, overlap, checkOf } = world;
  const url = `${RUNS}/r/acceptances`;
  t.match(await call({ method: 'POST', url, body: BODY }), refusal(428, /ETag of the readiness report/));
  const etag = await etagOf('r');
  await overlap('ded-8');
  const stale = await acceptIn('r', BODY, { etag });
  t.match(stale, refusal(412, /changed since it was reviewed/));
  t.equal((await acceptIn('r', BODY, { etag: stale.headers.etag as string })).status, 201);
  t.equal((await acceptIn('r', BODY, { etag })).status, 412, 'a second time');
  await overlap('ded-7');
  t.match(await checkOf('r'), { result: 'fail', count: 3, accepted: { length: 3 } }, 'a new finding fails');
  t.equal((await acceptIn('r')).status, 201);
  t.match(await checkOf('r'), { result: 'accepted', accepted: { length: 6 } });
  t.strictSame(await differences(world), []);
});

test('two requests at the same time accept the findings once', async (t, world) => {
  const etag = await world.etagOf('r');
  const both = await Promise.all([1, 2].map(() => world.acceptIn('r', BODY, { etag })));
  t.strictSame(both.map(({ status }) => status >= 409).sort(), [false, true]);
  t.strictSame(await differences(world), []);
});

test('an acceptance that is not allowed, or of no open finding, is refused', async (t, world) => {
  const { acceptIn, finalize, tokenWith, accept } = world;
  t.match(await acceptIn('r', { ...BODY, accept: ['pay-date-taken', 'bogus'] }), {
    status: 400,
    json: { errors: [{ path: 'accept', rule: /cannot: pay-date-taken, bogus$/ }] },
  });
  const passed = await acceptIn('r', { ...BODY, accept: ['overlap', 'events-quarantined'] });
  t.match(passed, refusal(409, /no finding that can be accepted: events-quarantined\./));
  t.match(await acceptIn('r', { accept: [], ...REASON }), { status: 400 });
  t.match(await acceptIn('r', { accept: ['overlap'] }), { status: 400 }, 'without a reason');
  const token = await tokenWith('runs:read', 'runs:write');
  t.match(await acceptIn('r', BODY, { token }), { status: 403 });
  t.match(await finalize('r'), { status: 409 }, 'nothing was accepted');
  const etag = await world.etagOf('r');
  t.equal((await accept('r')).status, 200);
  t.match(await acceptIn('r', BODY, { etag }), refusal(409, /no longer open/));
});

test('findings of a run that needs a second approval are accepted only with it', async (t, world) => {
  const { acceptIn, call, personWith, etagOf, checkOf } = world;
  const [ann, bob] = [await personWith('ann@example.com', 'all'), await personWith('bob@example.com', 'all')];
  const isApproval = refusal(409, /accepted with its second approval/);
  const setting = `/v1/employers/${EMPLOYER}/second-approval`;
  await call({ method: 'PUT', url: setting, body: { required: true, ...REASON }, token: ann });
  t.match(await acceptIn('r', BODY, { token: ann }), isApproval);
  const headers = { 'if-match': await etagOf('r') };
  const approving = { action: 'finalize', ...BODY };
  const approval = await call({
    ...{ method: 'POST', url: `${RUNS}/r/approval`, body: approving, token: bob, headers },
  });
  t.equal(approval.status, 201);
  await world.overlap('ded-8');
  t.match(await acceptIn('r', BODY, { token: ann }), isApproval, 'a finding after the approval');
  t.match(await checkOf('r'), { result: 'fail' });
});

test('a finding without ids is accepted for its own run only, and until it changes', async (t, world) => {
  const { acceptIn, checkOf, put, db } = world;
  await put('next', bodyOn('2026-07-31'));
  await setCodes(db, [
    { line_of_coverage: 'dental', taxability: null, side: 'employee', code: 'X1', treatment: null },
  ]);
  const inRun = (run: string) => checkOf(run, 'codes-missing');
  t.match(await inRun('r'), { result: 'fail', count: 1 });
  t.equal((await acceptIn('r', { ...BODY, accept: ['codes-missing'] })).status, 201);
  t.match(await inRun('r'), { result: 'accepted', accepted: [REASON] });
  t.match(await inRun('next'), { result: 'fail', accepted: [] });
  await deduct(db, 'evt-v', { id: 'ded-v', employee_id: 'emp-1', line_of_coverage: 'vision' }, LATELY);
  t.match(await inRun('r'), { result: 'fail', count: 1, accepted: [REASON] }, 'another line without a code');
});

test('an accepted finding of no single employer is counted for a limited token', async (t, world) => {
  const { acceptIn, checkOf, get, db, tokenFor } = world;
  await transact(db, (trx) => pauseSending(trx, 'status 401', NOW));
  const check = 'circuit-breaker-paused';
  t.equal((await acceptIn('r', { ...BODY, accept: [check] })).status, 201);
  t.match(await checkOf('r', check), { accepted: [{ text: /status 401/, ...REASON }] });
  const { json } = await get('/r/readiness', { token: await tokenFor([EMPLOYER], 'all') });
  const [{ accepted_by: _, accepted_at: __, ...accepted }] = json.checks.find(
    ({ id }: { id: string }) => id === check,
  ).accepted;
  t.strictSame(accepted, { check, count: 1, ...REASON });
});

test('an acceptance loses an erased reason, and is deleted with its run', async (t, world) => {
  const { acceptIn, checkOf, call, db, put } = world;
  await acceptIn('r');
  const [record] = (await call({ url: '/v1/audit?resource_type=run&resource_id=r' })).json.data;
  const erasing = { ...acting(LATELY), reason: 'personal data' };
  await transact(db, (trx) => eraseReason(trx, Number(record.id), erasing, REASON_COLUMNS));
  t.match(await checkOf('r'), { accepted: [{ reason: ERASED }] });
  t.strictSame(await differences(world), []);
  t.equal((await call({ method: 'DELETE', url: `${RUNS}/r` })).status, 204);
  await put('r');
  t.match(await checkOf('r'), { result: 'fail', accepted: [] });
  t.strictSame(await differences(world), []);
});

test('verify finds an acceptance that was changed or removed by hand', async (t, world) => {
  const { acceptIn, db } = world;
  await acceptIn('r');
  const expected = [{ table: 'accepted_findings', field: 'run_id' }];
  await transact(db, (trx) => trx.updateTable('accepted_findings').set({ ids: '["x"]' }).execute());
  t.match(await differences(world), expected);
  await transact(db, (trx) => trx.deleteFrom('accepted_findings').execute());
  t.match(await differences(world), expected);
});
