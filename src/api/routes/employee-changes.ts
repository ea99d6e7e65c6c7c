import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { readBody } from '../../employment/bodies.ts';
import {
  type AcceptedChange,
  type ActedOn,
  ATTEMPTS_SHOWN,
  actOnChange,
  changeCursor,
  findChange,
  listChanges,
} from '../../employment/changes.ts';
import { CHANGE_KINDS, cancelManually, releaseManually, retryManually } from '../../outbox/manual.ts';
import { forEmployers, recordedEmployers } from '../../security/audit.ts';
import { actingIn, alsoNeeds, by, writeReadDown } from '../auth.ts';
import { employersOf, seesEmployer } from '../employers.ts';
import { conflict, notFound } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { cursor, flag, idFilter, instant, LIMIT_DEFAULT, limit, ownId, pageOf } from '../schemas.ts';
import { bodyMayBeLeftOut } from '../validation.ts';

const STATES = ['pending', 'sending', 'delivered', 'rejected', 'canceled'] as const;
const status = field.nullable(field.integer('The HTTP status of the response. Null if there was none.'));

const SUMMARY = {
  id: field.text('The ID of the change.'),
  kind: Type.Enum([...CHANGE_KINDS], { description: 'The kind of change.' }),
  employee_id: field.text('The employee ID.'),
  state: Type.Enum([...STATES], {
    description:
      '`pending`: it will be sent automatically. `rejected`: the benefits service rejected it and a person must decide.',
  }),
  reason: field.nullableText('Why the change was rejected or canceled, or the result of the last attempt.'),
  status,
  created_at: field.text('The time of acceptance.'),
  due_at: field.nullableText('The time of the next attempt, if nothing blocks it. Null when finished.'),
  finished_at: field.nullableText('The time the change was delivered, rejected or canceled.'),
  attempts: Type.Integer({ minimum: 0, description: 'The number of attempts.' }),
  may_have_been_applied: field.boolean(
    'The change is not delivered, but a response was lost, so the benefits service may have applied it.',
  ),
  blocking: field.boolean(
    "A rejected new hire blocks the employee's later changes until it is retried, canceled or released.",
  ),
  earlier_change_id: field.nullableText(
    'The earlier change of the employee that must be sent first. Null if there is none.',
  ),
  erased_at: field.nullableText(
    'The time retention (`RETENTION_REQUESTS`) deleted the attempts. Null if all are shown.',
  ),
  effective_on: field.nullableText(
    'The date from which the change applies to payroll, if the caller stated one.',
  ),
  pay_group: field.nullableText("The employee's pay group, if the caller stated one."),
};

export const ChangeSummary = field.component(
  'EmployeeChangeSummary',
  SUMMARY,
  'An employment change, without its contents.',
);

const AttemptShown = field.component('DeliveryAttempt', {
  attempt: Type.Integer({ minimum: 1, description: 'The number of the attempt, from 1.' }),
  started_at: field.text('The start time.'),
  finished_at: field.nullableText('The end time. Null while the attempt is running.'),
  status,
  reason: field.nullableText('The result of the attempt. Null while the attempt is running.'),
});

const WholeChange = field.component(
  'EmployeeChange',
  {
    ...SUMMARY,
    last_attempts: Type.Array(AttemptShown, {
      description: `Up to ${ATTEMPTS_SHOWN} attempts, newest first.`,
    }),
    body: Type.Optional(
      Type.Unsafe<Readonly<Record<string, unknown>> | null>({
        type: ['object', 'null'],
        description:
          'With `body=true`: the reported change, with only the last four digits of an SSN. Null after it is erased.',
      }),
    ),
    body_absent: Type.Optional(field.nullableText('With `body=true`: why there is no body.')),
    response: Type.Optional(
      field.nullableText('With `body=true`: the first 4 KiB of the response that rejected the change.'),
    ),
  },
  'An employment change and its attempts.',
);

const ChangeId = field.closed({ change_id: ownId });

