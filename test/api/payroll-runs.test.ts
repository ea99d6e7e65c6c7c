import { PREVIEWED_LINES } from '../../src/payroll/lifecycle/begin.ts';
import { onEachEngine, onEitherEngine } from '../support/engine.ts';
import { bodyOn, deduct, employ, schedule, setSchedules } from '../support/payroll.ts';
import { deductionOf, deliver } from './deliver.ts';
import { PAY_DATE, RUNS, startPayroll } from './payroll-stage.ts';

const test = onEitherEngine.with(startPayroll);

test('the request and state of a run are returned without computing it', async (t, {
  put,
  get,
  finalize,
}) => {
  const put1 = (await put('r', { employee_ids: ['emp-2', 'emp-1'] })).json;
  const open = (await get('/r/outline')).json;
  const { pay_dates_used, position, rules_version, employees, ...rest } = put1;
  const { comparison, not_in_run, not_in_run_count, on_other_schedules, open_items, ...kept } = rest;
  t.strictSame(open, { ...kept, etag: null, totals: null });
  const { etag, totals } = (await finalize('r')).json;
  t.match((await get('/r/outline')).json, { state: 'finalized', etag, totals });
  t.equal((await get('/nobody/outline')).status, 404);
});

test('the same body again is 200, and another is 409', async (t, { put, finalize, get, logged }) => {
  t.equal((await put('r', { employee_ids: ['emp-2', 'emp-1'] })).status, 201);
  const again = await put('r', { kind: 'regular', employee_ids: ['emp-1', 'emp-2'] });
  t.equal(again.status, 200);
  t.strictSame((await get('/r')).json, again.json);
  t.equal(logged.length, 1, 'nothing was changed');
  const other = await put('r', { pay_group: 'hourly' });
  t.match(other, { status: 409, json: { detail: /A run with this ID and a different body exists/ } });
  await finalize('r');
  const late = await put('r', { employee_ids: ['emp-1', 'emp-2'] });
  t.match(late, { status: 200, json: { state: 'finalized' } });
});

test('an employee or deduction of a different employer is rejected by field', async (t, { put, db }) => {
  await employ(db, 'other', { employer_id: 'globex' });
  await deduct(db, 'evt-4', { id: 'ded-other', employee_id: 'other' });
  for (const [field, ids] of Object.entries({
    employee_ids: ['emp-1', 'other'],
    final_checks: ['emp-1', 'other'],
    deductions: ['ded-1', 'ded-other'],
  })) {
    const rule = `must name ids known at employer acme; unknown: ${ids[1]}`;
    const body = { kind: 'off_cycle', employee_ids: ['emp-1', 'emp-2'], [field]: ids };
    t.match(await put('r', body), { status: 422, json: { errors: [{ path: field, rule }] } });
  }
  for (const field of ['employee_ids', 'final_checks']) {
    const rule = /unknown: EMP-1 \(the census has emp-1\), Other$/;
    const body = { kind: 'off_cycle', employee_ids: ['emp-1'], [field]: ['EMP-1', 'Other'] };
    t.match(await put('r', body), { status: 422, json: { errors: [{ path: field, rule }] } });
  }
});

test('the run of a pay date is opened by what it pays, and a second open one is 409', async (t, world) => {
  const { post, put, logged } = world;
  const payroll = { employer_id: 'acme', pay_frequency: 'biweekly', pay_date: PAY_DATE };
  const created = await post('', payroll);
  t.match(created, { status: 201, json: { id: 'acme-biweekly-2026-07-17', state: 'open' } });
  t.match(await post('', { ...payroll, pay_group: null }), { status: 200, json: created.json });
  t.equal(logged.map(({ message }) => message).join(), 'a payroll run was created');
  const second = await put('r');
  t.match(second, { status: 409, json: { detail: /acme-biweekly-2026-07-17 is already open/ } });
  const rule = 'must be a date of the pay schedule, such as 2026-07-17 or 2026-07-31';
  const refused = { status: 422, json: { errors: [{ path: 'pay_date', rule }] } };
  t.match(await post('', { ...payroll, pay_date: '2026-07-18' }), refused);
});

