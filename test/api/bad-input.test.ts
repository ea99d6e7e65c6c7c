import { census, employee } from '../contract/samples.ts';
import { onEitherEngine } from '../support/engine.ts';
import { CASES } from './bad-input-cases.ts';
import { deductionOf, deliver, eventOf } from './deliver.ts';
import { type Request, start } from './start.ts';

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
    deductionOf('e1', { employee_id: canary, member_contribution: canary }),
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
