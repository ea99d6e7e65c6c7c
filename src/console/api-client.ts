/** Calls the API without a network, as the signed-in user: with the same scopes, checks and messages as other clients. */
import type { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { BACKGROUND_HEADER, FORGERY_HEADER } from '../api/auth.ts';
import { errorOfProblem, notFound } from '../api/problem.ts';
import type { paths } from '../client-types.ts';
import { address } from './elements/links.ts';
import { RejectedCall } from './performing.ts';

type Method = 'get' | 'post' | 'put' | 'delete';
type Path<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];
type Operation<M extends Method, P extends keyof paths> = paths[P] extends Record<M, infer O> ? O : never;
type KeysOf<T> = T extends object ? keyof T : never;
type Names<O> = O extends { parameters: infer P } ? KeysOf<P[keyof P & ('query' | 'path')]> : never;
/** Parameters of the path and the query. The values come from addresses and forms; the API validates them. */
type Parameters<O> = {
  readonly [Name in Names<O>]?: string | number | boolean | readonly string[] | undefined;
};
type JsonOf<R> = R extends { content: { 'application/json': infer J } } ? J : never;
type ResultOf<O> = O extends { responses: infer R } ? JsonOf<R[keyof R & (200 | 201 | 202)]> : never;
export type Result<M extends Method, P extends Path<M>> = ResultOf<Operation<M, P>>;

export type Api = ReturnType<typeof createApi>;

/**
 * Creates a client that acts as the user of this request. The page's own path supplies the parameters of an API path
 * that the caller omits. Both functions throw the error of a rejected call.
 */
export function createApi(app: FastifyInstance, request: FastifyRequest) {
  async function send<M extends Method, P extends Path<M>>(
    method: M,
    path: P,
    parameters: Parameters<Operation<M, P>> = {},
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Result<M, P>> {
    const values: Readonly<Record<string, unknown>> = { ...(request.params as object), ...parameters };
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = String(values[name]);
      // These would address another operation, even encoded (RFC 3986, 6.2.2).
      if (value === '.' || value === '..') throw notFound('resource');
      return encodeURIComponent(value);
    });
    const query = Object.entries(parameters).filter(([name]) => !path.includes(`{${name}}`));
    const response = await app.inject({
      method,
      remoteAddress: request.ip,
      url: address(url, Object.fromEntries(query)),
      headers: { ...identityOf(request), accept: 'application/json', ...headers },
      ...(body !== undefined && { payload: body }),
    });
    const result = response.payload === '' ? undefined : JSON.parse(response.payload);
    if (response.statusCode >= 400) throw rejected(result);
    return result;
  }
  return {
    send,
    get: <P extends Path<'get'>>(path: P, parameters?: Parameters<Operation<'get', P>>) =>
      send('get', path, parameters),
  };
}

/** Returns the headers that identify the user. A session's cookie name depends on the host. */
function identityOf({ headers, session }: FastifyRequest): Record<string, string> {
  const names = session === null ? ['authorization'] : ['cookie', 'host', FORGERY_HEADER, BACKGROUND_HEADER];
  const present = names.map((name) => [name, headers[name]]).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(present);
}

/**
 * Sends a CSV of the API that is too large to hold as a download. The stream has backpressure, and ends with an error
 * when the response is cut off, so a truncated file is noticed. Throws the error of a rejected call.
 */
export async function sendCsv(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  { path, filename }: { path: string; filename: string },
) {
  const headers = { ...identityOf(request), accept: 'text/csv' };
  const response = await app.inject({
    ...{ method: 'GET', url: path, remoteAddress: request.ip },
    ...{ headers, payloadAsStream: true },
  });
  const stream: Readable = response.stream();
  // The user left; stop producing.
  stream.once('close', () => response.raw.res.destroy());
  if (response.statusCode >= 400) throw rejected(await json(stream));
  return reply
    .header('content-type', response.headers['content-type'])
    .header('content-disposition', `attachment; filename="${filename}"`)
    .send(stream);
}

function rejected(body: unknown): RejectedCall {
  const refusal = errorOfProblem(body);
  return new RejectedCall(refusal.code, refusal.message, refusal);
}
