import Type from 'typebox';
import { text } from '../../contract/fields.ts';
import { isUnavailable } from '../../database/errors.ts';
import { readEventAge } from '../../inbox/arrivals.ts';
import { openLosses } from '../../inbox/data-loss.ts';
import { readActivity } from '../../operations/activity.ts';
import { type Facts, metricsOf } from '../../operations/metrics.ts';
import { createExposition, EXPOSITION_TYPE } from '../../telemetry/exposition.ts';
import type { ApiParts } from '../parts.ts';
import { taggedOperation } from '../route-table.ts';
import type { Api } from '../schemas.ts';

const operation = taggedOperation('Activity');

/** Exports metrics in the Prometheus format. */
export function metricsRoutes(app: Api, parts: ApiParts): void {
  const { db, now, version, whyNotReady, receiving, thread, counts } = parts;
  const expose = createExposition();

  /** Null while the database does not respond. The counts of the process are exported anyway. */
  async function stored(): Promise<Facts['stored']> {
    try {
      return {
        activity: await readActivity(db),
        eventAge: await readEventAge(db),
        losses: (await openLosses(db)).length,
      };
    } catch (error) {
      if (isUnavailable(error)) return null;
      throw error;
    }
  }

  app.get(
    '/metrics',
    operation('metrics:read', {
      operationId: 'getMetrics',
      summary: 'Get metrics for Prometheus',
      description:
        'Returns the Prometheus text format. No metric contains an employer, employee or other ID.',
      response: {
        200: Type.Unsafe<string>({
          description: 'The metrics of the responding sidecar.',
          content: { 'text/plain': { schema: text('Metrics in the Prometheus text format.') } },
        }),
      },
      alwaysAnswered: true,
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
      return reply.type(EXPOSITION_TYPE).send(await expose(metricsOf(facts)));
    },
  );
}