export function employeeChangeRoutes(app: Api, parts: ApiParts): void {
  const { db, encryptor, sharedNow, log, wakeSend } = parts;

  app.get(
    '/v1/employee-changes',
    operation('Employment', 'changes:read', {
      operationId: 'listEmployeeChanges',
      employers: 'list',
      summary: 'List employment changes',
      description: 'Lists changes without their contents, newest first. Parameters are combined with AND.',
      querystring: field.closed({
        state: Type.Optional(field.oneOf(STATES)),
        employee_id: idFilter('Only results for this employee.'),
        employer_id: idFilter(
          'Only changes of this employer: a hire states it, and another change is about the employers of its employee when it was reported.',
        ),
        kind: Type.Optional(field.oneOf(CHANGE_KINDS)),
        from: instant('Only changes accepted at or after this time.'),
        until: instant('Only changes accepted before this time.'),
        cursor,
        limit,
      }),
      response: { 200: pageOf(ChangeSummary) },
    }),
    async (request) => {
      const { query } = request;
      const page = { before: changeCursor.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
      const { employee_id: employeeId, employer_id: employerId, ...filter } = query;
      const employers = employersOf(request);
      if (employerId !== undefined && !seesEmployer(request, employerId)) return changeCursor.page([], null);
      const { changes, next } = await listChanges(db, { ...filter, employeeId, employerId, employers }, page);
      return changeCursor.page(changes, next);
    },
  );

  app.get(
    '/v1/employee-changes/:change_id',
    operation('Employment', 'changes:read', {
      operationId: 'getEmployeeChange',
      employers: 'change',
      summary: 'Get an employment change',
      description:
        'Returns the change with its attempts. `body=true` adds its contents and, ' +
        'if the benefits service rejected it, the response. This is personal data: it requires the scope `pii:read`, and each read is recorded.',
      params: ChangeId,
      querystring: field.closed({
        body: flag('Include the contents. Also requires the scope `pii:read`, and each read is recorded.'),
      }),
      response: { 200: WholeChange },
      refuses: ['NOT_FOUND'],
    }),
    async (request) => {
      const { change_id } = request.params;
      if (request.query.body === true) alsoNeeds(request, 'pii:read');
      const change = await findChange(db, change_id, employersOf(request));
      if (change === null) throw notFound('employment change');
      if (request.query.body !== true) return change;
      const made = { action: 'change.read', resource: change_id, employee: change.employee_id } as const;
      const employers = await recordedEmployers(db, 'change.report', change_id);
      await writeReadDown(parts, request, ...forEmployers(made, employers));
      const fields = { request_id: change_id, kind: change.kind, ...by(request) };
      log.info(fields, 'the contents of an employment change were read');
      const read = await readBody(db, encryptor, change_id);
      if (read === null) throw notFound('employment change');
      return { ...change, body: read.body, body_absent: read.absent, response: read.response };
    },
  );

  app.post(
    '/v1/employee-changes/:change_id/retry',
    operation('Employment', 'changes:write', {
      operationId: 'retryEmployeeChange',
      employers: 'change',
      action: 'change.retry',
      summary: 'Retry a change now',
      description:
        'A rejected change is sent before the changes that wait for it, with the same idempotency key. Fails with 409 if a newer change ' +
        'of the employee was delivered, unless `force` is true. A pending change is sent immediately.',
      params: ChangeId,
      body: field.component(
        'RetryRequest',
        {
          force: flag(
            'Retry even if a newer change of the employee was delivered, which this change may undo.',
          ),
        },
        'Options of a retry.',
      ),
      response: { 202: ChangeSummary },
      refuses: ['NOT_FOUND', 'CONFLICT'],
      validatorCompiler: bodyMayBeLeftOut,
    }),
    async (request, reply) => {
      const { change_id } = request.params;
      const force = request.body.force === true;
      const how = { force, ...actingIn(request, await sharedNow(db)) };
      const acted = await actOnChange(
        db,
        change_id,
        (trx) => retryManually(trx, change_id, how),
        employersOf(request),
      );
      return reply.code(202).send(done(request, acted, force ? 'retried by force' : 'retried'));
    },
  );

  app.post(
    '/v1/employee-changes/:change_id/cancel',
    operation('Employment', 'changes:write', {
      operationId: 'cancelEmployeeChange',
      employers: 'change',
      action: 'change.cancel',
      summary: 'Cancel a change',
      description:
        'Cancels a pending or rejected change. It is never sent, its contents are erased, and the changes that wait for it ' +
        'are sent. Facts that the roster recorded from it remain.',
      params: ChangeId,
      body: field.component(
        'CancelRequest',
        { reason: field.reasonField('The reason for the cancellation. It is stored with the change.') },
        'The reason for canceling a change.',
      ),
      response: { 200: ChangeSummary },
      refuses: ['NOT_FOUND', 'CONFLICT'],
    }),
    async (request) => {
      const { change_id } = request.params;
      const how = { reason: request.body.reason, ...actingIn(request, await sharedNow(db)) };
      const acted = await actOnChange(
        db,
        change_id,
        (trx) => cancelManually(trx, change_id, how),
        employersOf(request),
      );
      return done(request, acted, 'canceled');
    },
  );

  app.post(
    '/v1/employee-changes/:change_id/release',
    operation('Employment', 'changes:write', {
      operationId: 'releaseEmployeeChange',
      employers: 'change',
      action: 'change.release',
      summary: 'Release the changes that wait for a rejected new hire',
      description:
        'Use it when the benefits service already knows the employee. The new hire remains rejected.',
      params: ChangeId,
      response: { 200: ChangeSummary },
      refuses: ['NOT_FOUND', 'CONFLICT'],
    }),
    async (request) => {
      const { change_id } = request.params;
      const acting = actingIn(request, await sharedNow(db));
      const acted = await actOnChange(
        db,
        change_id,
        (trx) => releaseManually(trx, change_id, acting),
        employersOf(request),
      );
      return done(request, acted, 'released');
    },
  );

  /** Returns the change as it is after the action. */
  function done(request: FastifyRequest, acted: ActedOn, what: string): AcceptedChange {
    if (acted.outcome === 'not-found') throw notFound('employment change');
    if (acted.outcome === 'refused') throw conflict(acted.why);
    const { change } = acted;
    const fields = { request_id: change.id, kind: change.kind, ...by(request) };
    log.info(fields, `an employment change was ${what}`);
    wakeSend();
    return change;
  }
}
