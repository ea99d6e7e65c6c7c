import { PREVIEWED_LINES } from '../../src/payroll/lifecycle/begin.ts';
import { onEitherEngine } from '../support/engine.ts';
import { BIWEEKLY, bodyOn, deduct, EMPLOYER, employ } from '../support/payroll.ts';
import { deductionOf, deliver } from './deliver.ts';
import { PAY_DATE, RUNS, startPayroll } from './payroll-stage.ts';

const DEFAULTS = {
  kind: 'regular',
  pay_group: null,
  employee_ids: null,
  deductions: null,
  final_checks: [],
  pay_dates: null,
  scheme: 'annualized',
  applies_on: 'pay_date',
  remainder: 'last',
  extra_paycheck: 'take',
  adjustments: 'report',
  arrears: 'report',
  policy_reason: null,
  stated_options: [],
};

onEitherEngine('the request and state of a run are returned without computing it', async (t) => {
  const { put, get, post } = await startPayroll(t);
  const put1 = (await put('r', { employee_ids: ['emp-2', 'emp-1'], arrears: 'include' })).json;
  const open = (await get('/r/outline')).json;
  const { pay_dates_used, calendar_assumed, position, rules_version, employees, ...rest } = put1;
  const { comparison, not_in_run, not_in_run_count, on_other_schedules, ...kept } = rest;
  t.strictSame(open, { ...kept, etag: null, totals: null });
  const { etag, totals } = (await post('/r/finalize')).json;
  t.match((await get('/r/outline')).json, { state: 'finalized', etag, totals });
  t.equal((await get('/nobody/outline')).status, 404);
});

onEitherEngine('a created run is returned with its defaults, totals and ETag', async (t) => {
  const { put, logged } = await startPayroll(t);
  const { status, json, headers } = await put('2026-15');
  t.equal(status, 201);
  t.match(json, {
    id: '2026-15',
    ...bodyOn(PAY_DATE),
    ...DEFAULTS,
    state: 'open',
    created_at: '2026-07-13T09:00:00.000Z',
    finalized_at: null,
    voided_at: null,
    accept_reason: null,
    accepted_checks: [],
    void_reason: null,
    taken_reports: [],
    pay_dates_used: BIWEEKLY.map((date) => date.pay_date),
    calendar_assumed: false,
    rules_version: '3',
    employees: 2,
    totals: {
      employees: 2,
      lines: 2,
      member_amount: '138.46',
      employer_amount: '323.06',
      by_line_of_coverage: [
        { line_of_coverage: 'dental', employees: 1, lines: 1, member_amount: '69.23' },
        { line_of_coverage: 'medical', employees: 1, lines: 1, member_amount: '69.23' },
      ],
      by_taxability: [{ taxability: 'pre_tax', employees: 2, lines: 2, member_amount: '138.46' }],
      reported: { employees: 0, lines: 0, member_amount: '0.00', employer_amount: '0.00' },
    },
  });
  t.equal(json.position, 4, 'after two employees and two deductions');
  t.equal(headers.etag, `"${json.etag}"`);
  t.match(logged, [
    { fields: { run_id: '2026-15', employer_id: EMPLOYER, token: 'API_TOKEN' }, message: /was created/ },
  ]);
});

onEitherEngine(
  'the same body again is 200, also after the run is finalized, and another is 409',
  async (t) => {
    const { put, post, get, logged } = await startPayroll(t);
    t.equal((await put('r', { employee_ids: ['emp-2', 'emp-1'] })).status, 201);
    const again = await put('r', { kind: 'regular', employee_ids: ['emp-1', 'emp-2'] });
    t.equal(again.status, 200);
    t.strictSame((await get('/r')).json, again.json);
    t.equal(logged.length, 1, 'nothing was changed');
    const other = await put('r', { remainder: 'none' });
    t.match(other, { status: 409, json: { detail: /A run with this ID and a different body exists/ } });
    await post('/r/finalize');
    t.match(await put('r', { employee_ids: ['emp-1', 'emp-2'] }), {
      status: 200,
      json: { state: 'finalized' },
    });
  },
);

onEitherEngine(
  'an employee or deduction that belongs to a different employer is rejected by field',
  async (t) => {
    const { put, db } = await startPayroll(t);
    await employ(db, 'other', { employer_id: 'globex' });
    await deduct(db, 'evt-4', { id: 'ded-other', employee_id: 'other' });
    for (const [field, ids] of Object.entries({
      employee_ids: ['emp-1', 'other'],
      deductions: ['ded-1', 'ded-other'],
    })) {
      const rule = `must name ids known at employer acme; unknown: ${ids[1]}`;
      const body = { kind: 'off_cycle', employee_ids: ['emp-1'], [field]: ids };
      t.match(await put('r', body), { status: 422, json: { errors: [{ path: field, rule }] } });
    }
  },
);

