import { ROWS_BODY_BYTES_MAX } from '../../src/api/bodies.ts';
import { onEitherEngine } from '../support/engine.ts';
import { bodyOn, EMPLOYER } from '../support/payroll.ts';
import { OPENING, PAY_DATE, RUNS, startPayroll } from './payroll-stage.ts';
import type { Request } from './start.ts';

type Problem = [path: string, rule: RegExp];
type Case = Request & { status: number; errors?: Problem[]; detail?: RegExp };

const CSV = { 'content-type': 'text/csv' };
const put = (fields: Record<string, unknown>, path: string, rule: RegExp): Case => ({
  ...{ method: 'PUT', url: `${RUNS}/new`, body: bodyOn(PAY_DATE, fields), status: 422 },
  errors: [[path, rule]],
});
const get = (path: string, parameter: string, rule: RegExp): Case => ({
  url: RUNS + path,
  status: 400,
  errors: [[parameter, rule]],
});
const post = (path: string, body: unknown, field: string, rule: RegExp, more: Partial<Case> = {}): Case => ({
  method: 'POST',
  url: RUNS + path,
  body,
  status: 400,
  errors: [[field, rule]],
  ...more,
});
const rows = (body: unknown, field: string, rule: RegExp, headers: Request['headers'] = CSV) =>
  post('/final/taken', body, field, rule, { status: 422, headers });
const refused = (path: string, body: unknown, status: number, detail: RegExp, headers = {}): Case => ({
  method: 'POST',
  url: RUNS + path,
  body,
  status,
  detail,
  headers,
});
const opening = (fields: object, path: string, rule: RegExp, status = 422): Case => ({
  ...{ method: 'POST', url: `/v1/employers/${EMPLOYER}/opening-items`, status, errors: [[path, rule]] },
  body: { items: [{ ...OPENING, ...fields }] },
});
const decision = (fields: object, path: string, rule: RegExp, status = 422): Case => {
  const item = {
    ...{ item_id: 'opening:o:emp-1::medical:pre_tax', action: 'take' },
    ...{ outstanding_member_amount: '1.00', outstanding_employer_amount: '0.00' },
  };
  const body = { decisions: [{ ...item, ...fields }], reason: 'x' };
  return {
    ...{ method: 'POST', url: `/v1/employers/${EMPLOYER}/open-items/decisions`, body },
    ...{ status, errors: [[path, rule]] },
  };
};
const override = (fields: object, path: string, rule: RegExp, more: Partial<Case> = {}): Case => ({
  ...{ method: 'PUT', url: `${RUNS}/open/overrides/emp-1/ded-1`, status: 400, errors: [[path, rule]] },
  ...{ body: { member_amount: '1.00', employer_amount: '0.00', reason: 'x', ...fields }, ...more },
});
const setting = (name: string, body: unknown, ...errors: Problem[]): Case => ({
  method: 'PUT',
  url: `/v1/employers/${EMPLOYER}/${name}`,
  body,
  status: 422,
  errors,
});
const REQUIRED = ['employer_id', 'pay_frequency', 'period_start', 'period_end', 'pay_date'];
const cursor = (content: string) => Buffer.from(content).toString('base64url');

/**
 * `open` is an open run, `final` a finalized one. The rules of pay dates, rows and settings have their own tests: here is
 * one case for each way in which a request can be wrong.
 */
