/** How the command line performs operations on a running sidecar, over HTTP with a token. */
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import {
  Answer,
  type BodyStream,
  type Input,
  type Operation,
  UNCHANGED_HEADER,
  VERSION_HEADER,
} from '../api/operation.ts';
import { errorOfProblem, PROBLEM_TYPE } from '../api/problem.ts';
import { isDatabaseSet } from '../config.ts';
import { address, bearer, type Environment, given, isPlainHttp, required, secret } from '../environment.ts';
import { codeOf } from '../errors.ts';
import { ROW_TYPES } from '../formats/rows.ts';
import { VERSION } from '../version.ts';
import type { RowsFile } from './arguments.ts';
import type { Context } from './command.ts';
import { failed, unanswered, wrongUsage } from './failure.ts';
import { addressOf } from './operation-failure.ts';
import { printable } from './output.ts';
import type { Performers } from './performing.ts';

/** Where a command runs: `--url`, or `--local` for the configured database. */
type Place = { readonly url?: string; readonly local?: boolean };

/** Returns the address of the sidecar that a command is meant for; null for the configured database. */
export function addressFor(env: Environment, { url, local = false }: Place): string | null {
  if (url !== undefined && local) throw wrongUsage('use either --url or --local');
  if (local) return null;
  const stated = url ?? given(env, 'SIDECAR_URL');
  if (stated === undefined) return null;
  if (url === undefined && isDatabaseSet(env))
    throw wrongUsage('SIDECAR_URL and DATABASE_URL are both set: add --url or --local');
  const name = url === undefined ? 'SIDECAR_URL' : '--url';
  const base = address(stated);
  if (base?.search !== '' || isPlainHttp(stated))
    throw wrongUsage(
      `${name} must be an https:// address, or http:// of this machine, without a user name or a query`,
    );
  return `${base.origin}${base.pathname}`.replace(/\/$/, '');
}

function tokenIn(env: Environment): string {
  try {
    return bearer('SIDECAR_TOKEN', required('SIDECAR_TOKEN', secret(env, 'SIDECAR_TOKEN')));
  } catch (error) {
    // Not as CONFIG, whose advice is `doctor`: it checks only the variables of a sidecar.
    throw failed(`${(error as Error).message}: a command with --url needs a token of that sidecar`);
  }
}

/** As long as the private listener lets a request take. */
const TIMEOUT_MS = 10 * 60_000;

/** Performs operations at an address. */
export function performAt(url: string, { env, out, stopped }: Context): Performers {
  const token = tokenIn(env);
  let isVersionNamed = false;
  const ask = async (op: Asked, input: Input, accept: string): Promise<Response> => {
    const { ifMatch, idempotencyKey } = input;
    const { content, headers } = contentIn(op, input);
    const request = {
      ...{ method: op.method, redirect: 'manual', duplex: 'half' },
      headers: {
        ...{ authorization: `Bearer ${token}`, accept },
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...headers,
      },
      signal: AbortSignal.any([stopped(), AbortSignal.timeout(TIMEOUT_MS)]),
      ...(content !== undefined && { body: content }),
    };
    const response = await fetch(url + addressOf(op, input), request as RequestInit).catch((error) => {
      throw unanswered(`${url} did not answer: ${whyUnanswered(error)}`);
    });
    const version = response.headers.get(VERSION_HEADER);
    if (version !== null && version !== VERSION && !isVersionNamed) {
      isVersionNamed = true;
      out.note(`${printable(url)} has version ${printable(version)}, and this command has ${VERSION}.`);
    }
    await assertAnswered(response, url);
    return response;
  };
  return {
    async perform(op, input) {
      const response = await ask(op, input, '*/*');
      const isUnchanged = response.headers.get(UNCHANGED_HEADER) !== null;
      return new Answer(await resultOf(response, url), { isUnchanged });
    },
    async performFiles(op, input, format) {
      const content = contentOf(await ask(op, input, ROW_TYPES[format]), url);
      return { rows: rowsIn(content), csv: () => content };
    },
  };
}

type Asked = Pick<Operation, 'method' | 'path' | 'params' | 'rows' | 'body'> & { readonly stream?: unknown };
type Content = { readonly content?: string | AsyncIterable<Uint8Array>; readonly headers?: object };

