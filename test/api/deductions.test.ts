import type { Test } from 'tap';
import { deduction } from '../contract/samples.ts';
import { onEitherEngine } from '../support/engine.ts';
import * as payroll from '../support/payroll.ts';
import { deductionOf, deliver } from './deliver.ts';
import { start } from './start.ts';

const test = onEitherEngine.with(start);

const FULL = {
  ...deduction,
  id: 'ded-full',
  member_contribution: '150.0',
  employer_contribution: '+350',
  coverage_type: 'member_family',
  description: 'Gold <plan>',
  effective_start: '2026-01-01T05:31:56Z',
  effective_end: '2026-12-31',
};

test('a deduction has the fields as sent and the fields of the ledger', async (t, { call, db }) => {
  await deliver(db, [deductionOf('e1', FULL, '2026-01-10T02:00:00+02:00')], '2026-01-15T00:00:00.000Z');
  t.strictSame((await call({ url: '/v1/deductions/ded-full' })).json, {
    ...FULL,
    employer_id: null,
    matched: false,
    placeholder: null,
    version: 1,
    position: 1,
    event_time: '2026-01-10T00:00:00.000000000Z',
    recorded_at: '2026-01-15T00:00:00.000Z',
  });
  await deliver(db, [deductionOf('e2', { id: 'd', description: null, effective_end: null })]);
  const { json } = await call({ url: '/v1/deductions/d' });
  for (const name of ['coverage_type', 'description', 'effective_end']) t.notOk(name in json, name);
});

test('open placeholders are listed, and show what replaces them', async (t, { call, db }) => {
  const id = 'placeholder:emp-1:medical:pre_tax';
  await deliver(db, [deductionOf('e1', { id, employee_id: 'emp-1' })]);
  const open = '/v1/deductions?placeholder=open';
  t.match((await call({ url: open })).json.data, [
    { id, placeholder: { replaced_by: null, replaced_from: null } },
  ]);
  await deliver(db, [deductionOf('e2', { id: 'ded', employee_id: 'emp-1', effective_start: '2026-07-01' })]);
  t.strictSame((await call({ url: open })).json.data, []);
  const { json } = await call({ url: `/v1/deductions/${encodeURIComponent(id)}` });
  t.strictSame(json.placeholder, { replaced_by: 'ded', replaced_from: '2026-07-01' });
  t.strictSame((await call({ url: '/v1/deductions/ded' })).json.placeholder, null);
});

test('an unknown deduction and its versions are 404', async (t, { call }) => {
  for (const url of ['/v1/deductions/none', '/v1/deductions/none/versions']) {
    const { status, json } = await call({ url });
    t.equal(status, 404);
    t.equal(json.detail, 'There is no deduction with this ID.');
  }
});

test('versions are listed in order of recording, with the reason for their order', async (t, world) => {
  const { call, db } = world;
  await deliver(db, [
    deductionOf('e1', { id: 'd', member_contribution: '1' }, '2026-01-10T00:00:00Z'),
    deductionOf('e2', { id: 'd', member_contribution: '2' }, '2026-01-05T00:00:00Z'),
    deductionOf('e3', { id: 'd', member_contribution: '3' }, '2026-01-10T00:00:00Z'),
    deductionOf('e4', { id: 'd', member_contribution: '4' }, ''),
  ]);
  const { json } = await call({ url: '/v1/deductions/d/versions' });
  t.match(json.data, [
    { version: 1, event_id: 'e1', ordered_by: 'created_at', late: false, member_contribution: '1' },
    { version: 2, event_id: 'e2', ordered_by: 'created_at', late: true },
    { version: 3, event_id: 'e3', ordered_by: 'tie', late: false },
    { version: 4, event_id: 'e4', ordered_by: 'receipt', late: false },
  ]);
  t.equal(json.next_cursor, null);
  t.match((await call({ url: '/v1/deductions/d' })).json, { version: 4, member_contribution: '4' });
});

/** A listener whose ledger has a deduction of two versions, the second one known ten days later. */
async function startWithTwoVersions(t: Test) {
  const running = await start(t);
  const { db } = running;
  const version = (amount: string, from: string) => ({
    id: 'd',
    member_contribution: amount,
    effective_start: from,
  });
  const first = deductionOf('e1', version('1', '2026-01-01'), '2025-12-01T00:00:00Z');
  await deliver(db, [first], '2026-01-10T00:00:00.000Z');
  const second = deductionOf('e2', version('2', '2026-03-01'), '2026-01-20T00:00:00Z');
  await deliver(db, [second], '2026-01-20T00:00:00.500Z');
  return running;
}

