/**
 * `npm run bench -- --pages`: the pages of the console for a payroll specialist with many employers, as requested by a
 * signed-in browser: from request to last byte. README.md describes the measurements.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { PostgresServer } from '../test/support/postgres.ts';
import type { Scratch } from './databases.ts';
import type { Engine } from './engines.ts';
import { bodyOn, payDate, SCHEDULE, SCHEDULE_YEAR } from './payroll.ts';
import { type Client, clientOf } from './payroll-client.ts';
import { employerId, type Ledger, ledgerStatements } from './payroll-fill.ts';
import { median, type Report, whole } from './report.ts';
import { type Server, startSidecar } from './server.ts';

/** Requests per page, after one that compiles the server's code and computes the run. */
const TIMES = 20;
/** The maximum times: of any page, of the review of the largest run, and of the delay of a page while it is computed. */
const TARGET = { pageMs: { sqlite: 150, postgres: 300 }, reviewMs: 500, delayMs: 50 };
/** The largest employer has a run of 5,000 lines. */
const LEDGER: Ledger = {
  ...{ deductions: 60_000, employees: 22_000, employers: 21 },
  large: { employees: 2_000, deductions: 5_000 },
};
const FINALIZED_RUNS = 3;
/** Deductions of the largest employer that were not taken in a run, which makes open items. */
const NOT_TAKEN = 100;
const LARGE = employerId(0);
const OPEN = `${LARGE}-biweekly-${payDate(FINALIZED_RUNS)}`;
const FINALIZED = runId(0, FINALIZED_RUNS - 1);
/** The time between two requests of a reader. The database library closes idle connections sooner by default. */
const READING_MS = 11_000;
/** Connections of a browser to one host. */
const BROWSER_CONNECTIONS = 6;
const LIVEZ = '/livez';

type Timing = { path: string; middle: number; slowest: number };

export async function reportPages(
  report: Report,
  postgres: PostgresServer,
  engines: readonly Engine[],
): Promise<void> {
  const { employers, employees, deductions, large } = LEDGER;
  report.line(
    `${whole(employers)} employers with ${whole(employees)} employees and ${whole(deductions)} deductions, each with ${FINALIZED_RUNS} finalized runs and an open one. ` +
      `The run of the largest has ${whole(large.deductions)} lines. Each page ${TIMES} times after its first request.`,
  );
  report.line();
  for (const engine of engines) {
    const database = await engine.fill(ledgerStatements(LEDGER, engine.dialect), postgres);
    const server = await startSidecar(database.url);
    try {
      report.line(`## ${engine.title}`);
      report.line();
      await measure(report, { database, server, engine });
    } finally {
      await server.stop();
      await database.remove();
    }
  }
}

async function measure(
  report: Report,
  { database, server, engine }: { database: Scratch; server: Server; engine: Engine },
): Promise<void> {
  const client = clientOf(server);
  await makeRuns(client);
  const browser = await signIn(server);
  const home = await browser.open('/');
  const timings: Timing[] = [];
  for (const path of [LIVEZ, ...(await pathsOf(database))]) {
    await browser.open(path);
    const times: number[] = [];
    for (let time = 0; time < TIMES; time += 1) times.push(await browser.open(path));
    timings.push({ path, middle: median(times), slowest: Math.max(...times) });
  }
  const [livez, ...pages] = timings as [Timing, ...Timing[]];
  const review = await reviewMs(browser);
  await delay(READING_MS);
  const homeAgain = await browser.open('/');
  const { firstMs, worst, usual } = await firstComputation(browser, client, timings);
  await browser.close();
  await client.close();

  const limit = TARGET.pageMs[engine.name as keyof typeof TARGET.pageMs];
  const slowest = pages.reduce((page, other) => (other.slowest > page.slowest ? other : page));
  const multiple = (ms: number) => `${(ms / livez.middle).toFixed(0)} × livez`;
  report.table(
    ['what', 'measured', '', 'target'],
    [
      [`${LIVEZ}, median`, `${livez.middle.toFixed(2)} ms`, '', ''],
      ['home for the first time, without a computation', `${home.toFixed(0)} ms`, multiple(home), ''],
      [
        `home after ${READING_MS / 1_000} s without a request`,
        `${homeAgain.toFixed(0)} ms`,
        multiple(homeAgain),
        '',
      ],
      [
        `slowest of ${pages.length} pages and parts: ${slowest.path}`,
        `${slowest.slowest.toFixed(0)} ms`,
        multiple(slowest.slowest),
        `< ${limit} ms`,
      ],
      [
        `review of ${whole(LEDGER.large.deductions)} lines with all its parts, median`,
        `${review.toFixed(0)} ms`,
        multiple(review),
        `< ${TARGET.reviewMs} ms`,
      ],
      [`first computation of that run`, `${firstMs.toFixed(0)} ms`, multiple(firstMs), ''],
      [
        `largest delay of a page during that computation: ${worst.path}`,
        `${worst.ms.toFixed(0)} ms`,
        multiple(worst.ms),
        `< ${TARGET.delayMs} ms`,
      ],
      [`the same without a computation: ${usual.path}`, `${usual.ms.toFixed(0)} ms`, multiple(usual.ms), ''],
    ],
  );
  report.table(
    ['page or part', 'median', 'slowest', 'median × livez'],
    pages.map(({ path, middle, slowest }) => [
      path,
      `${middle.toFixed(0)} ms`,
      `${slowest.toFixed(0)} ms`,
      (middle / livez.middle).toFixed(0),
    ]),
  );
}

