/** How long requests take, by route, for the metrics. */
import { noteRequest, type PrivateCounts, type RunWork } from '../telemetry/api-counts.ts';
import { note } from '../telemetry/tally.ts';
import type { Api } from './schemas.ts';

/** The routes that compute or compare the lines of a payroll run. */
export const RUN_ROUTES: Readonly<Record<string, RunWork>> = {
  'PUT /v1/payroll-runs/:run_id': 'put',
  'POST /v1/payroll-runs/preview': 'preview',
  'GET /v1/payroll-runs/:run_id': 'show',
  'GET /v1/payroll-runs/:run_id/lines': 'lines',
  'POST /v1/payroll-runs/:run_id/finalize': 'finalize',
  'GET /v1/payroll-runs/:run_id/verify': 'verify',
  'POST /v1/payroll-runs/:run_id/audit': 'audit',
};
/** What has no route here may be called anything: it is told under one name. */
const NO_ROUTE = 'none';

/** Counts each answer of the listener, until its last byte. */
export function measureRequests(app: Api, counts: PrivateCounts): void {
  app.addHook('onResponse', async ({ method, routeOptions }, reply) => {
    const route = routeOptions.url === undefined ? NO_ROUTE : `${method} ${routeOptions.url}`;
    const seconds = reply.elapsedTime / 1_000;
    noteRequest(counts, route, reply.statusCode, seconds);
    const work = RUN_ROUTES[route];
    if (work !== undefined && reply.statusCode < 400) note(counts.runs[work], seconds);
  });
}
