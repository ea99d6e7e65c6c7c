/** Registers operations with the private listener: content types, streams and status codes. */
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Db } from '../database/tables.ts';
import { formatOf, type OpenRows, ROW_TYPES, type RowFormat, readRows } from '../formats/rows.ts';
import { WORKBOOK_TYPE } from '../formats/workbook/bounds.ts';
import { actorOf } from './auth.ts';
import { passStreams, ROWS_BODY_BYTES_MAX, streamedBody } from './bodies.ts';
import { idempotencyKeyOf, ifMatchOf, negotiated } from './headers.ts';
import { oncePer } from './once-per.ts';
import {
  type Answer,
  type BodyStream,
  type Call,
  checkedCall,
  filesOf,
  type Identity,
  type Input,
  isBodyChecked,
  type Operation,
  runCall,
  UNCHANGED_HEADER,
  VERSION_HEADER,
} from './operation.ts';
import { limitReads, type ReadRequest } from './read-slots.ts';
import { type Api, type ApiParts, operation as optionsOf } from './route.ts';
import { FILES_OF_LIST, withFiles } from './schemas.ts';
import { begun, interruptedOf, ndjsonOf } from './streams.ts';
import type { Tag } from './tags.ts';
import { bodyMayBeLeftOut, exceptBody } from './validation.ts';

/** The types of a list. The first one is the default. */
const LIST_TYPES = [ROW_TYPES.json, ROW_TYPES.csv, ROW_TYPES.ndjson];

const FILES = {
  ...{ what: 'files', atOnce: 3, types: [...Object.values(ROW_TYPES), WORKBOOK_TYPE] },
  ...{ bytesMax: ROWS_BODY_BYTES_MAX, tooLarge: 'The file is larger than 64 MiB.' },
};

/** Each is held in memory until its end. */
const REPEATABLE_FILES = { ...FILES, what: 'files that are read twice', atOnce: 2 };

type ReadStream = Omit<BodyStream<unknown>, 'send'>;
type Streamable = Pick<Operation, 'stream' | 'rows' | 'areRowsRepeatable'>;

/** Returns how the body of an operation is read while it arrives; null if it is read first. */
function streamOf({ stream, rows, areRowsRepeatable }: Streamable): ReadStream | null {
  if (rows === undefined) return stream ?? null;
  // Bodies of other types are refused before this.
  const format = (headers: IncomingHttpHeaders) => formatOf(headers['content-type'] ?? '') as RowFormat;
  if (!areRowsRepeatable)
    return {
      ...FILES,
      open: (content, headers): OpenRows => {
        const type = format(headers);
        return (through) => readRows(content, type, rows, through);
      },
    };
  return {
    ...REPEATABLE_FILES,
    async open(content, headers): Promise<OpenRows> {
      const parts: Uint8Array[] = [];
      for await (const part of content) parts.push(part);
      const type = format(headers);
      return (through) => readRows(inTurns(parts), type, rows, through);
    },
  };
}

/** Yields parts that have arrived as if they arrived now, so that other work runs in between. */
async function* inTurns(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    await nextTurn();
    yield part;
  }
}

/** The read slots of a listener, by kind of body. */
const slotsOf = oncePer((_db: Db) => new Map<string, ReturnType<typeof limitReads>>());

function limitedBy({ what, atOnce }: { what: string; atOnce: number }, parts: ApiParts) {
  const slots = slotsOf(parts.db);
  const limited = slots.get(what) ?? limitReads(atOnce, what, parts);
  slots.set(what, limited);
  return limited;
}

/** Runs a checked call whose response is a stream, in a slot of its kind until the response has ended. */
function runStreaming(op: Operation, call: Call, request: ReadRequest, parts: ApiParts) {
  if (op.streams === undefined) return runCall(op, call, parts);
  const answered = Promise.withResolvers<Answer<unknown>>();
  limitedBy(op.streams, parts)(request, async () => {
    const answer = await runCall(op, call, parts);
    answered.resolve(answer);
    // However it ends: the response reports how.
    await finished(answer.result as Readable).catch(() => {});
  }).catch(answered.reject);
  return answered.promise;
}

/** A body that arrives as a stream: of a request, or a file of a form. */
export type Streamed = Pick<FastifyRequest, 'caller' | 'body' | 'headers'> & Pick<ReadRequest, 'raw'>;

/** Runs a checked call whose body is a stream, in a read slot of its kind. */
function runStreamed<R>(
  op: Operation<TSchema, TSchema, TSchema, R>,
  call: Call,
  streamed: Streamed,
  parts: ApiParts,
): Promise<Answer<R>> {
  const stream = streamOf(op);
  if (stream === null) throw new Error(`${op.id} has no streamed body`);
  return limitedBy(stream, parts)(streamed, async (slot) => {
    const content = streamedBody(streamed, slot, stream.bytesMax, stream.tooLarge);
    return runCall(op, { ...call, body: await stream.open(content, streamed.headers) }, parts);
  });
}

