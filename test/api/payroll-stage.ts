/**
 * The private listener with an employer whose payroll run passes every check, and requests of a payroll system.
 */

import type { KyselyPlugin, QueryId } from 'kysely';
import type { Test } from 'tap';
import type { Api, ApiParts } from '../../src/api/route.ts';
import { createApi } from '../../src/api/server.ts';
import type { Db } from '../../src/database/tables.ts';
import { bodyOn, NOW, OVERDUE_MS, readyEmployer } from '../support/payroll.ts';
import { type Answer, call, type Request, type Running, start } from './start.ts';

export const RUNS = '/v1/payroll-runs';

export type Payroll = Running & {
  put: (runId: string, fields?: Body) => Promise<Answer>;
  post: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;
  /** Finalizes the lines of a run as they are now. */
  finalize: (runId: string, body?: unknown, more?: Partial<Request>) => Promise<Answer>;
  get: (path: string, more?: Partial<Request>) => Promise<Answer>;
  /** Finalizes a run and accepts the failures in its readiness report. */
  accept: (runId: string, reason?: string) => Promise<Answer>;
  /** Creates a run and finalizes it. */
  finalized: (runId: string, fields?: Body) => Promise<Answer>;
};
type Body = Record<string, unknown>;

export const PAY_DATE = '2026-07-17';

/** An opening item of the first employee. */
export const OPENING = {
  ...{ id: 'o', employee_id: 'emp-1', line_of_coverage: 'medical', taxability: 'pre_tax' },
  ...{ member_amount: '1.00', employer_amount: '0.00', pay_date: '2025-06-01' },
};

/** Two employees with one deduction each, a schedule, and a census that the service accepted. */
export async function startPayroll(t: Test, replaced: Partial<ApiParts> = {}): Promise<Payroll> {
  const running = await start(t, { now: () => NOW, overdueMs: OVERDUE_MS, ...replaced });
  await readyEmployer(t, running.db);
  const put: Payroll['put'] = (runId, fields) =>
    running.call({ method: 'PUT', url: `${RUNS}/${runId}`, body: bodyOn(PAY_DATE, fields) });
  const post: Payroll['post'] = (path, body, headers) =>
    running.call({ method: 'POST', url: RUNS + path, body, ...(headers && { headers }) });
  const finalize: Payroll['finalize'] = async (runId, body, { headers, ...more } = {}) => {
    const { json } = await running.call({ url: `${RUNS}/${runId}` });
    const reviewed = { 'if-match': `"${json.etag}"`, ...headers };
    return running.call({
      method: 'POST',
      url: `${RUNS}/${runId}/finalize`,
      body,
      ...more,
      headers: reviewed,
    });
  };
  return {
    ...running,
    put,
    post,
    finalize,
    get: (path, more) => running.call({ url: RUNS + path, ...more }),
    async accept(runId, reason = 'a test') {
      const { json, headers } = await running.call({ url: `${RUNS}/${runId}/readiness` });
      const failed = (json.checks as { id: string; result: string }[]).filter(
        ({ result }) => result === 'fail',
      );
      return post(
        `/${runId}/finalize`,
        { accept: failed.map(({ id }) => id), reason },
        { 'if-match': headers.etag as string },
      );
    },
    async finalized(runId, fields) {
      await put(runId, fields);
      const answer = await finalize(runId);
      if (answer.status !== 200) throw new Error(answer.text);
      return answer;
    },
  };
}

/**
 * A second listener on the same database that calls `onRead` after each read of a table. `add` adds routes before it is
 * ready.
 */
export function listenerObserving(
  t: Test,
  { parts }: Payroll,
  table: string,
  onRead: () => Promise<void> | void,
  add: (app: Api, parts: ApiParts) => void = () => {},
) {
  const matching = new WeakSet<QueryId>();
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      if (JSON.stringify(node).includes(`"${table}"`)) matching.add(queryId);
      return node;
    },
    async transformResult({ result, queryId }) {
      if (matching.has(queryId)) await onRead();
      return result;
    },
  };
  const plugged = { ...parts, db: parts.db.withPlugin(plugin) as Db };
  const app = createApi(plugged);
  add(app, plugged);
  t.teardown(() => app.close());
  return { app, call: (request: Request) => call(app, request) };
}
