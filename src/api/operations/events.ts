/** Webhook events: to list and show them. */
import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { notFound } from '../../errors.ts';
import { CONFLICTS_LIMIT, CONFLICTS_STORED, listConflicts } from '../../inbox/conflicts.ts';
import { EFFECTS, EVENT_FLAGS, EventSubject } from '../../inbox/event-effects.ts';
import { viewConflict, viewEvents, viewWholeEvent } from '../../inbox/event-views.ts';
import * as inbox from '../../inbox/events.ts';
import { NEXT_STEPS } from '../../inbox/next-step.ts';
import { UnappliedChange } from '../../inbox/unapplied.ts';
import { DaysInEffect } from '../../ledger/timeline.ts';
import { mayAlso } from '../auth.ts';
import { operation } from '../operation.ts';
import { cursor, flag, instant, limit, ownId, pageOf } from '../schemas.ts';

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
      '`time-ignored`: `created_at` is before 2000 and was never set, so the time of receipt decides the order. `contract-changed`: it was the first with something that the contract does not know.',
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
export const EventSummary = field.component('EventSummary', SUMMARY, 'An event without its body.');

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
      'What helps. `none`: nothing to do. `wait`: it is applied soon. `reprocess`: its body can be applied now. `dismiss`: a newer event of its deduction was applied, or it was the first with a change of the contract. ' +
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

export const EVENT_FILTER = {
  event_type: Type.Optional({ ...ownId, description: 'Only events of this type.' }),
  from: instant('Only events received at or after this time.'),
  until: instant('Only events received before this time.'),
};

/** The parameters of lists of events. */
export const EventQuery = {
  state: Type.Optional(field.oneOfDescribed(STATES, 'Only events in this state.')),
  ...EVENT_FILTER,
  dismissed: flag('`true`: only dismissed events. `false`: only events that are not dismissed.'),
  conflict: flag('Only events with an open conflict: another body with the same event ID.'),
  cursor,
};

export const EventId = field.closed({ event_id: { ...ownId, description: 'The ID of the event.' } });

export const listEvents = operation({
  id: 'listEvents',
  method: 'GET',
  path: '/v1/events',
  scope: 'events:read',
  employers: 'refused',
  summary: 'List events',
  description: 'Lists events without their bodies, newest first.',
  query: field.closed({ ...EventQuery, limit }),
  response: { 200: pageOf(EventSummary) },
  async run({ query, caller }, { db }) {
    const page = await inbox.listEvents(db, { ...query, eventType: query.event_type }, query);
    return { ...page, data: await viewEvents(db, page.data, mayAlso(caller, 'ledger:read')) };
  },
});

export const getEvent = operation({
  id: 'getEvent',
  method: 'GET',
  path: '/v1/events/:event_id',
  scope: 'events:read',
  employers: 'refused',
  summary: 'Get an event',
  description: 'Returns the event with its body, its result and the number of conflicting bodies.',
  params: EventId,
  response: { 200: WholeEvent },
  refuses: ['NOT_FOUND'],
  run: async ({ params, caller }, { db }) =>
    viewWholeEvent(db, await storedEvent(db, params.event_id), mayAlso(caller, 'ledger:read')),
});

export const listEventConflicts = operation({
  id: 'listEventConflicts',
  method: 'GET',
  path: '/v1/events/:event_id/conflicts',
  scope: 'events:read',
  employers: 'refused',
  summary: 'List conflicting bodies',
  description:
    'Lists the stored bodies that were received with the ID of the event and differ from its own, oldest first.',
  params: EventId,
  query: field.closed({
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
  async run({ params: { event_id }, query }, { db }) {
    await storedEvent(db, event_id);
    const page = await listConflicts(db, event_id, { limit: CONFLICTS_LIMIT, ...query });
    return { ...page, data: page.data.map(viewConflict) };
  },
});

export async function storedEvent(db: Db | Trx, eventId: string): Promise<inbox.WholeEvent> {
  const stored = await inbox.getEvent(db, eventId);
  if (stored === null) throw notFound('event');
  return stored;
}
