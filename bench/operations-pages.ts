/** The console's pages on a large ledger, as requested by a signed-in browser: from request to last byte. */
import { Agent, request } from 'undici';
import type { Scratch } from './databases.ts';
import type { Row } from './operations.ts';
import { bodyOn, SCHEDULE, SCHEDULE_YEAR } from './payroll.ts';
import { clientOf } from './payroll-client.ts';
import { employerId } from './payroll-fill.ts';
import { median, whole } from './report.ts';
import { type Server, startSidecar } from './server.ts';

/** Requests per page, after one that compiles the server's code. */
const TIMES = 20;
/** The target of the issue. */
const TARGET = { operationsMs: 100, pageMs: 300 };
const LARGE = employerId(0);
const FINALIZED = 'finalized';
const OPEN = 'open';

export async function openPages(database: Scratch): Promise<Row[]> {
  const server = await startSidecar(database.url);
  const agent = new Agent({ connections: 1 });
  try {
    await makeRuns(server);
    const cookie = await signIn(server, agent);
    const open = async (path: string): Promise<number> => {
      const began = performance.now();
      const { statusCode, body } = await request(`${server.api.url}${path}`, {
        dispatcher: agent,
        headers: { cookie },
      });
      await body.text();
      if (statusCode !== 200) throw new Error(`${path} returned ${statusCode}`);
      return performance.now() - began;
    };
    const pages = [];
    for (const path of await pathsOf(database)) {
      await open(path);
      const times: number[] = [];
      for (let time = 0; time < TIMES; time += 1) times.push(await open(path));
      pages.push({ path, middle: median(times), slowest: Math.max(...times) });
    }
    const [operations] = pages as [(typeof pages)[number]];
    const slowest = pages.reduce((one, other) => (one.slowest < other.slowest ? other : one));
    return [
      [
        `the console's operations page, median of ${TIMES} (slowest ${operations.slowest.toFixed(0)} ms)`,
        `${operations.middle.toFixed(0)} ms`,
        `< ${TARGET.operationsMs} ms`,
      ],
      [
        `slowest of ${whole(pages.length)} pages, ${TIMES} times each: ${slowest.path} (median ${slowest.middle.toFixed(0)} ms)`,
        `${slowest.slowest.toFixed(0)} ms`,
        `< ${TARGET.pageMs} ms`,
      ],
    ];
  } finally {
    await agent.close();
    await server.stop();
  }
}

/** A finalized and an open run of the large employer. */
async function makeRuns(server: Server): Promise<void> {
  const client = clientOf(server);
  const [first, second] = SCHEDULE.pay_dates.map(({ pay_date }) => pay_date) as [string, string];
  await client.call('PUT', `/v1/employers/${LARGE}/pay-schedules/${SCHEDULE_YEAR}`, {
    schedules: [SCHEDULE],
  });
  await client.call('PUT', `/v1/payroll-runs/${FINALIZED}`, bodyOn(LARGE, first));
  // The bulk data has no census sync, which readiness checks.
  await client.finalize(FINALIZED);
  await client.call('PUT', `/v1/payroll-runs/${OPEN}`, bodyOn(LARGE, second));
  await client.close();
}

async function signIn({ api }: Server, agent: Agent): Promise<string> {
  const { statusCode, headers } = await request(`${api.url}/sign-in`, {
    dispatcher: agent,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token: api.token, next: '/' }).toString(),
  });
  const cookie = String(headers['set-cookie'] ?? '').split(';')[0];
  if (statusCode !== 303 || cookie === undefined) throw new Error(`signing in returned ${statusCode}`);
  return cookie;
}

/** Operations, home, each kind of page, its filters, and late pages of lists. */
async function pathsOf(database: Scratch): Promise<string[]> {
  const one = async (column: string, table: string): Promise<string> => {
    const half = `(select count(*) / 2 from ${table})`;
    const [text] = await database.texts(`select ${column} from ${table} limit 1 offset ${half}`);
    return encodeURIComponent(text as string);
  };
  const event = await one('event_id', 'inbox');
  const employee = await one('employee_id', 'roster');
  const deduction = await one('deduction_id', 'deductions');
  const received = 'from=2024-12-15T00:00:00Z&until=2025-01-01T00:00:00Z';
  return [
    '/operations',
    '/',
    '/events',
    '/events?state=quarantined',
    '/events?event_type=employee.deduction-updated',
    `/events?${received}`,
    `/events/${event}`,
    '/ledger',
    '/ledger?matched=false',
    '/ledger?line_of_coverage=hsa',
    '/ledger?on=2025-02-01',
    '/ledger?known_at=2025-01-01T00:00:00Z',
    `/ledger?employer_id=${LARGE}`,
    `/ledger?employer_id=${LARGE}&line_of_coverage=life&on=2025-05-01`,
    `/ledger?employee_id=${employee}`,
    `/deductions/${deduction}`,
    `/employees/${employee}`,
    '/runs',
    `/runs?employer_id=${LARGE}`,
    '/runs/new',
    `/runs/${OPEN}`,
    `/runs/${FINALIZED}`,
    `/runs/${FINALIZED}/audit`,
    `/runs/${FINALIZED}/taken`,
    `/runs/${FINALIZED}/void`,
    `/settings?employer_id=${LARGE}`,
    '/census',
    `/census/${LARGE}`,
    '/changes',
  ];
}
