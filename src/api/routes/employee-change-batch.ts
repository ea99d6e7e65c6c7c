import type { FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { KEY_MAX_CHARACTERS } from '../../employment/accept.ts';
import { acceptBatch, BATCH_CHANGES_MAX, LINE_BYTES_MAX, type LineResult } from '../../employment/batch.ts';
import { CHANGE_SCHEMAS } from '../../employment/change-view.ts';
import { type Cut, cutArray, cutLines, parseCut } from '../../formats/batch.ts';
import { formatOf, ROW_TYPES } from '../../formats/rows.ts';
import { CHANGE_KINDS } from '../../outbox/manual.ts';
import { by } from '../auth.ts';
import type { ApiParts } from '../parts.ts';
import { invalid, Refusal } from '../problem.ts';
import { type Api, closed, FieldProblem, named } from '../schemas.ts';
import { createTurns } from '../turns.ts';
import { exceptBody } from '../validation.ts';

/** A batch is held in memory while it is accepted; 10,000 changes have some 5 MB. */
export const BATCH_BYTES_MAX = 16 * 1024 * 1024;
/** Batches at once, each with some 100 MB while it is read. They take turns with the one ledger anyway. */
const BATCHES_AT_ONCE = 3;

const BATCH_TYPES = [ROW_TYPES.json, ROW_TYPES.ndjson];

const Result = closed(
  {
    line: Type.Integer({ description: 'The line, or the element of the array, counted from 1.' }),
    status: Type.Enum(['accepted', 'repeated', 'refused', 'conflict', 'unavailable'], {
      description:
        'repeated: it was accepted before under its key. conflict: its key came with another change before. ' +
        'unavailable: the database failed meanwhile, send it again.',
    }),
    change_id: Type.Optional(Type.String({ description: 'Of a change accepted now or before.' })),
    errors: Type.Optional(Type.Array(FieldProblem, { description: 'Why nothing of it was accepted.' })),
  },
  'What became of one line.',
);
type Result = Static<typeof Result>;

const Line = Type.Union(
  CHANGE_KINDS.map((kind) =>
    closed({
      kind: Type.Enum([kind]),
      idempotency_key: Type.Optional(
        Type.String({ description: `1 to ${KEY_MAX_CHARACTERS} visible ASCII characters.` }),
      ),
      ...CHANGE_SCHEMAS[kind].properties,
    }),
  ),
);

/** Many changes in one request. A context of its own: a body is read when it is its turn. */
export function employeeChangeBatchRoutes(app: Api, parts: ApiParts): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(BATCH_TYPES, (_request, payload, done) => done(null, payload));
  const inTurn = createTurns(BATCHES_AT_ONCE, 'batches of changes', parts.log);
  const Batched = closed(
    {
      data: Type.Array(named(app, 'BatchedChange', Result), {
        description: 'A result for each change, in their order.',
      }),
    },
    'What became of each.',
  );

  app.post(
    '/v1/employee-changes/batch',
    {
      config: { scope: 'changes:write' },
      validatorCompiler: exceptBody,
      schema: {
        operationId: 'reportChanges',
        tags: ['Employment'],
        summary: 'Report many changes',
        description:
          'Each by itself: a line that is refused harms no other. A line is the body of the change with its `kind` ' +
          'and, better than not, an `idempotency_key`, so that the whole batch may be sent again. As an array, ' +
          'answered as JSON, or as newline-delimited JSON, answered as such: a `BatchedChange` on each line. At most ' +
          `${BATCH_CHANGES_MAX} changes and 16 MiB.`,
        body: Type.Unsafe<unknown>({
          content: {
            [ROW_TYPES.json]: {
              schema: Type.Array(Line),
            },
            [ROW_TYPES.ndjson]: { schema: Type.String() },
          },
        }),
        response: {
          200: Type.Unsafe<unknown>({
            description: 'What became of each, in their order.',
            content: {
              [ROW_TYPES.json]: { schema: Batched },
              [ROW_TYPES.ndjson]: { schema: Type.String({ description: 'A `BatchedChange` on each line.' }) },
            },
          }),
        },
      },
    },
    async (request, reply) => {
      // Whoever sends it believes that the batch is safe to repeat.
      if (request.headers['idempotency-key'] !== undefined) {
        const rule = 'belongs to single changes: give each change of the batch its idempotency_key';
        throw invalid([{ path: 'Idempotency-Key', rule }]);
      }
      const isArray = formatOf(request.headers['content-type'] ?? '') === 'json';
      const { cuts, results } = await inTurn(async () => {
        const bytes = await wholeBody(request);
        const cuts = cutsOf(bytes, isArray);
        return { cuts, results: await acceptBatch(parts, parsedOf(bytes, cuts)) };
      });
      const count = results.filter(({ status }) => status === 'accepted').length;
      parts.log.info({ count, ...by(request) }, 'a batch of employment changes was accepted');
      const shown = results.map((result, index) => resultOf(cuts[index] as Cut, result));
      if (isArray) return { data: shown };
      return reply.type(ROW_TYPES.ndjson).send(shown.map((result) => `${JSON.stringify(result)}\n`).join(''));
    },
  );
}

/** The body, which is a stream until now. Throws a `Refusal` when there is none, or it is too large. */
async function wholeBody({ body, headers }: FastifyRequest): Promise<Buffer> {
  if (body === undefined || body === null) throw invalid([{ path: 'body', rule: 'is required' }]);
  if (Number(headers['content-length'] ?? 0) > BATCH_BYTES_MAX) throw tooLarge();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > BATCH_BYTES_MAX) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function tooLarge(): Refusal {
  return new Refusal('too-large', `a batch has at most ${BATCH_BYTES_MAX / 1024 / 1024} MiB: send several`);
}

function cutsOf(bytes: Buffer, isArray: boolean): Cut[] {
  const cuts = isArray ? cutArray(bytes) : cutLines(bytes);
  const refuse = (rule: string) => invalid([{ path: 'body', rule }]);
  if (cuts === null) throw refuse('must be an array in JSON');
  if (cuts.length === 0) throw refuse('must have at least 1 change');
  if (cuts.length > BATCH_CHANGES_MAX) {
    throw refuse(`must have at most ${BATCH_CHANGES_MAX} changes: send several batches`);
  }
  return cuts;
}

function* parsedOf(bytes: Buffer, cuts: readonly Cut[]) {
  for (const cut of cuts) yield parseCut(bytes, cut, LINE_BYTES_MAX);
}

function resultOf({ line }: Cut, result: LineResult): Result {
  const { status } = result;
  if ('changeId' in result) return { line, status, change_id: result.changeId };
  return {
    line,
    status,
    errors: result.problems.map((problem) => ({ ...problem, path: problem.path || 'line' })),
  };
}
