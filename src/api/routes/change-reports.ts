import { buffer } from 'node:stream/consumers';
import type { FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { claimedAt } from '../../census/elsewhere.ts';
import * as field from '../../contract/fields.ts';
import { createGroupCommit, KEY_MAX_CHARACTERS } from '../../employment/accept.ts';
import { acceptBatch, BATCH_CHANGES_MAX, LINE_BYTES_MAX, type LineResult } from '../../employment/batch.ts';
import { CHANGE_SCHEMAS, checkChange } from '../../employment/change.ts';
import { type Limits, limitProblem } from '../../employment/limits.ts';
import { type Cut, cutArray, cutLines, parseCut } from '../../formats/batch.ts';
import { formatOf, ROW_TYPES } from '../../formats/rows.ts';
import { CHANGE_KINDS, type ChangeKind } from '../../outbox/manual.ts';
import { actorOf, by } from '../auth.ts';
import { passStreams, streamedBody } from '../bodies.ts';
import { idempotencyKeyOf } from '../headers.ts';
import { broken, conflict, invalid, logElsewhere, logPerhapsProbe, notFound } from '../problem.ts';
import { limitReads } from '../read-slots.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { exceptBody } from '../validation.ts';

/** draft-ietf-httpapi-idempotency-key-header, in lower case as Node provides header names. */
const KEY_HEADER = 'idempotency-key';
const Key = Type.Optional(
  field.text(
    `Identifies the change when it is sent again: 1 to ${KEY_MAX_CHARACTERS} visible ASCII characters.`,
  ),
);

const NearId = field.text(
  'For an employee who is in no census and no hire: the ID in the roster that differs only by zeros at its front, case, width or blanks.',
);

const Receipt = field.component(
  'EmployeeChangeReceipt',
  {
    id: field.text('The ID of the change.'),
    kind: Type.Enum([...CHANGE_KINDS], { description: 'The kind of change.' }),
    employee_id: field.text('The employee ID.'),
    state: Type.Enum(['pending'], {
      description: 'The change is sent until it is delivered. See `GET /v1/employee-changes/{change_id}`.',
    }),
    created_at: field.text('The time of acceptance.'),
    near_employee_id: Type.Optional(NearId),
  },
  'The change is stored and will be sent to the benefits service.',
);

const OPERATIONS: Readonly<Record<ChangeKind, { operationId: string; summary: string }>> = {
  'new-hire': { operationId: 'reportNewHire', summary: 'Report a new hire' },
  termination: { operationId: 'reportTermination', summary: 'Report a termination' },
  demographic: { operationId: 'reportMove', summary: 'Report a change of address or name' },
  'compensation-change': {
    operationId: 'reportCompensationChange',
    summary: 'Report a change of pay or employment status',
  },
};

/** Accepts single changes. With the 202, the sidecar takes over their delivery. */
export function changeReportRoutes(app: Api, { db, encryptor, sharedNow, log, wakeSend }: ApiParts): void {
  const groupCommit = createGroupCommit({ db, encryptor, sharedNow });

  for (const kind of CHANGE_KINDS) {
    app.post(
      `/v1/employee-changes/${kind}`,
      operation('Employment', 'changes:write', {
        ...OPERATIONS[kind],
        employers: 'request',
        action: 'change.report',
        description:
          'Validates the change and stores it until the benefits service accepts it. The changes of one employee are sent in the order ' +
          'they were accepted. With an `Idempotency-Key`, the same change always returns the first response, and a different ' +
          'change with the same key is a 409. Without a key, each request is a separate change.',
        headers: Type.Object({ [KEY_HEADER]: Key }),
        body: Type.Unsafe<unknown>(CHANGE_SCHEMAS[kind]),
        response: { 202: Receipt },
        refuses: ['INVALID_REQUEST', 'CONFLICT', 'CHANGE_REFUSED', 'EMPLOYEE_ELSEWHERE'],
        // The employment module checks the body, and the handler checks the header.
        validatorCompiler: exceptBody,
      }),
      async (request, reply) => {
        const actor = actorOf(request);
        const idempotencyKey = idempotencyKeyOf(request.headers[KEY_HEADER]);
        const checked = checkChange(kind, request.body);
        if (!checked.ok) throw broken('CHANGE_REFUSED', checked.problems);
        const { change } = checked;
        const accepted = await groupCommit.accept({
          change,
          idempotencyKey,
          actor,
          limits: limitsOf(request),
        });
        if (accepted.outcome === 'conflict') {
          throw conflict(
            'This Idempotency-Key was used for another change. Keys never expire: send a new change with a new key.',
          );
        }
        if (accepted.outcome === 'employee-unknown' && accepted.near === undefined)
          throw notFound('employee');
        if (accepted.outcome === 'elsewhere') throw broken('EMPLOYEE_ELSEWHERE', [limitProblem(accepted)]);
        if (!('changeId' in accepted)) {
          logPerhapsProbe(request);
          throw broken('CHANGE_REFUSED', [limitProblem(accepted)]);
        }
        const { outcome, changeId, createdAt, near } = accepted;
        if (outcome === 'accepted') {
          wakeSend();
          log.info({ request_id: changeId, kind, ...by(request) }, 'an employment change was accepted');
        }
        const { employee_id } = change.body;
        const stored = { id: changeId, kind, employee_id, state: 'pending', created_at: createdAt } as const;
        return reply.code(202).send({ ...stored, ...nearField(near) });
      },
    );
  }
}

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

/** Accepts many changes in one request. It needs its own context, because the body is a stream. */
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

/** Returns the limits of the caller's token; null if it has none. */
function limitsOf({ caller }: FastifyRequest): Limits | null {
  if (caller === null || caller.employers === null) return null;
  return { owner: caller.tokenId ?? caller.person ?? '', employers: caller.employers, claimedAt };
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

function nearField(near: string | undefined): { near_employee_id?: string } {
  return near === undefined ? {} : { near_employee_id: near };
}

function resultOf({ line }: Cut, result: LineResult): Result {
  const { status } = result;
  if ('changeId' in result) return { line, status, change_id: result.changeId, ...nearField(result.near) };
  const errors = result.problems.map((problem) => ({ ...problem, path: problem.path || 'line' }));
  return { line, status, errors };
}
