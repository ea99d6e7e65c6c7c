/** The typed client with the private listener, over real HTTP. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { type Client, createClient, type Problem, type Schemas } from '../../src/client.ts';
import { FIRST_TOKEN, start } from '../api/start.ts';
import { organization, person } from '../census/parts.ts';

async function clientOf(t: Test): Promise<Client> {
  const { app } = await start(t);
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
  return createClient({ baseUrl, token: FIRST_TOKEN });
}

const census = { organization, employees: [person('maple-bakery-001')] } as unknown as Schemas['Census'];

t.test('a rejected request returns a problem and does not throw', async (t) => {
  const client = await clientOf(t);
  const { data, error, response } = await client.GET('/v1/deductions/{deduction_id}', {
    params: { path: { deduction_id: 'a/b c?é' } },
  });
  t.equal(data, undefined);
  const problem: Problem | undefined = error;
  t.match(problem, { type: 'urn:benefits-sidecar:problem:not-found', status: 404, detail: String });
  t.equal(response.status, 404, 'an id with a slash stays one path segment');

  const broken = await client.PUT('/v1/employers/{employer_id}/census', {
    params: { path: { employer_id: 'maple-bakery' } },
    body: { ...census, employees: [] },
  });
  t.match(broken.error, { status: 422, errors: [{ path: 'employees', rule: String }] });
});

t.test('a missing response throws', async (t) => {
  const nowhere = createClient({ baseUrl: 'http://127.0.0.1:1', token: FIRST_TOKEN });
  await t.rejects(nowhere.GET('/v1/readiness'), TypeError);
});

t.test('a body is sent as JSON, or as text with its content type', async (t) => {
  const client = await clientOf(t);
  const params = { path: { employer_id: 'maple-bakery' } };
  const put = await client.PUT('/v1/employers/{employer_id}/census', { params, body: census });
  t.match(put.data, { employees: 1 });
  const validated = await client.POST('/v1/employers/{employer_id}/census/validate', {
    params,
    body: 'employee_id,first_name\nx,y\n',
    headers: { 'content-type': 'text/csv' },
  });
  const rules = validated.error?.errors ?? validated.data;
  t.match(JSON.stringify(rules), 'is a missing column', 'it was parsed as CSV');
});

t.test('a redirect is not followed, because it would send the token elsewhere', async (t) => {
  const asked: string[] = [];
  const server = createServer((request, answer) => {
    asked.push(request.url as string);
    answer.writeHead(307, { location: '/elsewhere' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}/`, token: FIRST_TOKEN });
  await t.rejects(client.GET('/v1/readiness'));
  t.strictSame(asked, ['/v1/readiness']);
});

t.test('a refusal by a proxy is a problem too, even without a body', async (t) => {
  const refusals = [
    [503, { 'content-length': '0', 'retry-after': '7' }, ''],
    [404, { 'content-type': 'text/html' }, '<html>Not here</html>'],
    [500, { 'content-type': 'application/json' }, '{"message":"no"}'],
  ] as const;
  for (const [status, headers, body] of refusals) {
    const fetch = async () => new Response(body, { status, headers });
    const client = createClient({ baseUrl: 'http://sidecar.example', token: 'a-token', fetch });
    const params = { path: { run_id: 'r1' } };
    const { data, error, response } = await client.DELETE('/v1/payroll-runs/{run_id}', { params });
    t.equal(data, undefined);
    t.match(error, { type: 'about:blank', title: `HTTP ${status}`, status, detail: String });
    t.equal(response.headers.get('retry-after'), status === 503 ? '7' : null);
  }
});

t.test('a given fetch replaces the fetch of the runtime', async (t) => {
  const seen: Request[] = [];
  const client = createClient({
    baseUrl: 'http://sidecar.example',
    token: 'a-token',
    fetch: async (request) => {
      seen.push(request);
      return Response.json({ ok: true });
    },
  });
  t.match(await client.GET('/v1/readiness'), { data: { ok: true } });
  t.equal(seen[0]?.url, 'http://sidecar.example/v1/readiness');
  t.equal(seen[0]?.headers.get('authorization'), 'Bearer a-token');
  t.equal(seen[0]?.headers.get('accept'), 'application/json', 'JSON is requested by default');
});

/** Checked by the compiler only: each call is a type error. */
export function isTyped(client: Client): unknown {
  return [
    // @ts-expect-error no such path
    client.GET('/v1/deduction'),
    // @ts-expect-error no such method of this path
    client.POST('/v1/deductions'),
    // @ts-expect-error a path parameter is missing
    client.GET('/v1/deductions/{deduction_id}'),
    // @ts-expect-error no such line of coverage
    client.GET('/v1/deductions', { params: { query: { line_of_coverage: 'car' } } }),
    // @ts-expect-error a field of the body is missing
    client.PUT('/v1/payroll-runs/{run_id}', { params: { path: { run_id: '1' } }, body: { kind: 'regular' } }),
  ];
}

/** Checked by the compiler only: the calls that docs/api.md shows need no body. */
export function isDocumented(client: Client): unknown {
  const header = { 'if-match': 'etag' };
  return [
    client.POST('/v1/payroll-runs/{run_id}/finalize', { params: { path: { run_id: '1' }, header } }),
    client.POST('/v1/employee-changes/{change_id}/retry', { params: { path: { change_id: '1' } } }),
  ];
}
