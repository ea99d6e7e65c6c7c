import { census, employee } from '../contract/samples.ts';
import { onEitherEngine } from '../support/engine.ts';
import { deductionOf, deliver, eventOf } from './deliver.ts';
import { type Request, start } from './start.ts';

type Case = Request & { status: number; errors?: [path: string, rule: RegExp][]; detail?: RegExp };

const long = 'x'.repeat(256);
/** A query that is rejected by the name of a parameter. */
const query = (url: string, parameter: string, rule: RegExp): Case => ({
  url: `/v1/${url}`,
  status: 400,
  errors: [[parameter, rule]],
});
const path = (url: string, status: number, detail?: RegExp): Case => ({
  url: `/v1/${url}`,
  status,
  ...(detail && { detail }),
});
/** A body that is rejected by the name of a field. */
const body = (content: unknown, field: string, rule: RegExp, url = 'events/reprocess'): Case => ({
  method: 'POST',
  url: `/v1/${url}`,
  body: content,
  status: 400,
  errors: [[field, rule]],
});
const dismissal = (content: unknown, rule: RegExp) => body(content, 'reason', rule, 'events/e1/dismiss');
const CENSUS = '/v1/employers/1/census';

const CASES: Record<string, Case> = {
  'an invalid day': query('deductions?on=2026-02-30', 'on', /real date/),
  'a day with a time': query('deductions?on=2026-02-01T00:00:00Z', 'on', /real date/),
  'an invalid instant': query('deductions?known_at=yesterday', 'known_at', /date and time/),
  'an offset with an unencoded plus': query(
    'deductions?known_at=2026-01-31T09:30:00+02:00',
    'known_at',
    /%2B/,
  ),
  'limit 0': query('deductions?limit=0', 'limit', /^must be a whole number from 1 to 1000$/),
  'limit 1001': query('events?limit=1001', 'limit', /1000/),
  'a mistyped parameter': query(
    'deductions?employe_id=e1',
    'employe_id',
    /operation, which has: .*employee_id/,
  ),
  "a person's name as a parameter": query(
    'deductions?999-88-7777%20Canaryname=1',
    '[…]',
    /^is not a parameter/,
  ),
  'a prototype key': query('deductions?__proto__=1', '__proto__', /not a parameter/),
  'a parameter twice': query('deductions?employee_id=a&employee_id=b', 'employee_id', /given only once/),
  'an empty id': query('deductions?employee_id=', 'employee_id', /at least 1 character/),
  'an id with NUL': query('deductions?employee_id=%00', 'employee_id', /NUL/),
  'several at once': {
    ...query('deductions?matched=yes&limit=x', '', /./),
    errors: [
      ['matched', /true or false/],
      ['limit', /whole number/],
    ],
  },
  'an unknown state': query('events?state=lost', 'state', /must be one of pending/),
  'an invalid position': query('deduction-versions?cursor=-1', 'cursor', /position/),
  'a position that is too large': query(`deduction-versions?cursor=${'9'.repeat(400)}`, 'cursor', /position/),
  'an id with an encoded slash': path('deductions/a%2Fb', 404),
  'an id with parent folders': path('employers/..%2F..%2Fetc%2Fpasswd/census', 404),
  'an id in Unicode': path(`deductions/${encodeURIComponent('déd 例 🙂')}/versions`, 404),
  'the longest id in Unicode': path(`deductions/${encodeURIComponent('🙂'.repeat(255))}`, 404),
  'an id that is too long': query(`deductions/${long}`, 'deduction_id', /at most 255/),
  'an extremely long id': path(`deductions/${'x'.repeat(10_000)}`, 400, /ID in the path is too long/),
  'an id with NUL in the path': query('events/a%00b', 'event_id', /NUL/),
  'an id that is not UTF-8': path('deductions/%ff%fe', 400, /Percent-encode/),
  'half an escape': path('deductions/%E0%A4%A', 400, /Percent-encode/),
  'an unknown path': path('nothing', 404, /path does not exist/),
  'a wrong method': { ...path('deductions', 405, /support DELETE\. Use GET\.$/), method: 'DELETE' },
  'another wrong method': { ...path('employers/1/census', 405, /Use GET, PUT\.$/), method: 'PATCH' },
  'malformed JSON': body('{"state":', 'body', /not valid JSON/),
  'a field twice': body('{"state":"applied","state":"ignored"}', 'body', /twice/),
  'JSON after a byte order mark': body('\ufeff{}', 'body', /byte order mark/),
  'JSON that is not UTF-8': body(Buffer.from('"\xff"', 'latin1'), 'body', /UTF-8/),
  'an array as the body': body([], 'body', /./),
  'no body': body(undefined, 'body', /./),
  'no filter': body({}, 'body', /at least one of state, event_type/),
  'an unknown field': body({ status: 'applied' }, 'status', /which has: state/),
  "a person's name as a field": body({ 'Canaryname 999-88-7777': 'applied' }, '[…]', /which has: state/),
  'pending as what to reprocess': body({ state: 'pending' }, 'state', /one of applied/),
  '1 MB of JSON': {
    ...{ method: 'POST', url: '/v1/events/reprocess', status: 413 },
    body: JSON.stringify({ event_type: 'x'.repeat(1024 * 1024) }),
  },
  'a blank reason': dismissal({ reason: ' \n\t' }, /must be a reason/),
  'a long reason': dismissal({ reason: 'x'.repeat(501) }, /at most 500/),
  'no reason': dismissal({}, /is required/),
  'another content type': {
    ...{ method: 'POST', url: '/v1/events/e1/dismiss', body: 'reason=x', status: 415 },
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  },
  'a compressed body': {
    ...{ method: 'POST', url: '/v1/events/e1/dismiss', body: { reason: 'x' }, status: 415 },
    headers: { 'content-encoding': 'gzip' },
  },
  'a census with another content type': {
    method: 'PUT',
    url: CENSUS,
    body: 'x',
    status: 415,
    headers: { 'content-type': 'text/plain' },
  },
  'a compressed census': {
    method: 'PUT',
    url: CENSUS,
    body: census,
    status: 415,
    headers: { 'content-encoding': 'gzip' },
  },
  'no census': { method: 'PUT', url: CENSUS, status: 400, errors: [['body', /is required/]] },
  'a census that is not JSON': { method: 'PUT', url: CENSUS, body: '{"organization', status: 422 },
  'a census of an employer without an id': { ...path('employers//census', 400), method: 'PUT', body: census },
};

onEitherEngine('invalid input returns problem+json with field and rule, and never a 5xx', async (t) => {
  const { call, logged } = await start(t);
  for (const [name, { status, errors, detail, ...request }] of Object.entries(CASES)) {
    const answer = await call(request);
    t.equal(answer.status, status, `${name}: ${answer.text}`);
    t.match(answer.headers['content-type'], 'application/problem+json', name);
    t.equal(answer.json.status, status, name);
    if (errors !== undefined) {
      t.strictSame(
        answer.json.errors.map((error: { path: string }) => error.path),
        errors.map(([path]) => path),
        name,
      );
      errors.forEach(([, rule], index) => {
        t.match(answer.json.errors[index].rule, rule, name);
      });
      t.match(answer.json.detail, `${errors[0]?.[0]}: `, name);
    }
    if (detail !== undefined) t.match(answer.json.detail, detail, name);
  }
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