onEitherEngine('runs are listed by pay date, employer and state without being computed', async (t) => {
  const { put, get, finalized } = await startPayroll(t);
  await finalized('first');
  await put('second', bodyOn('2026-07-31'));
  const ids = async (query: string) =>
    (await get(`?${query}`)).json.data.map((run: { id: string }) => run.id);
  t.strictSame(await ids('employer_id=acme'), ['second', 'first']);
  t.strictSame(await ids('employer_id=other'), []);
  t.strictSame(await ids('state=finalized'), ['first']);
  const { data, next_cursor } = (await get('?limit=1')).json;
  t.match(data, [{ state: 'open', etag: null, totals: null }]);
  t.strictSame(await ids(`limit=1&cursor=${next_cursor}`), ['first']);
});

onEitherEngine('an open run can be deleted, a finalized one cannot', async (t) => {
  const { put, get, call, finalized, logged } = await startPayroll(t);
  await put('r');
  const gone = await call({ method: 'DELETE', url: `${RUNS}/r` });
  t.strictSame([gone.status, gone.text], [204, '']);
  t.equal((await get('/r')).status, 404);
  t.match(logged.at(-1), { fields: { run_id: 'r', token: 'API_TOKEN' }, message: /deleted/ });
  await finalized('r');
  const { status, json } = await call({ method: 'DELETE', url: `${RUNS}/r` });
  t.equal(status, 409);
  t.match(json.detail, /no longer open/);
  t.equal((await get('/r')).json.state, 'finalized');
});

onEitherEngine('an unknown run is 404 on every route that names one', async (t) => {
  const { get, post, call } = await startPayroll(t);
  for (const path of ['', '/lines', '/readiness', '/verify']) {
    const { status, json } = await get(`/none${path}`);
    t.equal(status, 404, path);
    t.equal(json.detail, 'There is no payroll run with this ID.');
  }
  t.equal((await call({ method: 'DELETE', url: `${RUNS}/none` })).status, 404);
  t.equal((await post('/none/finalize')).status, 404);
  t.equal((await post('/none/void', { reason: 'x' })).status, 404);
});

onEitherEngine('a preview of one employee has the lines with an explanation of each cent', async (t) => {
  const { post } = await startPayroll(t);
  const { json } = await post('/preview', bodyOn(PAY_DATE, { employee_ids: ['emp-1'] }));
  t.match(json.lines, [
    {
      employee_id: 'emp-1',
      deduction_id: 'ded-1',
      member_amount: '69.23',
      explanation: /^150\.00 monthly × 12 = 1,800\.00 a year; check 15 of 26; 69\.23/,
    },
  ]);
  t.equal(json.totals.employees, 1);
});

onEitherEngine('a preview shows the first lines, and its totals count all', async (t) => {
  const { post, db } = await startPayroll(t);
  const many = Array.from({ length: PREVIEWED_LINES }, (_, index) =>
    deductionOf(`evt-m${index}`, { id: `m${index}`, employee_id: 'emp-1', line_of_coverage: 'life' }),
  );
  await deliver(db, many);
  const { json } = await post('/preview', bodyOn(PAY_DATE, { employee_ids: ['emp-1'] }));
  t.equal(json.lines.length, PREVIEWED_LINES);
  t.equal(json.totals.lines, PREVIEWED_LINES + 1);
});

onEitherEngine('a run may name many employees, up to a limit', async (t) => {
  const { put, call } = await startPayroll(t);
  const employee_ids = Array.from({ length: 20_000 }, (_, at) => `employee-${`${at}`.padStart(26, '0')}`);
  const { status, json } = await put('r', { employee_ids: [...employee_ids, 'emp-1'] });
  t.equal(status, 422);
  t.match(json.errors, [{ path: 'employee_ids', rule: /, and 19980 more$/ }]);
  const body = `{"employee_ids":["${'x'.repeat(8 * 1024 * 1024)}"]}`;
  t.equal((await call({ method: 'PUT', url: `${RUNS}/x`, body })).status, 413);
});

const SCHEDULE = `/v1/employers/${EMPLOYER}/pay-schedule`;
const CODES = `/v1/employers/${EMPLOYER}/payroll-codes`;

onEitherEngine('any employer without settings has empty lists', async (t) => {
  const { call } = await startPayroll(t);
  t.strictSame((await call({ url: '/v1/employers/nobody/pay-schedule' })).json, { schedules: [] });
  t.strictSame((await call({ url: '/v1/employers/nobody/payroll-codes' })).json, { codes: [] });
});

