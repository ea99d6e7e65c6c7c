import { ROWS_BODY_BYTES_MAX } from '../../src/api/bodies.ts';
import { onEitherEngine } from '../support/engine.ts';
import { BIWEEKLY, bodyOn, EMPLOYER } from '../support/payroll.ts';
import { PAY_DATE, RUNS, startPayroll } from './payroll-stage.ts';
import type { Request } from './start.ts';

type Case = Request & { status: number; errors?: [path: string, rule: RegExp][]; detail?: RegExp };

const dates = BIWEEKLY.map((date) => date.pay_date);
const put = (fields: Record<string, unknown>, path: string, rule: RegExp): Case => ({
  method: 'PUT',
  url: `${RUNS}/new`,
  body: bodyOn(PAY_DATE, fields),
  status: 422,
  errors: [[path, rule]],
});
const post = (path: string, body: unknown, more: Partial<Case> = {}): Case => ({
  method: 'POST',
  url: `${RUNS}${path}`,
  body,
  status: 400,
  ...more,
});
const CSV = { 'content-type': 'text/csv' };
const rows = (body: string | Buffer, path: string, rule: RegExp): Case =>
  post('/final/taken', body, { headers: CSV, status: 422, errors: [[path, rule]] });

/** `open` is an open run, `final` a finalized one. */
const CASES: Record<string, Case> = {
  'an invalid day': put({ pay_date: '2026-02-30' }, 'pay_date', /real date/),
  'a date with a time': put({ period_end: '2026-07-12T00:00:00Z' }, 'period_end', /real date/),
  'a number as a date': put({ period_start: 20260701 }, 'period_start', /real date/),
  'a period that ends before it starts': put(
    { period_start: '2026-07-12', period_end: '2026-07-11' },
    'period_end',
    /^must not be before period_start$/,
  ),
  'a date outside the schedule': put(
    { pay_date: '2026-07-16' },
    'pay_date',
    /date of the pay schedule; next to 2026-07-16 are 2026-07-03 and 2026-07-17/,
  ),
  'pay dates that do not increase': put(
    { pay_dates: [dates[1], dates[0], ...dates.slice(2)] },
    'pay_dates[1]',
    /later than the date before it/,
  ),
  'a pay date twice': put(
    { pay_dates: [dates[0], ...dates] },
    'pay_dates[1]',
    /later than the date before it/,
  ),
  'pay dates with a gap': put(
    { pay_dates: dates.filter((date) => date !== PAY_DATE) },
    'pay_dates',
    /there is no biweekly pay date between 2026-07-03 and 2026-07-31/,
  ),
  'pay dates that miss the pay date': put(
    { pay_dates: dates.map((date) => (date === PAY_DATE ? '2026-07-16' : date)) },
    'pay_dates',
    /must contain the pay date 2026-07-17; next to it are 2026-07-16 and 2026-07-31/,
  ),
  'pay dates in another year': put(
    { pay_dates: ['2025-12-19', ...dates] },
    'pay_dates[0]',
    /must be in 2026/,
  ),
  'pay dates of half a year': put({ pay_dates: dates.slice(0, 15) }, 'pay_dates', /must cover 2026/),
  'an invalid pay date': put({ pay_dates: ['2026-02-30', ...dates] }, 'pay_dates[0]', /real date/),
  'no pay date in the list': put({ pay_dates: [] }, 'pay_dates', /at least 1 element/),
  'too many pay dates': put({ pay_dates: Array(100).fill(PAY_DATE) }, 'pay_dates', /./),
  'an unknown employer': put({ employer_id: 'nobody' }, 'employer_id', /^is unknown: /),
  'an empty employer': put({ employer_id: '' }, 'employer_id', /at least 1 character/),
  'an unknown field': put(
    { frequency: 'weekly' },
    'frequency',
    /^is not a field of this request, which has: employer_id, pay_frequency, /,
  ),
  "a person's name as a field": put({ 'Canaryname 1': 'x' }, '[…]', /which has: /),
  'an unknown frequency': put({ pay_frequency: 'daily' }, 'pay_frequency', /one of .*biweekly/),
  'an unknown scheme': put({ scheme: 'yearly' }, 'scheme', /one of annualized, month-even, first-checks/),
  'an unknown kind': put({ kind: 'bonus' }, 'kind', /one of regular, off_cycle/),
  'a scheme that needs a list without one': put(
    { pay_frequency: 'monthly', scheme: 'month-even' },
    'pay_dates',
    /^is required: without a list of pay dates a monthly run can only have scheme annualized$/,
  ),
  'an off-cycle run without employees': put(
    { kind: 'off_cycle' },
    'employee_ids',
    /^is required for an off_cycle run$/,
  ),
  'an empty list of employees': put({ employee_ids: [] }, 'employee_ids', /at least 1 element/),
  'an employee twice': put({ employee_ids: ['a', 'a'] }, 'employee_ids', /./),
  'a number as an employee': put({ employee_ids: [7] }, 'employee_ids[0]', /must be a string/),
  'an id with NUL': {
    ...put({}, 'body', /NUL/),
    body: JSON.stringify(bodyOn(PAY_DATE, { employee_ids: ['a\0'] })),
    status: 400,
  },
  'no body': { method: 'PUT', url: `${RUNS}/new`, status: 422, errors: [['body', /./]] },
  'an array as the body': {
    method: 'PUT',
    url: `${RUNS}/new`,
    body: [],
    status: 422,
    errors: [['body', /./]],
  },
  'several at once': {
    ...put({}, '', /./),
    body: bodyOn(PAY_DATE, { pay_date: 'x', remainder: 'x', adjustments: 'decided' }),
    errors: [
      ['pay_date', /real date/],
      ['remainder', /one of last/],
      ['adjustments', /must be report or include/],
    ],
  },
  'all required fields': {
    ...put({}, '', /./),
    body: {},
    errors: ['employer_id', 'pay_frequency', 'period_start', 'period_end', 'pay_date'].map((path) => [
      path,
      /^is required$/,
    ]),
  },
  'a preview of the same body': {
    ...put({ pay_date: '2026-02-30' }, 'pay_date', /real date/),
    method: 'POST',
    url: `${RUNS}/preview`,
  },
  'a preview of an unknown employer': {
    ...put({ employer_id: 'nobody' }, 'employer_id', /is unknown/),
    method: 'POST',
    url: `${RUNS}/preview`,
  },
  'a run id with a space': {
    ...put({}, 'run_id', /^must be 1 to 128 of A-Z a-z 0-9 \. _ -, and not only one or two dots$/),
    url: `${RUNS}/a%20b`,
    status: 400,
  },
  'a run id with a slash': { url: `${RUNS}/a%2Fb`, status: 400, errors: [['run_id', /1 to 128/]] },
  'a run id in Unicode': { url: `${RUNS}/l%C3%B6hne`, status: 400, errors: [['run_id', /1 to 128/]] },
  'a run id that is too long': {
    url: `${RUNS}/${'x'.repeat(129)}`,
    status: 400,
    errors: [['run_id', /128/]],
  },
  'a run id with NUL': { url: `${RUNS}/a%00b/lines`, status: 400, errors: [['run_id', /NUL/]] },
  'a run id with a formula': {
    method: 'DELETE',
    url: `${RUNS}/=1+1`,
    status: 400,
    errors: [['run_id', /1 to 128/]],
  },
  'an unknown run': { url: `${RUNS}/none`, status: 404, detail: /no payroll run with this ID/ },
  'the lines of an unknown run': { url: `${RUNS}/none/lines`, status: 404 },
  'an unknown state': { url: `${RUNS}?state=done`, status: 400, errors: [['state', /one of open/]] },
  'a cursor of another list': {
    url: `${RUNS}?cursor=${Buffer.from('{"list":"events","at":1}').toString('base64url')}`,
    status: 400,
    errors: [['cursor', /next_cursor of a page of this list/]],
  },
  'a cursor of lines with a wrong position': {
    url: `${RUNS}/open/lines?cursor=${Buffer.from(
      '{"list":"payroll-run-lines","at":{"employeeId":"","position":-1,"given":0}}',
    ).toString('base64url')}`,
    status: 400,
    errors: [['cursor', /unchanged/]],
  },
  'too many lines': { url: `${RUNS}/open/lines?limit=1001`, status: 400, errors: [['limit', /1000/]] },
  'a put with another body': {
    ...put({ remainder: 'none' }, '', /./),
    url: `${RUNS}/open`,
    status: 409,
    errors: [],
    detail: /A run with this ID and a different body exists/,
  },
  'changing a finalized run': {
    ...put({ remainder: 'none' }, '', /./),
    url: `${RUNS}/final`,
    status: 409,
    errors: [],
    detail: /A run with this ID and a different body exists/,
  },
  'deleting a finalized run': {
    method: 'DELETE',
    url: `${RUNS}/final`,
    status: 409,
    detail: /no longer open/,
  },
  'finalizing twice': post('/final/finalize', {}, { status: 409, detail: /no longer open/ }),
  'a stale If-Match': post(
    '/open/finalize',
    {},
    { status: 412, headers: { 'if-match': '"stale"' }, detail: /lines changed since they were reviewed/ },
  ),
  'an If-Match that is not an ETag': post(
    '/open/finalize',
    {},
    { headers: { 'if-match': '"a", "b"' }, errors: [['if-match', /ETag/]] },
  ),
  'accept without a reason': post(
    '/open/finalize',
    { accept: ['overlap'] },
    { errors: [['reason', /is required to accept failed checks/]] },
  ),
  'accept with a blank reason': post(
    '/open/finalize',
    { accept: ['overlap'], reason: ' ' },
    { errors: [['reason', /must be a reason/]] },
  ),
  'a reason without accept': post(
    '/open/finalize',
    { reason: 'x' },
    { errors: [['reason', /omitted without accept/]] },
  ),
  'accept as a text': post(
    '/open/finalize',
    { accept: 'overlap', reason: 'x' },
    { errors: [['accept', /list of different check ids/]] },
  ),
  'an unknown field of finalize': post(
    '/open/finalize',
    { force: true },
    { errors: [['force', /which has: accept, reason/]] },
  ),
  'voiding an open run': post('/open/void', { reason: 'x' }, { status: 409, detail: /The run is open/ }),
  'voiding without a reason': post('/final/void', {}, { errors: [['reason', /is required/]] }),
  'voiding with a blank reason': post(
    '/final/void',
    { reason: '\n' },
    { errors: [['reason', /must be a reason/]] },
  ),
  'voiding with a long reason': post(
    '/final/void',
    { reason: 'x'.repeat(501) },
    { errors: [['reason', /at most 500/]] },
  ),
  'deductions taken for an open run': post(
    '/open/taken',
    { lines: [] },
    { status: 409, detail: /The run is open/ },
  ),
  'taken for a line that does not exist': rows(
    'employee_id,deduction_id,amount\nemp-1,none,1.00',
    'lines[0]',
    /does not match a line of the run/,
  ),
  'taken for an employee who is not in the run': rows(
    'employee_id,amount\nnobody,1.00',
    'lines[0].employee_id',
    /is not in the run/,
  ),
  'a file with a wrong column': rows('employee_id,amount,extra\n', 'column 3, extra', /not a column/),
  'a file without a column': rows('employee_id\nemp-1', 'amount', /missing column/),
  'a file with semicolons': rows('employee_id;amount\nemp-1;1,00', 'body', /./),
  'a file that is empty': rows('', 'body', /./),
  'a file without rows': rows('employee_id,amount\n', 'lines', /at least 1 element/),
  'a line of a megabyte': rows(
    `employee_id,amount\nemp-1,"${'1'.repeat(1024 * 1024 + 1)}"`,
    'lines[0]',
    /1 MiB/,
  ),
  'a file that is not UTF-8': rows(Buffer.from('employee_id,amount\n\xff,1', 'latin1'), 'body', /UTF-8/),
  'a file with too large a content length': post('/final/taken', 'x', {
    headers: { ...CSV, 'content-length': String(ROWS_BODY_BYTES_MAX + 1) },
    status: 413,
    detail: /larger than 64 MiB/,
  }),
  'a compressed file': post('/final/taken', 'x', {
    headers: { ...CSV, 'content-encoding': 'gzip' },
    status: 415,
  }),
  'an unknown field of a row': post(
    '/final/audit',
    { lines: [{ employee_id: 'emp-1', amount: '1' }] },
    { status: 422, errors: [['lines[0].amount', /is not a field/]] },
  ),
  'a number as an amount': post(
    '/final/taken',
    { lines: [{ employee_id: 'emp-1', amount: 60 }] },
    { status: 422, errors: [['lines[0].amount', /text in quotes/]] },
  ),
  'invalid JSON': post('/final/audit', '{"lines":[', { status: 422, errors: [['lines[0]', /./]] }),
  'an invalid schedule': {
    method: 'PUT',
    url: `/v1/employers/${EMPLOYER}/pay-schedule`,
    body: { schedules: [{ pay_frequency: 'biweekly', pay_dates: [{ pay_date: '2026-02-30' }] }] },
    status: 422,
    errors: [
      ['schedules[0].pay_dates[0].period_start', /is required/],
      ['schedules[0].pay_dates[0].period_end', /is required/],
      ['schedules[0].pay_dates[0].pay_date', /real date/],
    ],
  },
  'no schedule': {
    method: 'PUT',
    url: `/v1/employers/${EMPLOYER}/pay-schedule`,
    status: 422,
    errors: [['body', /./]],
  },
  'a code with an unknown side': {
    method: 'PUT',
    url: `/v1/employers/${EMPLOYER}/payroll-codes`,
    body: { codes: [{ line_of_coverage: 'medical', side: 'both', code: 'X' }] },
    status: 422,
    errors: [['codes[0].side', /one of employee, employer/]],
  },
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
  const kept = async () => [
    await db.selectFrom('payroll_runs').selectAll().orderBy('run_id').execute(),
    await db.selectFrom('taken_lines').selectAll().execute(),
    await db.selectFrom('pay_schedules').selectAll().execute(),
    await db.selectFrom('payroll_codes').selectAll().execute(),
    await db.selectFrom('run_freezes').selectAll().execute(),
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

onEitherEngine('a byte-order mark before a file is ignored', async (t) => {
  const { finalized, post } = await startPayroll(t);
  await finalized('r');
  const { status } = await post('/r/taken', '\uFEFFemployee_id,amount\nemp-1,60', CSV);
  t.equal(status, 200);
});

onEitherEngine('no value that could be personal is in a response or the log', async (t) => {
  const { call, finalized, logged } = await startPayroll(t);
  await finalized('final');
  const canary = 'canary-7f3a';
  const requests: Request[] = [
    { method: 'PUT', url: `${RUNS}/c`, body: bodyOn(PAY_DATE, { employee_ids: [canary, canary] }) },
    {
      method: 'PUT',
      url: `${RUNS}/c`,
      body: bodyOn(PAY_DATE, { [`${canary} 1`]: canary, pay_date: canary }),
    },
    { method: 'PUT', url: `${RUNS}/c`, body: bodyOn(PAY_DATE, { employer_id: canary }) },
    { url: `${RUNS}/${canary}%20/lines` },
    { url: `${RUNS}/final/lines?employee_id=${canary}` },
    { url: `${RUNS}/final/lines`, headers: { accept: canary } },
    { method: 'POST', url: `${RUNS}/final/finalize`, body: {}, headers: { 'if-match': canary } },
    {
      method: 'POST',
      url: `${RUNS}/final/taken`,
      body: { lines: [{ employee_id: canary, amount: canary }] },
    },
    { method: 'POST', url: `${RUNS}/final/taken`, body: `${canary},b\n1,2`, headers: CSV },
    { method: 'POST', url: `${RUNS}/final/taken`, body: `employee_id,amount\n"${canary}`, headers: CSV },
    { method: 'POST', url: `${RUNS}/final/void`, body: { reason: canary, [canary]: canary } },
  ];
  for (const request of requests) {
    const { text, headers } = await call(request);
    t.notMatch(text + JSON.stringify(headers), canary, `${request.method ?? 'GET'} ${request.url}`);
  }
  t.notMatch(JSON.stringify(logged), canary);
});
