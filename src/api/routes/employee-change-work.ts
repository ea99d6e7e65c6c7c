import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { AcceptedChange } from '../../employment/changes.ts';
import { type ActedOn, cancelChange, releaseChange, retryChange } from '../../employment/manual.ts';
import { by } from '../auth.ts';
import type { ApiParts } from '../parts.ts';
import { notFound, Refusal } from '../problem.ts';
import { type Api, closed } from '../schemas.ts';
import { bodyMayBeLeftOut } from '../validation.ts';
import { ChangeId, Summary } from './accepted-changes.ts';

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
export function employeeChangeWorkRoutes(app: Api, { db, now, log, wakeSend }: ApiParts): void {
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
