import { CENSUS_BYTES_MAX } from '../../src/census/reading.ts';
import { census, employee, newHire } from '../contract/samples.ts';
import { onEitherEngine } from '../support/engine.ts';
import { deductionOf, deliver, eventOf } from './deliver.ts';
import { assertRefused, type Refused } from './problems.ts';
import { type Request, start } from './start.ts';

const get = (path: string): Request => ({ url: `/v1/${path}` });
const post = (body: unknown, headers = {}, path = 'events/reprocess'): Request => ({
  ...{ method: 'POST', url: `/v1/${path}`, body, headers },
});
const dismiss = (body: unknown, headers = {}) => post(body, headers, 'events/e1/dismiss');
const put = (body: unknown, headers = {}, path = 'employers/1/census'): Request => ({
  ...{ method: 'PUT', url: `/v1/${path}`, body, headers },
});
const GZIP = { 'content-encoding': 'gzip' };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

const CASES: Refused = {
  'an invalid day → 400 on: real date': get('deductions?on=2026-02-30'),
  'a day with a time → 400 on: real date': get('deductions?on=2026-02-01T00:00:00Z'),
  'an invalid instant → 400 known_at: date and time': get('deductions?known_at=yesterday'),
  'an unencoded plus → 400 known_at: %2B': get('deductions?known_at=2026-01-31T09:30:00+02:00'),
  'limit 0 → 400 limit: ^must be a whole number from 1 to 1000$': get('deductions?limit=0'),
  'limit 1001 → 400 limit: 1000': get('events?limit=1001'),
  'a mistyped parameter → 400 employe_id: operation, which has: .*employee_id':
    get('deductions?employe_id=e1'),
  "a person's name as a parameter → 400 […]: ^is not a parameter": get(
    'deductions?999-88-7777%20Canaryname=1',
  ),
  'a prototype key → 400 __proto__: not a parameter': get('deductions?__proto__=1'),
  'a parameter twice → 400 employee_id: given only once': get('deductions?employee_id=a&employee_id=b'),
  'an empty id → 400 employee_id: at least 1 character': get('deductions?employee_id='),
  'an id with NUL → 400 employee_id: NUL': get('deductions?employee_id=%00'),
  'several at once → 400 matched: true or false; limit: whole number': get('deductions?matched=yes&limit=x'),
  'an unknown state → 400 state: must be one of pending': get('events?state=lost'),
  'an invalid position → 400 cursor: position': get('deduction-versions?cursor=-1'),
  'a position that is too large → 400 cursor: position': get(`deduction-versions?cursor=${'9'.repeat(400)}`),
  'a year with five digits → 400 year: must be a year such as 2026$': get('employers/1/pay-schedules/10000'),
  'a word as the id of an audit record → 400 record_id: ID of an audit record': get('audit/last'),
  'too many ids of employees → 400 employee_ids: must have at most 500 elements$': post(
    { employee_ids: Array.from({ length: 1_001 }, (_, index) => String(index)) },
    {},
    'names',
  ),
  'an id with an encoded slash → 404 ()': get('deductions/a%2Fb'),
  'an id with parent folders → 404 ()': get('employers/..%2F..%2Fetc%2Fpasswd/census'),
  'an id in Unicode → 404 ()': get(`deductions/${encodeURIComponent('déd 例 🙂')}/versions`),
  'the longest id in Unicode → 404 ()': get(`deductions/${encodeURIComponent('🙂'.repeat(255))}`),
  'an id that is too long → 400 deduction_id: at most 255': get(`deductions/${'x'.repeat(256)}`),
  'an extremely long id → 400 (ID in the path is too long)': get(`deductions/${'x'.repeat(10_000)}`),
  'an id with NUL in the path → 400 event_id: NUL': get('events/a%00b'),
  'an id that is not UTF-8 → 400 (Percent-encode)': get('deductions/%ff%fe'),
  'half an escape → 400 (Percent-encode)': get('deductions/%E0%A4%A'),
  'an unknown path → 404 (path does not exist)': get('nothing'),
  'a wrong method → 405 (support DELETE\\. Use GET\\.$)': { ...get('deductions'), method: 'DELETE' },
  'another wrong method → 405 (Use DELETE, GET, PUT\\.$)': { ...get('employers/1/census'), method: 'PATCH' },
  'malformed JSON → 400 body: not valid JSON': post('{"state":'),
  'a field twice → 400 body: twice': post('{"state":"applied","state":"ignored"}'),
  'JSON after a byte order mark → 400 body: byte order mark': post('\ufeff{}'),
  'JSON that is not UTF-8 → 400 body: UTF-8': post(Buffer.from('"\xff"', 'latin1')),
  'an array as the body → 400 body:': post([]),
  'no body → 400 body:': post(undefined),
  'no filter → 400 body: at least one of state, event_type': post({}),
  'an unknown field → 400 status: which has: state': post({ status: 'applied' }),
  "a person's name as a field → 400 […]: which has: state": post({ 'Canaryname 999-88-7777': 'applied' }),
  'pending as what to reprocess → 400 state: one of applied': post({ state: 'pending' }),
  '1 MB of JSON → 413 ()': post(JSON.stringify({ event_type: 'x'.repeat(1024 * 1024) })),
  'a blank reason → 400 reason: must be a reason': dismiss({ reason: ' \n\t' }),
  'a long reason → 400 reason: at most 500': dismiss({ reason: 'x'.repeat(501) }),
  'no reason → 400 reason: is required': dismiss({}),
  'a forced retry that is not true or false → 400 force: true or false': post(
    ...[{ force: 'yes' }, {}, 'employee-changes/c1/retry'],
  ),
  'a canceled change without a reason → 400 reason: is required': post({}, {}, 'employee-changes/c1/cancel'),
  'changes of an unknown kind → 400 kind: must be one of': get('employee-changes?kind=census'),
  'another content type → 415 (^Send the body as application/json\\.$)': dismiss('reason=x', FORM),
  'a compressed body → 415 ()': dismiss({ reason: 'x' }, GZIP),
  'a census with another content type → 415 (application/json or text/csv or .*sheet\\.$)': put('x', {
    'content-type': 'text/plain',
  }),
  'a compressed census → 415 ()': put(census, GZIP),
  'a census with too large a content length → 413 (256 MiB)': put('{', {
    'content-length': String(CENSUS_BYTES_MAX + 1),
  }),
  'no census → 400 body: is required': put(undefined),
  'a census that is not JSON → 422 ()': put('{"organization'),
  'a census of an employer without an id → 400 ()': put(census, {}, 'employers//census'),
};

