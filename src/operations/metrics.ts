/** Builds all metrics of the sidecar from its counts and the database. Pure. */
import type { EventAge } from '../inbox/arrivals.ts';
import type { countNotifications } from '../notifications/view.ts';
import type { PrivateCounts, Receiving, ThreadCounts } from '../telemetry/counts.ts';
import { counter, countOf, gauge, histogram, type Metric, type Tally } from '../telemetry/metric.ts';
import type { Activity } from './activity.ts';

/** Read from the database. `losses` counts data losses that no operator has accepted. */
export type StoredFacts = {
  activity: Activity;
  eventAge: EventAge;
  losses: number;
  notifications: Awaited<ReturnType<typeof countNotifications>>;
};

export type Facts = {
  now: Date;
  version: string;
  ready: boolean;
  /** The counts of the other threads. */
  receiving: Receiving;
  /** The counts of the API thread. */
  thread: ThreadCounts;
  counts: PrivateCounts;
  /** The counts from the database. Null if it does not respond: then its metrics are omitted. */
  stored: StoredFacts | null;
};

export function metricsOf(facts: Facts): Metric[] {
  const { stored } = facts;
  return [
    ...eventMetrics(facts),
    ...apiMetrics(facts.counts),
    ...processMetrics(facts),
    ...(stored === null ? [] : storedMetrics(stored, facts.now)),
  ];
}

function eventMetrics({ receiving, thread }: Facts): Metric[] {
  const { acknowledged, refused, unstored, duplicates, conflicts, commits, batches } = receiving;
  const causes = Object.entries(refused);
  const verified = countOf(acknowledged) + unstored;
  const received = causes.reduce((sum, [, count]) => sum + count, verified);
  // One of the threads applies, by the engine; the others have counted nothing.
  const threads = [...Object.values(receiving.threads), thread];
  const outcomes = (['applied', 'ignored', 'quarantined'] as const).map(
    (outcome) => [outcome, threads.reduce((sum, { applied }) => sum + applied[outcome], 0)] as const,
  );
  return [
    counter('webhooks_received', 'Deliveries to the public listener that received a response.', received),
    counter('webhooks_verified', 'Deliveries with a valid signature.', verified),
    counter(
      'webhooks_refused',
      'Deliveries that were rejected without storing anything, by cause: headers, timestamp, encoding or signature (401), path or method (404), compressed (415), size (413), unreadable (400 or 408).',
      { label: 'cause', of: causes },
    ),
    counter(
      'webhooks_unstored',
      'Verified deliveries that could not be stored; the response was 503.',
      unstored,
    ),
    counter('webhooks_duplicates', 'Deliveries of an event that was already stored.', duplicates),
    counter('webhooks_conflicts', 'Event IDs that were received again with another body.', conflicts),
    histogram(
      'acknowledgement_seconds',
      'Time from the headers of a delivery to its response 204.',
      acknowledged,
    ),
    histogram('commit_seconds', 'Time of one commit of deliveries, including its sync to the disk.', commits),
    histogram('commit_events', 'Deliveries per commit.', batches),
    counter('events_applied', 'Events that the apply loop has finished, by outcome.', {
      label: 'outcome',
      of: outcomes,
    }),
  ];
}

function apiMetrics({ attempts, notifications, runs, requests, responses, shed }: PrivateCounts): Metric[] {
  return [
    counter(
      'attempts',
      'Attempts to send a request to the benefits service, by outcome: delivered, retry, hold (the service refuses the subject), rejected, later (it could not be prepared), canceled, lost (another sidecar took over).',
      { label: 'outcome', of: Object.entries(attempts) },
    ),
    counter(
      'notification_attempts',
      'Attempts to send a notification, by outcome: delivered, retried, failed, dropped (too many waited).',
      { label: 'outcome', of: Object.entries(notifications) },
    ),
    histogram(
      'payroll_run_seconds',
      'Time of API requests that compute or compare a payroll run, by operation.',
      { label: 'work', of: Object.entries(runs) },
    ),
    histogram('api_request_seconds', 'Time of requests to the private listener, by method and route.', {
      label: 'route',
      of: requests,
    }),
    counter('api_responses', 'Responses of the private listener, by class of status.', {
      label: 'status',
      of: responses,
    }),
    counter('api_shed', 'Requests to the private listener that were rejected because it was overloaded.', {
      label: 'reason',
      of: Object.entries(shed),
    }),
  ];
}