function contentIn({ body, rows, stream }: Asked, input: Input): Content {
  if (body === undefined) return {};
  if (stream !== undefined) return (stream as BodyStream<unknown>).send(input.body);
  if (rows === undefined)
    return {
      content: JSON.stringify(input.body === undefined ? {} : input.body),
      headers: { 'content-type': ROW_TYPES.json },
    };
  const file = input.body as RowsFile;
  return { content: file.read(), headers: { 'content-type': ROW_TYPES[file.format] } };
}

/** Returns what failed and what to do. The library's own error only states that the call failed. */
function whyUnanswered(error: Error): string {
  const cause = error.cause instanceof Error ? error.cause : error;
  const advice = NETWORK_ADVICE[codeOf(cause)] ?? NETWORK_ADVICE[cause.name] ?? NETWORK_ADVICE[cause.message];
  return advice ?? `${codeOf(cause) || cause.name}. ${CHECK}`;
}

const CHECK = 'Check the address and the network.';
const CERTIFICATE = 'Its certificate is not trusted. Set NODE_EXTRA_CA_CERTS to the file of its authority.';

/** By the code, name or message of an error. */
const NETWORK_ADVICE: Readonly<Record<string, string>> = {
  'bad port': 'requests to this port are blocked. Use another port.',
  ECONNREFUSED: 'nothing listens there. Start the sidecar, or check the address.',
  ECONNRESET: `the connection was closed. ${CHECK}`,
  UND_ERR_SOCKET: `the connection was closed. ${CHECK}`,
  ENOTFOUND: 'its host name has no address. Check the address.',
  EAI_AGAIN: 'its host name could not be looked up. Check the address and the network.',
  TimeoutError: `it took more than ${TIMEOUT_MS / 60_000} minutes. Run the command again.`,
  AbortError: 'the command was stopped.',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not use HTTPS. Use its http:// address.',
  DEPTH_ZERO_SELF_SIGNED_CERT: CERTIFICATE,
  SELF_SIGNED_CERT_IN_CHAIN: CERTIFICATE,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: CERTIFICATE,
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name. Check the address.',
  SyntaxError: 'its JSON is cut off or damaged. Run the command again.',
  CERT_HAS_EXPIRED: 'its certificate has expired. Renew it.',
};

/** Throws the refusal of the sidecar, or names what no sidecar answers. */
async function assertAnswered(response: Response, url: string): Promise<void> {
  const { status, headers } = response;
  if (headers.get('content-type')?.startsWith(PROBLEM_TYPE)) {
    const refusal = errorOfProblem(await jsonOf(response, url));
    if (refusal?.message === '') throw failed(`${url} answered ${status}: its log has the cause`);
    if (refusal !== null) throw refusal;
  }
  if (status >= 300 && status < 400)
    throw failed(`${url} answered with a redirect (${status}), which is not followed: use the final address`);
  if (status >= 502 && status <= 504)
    throw unanswered(`${url} answered ${status}: the sidecar may be restarting`);
  if (!response.ok || headers.get(VERSION_HEADER) === null)
    throw failed(`${url} answered ${status} and is no sidecar, or a proxy before it: check the address`);
}

/** Returns the JSON of a response, or its content as a stream if it is something else. */
async function resultOf<R>(response: Response, url: string): Promise<R> {
  if (response.status === 204) return undefined as R;
  const isJson = response.headers.get('content-type')?.startsWith(ROW_TYPES.json) === true;
  return (isJson ? await jsonOf(response, url) : contentOf(response, url)) as R;
}

async function jsonOf(response: Response, url: string): Promise<unknown> {
  return response.json().catch((error) => {
    throw brokenOff(url, error);
  });
}

function contentOf({ body }: Response, url: string): Readable {
  const parts = async function* () {
    try {
      yield* body ?? [];
    } catch (error) {
      throw brokenOff(url, error);
    }
  };
  return Readable.from(parts(), { objectMode: false });
}

function brokenOff(url: string, error: unknown): Error {
  return unanswered(`${url} did not send its whole answer: ${whyUnanswered(error as Error)}`);
}

async function* rowsIn(content: Readable): AsyncGenerator<object[]> {
  for await (const line of createInterface({ input: content, crlfDelay: Number.POSITIVE_INFINITY }))
    if (line !== '') yield [JSON.parse(line)];
}