const CASES: Record<string, Case> = {
  'an invalid day': put({ pay_date: '2026-02-30' }, 'pay_date', /real date/),
  'a date with a time': put({ period_end: '2026-07-12T00:00:00Z' }, 'period_end', /real date/),
  'a period that ends before it starts': put(
    { period_start: '2026-07-12', period_end: '2026-07-11' },
    'period_end',
    /^must not be before period_start$/,
  ),
  'a date outside the schedule': put(
    { pay_date: '2026-07-16' },
    'pay_date',
    /next to 2026-07-16 are 2026-07-03 and 2026-07-17/,
  ),
  'an invalid pay date': put({ pay_dates: ['2026-02-30'] }, 'pay_dates[0]', /real date/),
  'too many pay dates': put({ pay_dates: Array(100).fill(PAY_DATE) }, 'pay_dates', /./),
  'an unknown employer': put({ employer_id: 'nobody' }, 'employer_id', /^is unknown: /),
  'an unknown field': put({ frequency: 'weekly' }, 'frequency', /request, which has: employer_id, pay_/),
  'an off-cycle run without employees': put({ kind: 'off_cycle' }, 'employee_ids', /^is required for an off/),
  'deductions of a regular run': put({ deductions: ['ded-1'] }, 'deductions', /off_cycle/),
  'an empty list of employees': put({ employee_ids: [] }, 'employee_ids', /at least 1 element/),
  'an employee twice': put({ employee_ids: ['a', 'a'] }, 'employee_ids', /./),
  'an id with NUL': { ...put({ employee_ids: ['a\0'] }, 'body', /NUL/), status: 400 },
  'no body': { ...put({}, 'body', /./), body: undefined },
  'several at once': {
    ...put({ pay_date: 'x', remainder: 'x', adjustments: 'report' }, '', /./),
    errors: [
      ['pay_date', /real date/],
      ['remainder', /one of last/],
      ['adjustments', /must be decided or include/],
    ],
  },
  'all required fields': {
    ...{ ...put({}, '', /./), body: {} },
    errors: REQUIRED.map((path) => [path, /^is required$/]),
  },
  'a preview of the same body': post(
    '/preview',
    bodyOn(PAY_DATE, { pay_date: '2026-02-30' }),
    'pay_date',
    /real date/,
    { status: 422 },
  ),
  'a run id with a space': get('/a%20b', 'run_id', /^must be 1 to 128 of .* not only one or two dots$/),
  'a run id that is too long': get(`/${'x'.repeat(129)}`, 'run_id', /128/),
  'a run id with NUL': get('/a%00b/lines', 'run_id', /NUL/),
  'a run id with a formula': { ...get('/=1+1', 'run_id', /1 to 128/), method: 'DELETE' },
  'an unknown state': get('?state=done', 'state', /one of open/),
  'a cursor from a different list': get(
    `?cursor=${cursor('{"list":"events","at":1}')}`,
    'cursor',
    /next_cursor of a page of this list/,
  ),
  'a cursor of lines with a wrong position': get(
    `/open/lines?cursor=${cursor('{"list":"payroll-run-lines","at":{"employeeId":"","position":-1,"given":0}}')}`,
    'cursor',
    /unchanged/,
  ),
  'too many lines': get('/open/lines?limit=1001', 'limit', /1000/),
  'changing a finalized run': {
    ...{ method: 'PUT', url: `${RUNS}/final`, body: bodyOn(PAY_DATE, { remainder: 'none' }), status: 409 },
    detail: /A run with this ID and a different body exists/,
  },
  'finalizing twice': refused('/final/finalize', {}, 409, /no longer open/),
  'an If-Match that is not an ETag': post('/open/finalize', {}, 'if-match', /ETag/, {
    headers: { 'if-match': '"a", "b"' },
  }),
  'accept with a blank reason': post(
    '/open/finalize',
    { accept: ['overlap'], reason: ' ' },
    'reason',
    /must be a reason/,
  ),
  'a reason without accept': post('/open/finalize', { reason: 'x' }, 'reason', /omitted without accept/),
  'accept as a text': post(
    '/open/finalize',
    { accept: 'overlap', reason: 'x' },
    'accept',
    /list of different check ids/,
  ),
  'an unknown field of finalize': post(
    '/open/finalize',
    { force: true },
    'force',
    /which has: accept, reason/,
  ),
  'a decision for another outstanding amount': decision(
    { outstanding_member_amount: '2.00' },
    'decisions[0].outstanding_member_amount',
    /^is 1\.00 now: review the item again$/,
    409,
  ),
  'a part above what is outstanding': decision({ amount: '1.01' }, 'decisions[0].amount', /0\.01 to 1\.00/),
  'a decision before today': decision(
    { not_before: '2026-07-12' },
    'decisions[0].not_before',
    /before today/,
  ),
  'a decision on an item of another employer': {
    ...decision({}, 'decisions[0].item_id', /must be an open item of the employer/),
    ...{ url: '/v1/employers/other/open-items/decisions' },
  },
  'an opening item with other content': {
    ...opening({ pay_date: '2025-06-02' }, '', /./, 409),
    ...{ errors: [], detail: /stored with other content: o\./ },
  },
  'an opening item without an amount': opening(
    { member_amount: '' },
    'items[0].member_amount',
    /^is required$/,
  ),
  'an item list in days below zero': {
    ...get('', 'older_than', /number of days/),
    ...{ url: `/v1/employers/${EMPLOYER}/open-items?older_than=-1` },
  },
  'an override with a third decimal': override({ member_amount: '1.005' }, 'member_amount', /2 decimals/),
  'an override without a reason': override({ reason: undefined }, 'reason', /is required/),
  'an override of an employee outside the run': override(
    {},
    'employee_id',
    /must be an employee in the run/,
    { ...{ url: `${RUNS}/open/overrides/nobody/ded-1`, status: 422 } },
  ),
  'an override of an unknown deduction': override({}, 'deduction_id', /must be a deduction of the employee/, {
    url: `${RUNS}/open/overrides/emp-1/nothing`,
    status: 422,
  }),
  'an override of a finalized run': {
    ...override({}, '', /./, { url: `${RUNS}/final/overrides/emp-1/ded-1`, status: 409 }),
    ...{ errors: [], detail: /no longer open/ },
  },
  'removing an override that is not set': {
    ...override({}, '', /./, { method: 'DELETE', body: undefined, status: 404 }),
    ...{ errors: [], detail: /no override of this deduction/ },
  },
  'voiding an open run': refused('/open/void', { reason: 'x' }, 409, /The run is open\. Finalize it first\./),
  'voiding without a reason': post('/final/void', {}, 'reason', /is required/),
  'voiding with a long reason': post('/final/void', { reason: 'x'.repeat(501) }, 'reason', /most 500/),
  'deductions taken for an open run': refused('/open/taken', { lines: [] }, 409, /The run is open/),
  'taken for a line that does not exist': rows(
    'employee_id,deduction_id,amount\nemp-1,none,1.00',
    'lines[0]',
    /does not match a line of the run/,
  ),
  'a file with a wrong column': rows('employee_id,amount,extra\n', 'column 3, extra', /not a column/),
  'a file that is empty': rows('', 'body', /./),
  'a line of a megabyte': rows(`employee_id,amount\nemp-1,"${'1'.repeat(1 << 20)}1"`, 'lines[0]', /1 MiB/),
  'a file that is not UTF-8': rows(Buffer.from('employee_id,amount\n\xff,1', 'latin1'), 'body', /UTF-8/),
  'a file with too large a content length': refused('/final/taken', 'x', 413, /larger than 64 MiB/, {
    ...CSV,
    'content-length': String(ROWS_BODY_BYTES_MAX + 1),
  }),
  'a compressed file': refused('/final/taken', 'x', 415, /./, { ...CSV, 'content-encoding': 'gzip' }),
  'a number as an amount': rows(
    { lines: [{ employee_id: 'emp-1', amount: 60 }] },
    'lines[0].amount',
    /text in quotes/,
    {},
  ),
  'an unknown field of a row': rows(
    { lines: [{ employee_id: 'emp-1', amounts: '1' }] },
    'lines[0].amounts',
    /is not a field/,
    {},
  ),
  'invalid JSON': rows('{"lines":[', 'lines[0]', /./, {}),
  'an invalid schedule': setting(
    'pay-schedules/2026',
    { schedules: [{ pay_frequency: 'biweekly', pay_dates: [{ pay_date: '2026-02-30' }] }] },
    ['schedules[0].pay_dates[0].period_start', /is required/],
    ['schedules[0].pay_dates[0].period_end', /is required/],
    ['schedules[0].pay_dates[0].pay_date', /real date/],
  ),
  'no schedule': setting('pay-schedules/2026', undefined, ['body', /./]),
  'the settings of an employer with NUL': {
    url: '/v1/employers/a%00b/payroll-codes',
    status: 400,
    errors: [['employer_id', /NUL/]],
  },
};