onEitherEngine('invalid input returns problem+json with field and rule, and never a 5xx', async (t) => {
  const { call, logged } = await start(t);
  await assertRefused(t, call, CASES);
  t.strictSame(logged, [], 'nothing is logged as an error');
  t.equal(({} as { state?: unknown }).state, undefined, 'the prototype is unchanged');
});

onEitherEngine('no personal value of a request is in a response or the log', async (t) => {
  const { call, logged, db } = await start(t);
  const canary = 'canary-7f3a';
  const bad = {
    ...census,
    employees: [{ ...employee, ssn: canary, state: canary, dob: canary, email: canary, nickname: canary }],
  };
  const hire = { ...newHire, ssn: canary, first_name: canary };
  await deliver(db, [
    deductionOf('e1', { description: canary, member_contribution: canary }),
    eventOf('e2', 'x', {}),
  ]);
  const requests: Request[] = [
    { method: 'PUT', url: '/v1/employers/1/census', body: bad },
    {
      method: 'PUT',
      url: '/v1/employers/1/census',
      body: `employee_id,ssn\n"${canary}`,
      headers: { 'content-type': 'text/csv', 'census-organization': canary },
    },
    { method: 'POST', url: '/v1/employers/1/census/validate', body: bad },
    { method: 'POST', url: '/v1/employee-changes/new-hire', body: hire },
    {
      method: 'POST',
      url: '/v1/employee-changes/new-hire',
      body: { ...hire, [canary]: canary, dob: canary },
    },
    {
      ...{ method: 'POST', url: '/v1/employee-changes/batch' },
      body: [
        { ...hire, kind: canary },
        { ...hire, kind: 'new-hire', idempotency_key: canary },
      ],
    },
    { method: 'POST', url: '/v1/events/reprocess', body: { state: canary, from: canary } },
    { method: 'POST', url: '/v1/events/reprocess', body: `{"${canary}` },
    { method: 'POST', url: '/v1/events/e2/dismiss', body: { reason: { [canary]: canary } } },
    { url: `/v1/deductions?on=${canary}&matched=${canary}&cursor=${canary}&limit=${canary}` },
    { url: `/v1/deductions/${canary}` },
    { url: `/v1/${canary}` },
    { url: '/v1/events', token: canary },
    { url: '/v1/events?state=quarantined' },
    { url: '/v1/readiness' },
  ];
  for (const request of requests) {
    const { text, headers } = await call(request);
    t.notMatch(text + JSON.stringify(headers), canary, `${request.method ?? 'GET'} ${request.url}`);
  }
  t.notMatch(JSON.stringify(logged), canary);
});
