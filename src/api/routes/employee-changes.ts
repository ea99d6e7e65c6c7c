import type { FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { closed, identifier, nullable, oneOf } from '../../contract/fields.ts';
import { type ChangeBody, readBody } from '../../employment/bodies.ts';
import { changeCursor } from '../../employment/change-view.ts';
import {
  type AcceptedChange,
  ATTEMPTS_SHOWN,
  type ChangeFilter,
  findChange,
  listChanges,
} from '../../employment/changes.ts';
import { type ActedOn, cancelChange, releaseChange, retryChange } from '../../employment/manual.ts';
import { CHANGE_KINDS } from '../../outbox/manual.ts';
import { employeeSubject } from '../../outbox/queue.ts';
import { alsoNeeds, by, writeReadDown } from '../auth.ts';
import type { ApiParts } from '../parts.ts';
import { notFound, Refusal } from '../problem.ts';
import {
  type Api,
  cursor,
  instant,
  LIMIT_DEFAULT,
  limit,
  named,
  ownInstant,
  pageOf,
  toMilliseconds,
} from '../schemas.ts';
import { bodyMayBeLeftOut } from '../validation.ts';

const STATES = ['pending', 'sending', 'delivered', 'rejected', 'cancelled'] as const;
const nullableText = (description: string) => nullable(Type.String({ description }));
const status = nullable(Type.Integer({ description: 'The HTTP status of the answer; null when none came.' }));

const SUMMARY = {
  change_id: Type.String({ description: 'The id that it was accepted under.' }),
  kind: Type.Enum([...CHANGE_KINDS], { description: 'What was reported.' }),
  employee_id: Type.String({ description: "Payroll's id of the employee." }),
  state: Type.Enum([...STATES], {
    description: 'pending: it is sent by itself. rejected: the service said no, and a person decides.',
  }),
  reason: nullableText('Why it is rejected or cancelled, or what came of the last attempt.'),
  status,
  created_at: ownInstant('When it was accepted.'),
  due_at: nullableText('When it is sent next, if nothing is in its way; null once it is finished.'),
  finished_at: nullableText('When it was delivered, rejected or cancelled.'),
  attempts: Type.Integer({ minimum: 0, description: 'How often it was tried.' }),
  may_have_been_applied: Type.Boolean({
    description: 'It is not delivered, but an answer was lost: the service may know of it all the same.',
  }),
  holding: Type.Boolean({
    description:
      "A rejected new hire: the employee's later changes wait until it is retried, cancelled or released.",
  }),
  waits_behind: nullableText('The change of the same employee that must go first; null when nothing must.'),
  erased_at: nullableText(
    'When its attempts were erased, which RETENTION_REQUESTS sets; null: they are all here.',
  ),
  effective_on: nullableText('The date from which it counts for payroll, if the caller stated one.'),
};

export const ChangeSummary = closed(SUMMARY, 'An employment change, without what it says.');
export type ChangeSummary = Static<typeof ChangeSummary>;
/** The name of `ChangeSummary` in the reference, for the routes that answer it. */
export const Summary = Type.Unsafe<ChangeSummary>({ $ref: 'AcceptedChange#' });

const AttemptShown = closed({
  attempt: Type.Integer({ minimum: 1, description: 'Which one, from 1.' }),
  started_at: ownInstant('When it began.'),
  finished_at: nullableText('When it ended; null while it is under way.'),
  status,
  reason: nullableText('What came of it; null when it was delivered.'),
});

const WholeChange = closed(
  {
    ...SUMMARY,
    last_attempts: Type.Array(AttemptShown, {
      description: `Its attempts, the newest first, at most ${ATTEMPTS_SHOWN}.`,
    }),
    body: Type.Optional(
      Type.Unsafe<ChangeBody['body']>({
        type: ['object', 'null'],
        description:
          'With `body=true`: what was reported, an SSN by its last four digits. Null once it is erased.',
      }),
    ),
    body_absent: Type.Optional(nullableText('With `body=true`: why there is no body.')),
    answer: Type.Optional(
      nullableText('With `body=true`: what the service said when it rejected the change, its first 4 KiB.'),
    ),
  },
  'An employment change and its attempts.',
);

export const ChangeId = closed({ change_id: Type.String({ minLength: 1, maxLength: 255 }) });

const ChangeQuery = closed({
  state: Type.Optional(oneOf(STATES)),
  employee_id: Type.Optional({ ...identifier, description: 'Of this employee.' }),
  kind: Type.Optional(oneOf(CHANGE_KINDS)),
  from: Type.Optional(instant('Accepted at this instant or later.')),
  until: Type.Optional(instant('Accepted before this instant.')),
  cursor,
  limit,
});

const BodyQuery = closed({
  body: Type.Optional(
    Type.Boolean({
      rule: 'must be true or false',
      description:
        'Show what it says too. Needs the scope `pii:read` as well, and each look is written down.',
    }),
  ),
});

/** What became of the changes that were accepted. */
export function employeeChangeRoutes(app: Api, parts: ApiParts): void {
  const { db, encryptor, log } = parts;
  named(app, 'AcceptedChange', ChangeSummary);

  app.get(
    '/v1/employee-changes',
    {
      config: { scope: 'changes:read' },
      schema: {
        operationId: 'listEmployeeChanges',
        tags: ['Employment'],
        summary: 'List employment changes',
        description: 'The newest first, without what they say. All parameters given must hold.',
        querystring: ChangeQuery,
        response: { 200: pageOf(Summary) },
      },
    },
    async ({ query }) => {
      const page = { before: changeCursor.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
      const { changes, next } = await listChanges(db, filterOf(query), page);
      return { data: changes, next_cursor: changeCursor.encode(next) };
    },
  );

  app.get(
    '/v1/employee-changes/:change_id',
    {
      config: { scope: 'changes:read', refuses: ['not-found'] },
      schema: {
        operationId: 'getEmployeeChange',
        tags: ['Employment'],
        summary: 'Get an employment change',
        description:
          'With its attempts. With `body=true`, for tokens that also have the scope `pii:read`, what it says, and ' +
          'what the service answered when it rejected it: personal data, and who looked is written down.',
        params: ChangeId,
        querystring: BodyQuery,
        response: { 200: named(app, 'EmployeeChange', WholeChange) },
      },
    },
    async (request) => {
      const { change_id } = request.params;
      const isBodyAsked = request.query.body === true;
      if (isBodyAsked) alsoNeeds(request, 'pii:read');
      const found = await findChange(db, change_id);
      if (found === null) throw notFound('employment change');
      const shown = { ...found.change, last_attempts: found.attempts };
      if (!isBodyAsked) return shown;
      const subject = employeeSubject(found.change.employee_id);
      await writeReadDown(parts, request, { what: 'change', whatId: change_id, subject });
      log.info(
        { request_id: change_id, kind: found.change.kind, ...by(request) },
        'what an employment change says was read',
      );
      const read = await readBody(db, encryptor, change_id);
      if (read === null) throw notFound('employment change');
      return { ...shown, body: read.body, body_absent: read.absent, answer: read.answer };
    },
  );

  employeeChangeWorkRoutes(app, parts);
}

function filterOf({ state, employee_id, kind, from, until }: Static<typeof ChangeQuery>): ChangeFilter {
  return {
    state,
    employeeId: employee_id,
    kind,
    from: from === undefined ? undefined : toMilliseconds(from),
    until: until === undefined ? undefined : toMilliseconds(until),
  };
}

export const REASON_MAX_CHARACTERS = 500;

const Retrying = closed(
  {
    force: Type.Optional(
      Type.Boolean({
        rule: 'must be true or false',
        description: 'Also when a newer change of the employee was delivered, which this one may undo.',
      }),
    ),
  },
  'May be left out.',
);

const Cancelling = closed(
  {
    reason: Type.String({
      pattern: '\\S',
      maxLength: REASON_MAX_CHARACTERS,
      rule: `must say why, in at most ${REASON_MAX_CHARACTERS} characters`,
      description: 'Why the service is not to be told. Kept, and shown with the change.',
    }),
  },
  'Why.',
);

/** What people do about one employment change. */
function employeeChangeWorkRoutes(app: Api, { db, now, log, wakeSend }: ApiParts): void {
  app.post(
    '/v1/employee-changes/:change_id/retry',
    {
      config: { scope: 'changes:write', refuses: ['not-found', 'conflict'] },
      validatorCompiler: bodyMayBeLeftOut,
      schema: {
        operationId: 'retryEmployeeChange',
        tags: ['Employment'],
        summary: 'Send a change once more, now',
        description:
          'A rejected one goes before what waits behind it, under the same idempotency key; refused when a newer change ' +
          'of the employee was delivered, unless forced. One that waits for its next try is tried at once.',
        params: ChangeId,
        body: Retrying,
        response: { 202: Summary },
      },
    },
    async (request, reply) => {
      const { change_id } = request.params;
      const force = request.body?.force === true;
      const acted = await retryChange(db, change_id, { force, now: now().toISOString() });
      return reply.code(202).send(done(request, acted, force ? 'retried by force' : 'retried'));
    },
  );

  app.post(
    '/v1/employee-changes/:change_id/cancel',
    {
      config: { scope: 'changes:write', refuses: ['not-found', 'conflict'] },
      schema: {
        operationId: 'cancelEmployeeChange',
        tags: ['Employment'],
        summary: 'Give a change up',
        description:
          'One that waits, or was rejected. It is never sent again, what it says is erased, and what waits behind it ' +
          'goes out. What the roster learned from it stays.',
        params: ChangeId,
        body: Cancelling,
        response: { 200: Summary },
      },
    },
    async (request) => {
      const { change_id } = request.params;
      const { reason } = request.body;
      return done(
        request,
        await cancelChange(db, change_id, { reason, now: now().toISOString() }),
        'cancelled',
      );
    },
  );

  app.post(
    '/v1/employee-changes/:change_id/release',
    {
      config: { scope: 'changes:write', refuses: ['not-found', 'conflict'] },
      schema: {
        operationId: 'releaseEmployeeChange',
        tags: ['Employment'],
        summary: 'Let the changes behind a rejected new hire go out',
        description: 'For when the service knows the employee all the same. The new hire stays rejected.',
        params: ChangeId,
        response: { 200: Summary },
      },
    },
    async (request) => done(request, await releaseChange(db, request.params.change_id), 'released'),
  );

  /** Answers the change as it is afterwards. */
  function done(request: FastifyRequest, acted: ActedOn, what: string): AcceptedChange {
    if (acted.outcome === 'not-found') throw notFound('employment change');
    if (acted.outcome === 'refused') throw new Refusal('conflict', acted.why);
    const { change } = acted;
    const fields = { request_id: change.change_id, kind: change.kind, ...by(request) };
    log.info(fields, `an employment change was ${what}`);
    wakeSend();
    return change;
  }
}
