/** Registers operations with the private listener: content types, streams and status codes. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ROW_TYPES } from '../formats/rows.ts';
import { actorOf } from './auth.ts';
import { passStreams, streamedRows } from './bodies.ts';
import { negotiated } from './headers.ts';
import { type Call, Created, type Operation, runCall } from './operation.ts';
import { limitReads } from './read-slots.ts';
import { type Api, type ApiParts, operation as optionsOf } from './route.ts';
import { assertNoPage, begun, interruptedOf, ndjsonOf } from './streams.ts';
import { exceptBody } from './validation.ts';

/** The types of a list. The first one is the default. */
const LIST_TYPES = [ROW_TYPES.json, ROW_TYPES.csv, ROW_TYPES.ndjson];

/** Files of rows that are read at once. */
const FILES_AT_ONCE = 3;

export function registerOperations(app: Api, operations: readonly Operation[], parts: ApiParts): void {
  for (const op of operations) if (op.rows === undefined) registerOperation(app, op, parts);
  // These have their own context because their bodies are streams.
  app.register(async (files) => {
    passStreams(files as Api, Object.values(ROW_TYPES));
    for (const op of operations) if (op.rows !== undefined) registerOperation(files as Api, op, parts);
  });
}

function registerOperation(app: Api, op: Operation, parts: ApiParts): void {
  const { id, group, method, path, scope, params, query, body, response, bodyLimit, rows, files } = op;
  const { employers, action, summary, description, refuses } = op;
  const limited = rows && limitReads(FILES_AT_ONCE, 'files', parts);
  app.route({
    method,
    url: path,
    ...optionsOf(group, scope, {
      ...{ operationId: id, employers, summary, response },
      ...(action !== undefined && { action }),
      ...(description !== undefined && { description }),
      ...(params !== undefined && { params }),
      ...(query !== undefined && { querystring: query }),
      ...(body !== undefined && { body }),
      ...(refuses !== undefined && { refuses }),
      ...(bodyLimit !== undefined && { bodyLimit }),
      ...(rows !== undefined && { validatorCompiler: exceptBody }),
    }),
    handler: async (request, reply) => {
      const call = callOf(request);
      if (files !== undefined) {
        const type = negotiated(request.headers.accept, LIST_TYPES);
        reply.header('vary', 'accept').type(type);
        if (type !== ROW_TYPES.json) {
          assertNoPage(request.query as object);
          const all = await begun(files.all(call, parts), interruptedOf(request, parts));
          return reply.send(type === ROW_TYPES.csv ? files.csv(all) : ndjsonOf(all));
        }
      }
      const answer =
        rows === undefined
          ? await runCall(op, call, parts)
          : await limited?.(request, (slot) =>
              runCall(op, { ...call, body: streamedRows(request, slot, rows) }, parts),
            );
      return sendAnswer(reply, answer);
    },
  });
}

function sendAnswer(reply: FastifyReply, answer: unknown): FastifyReply {
  return answer instanceof Created ? reply.code(201).send(answer.result) : reply.send(answer);
}

function callOf(request: FastifyRequest): Call {
  const { params, query, body, caller, session } = request;
  return { params, query, body, caller, session, actor: () => actorOf(request) };
}