onEitherEngine('a deduction and the list are shown as of a day and as known at an instant', async (t) => {
  const { call } = await startWithTwoVersions(t);
  const amount = async (query: string) => {
    const { status, json } = await call({ url: `/v1/deductions/d?${query}` });
    const { data } = (await call({ url: `/v1/deductions?${query}` })).json;
    const [listed] = data.map((one: { member_contribution: string }) => one.member_contribution);
    const shown = status === 200 ? json.member_contribution : undefined;
    t.equal(listed, shown, query);
    return shown;
  };
  t.equal(await amount(''), '2');
  t.equal(await amount('on=2026-02-28'), '1');
  t.equal(await amount('on=2025-12-31'), undefined, 'nothing was in effect');
  t.equal(await amount('known_at=2026-01-20T00:00:00.499Z'), '1');
  t.equal(await amount('known_at=2026-01-20T02:00:00.500999%2B02:00'), '2', 'finer digits are truncated');
  t.equal(await amount('on=2026-03-01&known_at=2026-01-20T02:00:00%2B02:00'), '1');
  const { json } = await call({ url: '/v1/deductions/d?on=2025-12-31' });
  t.match(json.detail, 'This deduction was not in effect on that date');
});

test('every page of the feed has a cursor to resume from, also an empty one', async (t, { call, db }) => {
  const batch = (from: number) =>
    Array.from({ length: 5 }, (_, index) => deductionOf(`e${from + index}`, { id: `d${index % 3}` }));
  await deliver(db, batch(0));
  const seen: number[] = [];
  let cursor = '0';
  for (let hasMore = true, pages = 1; hasMore; pages += 1) {
    const { json } = await call({ url: `/v1/deduction-versions?cursor=${cursor}&limit=3` });
    seen.push(...json.data.map((one: { position: number }) => one.position));
    cursor = json.next_cursor;
    hasMore = json.has_more;
    if (pages === 1) await deliver(db, batch(5));
    t.equal(cursor, String(seen.at(-1)), 'the position as text');
  }
  t.equal(seen.join(), '1,2,3,4,5,6,7,8,9,10');
  const nothing = await call({ url: '/v1/deduction-versions?cursor=10' });
  t.strictSame(nothing.json, { data: [], has_more: false, next_cursor: '10' });
  t.equal((await call({ url: '/v1/deduction-versions' })).json.data.length, 10, 'from the beginning');
});

test('a deduction is assigned to one of the employers of its employee', async (t, { call, db }) => {
  await payroll.employ(db, 'emp-1');
  await payroll.employ(db, 'emp-1', { employer_id: 'globex' });
  await deliver(db, [deductionOf('e1', { id: 'd', employee_id: 'emp-1' }, '2026-06-01T00:00:00Z')]);
  const url = '/v1/deductions/d/employer';
  const assign = (employer_id: string, fields: object = {}, path = url) =>
    call({ method: 'PUT', url: path, body: { employer_id, reason: 'elected in this job', ...fields } });
  const employerOf = async (query = '') => (await call({ url: `/v1/deductions/d${query}` })).json.employer_id;
  t.equal(await employerOf(), null);
  const july = { effective_on: '2026-07-06' };
  const first = { deduction_id: 'd', employer_id: 'globex', position: 4, assigned_by: { name: 'API_TOKEN' } };
  t.match(await assign('globex', july), { status: 201, json: { ...first, ...july } });
  t.match(await assign('globex', july), { status: 200, json: { ...first, ...july } }, 'again');
  t.match((await call({ url })).json.assignments, [first]);
  t.equal(await employerOf('?on=2026-07-06'), 'globex');
  t.equal(await employerOf('?on=2026-07-05'), null);
  const list = await call({ url: '/v1/deductions?employer_id=globex&on=2026-07-06' });
  t.match(list.json.data, [{ id: 'd' }]);
  t.match(await assign('nobody'), { status: 422, json: { errors: [{ path: 'employer_id' }] } });
  t.equal((await assign('globex', {}, '/v1/deductions/none/employer')).status, 404);
  t.equal((await call({ url: '/v1/deductions/none/employer' })).status, 404);
  t.match((await assign('globex', { effective_on: 'July', reason: '' })).json.errors, [
    { path: 'effective_on' },
    { path: 'reason' },
  ]);
});
