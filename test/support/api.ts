/** The private listener, as payroll calls it. */
import type { Keys } from './settings.ts';

type Answer = {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the API tests check responses against their schemas.
  json: any;
};
export type Api = {
  call(method: 'GET' | 'PUT' | 'POST', path: string, body?: unknown): Promise<Answer>;
  get(path: string): Promise<Answer['json']>;
  list(path: string): Promise<Answer['json'][]>;
  check(id: string): Promise<{ result: string; count: number; examples: string[] }>;
};

/** Calls the API at an address, which may change with a restart. */
export function apiAt(address: () => string, { token }: Keys): Api {
  const call: Api['call'] = async (method, path, body) => {
    const answer = await fetch(address() + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, json: text === '' ? null : JSON.parse(text) };
  };
  const get: Api['get'] = async (path) => {
    const { status, json } = await call('GET', path);
    if (status !== 200) throw new Error(`GET ${path} returned ${status}: ${JSON.stringify(json)}`);
    return json;
  };
  return {
    call,
    get,
    async list(path) {
      const rows = [];
      let cursor = '';
      for (;;) {
        const page = await get(path + cursor);
        rows.push(...page.data);
        if (!page.has_more) return rows;
        cursor = `${path.includes('?') ? '&' : '?'}cursor=${page.next_cursor}`;
      }
    },
    async check(id) {
      const { checks } = await get('/v1/readiness');
      return checks.find((check: { id: string }) => check.id === id);
    },
  };
}

/** Finalizes a run as it is now, and accepts the checks that fail. */
export async function finalizeAsItIs(address: string, { token }: Keys, runId: string): Promise<Response> {
  const authorization = `Bearer ${token}`;
  const url = `${address}/v1/payroll-runs/${runId}`;
  const readiness = await fetch(`${url}/readiness`, { headers: { authorization } });
  const { checks } = (await readiness.json()) as { checks: { id: string; result: string }[] };
  const accept = checks.filter(({ result }) => result === 'fail').map(({ id }) => id);
  const etag = readiness.headers.get('etag') ?? '';
  const headers = { authorization, 'content-type': 'application/json', 'if-match': etag };
  const body = JSON.stringify({ accept, reason: 'a test' });
  return fetch(`${url}/finalize`, { method: 'POST', headers, body });
}
