/** Deliveries as they arrive. */
import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { cursorOf } from '../../formats/cursor.ts';
import { viewEvents } from '../../inbox/event-views.ts';
import { deliveriesAfter } from '../../inbox/follow.ts';
import { describeCause } from '../../inbox/refusals.ts';
import { mayAlso } from '../auth.ts';
import { operation } from '../operation.ts';
import { EventQuery, EventSummary } from './events.ts';

const EventDeliveries = field.component(
  'EventDeliveries',
  {
    data: Type.Array(EventSummary, { description: 'The events, in order of receipt.' }),
    has_more: field.boolean('Whether more events have arrived.'),
    next_cursor: field.text('Send it as `cursor` to get the deliveries since.'),
    refused: Type.Array(
      field.closed({
        cause: field.text('Why the receiver refused the requests.'),
        description: field.text('The cause in words.'),
        refused: field.integer('The number of requests since the first call.'),
      }),
      { description: 'The requests that were refused since the minute of the first call, by cause.' },
    ),
  },
  'Deliveries since the last call.',
);

const place = cursorOf(
  'event-deliveries',
  field.closed({
    first: Type.Integer({ minimum: 0 }),
    from: Type.Integer({ minimum: 0 }),
    since: Type.String({ format: 'instant' }),
  }),
);

export const listEventDeliveries = operation({
  id: 'listEventDeliveries',
  method: 'GET',
  path: '/v1/event-deliveries',
  scope: 'events:read',
  employers: 'refused',
  isForConsole: true,
  summary: 'Follow deliveries',
  description:
    'Without `cursor`, returns the cursor to begin at. With it, returns the events that arrived since, a pending one after three seconds. An event may be repeated.',
  query: field.closed(EventQuery),
  response: { 200: EventDeliveries },
  async run({ query, caller }, { db, sharedNow }) {
    const { cursor, event_type: eventType, ...filter } = query;
    const from = place.decode(cursor) ?? null;
    const { events, refused, next, isFull } = await deliveriesAfter(
      db,
      { ...filter, eventType },
      from,
      await sharedNow(db),
    );
    const data = await viewEvents(db, events, mayAlso(caller, 'ledger:read'));
    return {
      ...{ data, has_more: isFull, next_cursor: place.encode(next) },
      refused: refused.map((counted) => ({ ...counted, description: describeCause(counted.cause) })),
    };
  },
});
