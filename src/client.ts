/** `benefits-sidecar/client`: the API, each call typed by the OpenAPI document. */
import createFetchClient, { type Client as FetchClient } from 'openapi-fetch';
import type { components, paths, webhooks } from './client-types.ts';

export type { components, paths, webhooks } from './client-types.ts';

/** A response or a body by its name in the reference: `Schemas['Deduction']`. */
export type Schemas = components['schemas'];

/** Problem details (RFC 9457): `error` of every call that fails. `type` is `about:blank` if a proxy or another server sent a response without them. */
export type Problem = Schemas['Problem'];

/** What the sidecar sends to `NOTIFY_URL`: its `type` decides what its `data` has. */
export type Notification = webhooks[keyof webhooks];

/** `client.GET('/v1/deductions', { params })` and so on for each method: returns `{ data, error, response }`. */
export type Client = FetchClient<paths, 'application/json' | 'application/problem+json'>;

export type ClientOptions = {
  /** The address of the private listener, such as `http://127.0.0.1:8081`. */
  readonly baseUrl: string;
  /** A token with the scopes of the calls. Create one with `benefits-sidecar token create`. */
  readonly token: string;
  /** Replaces the runtime's own: for a proxy, a time limit, a test. */
  readonly fetch?: (request: Request) => Promise<Response>;
};

/**
 * Creates a client of one sidecar. A refused call returns `error`, the problem; a call without a response rejects, as `fetch`
 * does. For CSV pass `headers: { accept: 'text/csv' }` and `parseAs: 'text'`; a text is sent unchanged with its `content-type`.
 */
export function createClient({ baseUrl, token, fetch }: ClientOptions): Client {
  const client: Client = createFetchClient({
    baseUrl,
    headers: { accept: 'application/json', authorization: `Bearer ${token}` },
    // Every JSON body of the API is an object or a list, so a text is CSV or NDJSON, which must not be quoted.
    bodySerializer: (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body)),
    // A redirect would send the token elsewhere.
    redirect: 'error',
    ...(fetch && { fetch }),
  });
  client.use({ onResponse: ({ response }) => withProblem(response) });
  return client;
}

/** Returns problem details in place of a failed response without them, so that `error` is always a `Problem`. */
function withProblem(response: Response): Response | undefined {
  const { status, statusText } = response;
  if (status < 400 || response.headers.get('content-type')?.startsWith('application/problem+json')) return;
  const problem: Problem = {
    type: 'about:blank',
    title: statusText || `HTTP ${status}`,
    status,
    detail: 'The response has no problem details: a proxy or another server may have sent it.',
  };
  // A body that broke off rejects, and nobody reads it.
  response.body?.cancel().catch(() => {});
  const headers = new Headers(response.headers);
  headers.set('content-type', 'application/problem+json');
  headers.delete('content-length');
  return new Response(JSON.stringify(problem), { status, statusText, headers });
}
