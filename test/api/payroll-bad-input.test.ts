import { ROWS_BODY_BYTES_MAX } from '../../src/api/bodies.ts';
import { onEitherEngine } from '../support/engine.ts';
import { bodyOn, EMPLOYER } from '../support/payroll.ts';
import { OPENING, PAY_DATE, RUNS, startPayroll } from './payroll-stage.ts';
import { assertRefused, type Refused } from './problems.ts';
import type { Request } from './start.ts';

const CSV = { 'content-type': 'text/csv' };
const ITEMS = `/v1/employers/${EMPLOYER}/open-items`;
const put = (fields: object): Request => ({
  ...{ method: 'PUT', url: `${RUNS}/new`, body: bodyOn(PAY_DATE, fields) },
});
const post = (path: string, body: unknown, headers = {}): Request => ({
  ...{ method: 'POST', url: RUNS + path, body, headers },
});
const get = (path: string): Request => ({ url: RUNS + path });
const rows = (body: unknown, headers: object = CSV) => post('/final/taken', body, headers);
const opening = (fields: object): Request => ({
  ...{ method: 'POST', url: `/v1/employers/${EMPLOYER}/opening-items` },
  body: { items: [{ ...OPENING, ...fields }] },
});
const decision = (fields: object): Request => {
  const item = { item_id: 'opening:o:emp-1::medical:pre_tax', action: 'take', ...fields };
  const outstanding = { outstanding_member_amount: '1.00', outstanding_employer_amount: '0.00' };
  const body = { decisions: [{ ...outstanding, ...item }], reason: 'x' };
  return { method: 'POST', url: `${ITEMS}/decisions`, body };
};
const override = (fields: object, path = 'open/overrides/emp-1/ded-1'): Request => ({
  ...{ method: 'PUT', url: `${RUNS}/${path}` },
  body: { member_amount: '1.00', employer_amount: '0.00', reason: 'x', ...fields },
});
const proposal = (query: string): Request => ({
  url: `/v1/pay-schedule-proposal?year=2026&pay_frequency=${query}`,
});
const setting = (name: string, body: unknown): Request => ({
  ...{ method: 'PUT', url: `/v1/employers/${EMPLOYER}/${name}`, body },
});
const cursor = (content: string) => Buffer.from(content).toString('base64url');

/**
 * `open` is an open run, `final` a finalized one. The rules of pay dates, rows and settings have their own tests: here is one
 * case for each way in which a request can be wrong.
 */
