/** Reports of many employment changes in one request. */
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import Type, { type Static } from 'typebox';
import * as field from '../../contract/fields.ts';
import { acceptBatch, BATCH_CHANGES_MAX, LINE_BYTES_MAX, type LineResult } from '../../employment/batch.ts';
import { CHANGE_SCHEMAS } from '../../employment/change.ts';
import { type Cut, cutArray, cutLines, parseCut } from '../../formats/batch.ts';
import { formatOf, ROW_TYPES } from '../../formats/rows.ts';
import { CHANGE_KINDS } from '../../outbox/manual.ts';
import { Answer, type BodyStream, operation } from '../operation.ts';
import { invalid } from '../problem.ts';
import { PROBLEMS } from '../problem-types.ts';
import { KEY_HEADER, Key, limitsOf, NEAR_FIELDS, nearFields } from './change-reports.ts';

/** A batch is held in memory while it is accepted; 10,000 changes take about 5 MB. */
const BATCH_BYTES_MAX = 16 * 1024 * 1024;
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
    state: Type.Optional(
      Type.Enum(['pending', 'canceled'], {
        description: 'Of a change that is or was accepted. `canceled`: sending was off, so it is not sent.',
      }),
    ),
    ...NEAR_FIELDS,
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

type Batch = {
  readonly format: 'json' | 'ndjson';
  /** At most `BATCH_BYTES_MAX`. */
  readonly content: AsyncIterable<Uint8Array>;
};

const BATCH_STREAM: BodyStream<Batch> = {
  what: 'batches of changes',
  atOnce: BATCHES_AT_ONCE,
  types: [ROW_TYPES.json, ROW_TYPES.ndjson],
  bytesMax: BATCH_BYTES_MAX,
  tooLarge: 'The batch is larger than 16 MiB. Send several smaller ones.',
  open(content, headers) {
    // The sender expects that the batch is safe to repeat.
    if (headers[KEY_HEADER] !== undefined) {
      const rule = 'must not be sent with a batch: give each change an idempotency_key';
      throw invalid([{ path: 'Idempotency-Key', rule }]);
    }
    return { content, format: formatOf(headers['content-type'] ?? '') === 'json' ? 'json' : 'ndjson' };
  },
  send: ({ format, content }) => ({ content, headers: { 'content-type': ROW_TYPES[format] } }),
};

export const reportChanges = operation({
  id: 'reportChanges',
  method: 'POST',
  path: '/v1/employee-changes/batch',
  scope: 'changes:write',
  employers: 'request',
  action: 'change.report',
  summary: 'Report many changes',
  description:
    'Accepts each change independently: an invalid change does not affect the other changes. A line is the body of the change with its `kind` ' +
    'and, preferably, an `idempotency_key`, so that the batch can be sent again. Send a JSON array ' +
    'or newline-delimited JSON. The response has the same format, with one `BatchedChange` per line. At most ' +
    `${BATCH_CHANGES_MAX} changes and 16 MiB.`,
  body: Type.Unsafe<Batch>({
    content: {
      [ROW_TYPES.json]: { schema: field.named('EmployeeChangeBatch', Type.Array(Line)) },
      [ROW_TYPES.ndjson]: { schema: Type.String() },
    },
  }),
  stream: BATCH_STREAM,
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
  async run(call, parts) {
    const { format, content } = call.body;
    const bytes = await buffer(content);
    const cuts = cutsOf(bytes, format === 'json');
    const accepted = await acceptBatch(parts, parsedOf(bytes, cuts), call.actor(), limitsOf(call));
    if (accepted.some(({ status }) => status === 'elsewhere'))
      call.noteRefused(PROBLEMS.EMPLOYEE_ELSEWHERE.status);
    else if (accepted.some((result) => 'isPerhapsProbe' in result))
      call.noteRefused(PROBLEMS.NOT_FOUND.status);
    const results = accepted.map((result, index) => resultOf(cuts[index] as Cut, result));
    const logged = { count: results.filter(({ status }) => status === 'accepted').length };
    if (format === 'json') return new Answer({ results }, { logged });
    const lines = Readable.from(results.map((result) => `${JSON.stringify(result)}\n`));
    const headers = { 'content-type': ROW_TYPES.ndjson };
    return new Answer(lines as unknown as { results: Result[] }, { logged, headers });
  },
  logs: () => [{}, 'a batch of employment changes was accepted'],
});

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
  if ('changeId' in result) {
    const { changeId: change_id, state, near } = result;
    return { line, status, change_id, state, ...nearFields(near) };
  }
  const errors = result.problems.map((problem) => ({ ...problem, path: problem.path || 'line' }));
  return { line, status, errors };
}
