import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { isUnavailable, type NotReady } from '../../database/errors.ts';
import { readEventAge } from '../../inbox/arrivals.ts';
import { openLosses } from '../../inbox/data-loss.ts';
import { countNotifications } from '../../notifications/view.ts';
import { readActivity } from '../../operations/activity.ts';
import { type Facts, metricsOf } from '../../operations/metrics.ts';
import { type Metric, PREFIX } from '../../telemetry/metric.ts';
import { Refusal, sendRefusal } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';

export function metricsRoutes(app: Api, parts: ApiParts): void {
  const { db, now, version, whyNotReady, receiving, thread, counts } = parts;
  let prometheus: ReturnType<typeof loadPrometheus> | null = null;

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
      const notifications = await countNotifications(db);
      return { activity: await readActivity(db), eventAge: await readEventAge(db), losses, notifications };
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