onEitherEngine('invalid payroll input is rejected with field and rule, and nothing is stored', async (t) => {
  const { call, db, put: putRun, finalized, logged } = await startPayroll(t);
  await putRun('open', bodyOn('2026-07-31'));
  await finalized('final');
  await call({ ...opening({}, '', /./), headers: {} });
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
  for (const [name, { status, errors, detail, ...request }] of Object.entries(CASES)) {
    const answer = await call(request);
    t.equal(answer.status, status, `${name}: ${answer.text}`);
    t.match(answer.headers['content-type'], 'application/problem+json', name);
    t.equal(answer.json.status, status, name);
    t.strictSame(
      (answer.json.errors ?? []).map((error: { path: string }) => error.path),
      (errors ?? []).map(([path]) => path),
      name,
    );
    for (const [index, [, rule]] of (errors ?? []).entries()) {
      t.match(answer.json.errors[index].rule, rule, name);
    }
    if (detail !== undefined) t.match(answer.json.detail, detail, name);
  }
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
    rows({ lines: [{ employee_id: canary, amount: canary }] }, '', /./, {}),
    rows(`${canary},b\n1,2`, '', /./),
    rows(`employee_id,amount\n"${canary}`, '', /./),
    { method: 'POST', url: `${RUNS}/final/void`, body: { reason: canary, [canary]: canary } },
  ];
  for (const request of requests) {
    const { text, headers } = await call(request);
    t.notMatch(text + JSON.stringify(headers), canary, `${request.method ?? 'GET'} ${request.url}`);
  }
  t.notMatch(JSON.stringify(logged), canary);
});