test('runs are listed for one pay date', async (t, { put, get }) => {
  await put('r');
  const listed = async (date: string) =>
    (await get(`?pay_date=${date}`)).json.data.map(({ id }: { id: string }) => id);
  t.strictSame(await listed(PAY_DATE), ['r']);
  t.strictSame(await listed('2026-07-31'), []);
});

test('an unknown run is 404 on every route that names one', async (t, { get, post, call }) => {
  for (const response of [
    ...['', '/lines', '/readiness', '/verify'].map((path) => get(`/none${path}`)),
    ...[post('/none/finalize'), post('/none/void', { reason: 'x' })],
    call({ method: 'DELETE', url: `${RUNS}/none` }),
  ])
    t.match(await response, { status: 404, json: { detail: 'There is no payroll run with this ID.' } });
});

test('a preview shows the first lines, and its totals count all', async (t, { post, db }) => {
  const many = Array.from({ length: PREVIEWED_LINES }, (_, index) =>
    deductionOf(`evt-m${index}`, { id: `m${index}`, employee_id: 'emp-1', line_of_coverage: 'life' }),
  );
  await deliver(db, many);
  const { json } = await post('/preview', bodyOn(PAY_DATE, { employee_ids: ['emp-1'] }));
  t.equal(json.lines.length, PREVIEWED_LINES);
  t.equal(json.totals.lines, PREVIEWED_LINES + 1);
});

test('a run may name many employees, up to a limit', async (t, { put, call }) => {
  const employee_ids = Array.from({ length: 20_000 }, (_, at) => `employee-${`${at}`.padStart(26, '0')}`);
  const { status, json } = await put('r', { employee_ids: [...employee_ids, 'emp-1'] });
  t.equal(status, 422);
  t.match(json.errors, [{ path: 'employee_ids', rule: /, and 19980 more$/ }]);
  const body = `{"employee_ids":["${'x'.repeat(8 * 1024 * 1024)}"]}`;
  t.equal((await call({ method: 'PUT', url: `${RUNS}/x`, body })).status, 413);
});

test('an employer without settings has empty lists', async (t, { call, db }) => {
  await employ(db, 'e', { employer_id: 'new' });
  t.strictSame((await call({ url: '/v1/employers/new/pay-schedules' })).json, { years: [] });
  t.strictSame((await call({ url: '/v1/employers/new/payroll-codes' })).json, { codes: [] });
});

test('an employer with only payroll settings is known', async (t, { db, put }) => {
  t.equal((await put('r', { employer_id: 'new' })).status, 422);
  await setSchedules(db, [schedule()], 'new');
  t.match(await put('r', { employer_id: 'new' }), { status: 201, json: { employees: 0 } });
});

const CSV = { 'content-type': 'text/csv; charset=utf-8' };
const NDJSON = { 'content-type': 'application/x-ndjson' };

/** The same rows in each content type. */
const TAKEN = {
  json: [{ lines: [{ employee_id: 'emp-1', amount: '60.00' }] }, {}],
  csv: ['employee_id,amount\r\nemp-1,60.00\r\n', CSV],
  ndjson: ['{"employee_id":"emp-1","amount":"60.00"}\n', NDJSON],
} as const;

test('deductions taken are reported as JSON, CSV or NDJSON, and each report is kept', async (t, world) => {
  const { finalized, post, get, logged } = world;
  await finalized('r');
  const differing = { employee_id: 'emp-1', member_amount: '69.23', taken: '60.00', owed: '9.23' };
  for (const [type, [body, headers]] of Object.entries(TAKEN)) {
    const { status, json } = await post('/r/taken', body, headers);
    t.equal(status, 200, type);
    t.match(json, { lines: 1, owed: '9.23', difference_count: 1, differences: [differing] }, type);
  }
  t.match(logged.at(-1), {
    fields: { run_id: 'r', employer_id: 'acme', count: 1, token: 'API_TOKEN' },
    message: 'deductions taken were recorded',
  });
  const again = await post('/r/taken', '\uFEFFemployee_id,amount\nemp-1,69.23', CSV);
  t.match(again.json, {
    id: '4',
    lines: 1,
    owed: '0.00',
    difference_count: 0,
    differences: [],
    repairs: null,
  });
  t.match((await get('/r')).json.taken_reports, [{ id: '1' }, { id: '2' }, { id: '3' }, { id: '4' }]);
  const { data } = (await get('/r/taken')).json;
  t.match(data[2], { report_id: '3', taken: '60.00', owed: '9.23', replaced_by: '4' });
  t.match(data[3], { report_id: '4', taken: '69.23', owed: '0.00', replaced_by: null });
});