function processMetrics({ ready, version, receiving, thread }: Facts): Metric[] {
  const threads = <T>(read: (of: ThreadCounts) => T): [string, T][] =>
    Object.entries({ ...receiving.threads, api: thread }).map(([name, of]) => [name, read(of)]);
  return [
    gauge('info', 'Always 1. The label is the release.', { label: 'version', of: [[version, 1]] }),
    gauge('ready', '1 if this process can commit, as in readyz.', ready ? 1 : 0),
    histogram(
      'event_loop_delay_seconds',
      'How late a timer fired, by thread: main stores events (and receives on PostgreSQL), receiver receives (SQLite), api serves the API and sends.',
      { label: 'thread', of: threads<Tally>(({ loopDelay }) => loopDelay) },
    ),
    counter(
      'log_lines_dropped',
      'Log lines that were dropped because the reader of standard output stalled.',
      receiving.droppedLines,
    ),
    gauge('heap_used_bytes', 'Bytes of the JavaScript heap in use.', {
      label: 'thread',
      of: threads(({ heapUsed }) => heapUsed),
    }),
  ];
}

/** The same on every sidecar that shares the database. */
function storedMetrics({ activity, eventAge, losses, notifications }: StoredFacts, now: Date): Metric[] {
  const { events, requests, ...rest } = activity;
  // Never negative, even if the clock was set back.
  const secondsSince = (at: string | null) =>
    at === null ? 0 : Math.max(0, now.getTime() - Date.parse(at)) / 1_000;
  const { pending, sending, rejected } = requests;
  return [
    gauge('events_pending', 'Events that are not applied yet.', events.pending),
    gauge(
      'apply_lag_seconds',
      'Age of the oldest pending event; 0 when there is none.',
      secondsSince(events.oldest_pending_at),
    ),
    gauge('events_quarantined', 'Quarantined events that are not dismissed.', events.quarantined),
    gauge('events_conflicts', 'Event IDs with two bodies that are not dismissed.', events.conflicts),
    gauge(
      'last_event_age_seconds',
      'Time since the last event of the service, or since the database was created.',
      secondsSince(eventAge.since),
    ),
    gauge('requests', 'Unfinished and rejected requests to the benefits service, by state.', {
      label: 'state',
      of: Object.entries({ pending, sending, rejected }),
    }),
    gauge(
      'requests_held',
      'Requests whose subjects the service refuses: 401, 403, 3xx or a plain 404.',
      requests.held,
    ),
    gauge(
      'requests_oldest_seconds',
      'Age of the oldest request that is pending or being sent; 0 when there is none.',
      secondsSince(requests.oldest_unfinished_at),
    ),
    gauge(
      'circuit_breaker_paused',
      '1 while sending is paused because the service rejects the address or the API key.',
      rest.circuit_breaker.state === 'paused' ? 1 : 0,
    ),
    gauge(
      'sending',
      '0 during a pilot, in which nothing is sent to the benefits service; else 1.',
      rest.sending_off_since === null ? 1 : 0,
    ),
    gauge('notifications', 'Notifications of the last 30 days that wait or failed, by state.', {
      label: 'state',
      of: Object.entries(notifications),
    }),
    gauge('data_loss', '1 while a data loss is detected and not accepted.', losses > 0 ? 1 : 0),
    gauge('ledger_position', 'The newest position of the ledger.', rest.position),
    gauge('database_bytes', 'Size of the database in bytes, including its log.', rest.database_bytes),
    ...(rest.disk_free_bytes === null
      ? []
      : [gauge('disk_free_bytes', 'Free bytes on the disk of a SQLite database.', rest.disk_free_bytes)]),
  ];
}
