import { setImmediate as turn } from 'node:timers/promises';
import Type from 'typebox';
import { oneOf } from '../../contract/fields.ts';
import { reprocessAll } from '../../inbox/reprocess-all.ts';
import { by } from '../auth.ts';
import type { ApiParts } from '../parts.ts';
import { type Api, closed } from '../schemas.ts';
import { EVENT_FILTER, filterOf } from './events.ts';

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
      const filter = { ...filterOf(rest), state };
      const { reprocessed, withoutBody } = await reprocessAll(
        db,
        filter,
        now().toISOString(),
        async (step) => {
          if (step > 0) wakeApply();
          await turn();
        },
      );
      log.info({ count: reprocessed, ...by(request) }, 'events were put back to pending');
      return { reprocessed, without_body: withoutBody };
    },
  );
}
