import { onEitherEngine } from '../support/engine.ts';
import { BIWEEKLY, bodyOn, EMPLOYER } from '../support/payroll.ts';
import { PAY_DATE, startPayroll } from './payroll-stage.ts';

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
  const stored = { version: 1, scheme: 'month-even', remainder: 'last', created_by: 'API_TOKEN' };
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
