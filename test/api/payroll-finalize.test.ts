import { ifMatchOf } from '../../src/api/headers.ts';
import { transact } from '../../src/database/transaction.ts';
import { REASON_COLUMNS } from '../../src/operations/reasons.ts';
import { verifyRows } from '../../src/operations/verify.ts';
import { verifyRuns } from '../../src/payroll/lifecycle/verify.ts';
import { ERASED, eraseReason } from '../../src/security/reasons.ts';
import { acting } from '../support/audit.ts';
import { differencesOf } from '../support/differences.ts';
import { onEitherEngine } from '../support/engine.ts';
import { pastTriggers } from '../support/past-triggers.ts';
import {
  bodyOn,
  deduct,
  employment,
  hireMany,
  learn,
  schedule,
  setPolicy,
  setSchedules,
} from '../support/payroll.ts';
import { RUNS, startPayroll } from './payroll-stage.ts';

const test = onEitherEngine.with(startPayroll);

const PROBLEM = 'urn:benefits-sidecar:problem:';
const LATER = '2026-07-01T00:00:00Z';
const quoted = (etag: string) => ({ 'if-match': `"${etag}"` });

test('without the ETag that was reviewed, finalizing and approving are 428', async (t, world) => {
  const { put, post, get, finalize, personWith } = world;
  await put('r');
  const missing = { status: 428, json: { type: `${PROBLEM}precondition-required`, detail: /If-Match/ } };
  t.match(await post('/r/finalize'), missing);
  t.match(await post('/r/finalize', {}, { 'if-match': '*' }), missing, '* names nothing that was reviewed');
  t.match(await post('/r/finalize', {}, { 'idempotency-key': 'k' }), missing);
  const token = await personWith('ann@example.com', 'runs:approve');
  const approving = { action: 'finalize', reason: 'a test' };
  t.match(await get('/r/approval', { method: 'POST', body: approving, token }), missing);
  t.match((await get('/r')).json, { state: 'open' });
  t.equal((await finalize('r')).status, 200);
  t.match(await post('/r/finalize'), missing, 'a finalized run');
});

test('a stale If-Match is 412 with the current ETag, and nothing is frozen', async (t, world) => {
  const { put, post, get, db } = world;
  const { etag } = (await put('r')).json;
  await deduct(db, 'evt-3', { id: 'ded-1', member_contribution: '200.00' }, LATER);
  const { status, json, headers } = await post('/r/finalize', {}, quoted(etag));
  t.equal(status, 412);
  t.equal(json.type, `${PROBLEM}precondition-failed`);
  const now = (await get('/r')).json;
  t.equal(headers.etag, `"${now.etag}"`);
  t.not(now.etag, etag);
  t.equal(now.state, 'open');
  t.strictSame(await db.selectFrom('run_employees').selectAll().execute(), []);
  t.equal((await post('/r/finalize', {}, { 'if-match': String(headers.etag) })).status, 200);
});

test('an ETag matches with or without quotes, and as proxies that compress change it', async (t, {
  put,
  post,
}) => {
  const { etag } = (await put('r')).json;
  const two = await post('/r/finalize', {}, { 'if-match': `"${etag}", "x"` });
  t.equal(two.status, 400);
  t.match(two.json.errors, [{ path: 'if-match' }]);
  for (const stale of ['W/"x"', '"x-gzip"', `"${etag}-x"`])
    t.equal((await post('/r/finalize', {}, { 'if-match': stale })).status, 412, stale);
  const sent = [etag, `W/"${etag}"`, `"${etag}-gzip"`, `"${etag};gzip"`, `W/"${etag}--br"`];
  for (const ifMatch of sent) t.equal(ifMatchOf(ifMatch), etag, ifMatch);
  t.equal((await post('/r/finalize', {}, { 'if-match': `W/"${etag}-gzip"` })).status, 200);
});

test('a finalize is repeated only with its ETag or its key', async (t, payroll) => {
  const { finalized, post, get } = payroll;
  const { json } = await finalized('r');
  const repeated = await post('/r/finalize', {}, quoted(json.etag));
  t.strictSame([repeated.status, repeated.json], [200, json]);
  const stale = {
    status: 412,
    headers: { etag: `"${json.etag}"` },
    json: { detail: /was finalized with other/ },
  };
  t.match(await post('/r/finalize', {}, quoted('x')), stale);
  t.strictSame((await get('/r')).json, json);
  const { put, finalize } = payroll;
  await put('s', bodyOn('2026-07-31'));
  const key = { 'idempotency-key': 'k-1' };
  const first = await finalize('s', {}, { headers: key });
  t.equal(first.status, 200);
  t.strictSame((await post('/s/finalize', {}, key)).json, first.json);
  t.strictSame((await post('/s/finalize', {}, { ...key, ...quoted('x') })).json, first.json);
  t.equal((await post('/s/finalize', {}, { 'idempotency-key': 'k-2', ...quoted('x') })).status, 412);
  t.equal((await post('/s/finalize', {}, { 'idempotency-key': 'two words' })).status, 400);
  await post('/r/void', { reason: 'a test' });
  const voided = { status: 409, json: { detail: 'The run is voided. Create another run.' } };
  t.match(await post('/r/finalize', {}, quoted(json.etag)), voided);
});

