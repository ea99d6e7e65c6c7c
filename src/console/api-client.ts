/**
 * Calls the API without a network, as the signed-in user. Pages show the API's responses, with the same scopes, checks
 * and messages as for any other client.
 */

import type { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import createFetchClient from 'openapi-fetch';
import { BACKGROUND_HEADER, FORGERY_HEADER } from '../api/auth.ts';
import { errorOfProblem, type Refusal } from '../api/problem.ts';
import type { Client } from '../client.ts';
import type { paths } from '../client-types.ts';

/** The client needs an absolute address; only the path is used. */
const BASE = 'http://console';
/** Headers that identify the user. A session's cookie name depends on the host. */
const IDENTITY = {
  session: ['cookie', 'host', FORGERY_HEADER, BACKGROUND_HEADER],
  token: ['authorization'],
} as const;

/** Creates a client that acts as the user of this request. */
export function createApi(app: FastifyInstance, request: FastifyRequest): Client {
  return createFetchClient<paths, 'application/json' | 'application/problem+json'>({
    baseUrl: BASE,
    headers: { accept: 'application/json', ...identityOf(request) },
    bodySerializer: (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body)),
    fetch: async (call) => {
      const response = await app.inject({
        method: call.method as 'GET',
        url: call.url.slice(BASE.length),
        headers: Object.fromEntries(call.headers),
        ...(call.body !== null && { payload: Buffer.from(await call.arrayBuffer()) }),
      });
      return new Response(isBodyless(response.statusCode) ? null : new Uint8Array(response.rawPayload), {
        status: response.statusCode,
        headers: stringsOf(response.headers),
      });
    },
  });
}

/** Returns the headers that identify the user, for calls whose bodies are streams. */
export function identityOf({ headers, session }: FastifyRequest): Record<string, string> {
  return Object.fromEntries(
    IDENTITY[session === null ? 'token' : 'session'].flatMap((name) =>
      typeof headers[name] === 'string' ? [[name, headers[name]]] : [],
    ),
  );
}

const rejected = new WeakSet<Error>();

/** Returns the error of a call that the API rejected, from its problem details. */
export function rejectedByApi(problem: unknown): Refusal {
  const error = errorOfProblem(problem);
  rejected.add(error);
  return error;
}

/** Returns whether the API rejected a call with this error, and so has logged it. */
export function isRejectedByApi(error: unknown): error is Refusal {
  return rejected.has(error as Error);
}

/** Drops undefined values, which the API's types don't allow. */
export function defined<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}

/** Returns the data of a response. Throws the error of a rejected call. */
export function need<T>(result: { data?: T; error?: unknown; response: Response }): T {
  if (result.error !== undefined) throw rejectedByApi(result.error);
  return result.data as T;
}

/** Returns the data of a response, or null for an unknown id. Throws the error of a rejected call. */
export function found<T>(result: { data?: T; error?: unknown; response: Response }): T | null {
  return result.response.status === 404 ? null : need(result);
}

function isBodyless(status: number): boolean {
  return status === 204 || status === 304;
}

function stringsOf(headers: Readonly<Record<string, unknown>>): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
}

/**
 * Streams a response that is too large to hold. The stream has backpressure, and ends with an error when the response
 * is cut off, so a truncated file is noticed. Throws the error of a rejected call.
 */
export async function streamFromApi(
  app: FastifyInstance,
  request: FastifyRequest,
  path: string,
  accept: string,
): Promise<{ stream: Readable; headers: Readonly<Record<string, unknown>> }> {
  const response = await app.inject({
    method: 'GET',
    url: path,
    headers: { ...identityOf(request), accept },
    payloadAsStream: true,
  });
  const stream = response.stream();
  // The user left; stop producing.
  stream.once('close', () => response.raw.res.destroy());
  if (response.statusCode >= 400) throw rejectedByApi(await json(stream));
  return { stream, headers: response.headers };
}