onEachEngine('a report of deductions taken with a known idempotency key changes nothing', async (t) => {
  const { finalized, post, get, call } = await startPayroll(t);
  await finalized('r');
  const key = { 'idempotency-key': 'k-1' };
  await post('/r/taken', ...TAKEN.json);
  const first = await post('/r/taken', { lines: [{ employee_id: 'emp-2', amount: '0.00' }] }, key);
  await post('/r/taken', ...TAKEN.json);
  const state = async () => [
    (await get('/r')).json.taken_reports,
    (await get('/r/taken')).json,
    (await call({ url: '/v1/audit' })).json.data.length,
  ];
  const before = await state();
  const again = await post('/r/taken', 'employee_id,amount\nemp-2,0', { ...CSV, ...key });
  t.strictSame([again.status, again.json], [200, first.json]);
  t.equal(first.json.id, '2');
  const row = { employee_id: 'emp-2', amount: '0.00' };
  for (const lines of [[{ ...row, amount: '1.00' }], [row, { employee_id: 'emp-1', amount: '60.00' }]])
    t.match(await post('/r/taken', { lines }, key), { status: 409, json: { detail: /another report/ } });
  t.equal((await post('/r/taken', TAKEN.csv[0], { ...CSV, 'idempotency-key': 'two words' })).status, 400);
  t.strictSame(await state(), before);
});

test('the first 1,000 wrong rows are named and all are counted', async (t, { finalized, post }) => {
  await finalized('r');
  const lines = Array.from({ length: 1_500 }, () => ({ employee_id: 'nobody', amount: '1.00' }));
  const { status, json } = await post('/r/taken', { lines });
  t.match([status, json.type], [422, 'urn:benefits-sidecar:problem:rows-refused']);
  t.strictSame([json.errors.length, json.error_count], [1_000, 1_500]);
  t.match(json.detail, /and 1497 more$/);
});

/** An audit of three rows: one equal, one with another amount, one unknown. */
const AUDITED = [
  ['emp-1', 'ded-1', '69.23'],
  ['emp-2', 'ded-2', '70.00'],
  ['emp-9', 'ded-9', '5.00'],
].map(([employee_id, deduction_id, member_amount]) => ({ employee_id, deduction_id, member_amount }));
const AUDIT = [
  [{ lines: AUDITED }, {}],
  [['employee_id,deduction_id,member_amount', ...AUDITED.map((row) => Object.values(row))].join('\n'), CSV],
  [AUDITED.map((row) => JSON.stringify(row)).join('\n'), NDJSON],
] as const;

test('a payroll file is compared by category in every type', async (t, { put, post, logged }) => {
  await put('r');
  for (const [body, headers] of AUDIT) {
    t.match(await post('/r/audit', body, headers), {
      status: 200,
      json: {
        compared_by: ['deduction_id'],
        matched: { count: 1, member_amount: '69.23', payroll_member_amount: '69.23' },
        only_here: { count: 0, rows: [] },
        only_in_payroll: { count: 0 },
        amount_differs: { count: 1, rows: [{ employee_id: 'emp-2', payroll_member_amount: '70.00' }] },
        employee_unknown: { count: 1, payroll_member_amount: '5.00', rows: [{ employee_id: 'emp-9' }] },
      },
    });
  }
  t.notMatch(JSON.stringify(logged), /audit/);
});

test('another content type is 415, and an empty body is 400', async (t, { finalized, post }) => {
  await finalized('r');
  for (const path of ['/r/taken', '/r/audit']) {
    t.equal((await post(path, 'x', { 'content-type': 'text/plain' })).status, 415);
    const none = await post(path);
    t.match(none, { status: 400, json: { errors: [{ path: 'body', rule: 'is required' }] } });
  }
});
