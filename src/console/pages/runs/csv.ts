/** The lines of a run as a file: the API's CSV, passed on while it is written. */
import type { FastifyInstance } from 'fastify';
import { address } from '../../elements/pager.ts';
import { streamFromApi } from '../../own-stream.ts';

export function runCsv(app: FastifyInstance): void {
  app.get(
    '/runs/:run_id/lines.csv',
    { config: { scope: 'runs:read' }, schema: { hide: true } },
    async (request, reply) => {
      const { run_id } = request.params as { run_id: string };
      const lines = `/v1/payroll-runs/${encodeURIComponent(run_id)}/lines`;
      const path = address(lines, request.query as Record<string, string>);
      const { stream, headers } = await streamFromApi(app, request, path, 'text/csv');
      return reply
        .header('content-type', headers['content-type'])
        .header('content-disposition', `attachment; filename="${run_id}.csv"`)
        .send(stream);
    },
  );
}
