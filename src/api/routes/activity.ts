import Type, { type Static } from 'typebox';
import { closed, component, nullable, nullableText } from '../../contract/fields.ts';
import { COUNTED_AT_MOST } from '../../database/bulk.ts';
import { readActivity } from '../../operations/activity.ts';
import type { ApiParts } from '../parts.ts';
import { taggedOperation } from '../route-table.ts';
import { type Api, ownInstant } from '../schemas.ts';

const operation = taggedOperation('Activity');

const count = (description: string) => Type.Integer({ description });
const when = (description: string) => nullable(ownInstant(description));
const milliseconds = (description: string) => nullable(Type.Number({ description }));

const Minute = component(
  'ActivityMinute',
  {
    at: ownInstant('The start time.'),
    acknowledged: count('Deliveries that were stored and acknowledged.'),
    p50_ms: milliseconds('The median response time. Null if there were no deliveries.'),
    p99_ms: milliseconds('The 99th percentile of the response time.'),
    slowest_ms: milliseconds('The slowest response.'),
  },
  'The deliveries of one minute.',
);

const Activity = component(
  'Activity',
  {
    events: closed(
      {
        pending: count('Events that have not been applied.'),
        oldest_pending_at: when('The time of receipt of the oldest pending event. Null if none is pending.'),
        quarantined: count('Quarantined events that have not been dismissed.'),
        conflicts: count('Event IDs received with two bodies, not dismissed.'),
        last_received_at: when('The time the service last sent one. Imports do not count.'),
      },
      'The inbox.',
    ),
    requests: closed(
      {
        pending: count('Requests waiting to be sent.'),
        sending: count('Requests that are being sent.'),
        rejected: count('Requests that the benefits service rejected and that still need a decision.'),
        oldest_unfinished_at: when('The creation time of the oldest pending or sending request.'),
      },
      'The outbox.',
    ),
    circuit_breaker: closed(
      {
        state: Type.Enum(['active', 'paused'], {
          description: '`paused`: nothing is sent, because the base address or API key is wrong.',
        }),
        reason: nullableText('Why sending is paused.'),
        paused_at: when('The time sending was paused. Null while it is active.'),
      },
      'The circuit breaker of all sending.',
    ),
    minutes: Type.Array(Minute, {
      description:
        'The last 60 minutes of the responding sidecar, oldest first. They are reset at a restart.',
    }),
    counted_since: ownInstant('The time the sidecar started counting.'),
    database_bytes: count('The size of the database and its log, in bytes.'),
    disk_free_bytes: nullable(
      count('The free space on the disk of a SQLite database, in bytes. Null on PostgreSQL.'),
    ),
    position: count('The newest position in the ledger.'),
  },
  `Current activity. Counts stop at ${COUNTED_AT_MOST}, which then means "at least".`,
);
export type Activity = Static<typeof Activity>;

export function activityRoutes(app: Api, { db, receiving }: ApiParts): void {
  app.get(
    '/v1/activity',
    operation('metrics:read', {
      operationId: 'getActivity',
      summary: 'Get current activity',
      description:
        'Returns a quick overview that is cheap enough to poll every second. For alerts, use `/metrics`.',
      response: { 200: Activity },
    }),
    async () => {
      const { minutes, since } = await receiving();
      return { ...(await readActivity(db)), minutes, counted_since: since };
    },
  );
}