const CASES: Refused = {
  'an invalid day → 422 pay_date: real date': put({ pay_date: '2026-02-30' }),
  'a date with a time → 422 period_end: real date': put({ period_end: '2026-07-12T00:00:00Z' }),
  'a period that ends before it starts → 422 period_end: ^must not be before period_start$': put({
    ...{ period_start: '2026-07-12', period_end: '2026-07-11' },
  }),
  'a date outside the schedule → 422 pay_date: next to 2026-07-16 are 2026-07-03 and 2026-07-17': put({
    pay_date: '2026-07-16',
  }),
  'an unknown employer → 422 employer_id: ^is unknown: ': put({ employer_id: 'nobody' }),
  'an unknown field → 422 frequency: request, which has: employer_id, pay_': put({ frequency: 'weekly' }),
  'deductions of a regular run → 422 deductions: off_cycle': put({ deductions: ['ded-1'] }),
  'an empty list of employees → 422 employee_ids: at least 1 element': put({ employee_ids: [] }),
  'an employee twice → 422 employee_ids:': put({ employee_ids: ['a', 'a'] }),
  'an id with NUL → 400 body: NUL': put({ employee_ids: ['a\0'] }),
  'no body → 422 body:': { ...put({}), body: undefined },
  'several at once → 422 pay_frequency: one of weekly; pay_date: real date': put({
    pay_date: 'x',
    pay_frequency: 'x',
  }),
  'all required fields → 422 employer_id: ^is required$; pay_frequency: ^is required$; period_start: ^is required$; period_end: ^is required$; pay_date: ^is required$':
    { ...put({}), body: {} },
  'a run id with a space → 400 run_id: ^must be 1 to 128 of .* not only one or two dots$': get('/a%20b'),
  'a run id that is too long → 400 run_id: 128': get(`/${'x'.repeat(129)}`),
  'a run id with NUL → 400 run_id: NUL': get('/a%00b/lines'),
  'a run id with a formula → 400 run_id: 1 to 128': { ...get('/=1+1'), method: 'DELETE' },
  'an unknown state → 400 state: one of open': get('?state=done'),
  'no real pay date → 400 pay_date: real date': get('?pay_date=2026-02-30'),
  'a cursor from a different list → 400 cursor: next_cursor of a page of this list': get(
    `?cursor=${cursor('{"list":"events","at":1}')}`,
  ),
  'a cursor of lines with a wrong position → 400 cursor: unchanged': get(
    `/open/lines?cursor=${cursor('{"list":"payroll-run-lines","at":{"employeeId":"","position":-1,"given":0}}')}`,
  ),
  'too many lines → 400 limit: 1000': get('/open/lines?limit=1001'),
  'changing a finalized run → 409 (A run with this ID and a different body exists)': {
    ...{ method: 'PUT', url: `${RUNS}/final`, body: bodyOn(PAY_DATE, { pay_group: 'hourly' }) },
  },
  'an If-Match that is not an ETag → 400 if-match: ETag': post(
    '/open/finalize',
    {},
    { 'if-match': '"a", "b"' },
  ),
  'accept with a blank reason → 400 reason: must be a reason': post('/open/finalize', {
    ...{ accept: ['overlap'], reason: ' ' },
  }),
  'a reason without accept → 400 reason: omitted without accept': post('/open/finalize', { reason: 'x' }),
  'accept as a text → 400 accept: list of different check IDs': post('/open/finalize', {
    ...{ accept: 'overlap', reason: 'x' },
  }),
  'an unknown check without a reason → 400 accept: cannot: bogus$; reason: is required to accept findings':
    post('/open/finalize', { accept: ['overlap', 'bogus'] }),
  'verifying an open run → 409 (is open)': get('/open/verify'),
  'the readiness of a finalized run → 409 (is finalized)': get('/final/readiness'),
  'an unknown field of finalize → 400 force: which has: accept, reason': post('/open/finalize', {
    force: true,
  }),
  'a decision for another outstanding amount → 409 decisions[0].outstanding_member_amount: ^is 1\\.00 now: review the item again$':
    decision({ outstanding_member_amount: '2.00' }),
  'an opening item with other content → 409 (stored with other content: o\\.)': opening({
    pay_date: '2025-06-02',
  }),
  'an item list in days below zero → 400 older_than: number of days': { url: `${ITEMS}?older_than=-1` },
  'pay days that a short month joins → 400 day: ^must be days further apart':
    proposal('semimonthly&day=30&day=31'),
  'a pay date for monthly pay → 400 from: ^must be omitted for monthly pay$': proposal(
    'monthly&day=31&from=2026-01-02',
  ),
  'pay days for weekly pay → 400 day: ^must be omitted for weekly pay$': proposal(
    'weekly&from=2026-01-02&day=31',
  ),
  'an override with a third decimal → 400 member_amount: 2 decimals': override({ member_amount: '1.005' }),
  'an override of an unknown deduction → 422 deduction_id: must be a deduction of the employee': override(
    {},
    'open/overrides/emp-1/nothing',
  ),
  'an override for an id that is written otherwise → 422 employee_id: must be an employee in the run. The census has emp-1$':
    override({}, 'open/overrides/EMP-1/ded-1'),
  'an override of a finalized run → 409 (no longer open)': override({}, 'final/overrides/emp-1/ded-1'),
  'removing an override that is not set → 404 (no override of this deduction)': {
    ...{ ...override({}), method: 'DELETE', body: undefined },
  },
  'voiding an open run → 409 (The run is open\\. Finalize it first\\.)': post('/open/void', { reason: 'x' }),
  'voiding without a reason → 400 reason: is required': post('/final/void', {}),
  'deductions taken for an open run → 409 (The run is open)': post('/open/taken', { lines: [] }),
  'an amount above its line → 422 lines[0].amount: ^is 1008\\.07 for a line of 69\\.23\\. Correct it, or set over':
    rows('employee_id,amount\nemp-1,1008.07\n'),
  'an over that is no flag → 422 lines[0].over: must be one of true, false': rows(
    { lines: [{ employee_id: 'emp-1', amount: '1.00', over: 'yes' }] },
    {},
  ),
  'taken for a line that does not exist → 422 lines[0].deduction_id: does not match a line of the run': rows(
    'employee_id,deduction_id,amount\nemp-1,none,1.00',
  ),
  'a line of a megabyte → 422 lines[0]: 1 MiB': rows(`employee_id,amount\nemp-1,"${'1'.repeat(1 << 20)}1"`),
  'a file that is not UTF-8 → 422 the file: --kind payroll; body: UTF-8': rows(
    Buffer.from('employee_id,amount\n\xff,1', 'latin1'),
  ),
  'a file with too large a content length → 413 (larger than 64 MiB)': rows('x', {
    ...{ ...CSV, 'content-length': String(ROWS_BODY_BYTES_MAX + 1) },
  }),
  'a plain text file → 415 ()': rows('x', { 'content-type': 'text/plain' }),
  'no file → 400 body: is required': rows(undefined, {}),
  'a compressed file → 415 (without a content encoding)': rows('x', { ...CSV, 'content-encoding': 'gzip' }),
  'invalid JSON → 422 lines[0]:': rows('{"lines":[', {}),
  'an invalid schedule → 422 schedules[0].pay_dates[0].period_start: is required; schedules[0].pay_dates[0].period_end: is required; schedules[0].pay_dates[0].pay_date: real date':
    setting('pay-schedules/2026', {
      schedules: [{ pay_frequency: 'biweekly', pay_dates: [{ pay_date: '2026-02-30' }] }],
    }),
  'a schedule without the date of a finalized run → 409 (final \\()': setting('pay-schedules/2026', {
    schedules: [],
  }),
  'no schedule → 422 body:': setting('pay-schedules/2026', undefined),
  'the settings of an employer with NUL → 400 employer_id: NUL': { url: '/v1/employers/a%00b/payroll-codes' },
};