test('an empty list of checks accepts none', async (t, { put, finalize, get, db }) => {
  await put('r');
  await deduct(db, 'evt-9', { id: 'ded-9', employee_id: 'emp-1' }, LATER);
  const refused = await finalize('r', { accept: [], reason: 'the bank waits' });
  t.equal(refused.json.type, `${PROBLEM}readiness-failed`);
  await put('next', bodyOn('2026-07-31', { employee_ids: ['emp-2'] }));
  t.equal((await finalize('next', { accept: [] })).status, 200);
  t.strictSame((await get('/next')).json.accepted_checks, []);
});

test('each finding is listed before it is accepted and afterward', async (t, world) => {
  const { put, accept, get, db, call, tokenFor } = world;
  await put('r');
  for (const id of ['ded-8', 'ded-9']) await deduct(db, `evt-${id}`, { id, employee_id: 'emp-1' }, LATER);
  await deduct(db, 'evt-bad', { member_contribution: '175.00', taxability: 'untaxed' }, LATER);
  const { findings, count } = (await get('/r/findings')).json;
  t.equal(count, findings.length);
  const failed = findings.filter(({ result }: { result: string }) => result === 'fail');
  const overlaps = [
    ['ded-1', 'ded-8'],
    ['ded-1', 'ded-9'],
    ['ded-8', 'ded-9'],
  ];
  t.match(failed, [
    { check: 'events-quarantined', text: 'evt-bad: emp-1, medical', event_id: 'evt-bad', ids: ['evt-bad'] },
    ...overlaps.map((ids) => ({ check: 'overlap', text: /^emp-1: medical/, employee_id: 'emp-1', ids })),
  ]);
  await accept('r');
  const accepted = (await get('/r/findings')).json.findings;
  t.match(accepted, [
    { check: 'events-quarantined', result: 'accepted', text: 'evt-bad: emp-1, medical' },
    ...overlaps.map((ids) => ({ check: 'overlap', result: 'accepted', employee_id: 'emp-1', ids })),
  ]);
  const authorization = `Bearer ${await tokenFor(['acme'], 'all')}`;
  const limited = await call({ url: '/v1/payroll-runs/r/findings', headers: { authorization } });
  t.match(limited.json.findings[0], { check: 'events-quarantined', count: 1, text: undefined, ids: [] });
});

test('a report has the first 20 findings of a check, and the list has all in pages', async (t, {
  put,
  get,
  db,
}) => {
  await hireMany(db, 1_001);
  await setSchedules(db, [schedule({ pay_frequency: 'weekly' })]);
  await put('r');
  const id = 'employees-not-scheduled';
  const { checks } = (await get('/r/readiness')).json;
  const found = checks.find((check: { id: string }) => check.id === id);
  t.match(found, { result: 'fail', findings: { length: 20 } });
  const first = (await get(`/r/findings?check=${id}`)).json;
  t.equal(first.count, 1_003, 'with the two employees of the stage');
  t.equal(first.findings.length, 1_000);
  const next = `/r/findings?check=${id}&cursor=${first.next_cursor}`;
  const second = (await get(next)).json;
  t.match(second, { count: 1_003, findings: { length: 3 }, next_cursor: null });
  const all = [...first.findings, ...second.findings];
  t.equal(new Set(all.map(({ employee_id }) => employee_id)).size, 1_003);
  await learn(db, employment('emp-new'));
  await deduct(db, 'evt-new', { id: 'ded-new', employee_id: 'emp-new' }, LATER);
  t.match(await get(next), { status: 409, json: { detail: /changed while the list was read/ } });
  t.match(await get('/r/findings?check=unknown'), { status: 400 });
});

