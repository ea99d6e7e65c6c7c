import { setImmediate as turn } from 'node:timers/promises';
import Type from 'typebox';
import { oneOf } from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import {
  dismissEvent,
  type EventFilter,
  getEvent,
  reprocessEvent,
  reprocessEvents,
} from '../../inbound/events.ts';
import type { ApiParts } from '../parts.ts';
import { notFound, Refusal } from '../problem.ts';
import { type Api, closed } from '../schemas.ts';
import { EVENT_FILTER, EventId, filterOf, Summary, summaryOf } from './events.ts';

/** Events put back in one transaction: some 10 ms of the 50 that this side may hold the write lock. */
const REPROCESSED_AT_ONCE = 500;
const REASON_MAX_CHARACTERS = 500;

const Dismissal = closed({
  reason: Type.String({
    pattern: '\\S',
    maxLength: REASON_MAX_CHARACTERS,
    rule: 'must say why, in words',
    description: 'Why nothing is to be done about it. Kept, and shown with the event.',
  }),
});

const Reprocessing = Type.Object(
  {
    state: Type.Optional(oneOf(['applied', 'ignored', 'quarantined'])),
    ...EVENT_FILTER,
  },
  {
    additionalProperties: false,
    minProperties: 1,
    rule: 'must name at least one of state, event_type, from, until',
  },
);

/** What people do about events. What an event already did is never done twice. */
export function eventWorkRoutes(app: Api, parts: ApiParts): void {
  const { db, now, log, wakeApply } = parts;

  app.post(
    '/v1/events/:event_id/reprocess',
    {
      config: { scope: 'events:write', refuses: ['not-found'] },
      schema: {
        operationId: 'reprocessEvent',
        tags: ['Events'],
        summary: 'Apply an event again',
        description:
          'Puts it back to pending, also when it was dismissed. A deduction that is in the ledger already is not added again.',
        params: EventId,
        response: { 202: Summary },
      },
    },
    async ({ params, caller }, reply) => {
      const { event_id } = params;
      if (!(await transact(db, (trx) => reprocessEvent(trx, event_id)))) throw notFound('event');
      log.info({ event_id, ...by(caller) }, 'an event was put back to pending');
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
    async ({ params, body, caller }) => {
      const { event_id } = params;
      const found = await transact(db, (trx) =>
        dismissEvent(trx, event_id, body.reason, now().toISOString()),
      );
      if (found === 'unknown') throw notFound('event');
      if (found === 'nothing to dismiss') {
        throw new Refusal('conflict', 'the event is neither quarantined nor in a conflict or tie');
      }
      log.info({ event_id, ...by(caller) }, 'an event was dismissed');
      return summary(event_id);
    },
  );

  app.post(
    '/v1/events/reprocess',
    {
      config: { scope: 'events:write' },
      schema: {
        operationId: 'reprocessEvents',
        tags: ['Events'],
        summary: 'Apply many events again',
        description:
          'Those that came before this request and to which everything given applies, the oldest first. Dismissed ones are left alone.',
        body: Reprocessing,
        response: { 200: closed({ reprocessed: Type.Integer() }, 'How many were put back.') },
      },
    },
    async ({ body, caller }) => {
      const asked = filterOf(body);
      const before = now().toISOString();
      // Without an end the loop would run after events that come in, and are applied, meanwhile.
      const until = asked.until === undefined || asked.until > before ? before : asked.until;
      const filter: EventFilter = { ...asked, state: body.state, dismissed: false, until };
      const reprocessed = await reprocessAll(filter);
      log.info({ count: reprocessed, ...by(caller) }, 'events were put back to pending');
      return { reprocessed };
    },
  );

  /** In steps, so that deliveries are stored between them. */
  async function reprocessAll(filter: EventFilter): Promise<number> {
    let reprocessed = 0;
    let after: number | null = 0;
    while (after !== null) {
      const done: Reprocessed = await putBack(filter, after);
      reprocessed += done.reprocessed;
      after = done.next;
      if (done.reprocessed > 0) wakeApply();
      await turn();
    }
    return reprocessed;
  }

  function putBack(filter: EventFilter, after: number): Promise<Reprocessed> {
    return transact(db, (trx) => reprocessEvents(trx, filter, { after, limit: REPROCESSED_AT_ONCE }));
  }

  async function summary(eventId: string) {
    const found = await getEvent(db, eventId);
    if (found === null) throw notFound('event');
    return summaryOf(found.event);
  }
}

type Reprocessed = Awaited<ReturnType<typeof reprocessEvents>>;

/** Who did it, for the log. */
function by(caller: { name: string } | null): { token?: string } {
  return caller === null ? {} : { token: caller.name };
}
