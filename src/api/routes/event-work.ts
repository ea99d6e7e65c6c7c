import Type from 'typebox';
import { transact } from '../../database/transaction.ts';
import { viewEvent } from '../../inbox/event-view.ts';
import { BODY_DROPPED, dismissEvent, getEvent, reprocessEvent } from '../../inbox/events.ts';
import { by } from '../auth.ts';
import type { ApiParts } from '../parts.ts';
import { notFound, Refusal } from '../problem.ts';
import { type Api, closed } from '../schemas.ts';
import { EventId, Summary } from './events.ts';

export const REASON_MAX_CHARACTERS = 500;

const Dismissal = closed({
  reason: Type.String({
    pattern: '\\S',
    maxLength: REASON_MAX_CHARACTERS,
    rule: 'must say why, in words',
    description: 'Why nothing is to be done about it. Kept, and shown with the event.',
  }),
});

/** What people do about one event. What an event already did is never done twice. */
export function eventWorkRoutes(app: Api, { db, now, log, wakeApply }: ApiParts): void {
  app.post(
    '/v1/events/:event_id/reprocess',
    {
      config: { scope: 'events:write', refuses: ['not-found', 'conflict'] },
      schema: {
        operationId: 'reprocessEvent',
        tags: ['Events'],
        summary: 'Apply an event again',
        description:
          'Puts it back to pending, also when it was dismissed. A deduction that is in the ledger already is not added again. Refused once its body is dropped.',
        params: EventId,
        response: { 202: Summary },
      },
    },
    async (request, reply) => {
      const { event_id } = request.params;
      const found = await transact(db, (trx) => reprocessEvent(trx, event_id));
      if (found === 'unknown') throw notFound('event');
      if (found === 'body dropped') throw new Refusal('conflict', BODY_DROPPED);
      log.info({ event_id, ...by(request) }, 'an event was put back to pending');
      wakeApply();
      return reply.code(202).send(await summary(event_id));
    },
  );

  app.post(
    '/v1/events/:event_id/dismiss',
    {
      config: { scope: 'events:write', refuses: ['not-found', 'conflict'] },
      schema: {
        operationId: 'dismissEvent',
        tags: ['Events'],
        summary: 'Say that nothing is to be done about an event',
        description:
          'For a quarantined event, for bodies that came under its id later, and for a tie that changed a deduction. They stay in the lists; readiness no longer fails for them.',
        params: EventId,
        body: Dismissal,
        response: { 200: Summary },
      },
    },
    async (request) => {
      const { event_id } = request.params;
      const found = await transact(db, (trx) =>
        dismissEvent(trx, event_id, request.body.reason, now().toISOString()),
      );
      if (found === 'unknown') throw notFound('event');
      if (found === 'nothing to dismiss') {
        throw new Refusal('conflict', 'the event is neither quarantined nor in a conflict or tie');
      }
      log.info({ event_id, ...by(request) }, 'an event was dismissed');
      return summary(event_id);
    },
  );

  async function summary(eventId: string) {
    const found = await getEvent(db, eventId);
    if (found === null) throw notFound('event');
    return viewEvent(found.event);
  }
}
