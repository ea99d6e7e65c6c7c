import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import type { Trx } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { CONFLICTS_LIMIT, CONFLICTS_STORED, listConflicts } from '../../inbox/conflicts.ts';
import { EFFECTS, EVENT_FLAGS, EventSubject } from '../../inbox/event-effects.ts';
import {
  conflictCursor,
  type EventView,
  viewConflict,
  viewEvents,
  viewWholeEvent,
} from '../../inbox/event-views.ts';
import {
  BODY_DROPPED,
  dismissEvent,
  eventCursor,
  getEvent,
  listEvents,
  reprocessAll,
  reprocessEvent,
} from '../../inbox/events.ts';
import { NEXT_STEPS } from '../../inbox/next-step.ts';
import { UnappliedChange } from '../../inbox/unapplied.ts';
import { DaysInEffect } from '../../ledger/timeline.ts';
import { actingIn, by, mayAlso } from '../auth.ts';
import { conflict, notFound } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { cursor, Dismissal, flag, instant, LIMIT_DEFAULT, limit, ownId, pageOf } from '../schemas.ts';

const STATES = ['pending', 'applied', 'ignored', 'quarantined'] as const;

const DISMISSAL = {
  dismissed_at: field.nullableText('The time of the dismissal.'),
  dismissed_reason: field.nullableText('The reason for the dismissal.'),
};
const SUMMARY = {
  id: field.text('The unique delivery ID of the event.'),
  envelope_id: field.nullableText('The ID in the body. Null if the body has none or has not been parsed.'),
  event_type: field.nullableText(
    'The type of the event. Null if the body could not be parsed or has not been parsed yet.',
  ),
  state: Type.Enum([...STATES]),
  effect: field.oneOfDescribed(
    EFFECTS,
    '`pending`: not applied yet. `applied`: the deduction has its contents. `replaced`: a newer event replaced its contents. ' +
      '`late`: an older event that arrived after a newer one and is in effect on no date. `no_effect`: it ends before it starts, or before 2000. ' +
      '`sync_requested`, `sync_completed`: a census sync was requested or completed. `not_applied`: quarantined. `ignored`: the type is not handled.',
  ),
  in_effect: field.nullable({
    ...DaysInEffect,
    description:
      'The dates on which the contents are in effect. Null if they never are, or for another kind of event.',
  }),
  flags: Type.Array(Type.Enum([...EVENT_FLAGS]), {
    description:
      '`time-ignored`: `created_at` is before 2000 and was never set, so the time of receipt decides the order.',
  }),
  subject: field.nullable({
    ...EventSubject,
    description: 'What the event names. Null without the scope `ledger:read`.',
  }),
  reason: field.nullableText('The reason the event was ignored or quarantined.'),
  source: Type.Enum(['webhook', 'import']),
  received_at: field.text('The time of receipt.'),
  finished_at: field.nullableText('The time the event was applied, ignored or quarantined.'),
  ...DISMISSAL,
};
const EventSummary = field.component('EventSummary', SUMMARY, 'An event without its body.');

const AppliedVersion = field.component(
  'AppliedVersion',
  {
    id: field.text('The ID of the version.'),
    deduction_id: field.text('The deduction.'),
    version: field.integer('The number of the version.'),
    position: field.integer('The position of the version in the ledger.'),
    late: field.boolean('A newer state was already known when the event arrived.'),
    tie_changed: field.boolean('Another event with the same time has different content.'),
    future_dated: field.boolean('The event time is later than the time of receipt.'),
  },
  'The deduction version that the event recorded.',
);
const TriggeredSync = field.closed(
  { id: field.text('The ID of the sync.'), employer_id: field.text('The employer.') },
  'The census sync that the event started or completed.',
);

