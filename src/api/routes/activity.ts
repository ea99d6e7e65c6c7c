import Type, { type Static } from 'typebox';
import { closed, nullable } from '../../contract/fields.ts';
import { COUNTED_AT_MOST, readActivity } from '../../operations/activity.ts';
import type { ApiParts } from '../parts.ts';
import { type Api, named, ownInstant } from '../schemas.ts';

const count = (description: string) => Type.Integer({ description });
const when = (description: string) => nullable(ownInstant(description));
const milliseconds = (description: string) => nullable(Type.Number({ description }));

const Minute = closed(
  {
    at: ownInstant('When it began.'),
    acknowledged: count('Deliveries that were stored and answered.'),
    p50_ms: milliseconds('Half of them were answered within this; null when there were none.'),
    p99_ms: milliseconds('All but one in a hundred were.'),
    slowest_ms: milliseconds('All were.'),
  },
  'A minute of receiving.',
);

const Activity = closed(
  {
    events: closed(
      {
        pending: count('Events that are not applied yet.'),
        oldest_pending_at: when('When the oldest of them came; null when none is pending.'),
        quarantined: count('Events that were not understood, and that nobody has dismissed.'),
        conflicts: count('Event ids that came with two bodies, and that nobody has dismissed.'),
        last_received_at: when('When the service last sent one; imports do not count.'),
      },
      'The inbox.',
    ),
    requests: closed(
      {
        pending: count('Requests that wait to be sent.'),
        sending: count('Requests that are being sent.'),
        rejected: count('Requests that the service refused, and that nobody has acted on.'),
        oldest_unfinished_at: when('When the oldest of those that are pending or being sent was made.'),
      },
      'The outbox.',
    ),
    gate: closed(
      {
        state: Type.Enum(['open', 'closed'], {
          description: 'closed: nothing is sent, because the service refuses the address or the key.',
        }),
        reason: nullable(Type.String({ description: 'Why it is closed.' })),
        since: when('Since when it is closed.'),
      },
      'Whether anything is sent.',
    ),
    minutes: Type.Array(Minute, {
      description:
        'The last 60 minutes of the sidecar that answers, the oldest first; it forgets them at a start.',
    }),
    counted_since: ownInstant('When that sidecar started: minutes before it have no numbers.'),
    database_bytes: count('Bytes that the database takes, with its log.'),
    disk_free_bytes: nullable(
      count(
        'Bytes that are free where a SQLite database lies; null on PostgreSQL, whose disk is not seen from here.',
      ),
    ),
    position: count('The newest position of the ledger.'),
  },
  `What goes on. Each number is counted up to ${COUNTED_AT_MOST} and means "at least" there.`,
);
export type Activity = Static<typeof Activity>;

export function activityRoutes(app: Api, { db, receiving }: ApiParts): void {
  app.get(
    '/v1/activity',
    {
      config: { scope: 'metrics:read' },
      schema: {
        operationId: 'getActivity',
        tags: ['Activity'],
        summary: 'What comes in, what waits, what goes out',
        description: 'For a glance, and cheap enough to be asked every second. For alerts see `/metrics`.',
        response: { 200: named(app, 'Activity', Activity) },
      },
    },
    async () => {
      const { minutes, since } = await receiving();
      return { ...(await readActivity(db)), minutes, counted_since: since };
    },
  );
}
