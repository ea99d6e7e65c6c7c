/** Events are reprocessed and dismissed by hand. An event never takes effect twice. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import type { Trx } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { type EventView, viewEvents } from '../../inbox/event-views.ts';
import * as inbox from '../../inbox/events.ts';
import { actingIn, mayAlso } from '../auth.ts';
import { Answer, type Call, operation } from '../operation.ts';
import { Dismissal } from '../schemas.ts';
import { EVENT_FILTER, EventId, EventSummary, storedEvent } from './events.ts';

const Reprocessing = field.named(
  'ReprocessRequest',
  Type.Object(
    {
      state: Type.Optional(
        field.oneOfDescribed(['applied', 'ignored', 'quarantined'], 'Only events in this state.'),
      ),
      ...EVENT_FILTER,
    },
    {
      additionalProperties: false,
      minProperties: 1,
      rule: 'must name at least one of state, event_type, from, until',
    },
  ),
);

export const reprocessEvent = operation({
  id: 'reprocessEvent',
  method: 'POST',
  path: '/v1/events/:event_id/reprocess',
  scope: 'events:write',
  employers: 'refused',
  action: 'event.reprocess',
  summary: 'Reprocess an event',
  description:
    'Sets the event to pending, even if it was dismissed. A deduction version already in the ledger is not added again. Fails with 409 after retention deletes the body.',
  params: EventId,
  response: { 202: EventSummary },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(call, { db, now, wakeApply }) {
    const { event_id } = call.params;
    const acting = actingIn(call, now());
    const event = await transact(db, async (trx) => {
      await inbox.reprocessEvent(trx, event_id, acting);
      return shown(trx, call, event_id);
    });
    wakeApply();
    return event;
  },
  logs: ({ params }) => [params, 'an event was queued for reprocessing'],
});

export const dismissEvent = operation({
  id: 'dismissEvent',
  method: 'POST',
  path: '/v1/events/:event_id/dismiss',
  scope: 'events:write',
  employers: 'refused',
  action: 'event.dismiss',
  summary: 'Dismiss an event',
  description:
    'Dismisses a quarantined event, a conflict, a tie that changed a deduction or a change of the contract. It stays in the lists, but readiness no longer reports it.',
  params: EventId,
  body: Dismissal,
  response: { 200: EventSummary },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  run(call, { db, now }) {
    const { event_id } = call.params;
    const acting = actingIn(call, now());
    return transact(db, async (trx) => {
      const isChanged = await inbox.dismissEvent(trx, event_id, call.body.reason, acting);
      const event = await shown(trx, call, event_id);
      return new Answer(event, { isUnchanged: !isChanged });
    });
  },
  logs: ({ params }) => [params, 'an event was dismissed'],
});

export const reprocessEvents = operation({
  id: 'reprocessEvents',
  method: 'POST',
  path: '/v1/events/reprocess',
  scope: 'events:write',
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
  async run(call, { db, sharedNow, wakeApply }) {
    const filter = { ...call.body, eventType: call.body.event_type };
    const acting = actingIn(call, await sharedNow(db));
    const { reprocessed, withoutBody } = await inbox.reprocessAll(db, filter, acting, async (step) => {
      if (step > 0) wakeApply();
      await nextTurn();
    });
    return { reprocessed, without_body: withoutBody };
  },
  logs: (_call, { reprocessed }) => [{ count: reprocessed }, 'events were queued for reprocessing'],
});

async function shown(trx: Trx, { caller }: Call, eventId: string): Promise<EventView> {
  const { event } = await storedEvent(trx, eventId);
  return (await viewEvents(trx, [event], mayAlso(caller, 'ledger:read')))[0] as EventView;
}
