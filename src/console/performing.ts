/** Performs operations of the API as the signed-in user: with the same scopes, checks and messages as other clients. */
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { actorOf } from '../api/auth.ts';
import { asJsonBody } from '../api/bodies.ts';
import { performStreamed } from '../api/http.ts';
import { type Identity, type Operation, perform, performFiles } from '../api/operation.ts';
import { type ProblemDetails, problemOf, Refusal, refusalOf } from '../api/problem.ts';
import { logRefusal, type Refused } from '../api/refusal-log.ts';
import type { ApiParts } from '../api/route.ts';
import { begun, interruptedOf } from '../api/streams.ts';
import { tarOf } from '../formats/tar.ts';
import { note } from '../telemetry/metric.ts';
import { presentIn } from './elements/links.ts';

type KeysOf<T> = T extends object ? keyof T : never;
/** The values come from addresses and forms; the operation checks them. */
type Parameters<S extends TSchema> = {
  readonly [Name in KeysOf<Static<S>>]?: string | number | boolean | readonly string[] | undefined;
};
type Fields<S extends TSchema> = { readonly [Name in KeysOf<Static<S>>]?: unknown };

/** The input of an operation. The page's own path has the params that are omitted. */
export type Input<P extends TSchema, Q extends TSchema, B extends TSchema> = {
  readonly params?: Parameters<P>;
  readonly query?: Parameters<Q>;
  readonly body?: Fields<B>;
  readonly ifMatch?: string | undefined;
};

export type NamedInput<P extends TSchema, Q extends TSchema, B extends TSchema> = Input<P, Q, B> & {
  readonly filename: string;
};

/** A file of a form, and the headers of a request that would send the file. */
export type UploadedFile = {
  readonly content: Readable;
  readonly headers: { readonly 'content-type': string } & Readonly<Record<string, string>>;
};

export type Api = ReturnType<typeof createApi>;

/** Creates what performs operations for a request. Both functions throw the refusal, which is logged. */
export function createApi(request: FastifyRequest, parts: ApiParts) {
  return {
    perform<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
      op: Operation<P, Q, B, R>,
      input: Input<P, Q, B> = {},
    ): Promise<R> {
      return performed(op, request, parts, async (identity) => {
        const { body } = input;
        const read = { ...input, ...(body !== undefined && { body: asJsonBody(body, op.bodyLimit) }) };
        return (await perform(op, given(op, request, read), identity, parts)).result;
      });
    },
    /** Performs an operation whose body is a file, while the file arrives. */
    upload<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
      op: Operation<P, Q, B, R>,
      { content: body, headers }: UploadedFile,
      input: Input<P, Q, B> = {},
    ): Promise<R> {
      return performed(op, request, parts, async (identity) => {
        // The request itself may have arrived before the file gets its slot.
        const file = { caller: request.caller, raw: request.raw.socket, body, headers };
        return (await performStreamed(op, given(op, request, input), file, identity, parts)).result;
      });
    },
  };
}

/**
 * Sends the CSV of a list as a download. The stream has backpressure, and ends with an error when it is cut off, so a
 * truncated file is noticed. Throws the refusal, which is logged.
 */
export async function sendCsv<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: ApiParts,
  op: Operation<P, Q, B, R>,
  { filename, ...input }: NamedInput<P, Q, B>,
): Promise<FastifyReply> {
  // The listener measures the work, to the last byte.
  const { method, path } = op;
  const csv = await performed({ method, path }, request, parts, async (identity, refused) => {
    const read = given(op, request, input);
    const file = await performFiles(op, read, 'csv', identity, parts);
    return file.csv(await begun(file.rows, interruptedOf(refused, parts)));
  });
  const disposition = `attachment; filename="${filename}"`;
  return reply.type('text/csv').header('content-disposition', disposition).send(csv);
}

/** ASCII characters that the name of a file in an archive may have. */
const NAME_MAX_CHARACTERS = 100;

