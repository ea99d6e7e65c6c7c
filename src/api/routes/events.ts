import { setImmediate as turn } from 'node:timers/promises';
import Type, { type Static } from 'typebox';
import { closed, nullable, oneOf } from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import {
  type EventEffects,
  type EventView,
  eventCursor,
  readEffects,
  viewEvent,
  viewWholeEvent,
} from '../../inbox/event-view.ts';
import {
  BODY_DROPPED,
  dismissEvent,
  type EventFilter,
  getEvent,
  listEvents,
  reprocessEvent,
} from '../../inbox/events.ts';
import { reprocessAll } from '../../inbox/reprocess-all.ts';
import { by } from '../auth.ts';
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

const nullableText = (description: string) => nullable(Type.String({ description }));

const SUMMARY = {
  event_id: Type.String({ description: 'The id of the delivery: no two events have the same.' }),
  envelope_id: nullableText('The id in the body; null when it has none, or is not read yet.'),
  event_type: nullableText('Null when the body is not understood, or not read yet.'),
  state: Type.Enum(['pending', 'applied', 'ignored', 'quarantined']),
  reason: nullableText('Why it was ignored or quarantined.'),
  source: Type.Enum(['webhook', 'import']),
  received_at: ownInstant('When it came.'),
  finished_at: nullableText('When it was applied, ignored or quarantined.'),
  dismissed_at: nullableText('When somebody dismissed it.'),
  dismissed_reason: nullableText('Why.'),
};
const EventSummary = closed(SUMMARY, 'What the service sent, without the body.');

const LedToVersion = closed(
  {
    deduction_id: Type.String({ description: 'The deduction.' }),
    version: Type.Integer({ description: 'Which of its versions.' }),
    position: Type.Integer({ description: "The version's place in the ledger." }),
    late: Type.Boolean({ description: 'A newer state was known already when it came.' }),
    tie_changed: Type.Boolean({ description: 'Another event of the same instant said something else.' }),
    ahead: Type.Boolean({ description: 'Its time lay ahead of its receipt.' }),
  },
  'A state of a deduction.',
);
const LedToSync = closed(
  {
    sync_id: Type.String({ description: 'The census sync.' }),
    employer_id: Type.String({ description: 'Whose census.' }),
  },
  'A round of a census.',
);

const WholeEvent = closed(
  {
    ...SUMMARY,
    body: nullableText('As received, character for character; null once it is dropped.'),
    body_absent: nullableText('Why there is no body any more, and its SHA-256.'),
    conflicts: Type.Array(
      closed({
        received_at: ownInstant('When this one came.'),
        body: nullableText('As received; null once it is dropped.'),
        body_absent: nullableText('Why there is no body any more, and its SHA-256.'),
        dismissed_at: nullableText('When somebody dismissed it.'),
        dismissed_reason: nullableText('Why.'),
      }),
      { description: 'Other bodies that came under the same id. The first body stands.' },
    ),
    led_to: closed(
      { version: nullable(LedToVersion), census_sync: nullable(LedToSync) },
      'What it did; both null where it added nothing.',
    ),
  },
  'What the service sent.',
);

/** Which events; the same for looking and for reprocessing. */
export const EVENT_FILTER = {
  event_type: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Of this type.' })),
  from: Type.Optional(instant('Received at this instant or later.')),
  until: Type.Optional(instant('Received before this instant.')),
};

const EventQuery = closed({
  state: Type.Optional(oneOf(['pending', 'applied', 'ignored', 'quarantined'])),
  ...EVENT_FILTER,
  dismissed: Type.Optional(
    Type.Boolean({ rule: 'must be true or false', description: 'Whether somebody dismissed it.' }),
  ),
  conflict: Type.Optional(
    Type.Boolean({
      rule: 'must be true or false',
      description: 'Whether another body came under its id, and nobody has dismissed that.',
    }),
  ),
  cursor,
  limit,
});

export const EventId = closed({ event_id: Type.String({ minLength: 1, maxLength: 255 }) });
/** The name of `EventSummary` in the reference, for the routes that answer it. */
export const Summary = Type.Unsafe<EventView>({ $ref: 'Event#' });

export function eventRoutes(app: Api, parts: ApiParts): void {
  const { db } = parts;
  named(app, 'Event', EventSummary);

  app.get(
    '/v1/events',
    {
      config: { scope: 'events:read' },
      schema: {
        operationId: 'listEvents',
        tags: ['Events'],
        summary: 'List events',
        description: 'The newest first, without their bodies.',
        querystring: EventQuery,
        response: { 200: pageOf(Summary) },
      },
    },
    async ({ query }) => {
      const page = { before: eventCursor.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
      const { state, dismissed, conflict } = query;
      const filter: EventFilter = { ...filterOf(query), state, dismissed, conflict };
      const { events, next } = await listEvents(db, filter, page);
      return { data: events.map(viewEvent), next_cursor: eventCursor.encode(next) };
    },
  );

  app.get(
    '/v1/events/:event_id',
    {
      config: { scope: 'events:read', refuses: ['not-found'] },
      schema: {
        operationId: 'getEvent',
        tags: ['Events'],
        summary: 'Get an event',
        description: 'With its body, what it did, and what came under the same id with another body.',
        params: EventId,
        response: { 200: named(app, 'WholeEvent', WholeEvent) },
      },
    },
    async ({ params }) => {
      const found = await getEvent(db, params.event_id);
      if (found === null) throw notFound('event');
      return {
        ...viewWholeEvent(found),
        led_to: ledToOf(await readEffects(db, params.event_id)),
      };
    },
  );

  eventWorkRoutes(app, parts);
  eventReprocessingRoutes(app, parts);
}

/** The part of a filter that looking and reprocessing share, for the inbox. */
export function filterOf(given: { event_type?: string; from?: string; until?: string }): EventFilter {
  const { event_type, from, until } = given;
  return {
    eventType: event_type,
    from: from === undefined ? undefined : toMilliseconds(from),
    until: until === undefined ? undefined : toMilliseconds(until),
  };
}

function ledToOf({ version, sync }: EventEffects): Static<typeof WholeEvent>['led_to'] {
  return {
    version: version && {
      deduction_id: version.deduction_id,
      version: version.version,
      position: version.position,
      late: version.late === 1,
      tie_changed: version.tie_changed === 1,
      ahead: version.ahead === 1,
    },
    census_sync: sync && { sync_id: sync.sync_id, employer_id: sync.employer_id },
  };
}

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
function eventWorkRoutes(app: Api, { db, now, log, wakeApply }: ApiParts): void {
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
function eventReprocessingRoutes(app: Api, { db, now, log, wakeApply }: ApiParts): void {
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
