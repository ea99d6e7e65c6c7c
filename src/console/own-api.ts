/**
 * The console asks the API as any client does, only without a network: every page shows what the API answers to the
 * person who is signed in, with the same scopes, the same checks and the same words.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import createFetchClient from 'openapi-fetch';
import { BACKGROUND_HEADER, FORGERY_HEADER } from '../api/auth.ts';
import type { ProblemDetails } from '../api/problem.ts';
import type { Client } from '../client.ts';
import type { paths } from '../client-types.ts';

/** Only the path counts. */
const BASE = 'http://console';
/** What makes a request the same person's: a session is found by the host that the browser named. */
const PERSON = {
  session: ['cookie', 'host', FORGERY_HEADER, BACKGROUND_HEADER],
  token: ['authorization'],
} as const;

export type OwnApi = Client;

/** The API, asked by the person of this request. A request that only shows something carries no leave to change it. */
export function createOwnApi(app: FastifyInstance, request: FastifyRequest): OwnApi {
  return createFetchClient<paths, 'application/json' | 'application/problem+json'>({
    baseUrl: BASE,
    headers: { accept: 'application/json', ...personOf(request) },
    bodySerializer: (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body)),
    fetch: async (asked) => {
      const answer = await app.inject({
        method: asked.method as 'GET',
        url: asked.url.slice(BASE.length),
        headers: Object.fromEntries(asked.headers),
        ...(asked.body !== null && { payload: Buffer.from(await asked.arrayBuffer()) }),
      });
      return new Response(isBodyless(answer.statusCode) ? null : new Uint8Array(answer.rawPayload), {
        status: answer.statusCode,
        headers: textsOf(answer.headers),
      });
    },
  });
}

/** What a request of the same person carries, for bodies that are streams and do not go through the client. */
export function personOf({ headers, session }: FastifyRequest): Record<string, string> {
  return Object.fromEntries(
    PERSON[session === null ? 'token' : 'session'].flatMap((name) =>
      typeof headers[name] === 'string' ? [[name, headers[name]]] : [],
    ),
  );
}

/** The API refused what a page or a button needs. Shown as a page, in the API's words. */
export class ApiRefusal extends Error {
  readonly problem: ProblemDetails;
  constructor(problem: ProblemDetails) {
    super(problem.detail ?? problem.title);
    this.problem = problem;
  }
}

/** What a call answered. Throws `ApiRefusal`. */
export function need<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.error !== undefined) throw new ApiRefusal(answer.error as ProblemDetails);
  return answer.data as T;
}

/** The same, where an id may be unknown: null then. */
export function found<T>(answer: { data?: T; error?: unknown; response: Response }): T | null {
  return answer.response.status === 404 ? null : need(answer);
}

function isBodyless(status: number): boolean {
  return status === 204 || status === 304;
}

function textsOf(headers: Readonly<Record<string, unknown>>): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
}