function runId(employer: number, place: number): string {
  return `${employerId(employer)}-${payDate(place)}`;
}

/** Gives each employer settings, finalized runs and an open run, and the largest employer open items. */
async function makeRuns(client: Client): Promise<void> {
  for (let employer = 0; employer < LEDGER.employers; employer += 1) {
    const path = `/v1/employers/${employerId(employer)}`;
    await client.call('PUT', `${path}/pay-schedules/${SCHEDULE_YEAR}`, { schedules: [SCHEDULE] });
    await client.call('PUT', `${path}/payroll-codes`, { codes: codes('A') });
    for (let place = 0; place < FINALIZED_RUNS; place += 1) {
      const run = runId(employer, place);
      const body = bodyOn(employerId(employer), payDate(place));
      await client.call('PUT', `/v1/payroll-runs/${run}`, body);
      await client.finalize(run);
    }
    const { answer } = await client.call('POST', '/v1/payroll-runs', {
      employer_id: employerId(employer),
      pay_frequency: 'biweekly',
      pay_date: payDate(FINALIZED_RUNS),
    });
    await client.call('POST', `/v1/payroll-runs/${answer.id}/computation`);
  }
  const listed = await client.call('GET', `/v1/payroll-runs/${FINALIZED}/lines?limit=${NOT_TAKEN}`);
  const lines = listed.answer.data.map(
    ({ employee_id, deduction_id }: { employee_id: string; deduction_id: string }) => {
      return { employee_id, deduction_id, amount: '0.00' };
    },
  );
  await client.call('POST', `/v1/payroll-runs/${FINALIZED}/taken`, { lines });
}

/** Payroll codes for every line of coverage of the ledger. */
function codes(prefix: string) {
  return ['medical', 'dental', 'vision', 'hsa', 'life'].flatMap((line_of_coverage) =>
    ['employee', 'employer'].map((side) => ({
      ...{ line_of_coverage, taxability: null, side, treatment: null },
      code: `${prefix}-${line_of_coverage}-${side}`,
    })),
  );
}

type Browser = Awaited<ReturnType<typeof signIn>>;

async function signIn({ api }: Server) {
  const dispatcher = new Agent({ connections: BROWSER_CONNECTIONS, headersTimeout: 0, bodyTimeout: 0 });
  const { statusCode, headers } = await request(`${api.url}/sign-in`, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token: api.token, next: '/' }).toString(),
  });
  const cookie = String(headers['set-cookie'] ?? '').split(';')[0];
  if (statusCode !== 303 || cookie === undefined) throw new Error(`signing in returned ${statusCode}`);
  return {
    /** Returns the milliseconds until the last byte. */
    async open(path: string): Promise<number> {
      const began = performance.now();
      const response = await request(`${api.url}${path}`, { dispatcher, headers: { cookie } });
      await response.body.text();
      if (response.statusCode !== 200) throw new Error(`${path} returned ${response.statusCode}`);
      return performance.now() - began;
    },
    close: () => dispatcher.close(),
  };
}

