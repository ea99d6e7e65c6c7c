import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { COUNTED_AT_MOST } from '../../database/bulk.ts';
import { readActivity } from '../../operations/activity.ts';
import { operation } from '../operation.ts';

const milliseconds = (description: string) => field.nullable(Type.Number({ description }));

const Minute = field.component(
  'ActivityMinute',
  {
    at: field.text('The start time.'),
    acknowledged: field.integer('Deliveries that were stored and acknowledged.'),
    p50_ms: milliseconds('The median response time. Null if there were no deliveries.'),
    p99_ms: milliseconds('The 99th percentile of the response time.'),
    slowest_ms: milliseconds('The slowest response.'),
  },
  'The deliveries of one minute.',
);

const Activity = field.component(
  'Activity',
  {
    events: field.closed(
      {
        pending: field.integer('Events that have not been applied.'),
        oldest_pending_at: field.nullableText(
          'The time of receipt of the oldest pending event. Null if none is pending.',
        ),
        quarantined: field.integer('Quarantined events that have not been dismissed.'),
        conflicts: field.integer('Event IDs received with two bodies, not dismissed.'),
        last_received_at: field.nullableText('The time the service last sent one. Imports do not count.'),
      },
      'The inbox.',
    ),
    requests: field.closed(
      {
        pending: field.integer('Requests waiting to be sent.'),
        sending: field.integer('Requests that are being sent.'),
        held: field.integer(
          'Pending or sending requests that the benefits service refuses for their employer or employee.',
        ),
        rejected: field.integer(
          'Requests that the benefits service rejected and that still need a decision.',
        ),
        oldest_unfinished_at: field.nullableText(
          'The creation time of the oldest pending or sending request.',
        ),
      },
      'The outbox.',
    ),
    circuit_breaker: field.closed(
      {
        state: Type.Enum(['active', 'paused'], {
          description: '`paused`: nothing is sent, because the base address or API key is wrong.',
        }),
        reason: field.nullableText('Why sending is paused.'),
        paused_at: field.nullableText('The time sending was paused. Null while it is active.'),
      },
      'The circuit breaker of all sending.',
    ),
    sending_off_since: field.nullableText(
      'The start of the pilot, in which nothing is sent. Null while sending is on.',
    ),
    minutes: Type.Array(Minute, {
      description:
        'The last 60 minutes of the responding sidecar, oldest first. They are reset at a restart.',
    }),
    counted_since: field.text('The time the sidecar started counting.'),
    database_bytes: field.integer('The size of the database and its log, in bytes.'),
    disk_free_bytes: field.nullable(
      field.integer('The free space on the disk of a SQLite database, in bytes. Null on PostgreSQL.'),
    ),
    position: field.integer('The newest position in the ledger.'),
  },
  `Current activity. Counts stop at ${COUNTED_AT_MOST}, which then means "at least".`,
);

export const getActivity = operation({
  id: 'getActivity',
  method: 'GET',
  path: '/v1/activity',
  scope: 'metrics:read',
  employers: 'refused',
  summary: 'Get current activity',
  description:
    'Returns a quick overview that is cheap enough to poll every second. For alerts, use `/metrics`.',
  response: { 200: Activity },
  async run(_call, { db, receiving }) {
    const { minutes, since } = await receiving();
    return { ...(await readActivity(db)), minutes, counted_since: since };
  },
});
