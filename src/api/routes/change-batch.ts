import { buffer } from 'node:stream/consumers';
import Type, { type Static } from 'typebox';
import * as field from '../../contract/fields.ts';
import { acceptBatch, BATCH_CHANGES_MAX, LINE_BYTES_MAX, type LineResult } from '../../employment/batch.ts';
import { CHANGE_SCHEMAS } from '../../employment/change.ts';
import { type Cut, cutArray, cutLines, parseCut } from '../../formats/batch.ts';
import { formatOf, ROW_TYPES } from '../../formats/rows.ts';
import { CHANGE_KINDS } from '../../outbox/manual.ts';
import { actorOf, by } from '../auth.ts';
import { passStreams, streamedBody } from '../bodies.ts';
import { KEY_HEADER, Key, limitsOf, NearId, nearField } from '../operations/change-reports.ts';
import { invalid, logElsewhere, logPerhapsProbe } from '../problem.ts';
import { limitReads } from '../read-slots.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { exceptBody } from '../validation.ts';

/** A batch is held in memory while it is accepted; 10,000 changes take about 5 MB. */
const BATCH_BYTES_MAX = 16 * 1024 * 1024;
const TOO_LARGE = 'The batch is larger than 16 MiB. Send several smaller ones.';
/** Batches read at the same time, each about 100 MB. They wait for the one ledger anyway. */
const BATCHES_AT_ONCE = 3;

const Result = field.component(
  'BatchedChange',
  {
    line: field.integer('The number of the line or array element, from 1.'),
    status: Type.Enum(['accepted', 'repeated', 'refused', 'elsewhere', 'conflict', 'unavailable'], {
      description:
        '`repeated`: accepted earlier with the same key. `elsewhere`: the employee of a hire is active at an employer outside the limit of the token. ' +
        '`conflict`: the key was used for another change. ' +
        '`unavailable`: the database failed, send the change again.',
    }),
    change_id: Type.Optional(field.text('The ID of a change that is or was accepted.')),
    near_employee_id: Type.Optional(NearId),
    errors: Type.Optional(
      Type.Array(field.FieldProblem, { description: 'The problems of a rejected change.' }),
    ),
  },
  'The result of one change.',
);
type Result = Static<typeof Result>;

const Line = Type.Union(
  CHANGE_KINDS.map((kind) =>
    field.component(`Batched${CHANGE_SCHEMAS[kind].component}`, {
      kind: Type.Enum([kind]),
      idempotency_key: Key,
      ...CHANGE_SCHEMAS[kind].properties,
    }),
  ),
);

const Batched = field.component(
  'BatchResults',
  { results: Type.Array(Result, { description: 'One result per change, in order.' }) },
  'The results.',
);

/**
 * Accepts many changes in one request. A route, because its response has the format of its body, which is a stream that the
 * employment module reads whole.
 */
export function changeBatchRoutes(app: Api, parts: ApiParts): void {
  passStreams(app, [ROW_TYPES.json, ROW_TYPES.ndjson]);
  const limited = limitReads(BATCHES_AT_ONCE, 'batches of changes', parts);

  app.post(
    '/v1/employee-changes/batch',
    operation('Employment', 'changes:write', {
      operationId: 'reportChanges',
      employers: 'request',
      action: 'change.report',
      summary: 'Report many changes',
      description:
        'Accepts each change independently: an invalid change does not affect the other changes. A line is the body of the change with its `kind` ' +
        'and, preferably, an `idempotency_key`, so that the batch can be sent again. Send a JSON array ' +
        'or newline-delimited JSON. The response has the same format, with one `BatchedChange` per line. At most ' +
        `${BATCH_CHANGES_MAX} changes and 16 MiB.`,
      body: Type.Unsafe<unknown>({
        content: {
          [ROW_TYPES.json]: { schema: field.named('EmployeeChangeBatch', Type.Array(Line)) },
          [ROW_TYPES.ndjson]: { schema: Type.String() },
        },
      }),
      response: {
        200: Type.Unsafe<unknown>({
          description: 'One result per change, in order.',
          content: {
            [ROW_TYPES.json]: { schema: Batched },
            [ROW_TYPES.ndjson]: { schema: field.text('A `BatchedChange` on each line.') },
          },
        }),
      },
      refuses: ['TOO_SLOW'],
      validatorCompiler: exceptBody,
    }),
    async (request, reply) => {
      // The sender expects that the batch is safe to repeat.
      if (request.headers[KEY_HEADER] !== undefined) {
        const rule = 'must not be sent with a batch: give each change an idempotency_key';
        throw invalid([{ path: 'Idempotency-Key', rule }]);
      }
      const actor = actorOf(request);
      const isArray = formatOf(request.headers['content-type'] ?? '') === 'json';
      const { cuts, results } = await limited(request, async (slot) => {
        const bytes = await buffer(streamedBody(request, slot, BATCH_BYTES_MAX, TOO_LARGE));
        const cuts = cutsOf(bytes, isArray);
        return { cuts, results: await acceptBatch(parts, parsedOf(bytes, cuts), actor, limitsOf(request)) };
      });
      if (results.some(({ status }) => status === 'elsewhere')) logElsewhere(request);
      else if (results.some((result) => 'isPerhapsProbe' in result)) logPerhapsProbe(request);
      const count = results.filter(({ status }) => status === 'accepted').length;
      parts.log.info({ count, ...by(request) }, 'a batch of employment changes was accepted');
      const shown = results.map((result, index) => resultOf(cuts[index] as Cut, result));
      if (isArray) return { results: shown };
      return reply.type(ROW_TYPES.ndjson).send(shown.map((result) => `${JSON.stringify(result)}\n`).join(''));
    },
  );
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
  if ('changeId' in result) return { line, status, change_id: result.changeId, ...nearField(result.near) };
  const errors = result.problems.map((problem) => ({ ...problem, path: problem.path || 'line' }));
  return { line, status, errors };
}