const BODY = {
  body: field.nullableText('The body exactly as received. Null after retention deletes it.'),
  body_absent: field.nullableText('Why the body was deleted, and its SHA-256 hash.'),
};
const WholeEvent = field.component(
  'Event',
  {
    ...SUMMARY,
    next_step: field.oneOfDescribed(
      NEXT_STEPS,
      'What helps. `none`: nothing to do. `wait`: it is applied soon. `reprocess`: its body can be applied now. `dismiss`: a newer event of its deduction was applied. ' +
        '`compare`: contents contradict each other. `correct`: the benefits service must send a corrected event.',
    ),
    unapplied: field.nullable({
      ...UnappliedChange,
      description: 'The change of an amount in a quarantined event. Null for other events.',
    }),
    ...BODY,
    conflicts: field.closed(
      {
        open: field.boolean('Whether another body was received since the last dismissal.'),
        stored: field.integer('The number of other bodies that are stored, at most 20.'),
        not_stored: field.integer('The number of deliveries whose further bodies were not stored.'),
        last_not_stored_at: field.nullableText('The time of the last delivery that was only counted.'),
        ...DISMISSAL,
      },
      'Other bodies received with the same event ID. Only the first body counts.',
    ),
    effects: field.closed(
      { deduction_version: field.nullable(AppliedVersion), census_sync: field.nullable(TriggeredSync) },
      'What the event did. Both fields are null if it changed nothing.',
    ),
  },
  'An event with its body and result.',
);

const EventConflict = field.component(
  'EventConflict',
  {
    id: field.text('The ID of the conflict.'),
    received_at: field.text('The time of receipt.'),
    ...BODY,
    ...DISMISSAL,
  },
  'Another body received with the ID of an event.',
);

const EVENT_FILTER = {
  event_type: Type.Optional({ ...ownId, description: 'Only events of this type.' }),
  from: instant('Only events received at or after this time.'),
  until: instant('Only events received before this time.'),
};

const Reprocessing = field.named(
  'ReprocessRequest',
  Type.Object(
    { state: Type.Optional(field.oneOf(['applied', 'ignored', 'quarantined'])), ...EVENT_FILTER },
    {
      additionalProperties: false,
      minProperties: 1,
      rule: 'must name at least one of state, event_type, from, until',
    },
  ),
);

const EventId = field.closed({ event_id: ownId });