onEitherEngine('invalid payroll input is rejected with field and rule, and nothing is stored', async (t) => {
  const { call, db, put: putRun, finalized, logged } = await startPayroll(t);
  await putRun('open', bodyOn('2026-07-31'));
  await finalized('final');
  await call(opening({}));
  const kept = async () => [
    await db.selectFrom('payroll_runs').selectAll().orderBy('run_id').execute(),
    await db.selectFrom('taken_lines').selectAll().execute(),
    await db.selectFrom('pay_schedules').selectAll().execute(),
    await db.selectFrom('payroll_codes').selectAll().execute(),
    await db.selectFrom('run_freezes').selectAll().execute(),
    await db.selectFrom('run_overrides').selectAll().execute(),
    await db.selectFrom('item_decisions').selectAll().execute(),
    await db.selectFrom('opening_items').selectAll().execute(),
  ];
  const before = await kept();
  const lines = logged.length;
  await assertRefused(t, call, CASES);
  t.strictSame(await kept(), before, 'nothing was changed');
  t.equal(logged.length, lines, 'nothing is logged as an error');
});

onEitherEngine('no value that could be personal is in a response or the log', async (t) => {
  const { call, finalized, logged } = await startPayroll(t);
  await finalized('final');
  const canary = 'canary-7f3a';
  const run = (fields: object): Request => ({
    method: 'PUT',
    url: `${RUNS}/c`,
    body: bodyOn(PAY_DATE, fields),
  });
  const requests: Request[] = [
    run({ employee_ids: [canary, canary] }),
    run({ [`${canary} 1`]: canary, pay_date: canary }),
    run({ employer_id: canary }),
    { url: `${RUNS}/${canary}%20/lines` },
    { url: `${RUNS}/final/lines?employee_id=${canary}` },
    { url: `${RUNS}/final/lines`, headers: { accept: canary } },
    { method: 'POST', url: `${RUNS}/final/finalize`, body: {}, headers: { 'if-match': canary } },
    rows({ lines: [{ employee_id: canary, amount: canary }] }, {}),
    rows(`${canary},b\n1,2`),
    rows(`employee_id,amount\n"${canary}`),
    { method: 'POST', url: `${RUNS}/final/void`, body: { reason: canary, [canary]: canary } },
  ];
  for (const request of requests) {
    const { text, headers } = await call(request);
    t.notMatch(text + JSON.stringify(headers), canary, `${request.method ?? 'GET'} ${request.url}`);
  }
  t.notMatch(JSON.stringify(logged), canary);
});
