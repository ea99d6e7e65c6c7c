import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { COUNTED_AT_MOST } from '../../database/bulk.ts';
import { isUnavailable, type NotReady } from '../../database/errors.ts';
import { readEventAge } from '../../inbox/arrivals.ts';
import { openLosses } from '../../inbox/data-loss.ts';
import { readActivity } from '../../operations/activity.ts';
import { type Facts, metricsOf } from '../../operations/metrics.ts';
import { type Metric, PREFIX } from '../../telemetry/metric.ts';
import { Refusal, sendRefusal } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';

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

export function activityRoutes(app: Api, parts: ApiParts): void {
  const { db, now, version, whyNotReady, receiving, thread, counts } = parts;
  let prometheus: ReturnType<typeof loadPrometheus> | null = null;

  app.get(
    '/v1/activity',
    operation('Activity', 'metrics:read', {
      operationId: 'getActivity',
      employers: 'refused',
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

  app.get(
    '/metrics',
    operation('Activity', 'metrics:read', {
      operationId: 'getMetrics',
      employers: 'refused',
      summary: 'Get metrics for Prometheus',
      description:
        'Returns the Prometheus text format. No metric contains an employer, employee or other ID.',
      response: {
        200: Type.Unsafe<string>({
          description: 'The metrics of the responding sidecar.',
          content: { 'text/plain': { schema: field.text('Metrics in the Prometheus text format.') } },
        }),
      },
      neverShed: true,
    }),
    async (_request, reply) => {
      const facts: Facts = {
        now: now(),
        version,
        ready: (await whyNotReady()) === null,
        receiving: await receiving(),
        thread: thread(),
        counts,
        stored: await stored(),
      };
      prometheus ??= loadPrometheus();
      const exposition = await (await prometheus)(metricsOf(facts));
      return reply.type('text/plain; version=0.0.4; charset=utf-8').send(exposition);
    },
  );

  /** Null while the database does not respond. The counts of the process are exported anyway. */
  async function stored(): Promise<Facts['stored']> {
    try {
      const losses = (await openLosses(db)).length;
      return { activity: await readActivity(db), eventAge: await readEventAge(db), losses };
    } catch (error) {
      if (isUnavailable(error)) return null;
      throw error;
    }
  }
}

/**
 * Returns a function that formats metrics together with prom-client's own of the process. Called at the first scrape, so that
 * a sidecar without a scraper does not keep prom-client in memory; its garbage collection metrics count from then.
 */
async function loadPrometheus(): Promise<(own: readonly Metric[]) => Promise<string>> {
  const { AggregatorRegistry, collectDefaultMetrics, Registry } = await import('prom-client');
  const register = new Registry();
  collectDefaultMetrics({ register, prefix: PREFIX });
  return async (own) => AggregatorRegistry.aggregate([[...own], await register.getMetricsAsJSON()]).metrics();
}

const nothing = (description: string) => Type.Unsafe<undefined>({ type: 'null', description });

/** Why the process cannot commit. The public listener does not show the reason. */
const WHY: Readonly<Record<NotReady, string>> = {
  locked: 'another process or thread holds the write lock of the database',
  'disk-full': 'the disk of the database is full: free some space',
  unreachable: 'the database server does not respond or accepts no more connections',
  'read-only': 'the database is read-only: check its permissions, or lead DATABASE_URL to the primary',
  failed: 'the database failed: see the log',
};

/** Load balancers may use HEAD, as on the public listener. */
const withHead: typeof operation = (...declared) => ({ ...operation(...declared), exposeHeadRoute: true });

/** Liveness and readiness of the process. Public: no token, and no stored data. */
export function healthRoutes(app: Api, { whyNotReady, log }: ApiParts): void {
  let logged: NotReady | null = null;

  app.get(
    '/livez',
    withHead('Health', 'public', {
      operationId: 'isAlive',
      summary: 'Check liveness',
      description: 'Responds while the process runs.',
      response: { 200: nothing('The process is alive.') },
      neverShed: true,
    }),
    async (_request, reply) => reply.code(200).send(),
  );

  app.get(
    '/readyz',
    withHead('Health', 'public', {
      operationId: 'canCommit',
      summary: 'Check whether the process can commit',
      description:
        'Commits a write to the database, and reports why it failed. For whether payroll can trust the ledger, see `/v1/readiness`.',
      response: { 200: nothing('The process can commit.') },
      refuses: ['UNAVAILABLE'],
      neverShed: true,
    }),
    async (_request, reply) => {
      const why = await whyNotReady();
      // Each new cause is logged once, however often the route is called.
      const isNew = why !== logged;
      logged = why;
      if (why === null) {
        if (isNew) log.info({}, 'the process can commit again');
        return reply.code(200).send();
      }
      if (isNew) log.warn({ reason: WHY[why] }, 'the process cannot commit: readyz responds with 503');
      return sendRefusal(reply, new Refusal('UNAVAILABLE', WHY[why], { headers: { 'retry-after': '1' } }));
    },
  );
}