/**
 * Sends the CSVs of several lists as one archive. Memory holds one CSV at a time. A file that cannot be made ends the archive
 * with an error.
 */
export async function sendArchive<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: ApiParts,
  op: Operation<P, Q, B, R>,
  { filename, files }: { readonly filename: string; readonly files: readonly NamedInput<P, Q, B>[] },
): Promise<FastifyReply> {
  const { method, path } = op;
  const archived = async function* () {
    for (const [index, { filename: full, ...input }] of files.entries()) {
      const content = await performed({ method, path }, request, parts, async (identity) => {
        const file = await performFiles(op, given(op, request, input), 'csv', identity, parts);
        return text(file.csv(file.rows));
      });
      const name =
        full.length > NAME_MAX_CHARACTERS ? `${index + 1}-${full.slice(1 - NAME_MAX_CHARACTERS / 2)}` : full;
      yield { name, content };
    }
  };
  const archive = tarOf(archived(), parts.now());
  const disposition = `attachment; filename="${filename}"`;
  return reply
    .type('application/x-tar')
    .header('content-disposition', disposition)
    .send(archive.once('error', interruptedOf({ method, routeOptions: { url: path } }, parts)));
}

/** Returns the input with the params of the page's path, and without what is empty in an address. */
function given(
  { params: schema }: { readonly params?: TSchema },
  request: FastifyRequest,
  { params, query = {}, ...input }: { readonly params?: object; readonly query?: object },
) {
  const known = (schema as { properties?: object } | undefined)?.properties ?? {};
  const all = Object.entries({ ...(request.params as object), ...params });
  return {
    ...input,
    params: Object.fromEntries(all.filter(([name, value]) => name in known && value !== undefined)),
    query: Object.fromEntries(presentIn(query)),
  };
}

/** Runs a call of a page, measures its work on payroll runs as the listener does, and logs its refusal. */
async function performed<T>(
  { method, path, runWork, isLookUp }: Pick<Operation, 'method' | 'path' | 'runWork' | 'isLookUp'>,
  request: FastifyRequest,
  parts: ApiParts,
  run: (identity: Identity, refused: Refused) => Promise<T>,
): Promise<T> {
  const { server, ip, socket, caller, session } = request;
  // Only requests that may change something had to prove that they come from a page.
  if (request.method === 'GET' && method !== 'GET' && !isLookUp)
    throw new Error(`${path}: a page performs no ${method}`);
  const refused = { server, ip, socket, caller, session, method, routeOptions: { url: path } };
  const startedAt = parts.elapsed.now();
  try {
    const actor = () => actorOf(request);
    const noteRefused = (status: number) => server.refusedCaller(refused, status);
    const result = await run({ caller, session, actor, noteRefused }, refused);
    if (runWork !== undefined) note(parts.counts.runs[runWork], (parts.elapsed.now() - startedAt) / 1_000);
    return result;
  } catch (error) {
    const refusal = refusalOf(error);
    logRefusal(parts, error, refusal, refused);
    throw new RejectedCall(refusal.code, refusal.message, refusal);
  }
}

class RejectedCall extends Refusal {}

/** Returns the problem with which a call was rejected; undefined for other errors. */
export function rejectionOf(error: unknown): ProblemDetails | undefined {
  return error instanceof RejectedCall ? problemOf(error) : undefined;
}

export type Attempt<T> = { data: T; problem?: undefined } | { data?: undefined; problem: ProblemDetails };

/** Returns the data of a call, or the problem if it is rejected with one of `statuses` (by default, any). */
export async function attempt<T>(call: Promise<T>, ...statuses: readonly number[]): Promise<Attempt<T>> {
  try {
    return { data: await call };
  } catch (error) {
    const problem = rejectionOf(error);
    if (problem === undefined || (statuses.length > 0 && !statuses.includes(problem.status))) throw error;
    return { problem };
  }
}

/** Returns the data of a call, or null for an unknown id. */
export async function dataOrNull<T>(call: Promise<T>): Promise<T | null> {
  return (await attempt(call, 404)).data ?? null;
}
