import { setImmediate as nextTurn } from 'node:timers/promises';
import Type from 'typebox';
import {
  boolean,
  closed,
  component,
  integer,
  named,
  nullable,
  nullableText,
  oneOf,
  reasonField,
  text,
} from '../../contract/fields.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import {
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
  reprocessAll,
  reprocessEvent,
} from '../../inbox/events.ts';
import { by } from '../auth.ts';
import type { ApiParts } from '../parts.ts';
import { conflict, notFound } from '../problem.ts';
import { taggedOperation } from '../route-table.ts';
import {
  type Api,
  cursor,
  instant,
  LIMIT_DEFAULT,
  limit,
  ownInstant,
  pageOf,
  toMilliseconds,
} from '../schemas.ts';

const operation = taggedOperation('Events');

const SUMMARY = {
  id: text('The unique delivery ID of the event.'),
  envelope_id: nullableText('The ID in the body. Null if the body has none or has not been parsed.'),
  event_type: nullableText(
    'The type of the event. Null if the body could not be parsed or has not been parsed yet.',
  ),
  state: Type.Enum(['pending', 'applied', 'ignored', 'quarantined']),
  reason: nullableText('The reason the event was ignored or quarantined.'),
  source: Type.Enum(['webhook', 'import']),
  received_at: ownInstant('The time of receipt.'),
  finished_at: nullableText('The time the event was applied, ignored or quarantined.'),
  dismissed_at: nullableText('The time of the dismissal.'),
  dismissed_reason: nullableText('The reason for the dismissal.'),
};
const EventSummary = component('EventSummary', SUMMARY, 'An event without its body.');

const AppliedVersion = component(
  'AppliedVersion',
  {
    id: text('The ID of the version.'),
    deduction_id: text('The deduction.'),
    version: integer('The number of the version.'),
    position: integer('The position of the version in the ledger.'),
    late: boolean('A newer state was already known when the event arrived.'),
    tie_changed: boolean('Another event with the same time has different content.'),
    future_dated: boolean('The event time is later than the time of receipt.'),
  },
  'The deduction version that the event recorded.',
);
const TriggeredSync = closed(
  { id: text('The ID of the sync.'), employer_id: text('The employer.') },
  'The census sync that the event started or completed.',
);

const WholeEvent = component(
  'Event',
  {
    ...SUMMARY,
    body: nullableText('The body exactly as received. Null after retention deletes it.'),
    body_absent: nullableText('Why the body was deleted, and its SHA-256 hash.'),
    conflicts: Type.Array(
      closed({
        id: text('The ID of the conflict.'),
        received_at: ownInstant('The time of receipt.'),
        body: nullableText('The body exactly as received. Null after retention deletes it.'),
        body_absent: nullableText('Why the body was deleted, and its SHA-256 hash.'),
        dismissed_at: nullableText('The time of the dismissal.'),
        dismissed_reason: nullableText('The reason for the dismissal.'),
      }),
      { description: 'Other bodies received with the same event ID. Only the first body counts.' },
    ),
    effects: closed(
      { deduction_version: nullable(AppliedVersion), census_sync: nullable(TriggeredSync) },
      'What the event did. Both fields are null if it changed nothing.',
    ),
  },
  'An event with its body and result.',
);

/** The parameters that select events, in a list and for reprocessing. */
const EVENT_FILTER = {
  event_type: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'Only events of this type.' }),
  ),
  from: Type.Optional(instant('Only events received at or after this time.')),
  until: Type.Optional(instant('Only events received before this time.')),
};

const EventQuery = closed({
  state: Type.Optional(oneOf(['pending', 'applied', 'ignored', 'quarantined'])),
  ...EVENT_FILTER,
  dismissed: Type.Optional(
    Type.Boolean({
      rule: 'must be true or false',
      description: 'Only events that were dismissed, or only those that were not.',
    }),
  ),
  conflict: Type.Optional(
    Type.Boolean({
      rule: 'must be true or false',
      description: 'Only events with an open conflict: another body with the same event ID.',
    }),
  ),
  cursor,
  limit,
});

const EventId = closed({ event_id: Type.String({ minLength: 1, maxLength: 255 }) });

