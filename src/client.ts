/** `benefits-sidecar/client`: the API, each call typed by the OpenAPI document. */
import createFetchClient, { type Client as FetchClient } from 'openapi-fetch';
import type { components, paths } from './client-types.ts';

export type { components, paths } from './client-types.ts';

/** An answer or a body by its name in the reference: `Schemas['Deduction']`. */
export type Schemas = components['schemas'];

/** Problem details (RFC 9457): `error` of every call that fails. */
export type Problem = Schemas['Problem'];

/** `client.GET('/v1/deductions', { params })` and so on for each method: answers `{ data, error, response }`. */
export type Client = FetchClient<paths, 'application/json' | 'application/problem+json'>;

export type ClientOptions = {
  /** The address of the private listener, such as `http://127.0.0.1:8081`. */
  readonly baseUrl: string;
  /** A token with the scopes of the calls. Create one with `benefits-sidecar token create`. */
  readonly token: string;
  /** In the place of the runtime's own: for a proxy, a limit of time, a test. */
  readonly fetch?: (request: Request) => Promise<Response>;
};

/**
 * A client of one sidecar. A call that was refused does not throw: it answers `error`, the problem. It rejects, as
 * `fetch` does, when there was no answer at all. Where an operation also answers CSV, ask for it with `headers: {
 * accept: 'text/csv' }` and `parseAs: 'text'`; a body of text goes out as it is, so give its `content-type`.
 */
export function createClient({ baseUrl, token, fetch }: ClientOptions): Client {
  return createFetchClient({
    baseUrl,
    headers: { accept: 'application/json', authorization: `Bearer ${token}` },
    // Every JSON body of the API is an object or a list, so a text is a CSV or NDJSON, which must not be quoted.
    bodySerializer: (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body)),
    // A redirect would lead the token elsewhere.
    redirect: 'error',
    ...(fetch && { fetch }),
  });
}