/** Checks the caller and the input, and runs an operation whose body is a stream. Throws the refusal of either. */
export async function performStreamed<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
  op: Operation<P, Q, B, R>,
  input: Input,
  streamed: Streamed,
  identity: Identity,
  parts: ApiParts,
): Promise<Answer<R>> {
  const call = await checkedCall(op as unknown as Operation, input, identity, parts);
  return runStreamed(op as unknown as Operation<TSchema, TSchema, TSchema, R>, call, streamed, parts);
}

const FOR_CONSOLE = 'For the console and the commands: an integration does not need it.';

/** Registers the operations of a tag. */
export function registerOperations(
  app: Api,
  tag: Tag,
  operations: readonly Operation[],
  parts: ApiParts,
): void {
  const streamed = operations.flatMap((op) => {
    const stream = streamOf(op);
    if (stream === null) registerOperation(app, tag, op, parts);
    return stream === null ? [] : [{ op, stream }];
  });
  for (const ofKind of Map.groupBy(streamed, ({ stream }) => stream.what).values()) {
    const [{ stream: kind }] = ofKind as [(typeof ofKind)[number]];
    // Each kind has its own context, because its bodies have their own types.
    app.register(async (context) => {
      passStreams(context, kind.types);
      for (const { op } of ofKind) {
        registerOperation(context as Api, tag, op, parts, (request, call) =>
          runStreamed(op, call, request, parts),
        );
      }
    });
  }
}

function registerOperation(
  app: Api,
  tag: Tag,
  op: Operation,
  parts: ApiParts,
  runs = (request: FastifyRequest, call: Call) => runStreaming(op, call, request, parts),
): void {
  const { id, method, path, scope, params, query, headers, body, bodyLimit } = op;
  const { employers, action, summary, runWork } = op;
  const texts = [op.description, op.files && FILES_OF_LIST, op.isForConsole && FOR_CONSOLE];
  const description = texts.filter(Boolean).join(' ');
  const response = op.files ? { 200: withFiles(op.response[200] as TSchema) } : op.response;
  const refuses = op.files ? [...(op.refuses ?? []), 'NOT_ACCEPTABLE' as const] : op.refuses;
  const checks = isBodyChecked(op) ? op.isBodyOptional && bodyMayBeLeftOut : exceptBody;
  app.route({
    method,
    url: path,
    ...optionsOf(tag, scope, {
      ...{ operationId: id, employers, summary, response },
      ...(action !== undefined && { action }),
      ...(description !== '' && { description }),
      ...(op.isForConsole && { 'x-for-console': true }),
      ...(params !== undefined && { params }),
      ...(query !== undefined && { querystring: query }),
      ...(headers !== undefined && { headers }),
      ...(body !== undefined && { body }),
      ...(refuses !== undefined && { refuses }),
      ...(bodyLimit !== undefined && { bodyLimit }),
      ...(runWork !== undefined && { runWork }),
      ...(checks && { validatorCompiler: checks }),
    }),
    handler: async (request, reply) => {
      const call = callOf(request, op);
      reply.header(VERSION_HEADER, parts.version);
      if (op.files === undefined) return send(request, reply, await runs(request, call));
      const type = negotiated(request.headers.accept, LIST_TYPES);
      reply.header('vary', 'accept').type(type);
      if (type === ROW_TYPES.json) return send(request, reply, await runs(request, call));
      const format = type === ROW_TYPES.csv ? 'csv' : 'ndjson';
      const file = await filesOf(op, call, parts, format);
      const pages = await begun(file.rows, interruptedOf(request, parts));
      return reply.headers(file.headers ?? {}).send(format === 'csv' ? file.csv(pages) : ndjsonOf(pages));
    },
  });

  function send(request: FastifyRequest, reply: FastifyReply, answer: Answer<unknown>) {
    const { result, status, headers, isUnchanged } = answer;
    const [first] = Object.keys(response);
    reply.code(status ?? Number(first)).headers(headers);
    if (isUnchanged) reply.header(UNCHANGED_HEADER, 'true');
    if (!(result instanceof Readable)) return reply.send(result ?? null);
    const { content = {} } = response[Number(first)] as { content?: object };
    const [type = ROW_TYPES.json] = Object.keys(content);
    return reply
      .type(headers['content-type'] ?? type)
      .send(result.once('error', interruptedOf(request, parts)));
  }
}

function callOf(request: FastifyRequest, { headers }: Operation): Call {
  const { params, query, body, caller, session } = request;
  const read: object = (headers as { properties?: object } | undefined)?.properties ?? {};
  const { 'if-match': etag, 'idempotency-key': key } = request.headers;
  return {
    ...{ params, query, body, caller, session },
    ifMatch: 'if-match' in read ? ifMatchOf(etag) : null,
    idempotencyKey: 'idempotency-key' in read ? idempotencyKeyOf([key].flat()[0]) : null,
    actor: () => actorOf(request),
    noteRefused: (status) => request.server.refusedCaller(request, status),
  };
}
