import { setImmediate as turn } from 'node:timers/promises';
import Type from 'typebox';
import { oneOf } from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { type EventFilter, reprocessEvents } from '../../inbound/events.ts';
import { by } from '../auth.ts';
import type { ApiParts } from '../parts.ts';
import { type Api, closed } from '../schemas.ts';
import { EVENT_FILTER, filterOf } from './events.ts';

/** Events put back in one transaction: some 10 ms of the 50 that this side may hold the write lock. */
const REPROCESSED_AT_ONCE = 500;

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

type Reprocessed = Awaited<ReturnType<typeof reprocessEvents>>;

/** Many events are applied again, after an upgrade or an outage. */
export function eventReprocessingRoutes(app: Api, { db, now, log, wakeApply }: ApiParts): void {
  app.post(
    '/v1/events/reprocess',
    {
      config: { scope: 'events:write' },
      schema: {
        operationId: 'reprocessEvents',
        tags: ['Events'],
        summary: 'Apply many events again',
        description:
          'Those that came before this request and to which everything given applies, the oldest first. Dismissed ones are left alone, and so are those whose bodies are dropped.',
        body: Reprocessing,
        response: {
          200: closed(
            {
              reprocessed: Type.Integer(),
              without_body: Type.Integer({
                description: 'How many more it would have been, had their bodies not been dropped.',
              }),
            },
            'How many were put back.',
          ),
        },
      },
    },
    async (request) => {
      const { state, ...rest } = request.body;
      const asked = filterOf(rest);
      const before = now().toISOString();
      // Without an end the loop would run after events that come in, and are applied, meanwhile.
      const until = asked.until === undefined || asked.until > before ? before : asked.until;
      const filter: EventFilter = { ...asked, state, dismissed: false, until };
      const done = await reprocessAll(filter);
      log.info({ count: done.reprocessed, ...by(request) }, 'events were put back to pending');
      return done;
    },
  );

  /** In steps, so that deliveries are stored between them. */
  async function reprocessAll(filter: EventFilter): Promise<{ reprocessed: number; without_body: number }> {
    let reprocessed = 0;
    let without_body = 0;
    let after: number | null = 0;
    while (after !== null) {
      const done: Reprocessed = await putBack(filter, after);
      reprocessed += done.reprocessed;
      without_body += done.withoutBody;
      after = done.next;
      if (done.reprocessed > 0) wakeApply();
      await turn();
    }
    return { reprocessed, without_body };
  }

  function putBack(filter: EventFilter, after: number): Promise<Reprocessed> {
    return transact(db, (trx) => reprocessEvents(trx, filter, { after, limit: REPROCESSED_AT_ONCE }));
  }
}