test('a run keeps each finding that it was finalized with, also those accepted before', async (t, world) => {
  const { put, accept, finalize, get, db, tokenFor, call } = world;
  await put('r');
  // More findings than the 20 that a readiness report shows.
  for (let id = 10; id < 35; id += 1) {
    await learn(db, employment(`emp-${id}`));
    for (const half of ['a', 'b'])
      await deduct(db, `evt-${id}${half}`, { id: `ded-${id}${half}`, employee_id: `emp-${id}` }, LATER);
  }
  await accept('r', 'both are right');
  const [first] = (await get('/r/findings')).json.findings;
  t.match(first, { check: 'overlap', reason: 'both are right', accepted_by: { kind: 'token' } });
  const ofRun = async (run: string) => (await get(`/${run}/findings`)).json;
  const before = await ofRun('r');
  t.equal(before.count, 25);
  await put('next', bodyOn('2026-07-31'));
  const { checks } = (await get('/next/readiness')).json;
  t.match(checks.find(({ id }: { id: string }) => id === 'overlap').accepted, { length: 20 });
  t.match(await finalize('next'), { status: 200, json: { accepted_checks: [], accept_reason: null } });
  t.strictSame((await ofRun('next')).findings, before.findings, 'with actor, time and reason');
  t.match((await get('/next/verify')).json, { identical: true });
  const token = await tokenFor(['acme'], 'all');
  const limited = (await call({ url: `${RUNS}/next/findings`, token })).json;
  t.match(limited.findings[0], { text: undefined, reason: 'both are right', accepted_by: { kind: 'token' } });
  await deduct(db, 'evt-new', { id: 'ded-new', employee_id: 'emp-1' }, LATER);
  await put('third', bodyOn('2026-08-14'));
  await accept('third', 'this one too');
  const third = (await ofRun('third')).findings;
  t.match(third.slice(0, 2), [
    { employee_id: 'emp-1', reason: 'this one too' },
    { employee_id: 'emp-10', reason: 'both are right' },
  ]);
  t.equal(third.length, 26);
  t.strictSame(await differencesOf((on) => verifyRows(db, null, on)), []);
  const [made] = (await call({ url: '/v1/audit?resource_type=run&resource_id=r' })).json.data;
  const erased = { ...acting(LATER), reason: 'personal data' };
  await transact(db, (trx) => eraseReason(trx, Number(made.id), erased, REASON_COLUMNS));
  await put('last', bodyOn('2026-08-28'));
  t.equal((await finalize('last')).status, 200);
  for (const run of ['r', 'next', 'last']) t.equal((await ofRun(run)).findings.at(-1).reason, ERASED, run);
});

test('an acceptance of a check that does not exist or must be fixed is rejected by name', async (t, {
  put,
  post,
}) => {
  await put('r');
  const { status, json } = await post('/r/finalize', { accept: ['overlap', 'bogus', 'pay-date-taken'] });
  t.equal(status, 400);
  t.match(json.errors, [
    { path: 'accept', rule: /cannot: bogus, pay-date-taken$/ },
    { path: 'reason', rule: 'is required to accept findings' },
  ]);
  const unnamed = await post('/r/finalize', { accept: [''], reason: 'the bank waits' });
  t.equal(unnamed.status, 400, 'an empty name is of no check either');
});

test('a 412 on an acceptance has the ETag that the next attempt can use', async (t, { put, post, db }) => {
  await put('r');
  await deduct(db, 'evt-9', { id: 'ded-9', employee_id: 'emp-1' }, LATER);
  const accepted = { accept: ['overlap'], reason: 'both are confirmed' };
  const foreign = await post('/r/finalize', accepted, { 'if-match': '"another"' });
  t.match(foreign.json.detail, /send the ETag of the readiness report/);
  t.equal(foreign.status, 412);
  const etag = foreign.headers.etag as string;
  t.equal((await post('/r/finalize', accepted, { 'if-match': etag })).status, 200);
});

test('accepting a finding needs runs:approve, and finalizing does not', async (t, world) => {
  const { put, db, tokenWith } = world;
  await put('r');
  const token = await tokenWith('runs:read', 'runs:write');
  const finalize = (runId: string, body: object) => world.finalize(runId, body, { token });
  await put('next', bodyOn('2026-07-31', { employee_ids: ['emp-2'] }));
  await deduct(db, 'evt-9', { id: 'ded-9', employee_id: 'emp-1' }, LATER);
  const refused = await finalize('r', { accept: ['overlap'], reason: 'both are confirmed' });
  t.match(refused, { status: 403, json: { detail: /scope runs:approve/ } });
  t.equal((await finalize('next', { accept: [] })).status, 200);
});

test('open runs have readiness, other runs have verification', async (t, { put, finalize, get }) => {
  await put('r');
  const early = await get('/r/verify');
  t.equal(early.status, 409);
  t.match(early.json.detail, /is open/);
  await finalize('r');
  const late = await get('/r/readiness');
  t.equal(late.status, 409);
  t.match(late.json.detail, /is finalized/);
});

test('a run finalized by rules that this release lacks cannot be verified', async (t, world) => {
  const { finalized, get, db } = world;
  await finalized('r');
  await pastTriggers(db, (trx) => trx.updateTable('payroll_runs').set({ rules_version: '1' }).execute());
  const { status, json } = await get('/r/verify');
  t.equal(status, 409);
  t.match(json.detail, /^The run was finalized by rules 1, and this release computes by rules \d+\./);
  const differences = await differencesOf(async (on) =>
    t.strictSame(await verifyRuns(db, on), { runs: 1, lines: 0, otherRules: 1 }),
  );
  t.match(differences, [{ field: 'outcome_hash' }], 'its record states the version of the rules');
});

test('voiding a run names the later finalized runs that adjusted it', async (t, { finalized, post, db }) => {
  await finalized('one');
  await deduct(db, 'evt-3', { id: 'ded-1', member_contribution: '200.00' }, LATER);
  await setPolicy(db, { open_items: 'include' });
  const including = bodyOn('2026-07-31');
  await finalized('voided', including);
  await post('/voided/void', { reason: 'wrong' });
  await finalized('two', including);
  await finalized('three', bodyOn('2026-08-14'));
  t.strictSame((await post('/one/void', { reason: 'wrong' })).json.settled_by, ['two']);
});