/** The page of the open run, and the parts that it loads. */
const REVIEW = ['', '/bar', '/readiness', '/changes', '/employees'].map((part) => `/runs/${OPEN}${part}`);

/** Returns the median time of the page of the open run until its last part has loaded. */
async function reviewMs({ open }: Browser): Promise<number> {
  const [page = '', ...parts] = REVIEW;
  const times: number[] = [];
  for (let time = 0; time < TIMES; time += 1) {
    const began = performance.now();
    await open(page);
    await Promise.all(parts.map(open));
    times.push(performance.now() - began);
  }
  return median(times);
}

/**
 * Changes a setting, so that the run is computed again, and requests other pages until it is. `usual`: the same for as many
 * requests without a computation.
 */
async function firstComputation(browser: Browser, client: Client, idle: readonly Timing[]) {
  const pages = [LIVEZ, '/', '/runs', '/events', '/ledger', `/runs/${FINALIZED}`];
  let worst = { path: '', ms: 0 };
  let usual = { path: '', ms: 0 };
  let firstMs = 0;
  for (const [place, path] of pages.entries()) {
    await client.call('PUT', `/v1/employers/${LARGE}/payroll-codes`, { codes: codes(`B${place}`) });
    let isComputed = false;
    const computed = browser.open(`/runs/${OPEN}/bar`).then((ms) => {
      isComputed = true;
      firstMs = Math.max(firstMs, ms);
    });
    const middle = idle.find((timing) => timing.path === path)?.middle ?? 0;
    const excess = async () => ({ path, ms: (await browser.open(path)) - middle });
    const slower = (one: typeof worst, other: typeof worst) => (one.ms > other.ms ? one : other);
    let requests = 0;
    for (; !isComputed; requests += 1) worst = slower(await excess(), worst);
    await computed;
    for (; requests > 0; requests -= 1) usual = slower(await excess(), usual);
  }
  return { firstMs, worst, usual };
}

/** Each kind of page, its filters, and the parts that pages load later. */
async function pathsOf(database: Scratch): Promise<string[]> {
  const middle = async (column: string, table: string): Promise<string> => {
    const half = `(select count(*) / 2 from ${table})`;
    const [text] = await database.texts(
      `select ${column} from ${table} order by ${column} limit 1 offset ${half}`,
    );
    return encodeURIComponent(text as string);
  };
  const event = await middle('event_id', 'inbox');
  const deduction = await middle('deduction_id', 'deductions');
  const [first = ''] = await database.texts(
    `select min(employee_id) from roster where employer_id = '${LARGE}'`,
  );
  const employee = encodeURIComponent(first);
  return [
    '/',
    '/operations',
    '/events',
    '/events?state=quarantined',
    '/events?event_type=employee.deduction-updated',
    '/events?from=2024-12-15T00:00:00Z&until=2025-01-01T00:00:00Z',
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
    `/runs/new?like=${OPEN}`,
    ...[OPEN, FINALIZED].flatMap((run) => [
      `/runs/${run}`,
      `/runs/${run}/state`,
      `/runs/${run}/bar`,
      `/runs/${run}/changes`,
      `/runs/${run}/employees`,
      `/runs/${run}/employees?sort=employee_id&all=true&page=20`,
      `/runs/${run}/employee?employee_id=${employee}`,
      `/runs/${run}/lines`,
    ]),
    `/runs/${OPEN}/readiness`,
    `/runs/${OPEN}/finalize`,
    `/runs/${OPEN}/review`,
    `/runs/${OPEN}/approve`,
    `/runs/${OPEN}/approval`,
    `/runs/${FINALIZED}?finalized=true`,
    `/runs/${FINALIZED}/audit`,
    `/runs/${FINALIZED}/taken`,
    `/runs/${FINALIZED}/void`,
    `/open-items?employer_id=${LARGE}`,
    `/open-items/totals?employer_id=${LARGE}`,
    '/settings',
    `/settings?employer_id=${LARGE}`,
    `/settings/pay-schedule?employer_id=${LARGE}&year=${SCHEDULE_YEAR}&pay_frequency=biweekly`,
    `/settings/payroll-codes?employer_id=${LARGE}`,
    `/settings/payroll-policy?employer_id=${LARGE}`,
    '/census',
    `/census/${LARGE}`,
    '/changes',
    '/audit',
    '/sessions',
  ];
}