onEitherEngine('pay schedules are set as a whole, and runs use them immediately', async (t) => {
  const { call, put, get, logged } = await startPayroll(t);
  await put('r');
  const rest = BIWEEKLY.map((date) => ({ ...date }));
  const body = {
    schedules: [
      { pay_frequency: 'biweekly', pay_group: 'night', pay_dates: rest },
      {
        pay_frequency: 'biweekly',
        pay_dates: [
          ...rest,
          { pay_date: '2027-01-01', period_start: '2026-12-14', period_end: '2026-12-27' },
        ],
      },
    ],
  };
  const refused = await call({ method: 'PUT', url: SCHEDULE, body });
  t.equal(refused.status, 422);
  t.equal(refused.json.type, 'urn:benefits-sidecar:problem:settings-refused');
  t.match(refused.json.errors, [{ path: 'schedules[1].pay_dates', rule: /must cover 2027/ }]);
  const fitting = { schedules: [body.schedules[0], { pay_frequency: 'biweekly', pay_dates: rest }] };
  const { status, json } = await call({ method: 'PUT', url: SCHEDULE, body: fitting });
  t.equal(status, 200);
  t.match(json.schedules, [{ pay_group: 'night' }, { pay_group: null, pay_dates: BIWEEKLY }]);
  t.strictSame((await call({ url: SCHEDULE })).json, json);
  t.match(logged.at(-1), {
    fields: { employer_id: EMPLOYER, count: 2, token: 'API_TOKEN' },
    message: 'pay schedules were set',
  });
  await call({ method: 'PUT', url: SCHEDULE, body: { schedules: [] } });
  t.equal((await get('/r')).json.calendar_assumed, true);
});

onEitherEngine('payroll codes are set as a whole, and lines have them immediately', async (t) => {
  const { call, put, get, logged } = await startPayroll(t);
  await put('r');
  const codes = [
    { line_of_coverage: 'medical', side: 'employee', code: 'MED1' },
    { line_of_coverage: 'medical', side: 'employer', code: 'MED9', treatment: 'memo' },
  ];
  const { status, json } = await call({ method: 'PUT', url: CODES, body: { codes } });
  t.equal(status, 200);
  t.match(json.codes, codes);
  t.strictSame((await call({ url: CODES })).json, json);
  t.match((await get('/r/lines')).json.data, [
    { payroll_code: 'MED1', employer_payroll_code: 'MED9', employer_treatment: 'memo' },
    { payroll_code: null, employer_payroll_code: null, employer_treatment: null },
  ]);
  t.match(logged.at(-1), { fields: { employer_id: EMPLOYER, count: 2 }, message: 'payroll codes were set' });
});

onEitherEngine('an employer with only payroll settings is known', async (t) => {
  const { call, put } = await startPayroll(t);
  t.equal((await put('r', { employer_id: 'new' })).status, 422);
  await call({
    method: 'PUT',
    url: '/v1/employers/new/pay-schedule',
    body: { schedules: [{ pay_frequency: 'biweekly', pay_dates: BIWEEKLY }] },
  });
  const { status, json } = await put('r', { employer_id: 'new' });
  t.equal(status, 201);
  t.equal(json.employees, 0);
});

onEitherEngine('a payroll policy is set, inherited by runs, and shown with its history', async (t) => {
  const { call, put } = await startPayroll(t);
  const url = `/v1/employers/${EMPLOYER}/payroll-policy`;
  t.strictSame((await call({ url })).json, { versions: [] });
  const set = (body: object) => call({ method: 'PUT', url, body });
  const stored = { version: 1, scheme: 'month-even', remainder: 'last', created_by: { name: 'API_TOKEN' } };
  const first = await set({ effective_from: '2026-01-01', scheme: 'month-even' });
  t.match(first, { status: 200, json: { versions: [stored] } });
  t.match((await put('inherits')).json, { scheme: 'month-even', stated_options: [], policy_reason: null });
  const body = { ...bodyOn(PAY_DATE), scheme: 'annualized' };
  const refused = await call({ method: 'PUT', url: '/v1/payroll-runs/differs', body });
  t.match(refused, {
    status: 422,
    json: { errors: [{ path: 'policy_reason', rule: /scheme \(month-even\)/ }] },
  });
  await set({ effective_from: '2026-06-01', remainder: 'none' });
  t.match((await call({ url })).json.versions, [{ version: 2 }, { version: 1 }]);
  const wrong = await set({ effective_from: 'x', adjustments: 'decided' });
  t.match(wrong, { status: 422, json: { errors: [{ path: 'effective_from' }, { path: 'adjustments' }] } });
});