/** Lists and shows events, and reprocesses or dismisses them by hand. An event never takes effect twice. */
export function eventRoutes(app: Api, { db, now, sharedNow, log, wakeApply }: ApiParts): void {
  app.get(
    '/v1/events',
    operation('Events', 'events:read', {
      operationId: 'listEvents',
      employers: 'refused',
      summary: 'List events',
      description: 'Lists events without their bodies, newest first.',
      querystring: field.closed({
        state: Type.Optional(field.oneOf(STATES)),
        ...EVENT_FILTER,
        dismissed: flag('`true`: only dismissed events. `false`: only events that are not dismissed.'),
        conflict: flag('Only events with an open conflict: another body with the same event ID.'),
        cursor,
        limit,
      }),
      response: { 200: pageOf(EventSummary) },
    }),
    async ({ query, caller }) => {
      const page = { before: eventCursor.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
      const { events, next } = await listEvents(db, { ...query, eventType: query.event_type }, page);
      return eventCursor.page(await viewEvents(db, events, mayAlso(caller, 'ledger:read')), next);
    },
  );

  app.get(
    '/v1/events/:event_id',
    operation('Events', 'events:read', {
      operationId: 'getEvent',
      employers: 'refused',
      summary: 'Get an event',
      description: 'Returns the event with its body, its result and the number of conflicting bodies.',
      params: EventId,
      response: { 200: WholeEvent },
      refuses: ['NOT_FOUND'],
    }),
    async ({ params, caller }) => {
      const stored = await getEvent(db, params.event_id);
      if (stored === null) throw notFound('event');
      return viewWholeEvent(db, stored, mayAlso(caller, 'ledger:read'));
    },
  );

  app.get(
    '/v1/events/:event_id/conflicts',
    operation('Events', 'events:read', {
      operationId: 'listEventConflicts',
      employers: 'refused',
      summary: 'List conflicting bodies',
      description:
        'Lists the stored bodies that were received with the ID of the event and differ from its own, oldest first.',
      params: EventId,
      querystring: field.closed({
        cursor,
        limit: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: CONFLICTS_STORED,
            default: CONFLICTS_LIMIT,
            rule: `must be a whole number from 1 to ${CONFLICTS_STORED}`,
            description: 'The maximum number of rows on a page.',
          }),
        ),
      }),
      response: { 200: pageOf(EventConflict) },
      refuses: ['NOT_FOUND'],
    }),
    async ({ params: { event_id }, query }) => {
      const page = { after: conflictCursor.decode(query.cursor), limit: query.limit ?? CONFLICTS_LIMIT };
      if ((await getEvent(db, event_id)) === null) throw notFound('event');
      const { conflicts, next } = await listConflicts(db, event_id, page);
      return conflictCursor.page(conflicts.map(viewConflict), next);
    },
  );

  app.post(
    '/v1/events/:event_id/reprocess',
    operation('Events', 'events:write', {
      operationId: 'reprocessEvent',
      employers: 'refused',
      action: 'event.reprocess',
      summary: 'Reprocess an event',
      description:
        'Sets the event to pending, even if it was dismissed. A deduction version already in the ledger is not added again. Fails with 409 after retention deletes the body.',
      params: EventId,
      response: { 202: EventSummary },
      refuses: ['NOT_FOUND', 'CONFLICT'],
    }),
    async (request, reply) => {
      const { event_id } = request.params;
      const acting = actingIn(request, now());
      const event = await transact(db, async (trx) => {
        const outcome = await reprocessEvent(trx, event_id, acting);
        if (outcome === 'unknown') throw notFound('event');
        if (outcome === 'body dropped') throw conflict(BODY_DROPPED);
        return shown(trx, request, event_id);
      });
      log.info({ event_id, ...by(request) }, 'an event was queued for reprocessing');
      wakeApply();
      return reply.code(202).send(event);
    },
  );

  app.post(
    '/v1/events/:event_id/dismiss',
    operation('Events', 'events:write', {
      operationId: 'dismissEvent',
      employers: 'refused',
      action: 'event.dismiss',
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
      const acting = actingIn(request, now());
      const event = await transact(db, async (trx) => {
        const outcome = await dismissEvent(trx, event_id, request.body.reason, acting);
        if (outcome === 'unknown') throw notFound('event');
        if (outcome === 'nothing to dismiss') {
          throw conflict('The event is not quarantined and has no conflict or tie.');
        }
        return shown(trx, request, event_id);
      });
      log.info({ event_id, ...by(request) }, 'an event was dismissed');
      return event;
    },
  );

  app.post(
    '/v1/events/reprocess',
    operation('Events', 'events:write', {
      operationId: 'reprocessEvents',
      employers: 'refused',
      action: 'event.reprocess',
      summary: 'Reprocess events',
      description:
        'Reprocesses the matching events received before this request, oldest first. Skips dismissed events and events whose bodies were deleted.',
      body: Reprocessing,
      response: {
        200: field.component(
          'ReprocessResult',
          {
            reprocessed: field.integer('The number of events set to pending.'),
            without_body: field.integer(
              'The number of matching events skipped because their bodies were deleted.',
            ),
          },
          'The result of reprocessing.',
        ),
      },
    }),
    async (request) => {
      const filter = { ...request.body, eventType: request.body.event_type };
      const acting = actingIn(request, await sharedNow(db));
      const { reprocessed, withoutBody } = await reprocessAll(db, filter, acting, async (step) => {
        if (step > 0) wakeApply();
        await nextTurn();
      });
      log.info({ count: reprocessed, ...by(request) }, 'events were queued for reprocessing');
      return { reprocessed, without_body: withoutBody };
    },
  );
}

async function shown(trx: Trx, { caller }: FastifyRequest, eventId: string): Promise<EventView> {
  const stored = await getEvent(trx, eventId);
  if (stored === null) throw notFound('event');
  return (await viewEvents(trx, [stored.event], mayAlso(caller, 'ledger:read')))[0] as EventView;
}