export function eventRoutes(app: Api, parts: ApiParts): void {
  const { db } = parts;

  app.get(
    '/v1/events',
    operation('events:read', {
      operationId: 'listEvents',
      summary: 'List events',
      description: 'Lists events without their bodies, newest first.',
      querystring: EventQuery,
      response: { 200: pageOf(EventSummary) },
    }),
    async ({ query }) => {
      const page = { before: eventCursor.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
      const { state, dismissed, conflict } = query;
      const filter: EventFilter = { ...filterOf(query), state, dismissed, conflict };
      const { events, next } = await listEvents(db, filter, page);
      return eventCursor.page(events.map(viewEvent), next);
    },
  );

  app.get(
    '/v1/events/:event_id',
    operation('events:read', {
      operationId: 'getEvent',
      summary: 'Get an event',
      description: 'Returns the event with its body, its result and any conflicting bodies.',
      params: EventId,
      response: { 200: WholeEvent },
      refuses: ['NOT_FOUND'],
    }),
    async ({ params }) => {
      const found = await getEvent(db, params.event_id);
      if (found === null) throw notFound('event');
      return { ...viewWholeEvent(found), effects: await readEffects(db, params.event_id) };
    },
  );

  eventWorkRoutes(app, parts);
  eventReprocessingRoutes(app, parts);
}

/** Returns the inbox filter of the parameters in `EVENT_FILTER`. */
function filterOf(given: { event_type?: string; from?: string; until?: string }): EventFilter {
  const { event_type, from, until } = given;
  return {
    eventType: event_type,
    from: from === undefined ? undefined : toMilliseconds(from),
    until: until === undefined ? undefined : toMilliseconds(until),
  };
}

const Dismissal = component('DismissalRequest', {
  reason: reasonField('The reason for the dismissal. It is stored with the event.'),
});

/** Manual actions on one event. An event never takes effect twice. */
function eventWorkRoutes(app: Api, { db, now, log, wakeApply }: ApiParts): void {
  app.post(
    '/v1/events/:event_id/reprocess',
    operation('events:write', {
      operationId: 'reprocessEvent',
      summary: 'Reprocess an event',
      description:
        'Sets the event to pending, even if it was dismissed. A deduction version already in the ledger is not added again. Fails with 409 after retention deletes the body.',
      params: EventId,
      response: { 202: EventSummary },
      refuses: ['NOT_FOUND', 'CONFLICT'],
    }),
    async (request, reply) => {
      const { event_id } = request.params;
      const event = await transact(db, async (trx) => {
        const found = await reprocessEvent(trx, event_id);
        if (found === 'unknown') throw notFound('event');
        if (found === 'body dropped') throw conflict(BODY_DROPPED);
        return summary(trx, event_id);
      });
      log.info({ event_id, ...by(request) }, 'an event was queued for reprocessing');
      wakeApply();
      return reply.code(202).send(event);
    },
  );

  app.post(
    '/v1/events/:event_id/dismiss',
    operation('events:write', {
      operationId: 'dismissEvent',
      summary: 'Dismiss an event',
      description:
        'Dismisses a quarantined event, a conflict or a tie that changed a deduction. It stays in the lists, but readiness no longer fails because of it.',
      params: EventId,
      body: Dismissal,
      response: { 200: EventSummary },
      refuses: ['NOT_FOUND', 'CONFLICT'],
    }),
    async (request) => {
      const { event_id } = request.params;
      const event = await transact(db, async (trx) => {
        const found = await dismissEvent(trx, event_id, request.body.reason, now().toISOString());
        if (found === 'unknown') throw notFound('event');
        if (found === 'nothing to dismiss') {
          throw conflict('The event is not quarantined and has no conflict or tie.');
        }
        return summary(trx, event_id);
      });
      log.info({ event_id, ...by(request) }, 'an event was dismissed');
      return event;
    },
  );
}

async function summary(db: Db | Trx, eventId: string): Promise<EventView> {
  const found = await getEvent(db, eventId);
  if (found === null) throw notFound('event');
  return viewEvent(found.event);
}

const Reprocessing = named(
  'ReprocessRequest',
  Type.Object(
    { state: Type.Optional(oneOf(['applied', 'ignored', 'quarantined'])), ...EVENT_FILTER },
    {
      additionalProperties: false,
      minProperties: 1,
      rule: 'must name at least one of state, event_type, from, until',
    },
  ),
);

/** Reprocesses many events, after an upgrade or an outage. */
function eventReprocessingRoutes(app: Api, { db, now, log, wakeApply }: ApiParts): void {
  app.post(
    '/v1/events/reprocess',
    operation('events:write', {
      operationId: 'reprocessEvents',
      summary: 'Reprocess events',
      description:
        'Reprocesses the matching events received before this request, oldest first. Skips dismissed events and events whose bodies were deleted.',
      body: Reprocessing,
      response: {
        200: component(
          'ReprocessResult',
          {
            reprocessed: integer('The number of events set to pending.'),
            without_body: integer('The number of matching events skipped because their bodies were deleted.'),
          },
          'The result of reprocessing.',
        ),
      },
    }),
    async (request) => {
      const { state, ...rest } = request.body;
      const filter = { ...filterOf(rest), state };
      const { reprocessed, withoutBody } = await reprocessAll(
        db,
        filter,
        now().toISOString(),
        async (step) => {
          if (step > 0) wakeApply();
          await nextTurn();
        },
      );
      log.info({ count: reprocessed, ...by(request) }, 'events were queued for reprocessing');
      return { reprocessed, without_body: withoutBody };
    },
  );
}
