/** `npm run bench -- --payroll`: payroll runs on a large ledger. README.md describes the measurements. */
import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresServer } from '../test/support/postgres.ts';
import { CONNECTIONS } from './at-once.ts';
import type { Scratch } from './databases.ts';
import type { Engine } from './engines.ts';
import { bodyOf, prepareEvents, signed } from './events.ts';
import { closedLoop, type Latencies, openLoop } from './load.ts';
import { type Client, clientOf } from './payroll-client.ts';
import { employerId, type Ledger, ledgerOf, ledgerStatements, oneEmployer } from './payroll-fill.ts';
import { median, type Report, whole } from './report.ts';
import { type Server, startSidecar } from './server.ts';
import { queryInLoop } from './steady.ts';

export const DEDUCTIONS = 1_000_000;
/** The factor by which the ledger used for comparison, and the large employer, are smaller. */
const SMALLER_BY = 10;
const LARGE_ONE_IN = 100;
/** Makes all numbers whole, and gives a large employer at least a hundred employees to change. */
export const SIZE_STEP = 10_000;
const FINALIZED_RUNS = 24;
const RETROACTIVE = 100;
/** Repetitions of runs and CSVs, each a new run. The median is reported. */
const TIMES = 5;
const QUESTIONS = 1_000;
/** The targets of the issue. */
const TARGET = { deductionsMs: 2, putMs: 1_000, beginMs: 100, ratio: 1.5, p99Ms: 20 };

const EVENTS_PER_SECOND = 500;
const EVENT_SECONDS = 20;
const WARM_UP_EVENTS = 3_000;

/** Biweekly pay dates of 2025. The run on the last one is measured after the others were finalized. */
const FIRST_PAY_DATE = '2025-01-10';
const LARGE = employerId(0);
const DAY_MS = 86_400_000;

/** Name, value and target. */
type Row = [what: string, measured: string, target: string];

export async function reportPayroll(
  report: Report,
  postgres: PostgresServer,
  engines: readonly Engine[],
  deductions: number,
): Promise<void> {
  const ledger = ledgerOf(deductions, deductions / LARGE_ONE_IN);
  const { employees, employers, large } = ledger;
  report.line(
    `A ledger of ${whole(deductions)} deductions of ${whole(employees)} employees of ${whole(employers)} employers. The largest has ${whole(large.employees)} employees with ${whole(large.deductions)} deductions. Over the API; medians of ${TIMES} unless noted.`,
  );
  report.line();
  for (const engine of engines) {
    const fill = (stored: Ledger) => engine.fill(ledgerStatements(stored, engine.dialect), postgres);
    const smaller = ledgerOf(deductions / SMALLER_BY, large.employees);
    const rows: Row[] = [];
    // The whole run takes long, so it shows its progress.
    const add = (...measured: Row[]): void => {
      rows.push(...measured);
      for (const [what, value] of measured) process.stderr.write(`${engine.name}: ${what}: ${value}\n`);
    };
    await withLedger(await fill(ledger), 0, async (running) => {
      add(await askForDeductions(running));
      await withLedger(await fill(smaller), 1, async (other) => {
        add(...(await compareRuns(running, other, smaller)));
      });
      add(...(await finalizeAll(running)));
      add(...(await measureLater(running)));
      // One process serves the file, so runs must not delay its acknowledgments.
      if (engine.name === 'sqlite') add(...(await acknowledgeDuring(running)));
    });
    for (const size of [deductions / SMALLER_BY, deductions]) {
      await withLedger(await fill(oneEmployer(size)), 0, async (running) => add(await streamAll(running)));
    }
    report.line(`## ${engine.title}`);
    report.line();
    report.table(['', 'measured', 'target'], rows);
  }
}

type Running = { database: Scratch; server: Server; client: Client };

/** Serves a database, next to another one if `nth` is not 0, and removes it. */
async function withLedger<R>(
  database: Scratch,
  nth: number,
  work: (running: Running) => Promise<R>,
): Promise<R> {
  const server = await startSidecar(database.url, nth);
  const client = clientOf(server);
  try {
    return await work({ database, server, client });
  } finally {
    await client.close();
    await server.stop();
    await database.remove();
  }
}

/** Reads employees of all employers, one after another. */
async function askForDeductions({ database, client }: Running): Promise<Row> {
  const ids = await database.texts(
    `select employee_id from roster where employee_id like '%7' order by employee_id limit ${QUESTIONS}`,
  );
  const times: number[] = [];
  // Two passes, because the first compiles the server's code.
  for (const isMeasured of [false, true]) {
    for (const id of ids) {
      const { ms, answer } = await client.call('GET', `/v1/deductions?employee_id=${id}`);
      if (answer.data.length === 0) throw new Error('an employee has no deductions');
      if (isMeasured) times.push(ms);
    }
  }
  times.sort((a, b) => a - b);
  const p99 = times[Math.floor(times.length * 0.99)] as number;
  return [
    `an employee's deductions, median of ${whole(times.length)} (p99 ${p99.toFixed(2)} ms)`,
    `${median(times).toFixed(2)} ms`,
    `< ${TARGET.deductionsMs} ms`,
  ];
}

/** `openItems`: items of earlier runs that stay open. */
type Measured = { putMs: number; firstByteMs: number; csvMs: number; lines: number; openItems: number };

/** Creates a new run, reads its CSV and deletes it. */
async function measureRun(client: Client, date: string): Promise<Measured> {
  const put = await client.call('PUT', '/v1/payroll-runs/measured', bodyOn(LARGE, date));
  const { firstByteMs, wholeMs, lines } = await client.csv('measured');
  await client.call('DELETE', '/v1/payroll-runs/measured');
  const openItems = put.answer.open_items.reduce(
    (sum: number, { items }: { items: number }) => sum + items,
    0,
  );
  return { putMs: put.ms, firstByteMs, csvMs: wholeMs, lines, openItems };
}

function middleOf(samples: readonly Measured[]): Measured {
  const of = (field: keyof Measured) => median(samples.map((sample) => sample[field]));
  return {
    putMs: of('putMs'),
    firstByteMs: of('firstByteMs'),
    csvMs: of('csvMs'),
    lines: of('lines'),
    openItems: of('openItems'),
  };
}

/** The same run on both ledgers alternately, so that drift affects both equally. */
async function compareRuns({ client }: Running, other: Running, smaller: Ledger): Promise<Row[]> {
  const samples: Measured[] = [];
  const inSmaller: Measured[] = [];
  for (const each of [client, other.client]) await warmUp(each);
  for (let time = 0; time < TIMES; time += 1) {
    samples.push(await measureRun(client, payDate(0)));
    inSmaller.push(await measureRun(other.client, payDate(0)));
  }
  const [here, there] = [middleOf(samples), middleOf(inSmaller)];
  return [
    ...runRows('a run of the large employer', here),
    [
      `with ${whole(smaller.deductions)} deductions: ${seconds(there.putMs)}; ratio in the larger ledger`,
      (here.putMs / there.putMs).toFixed(2),
      `< ${TARGET.ratio}`,
    ],
  ];
}

/** A run after the finalized ones and some retroactive changes. */
async function measureLater(running: Running): Promise<Row[]> {
  await sendRetroactive(running);
  const samples: Measured[] = [];
  for (let time = 0; time < TIMES; time += 1) {
    samples.push(await measureRun(running.client, payDate(FINALIZED_RUNS)));
  }
  const middle = middleOf(samples);
  if (middle.openItems === 0) throw new Error('the retroactive changes made no adjustment');
  const what = `after ${FINALIZED_RUNS} finalized runs and ${RETROACTIVE} retroactive changes`;
  const lines = `${whole(middle.lines)} lines, ${whole(middle.openItems)} open items`;
  return runRows(`a run ${what} (${lines})`, middle);
}

function runRows(what: string, { putMs, firstByteMs, csvMs }: Measured): Row[] {
  return [
    [`${what}, created`, seconds(putMs), `< ${seconds(TARGET.putMs)}`],
    [
      `its CSV, first byte (all: ${seconds(csvMs)})`,
      `${firstByteMs.toFixed(0)} ms`,
      `< ${TARGET.beginMs} ms`,
    ],
  ];
}

/** The first run compiles the server's code. */
async function warmUp(client: Client): Promise<void> {
  await client.call('PUT', `/v1/employers/${LARGE}/pay-schedules/${SCHEDULE_YEAR}`, {
    schedules: [SCHEDULE],
  });
  await client.call('PUT', '/v1/payroll-runs/warm', bodyOn(LARGE, payDate(0)));
  await client.csv('warm');
  await client.call('DELETE', '/v1/payroll-runs/warm');
}

async function finalizeAll({ client }: Running): Promise<Row[]> {
  const finalizing: number[] = [];
  const verifying: number[] = [];
  for (let place = 0; place < FINALIZED_RUNS; place += 1) {
    const path = `/v1/payroll-runs/${payDate(place)}`;
    await client.call('PUT', path, bodyOn(LARGE, payDate(place)));
    finalizing.push((await client.finalize(payDate(place))).ms);
    if (place < FINALIZED_RUNS - TIMES) continue;
    const { ms, answer } = await client.call('GET', `${path}/verify`);
    if (!answer.identical) throw new Error('a finalized run is not identical');
    verifying.push(ms);
  }
  return [
    [`finalize it, median of ${finalizing.length}`, seconds(median(finalizing)), ''],
    ['verify it', seconds(median(verifying)), ''],
  ];
}

/** Changes amounts of some employees of the large employer, retroactive to the start of their deductions. */
async function sendRetroactive({ database, server, client }: Running): Promise<void> {
  const ids = await database.texts(
    `select employee_id from roster where employer_id = '${LARGE}' order by employee_id`,
  );
  const changed = ids.filter((_, index) => index % (ids.length / RETROACTIVE) === 0);
  const timestamp = Math.floor(Date.now() / 1_000);
  const requests: Buffer[] = [];
  for (const id of changed) {
    const [deduction] = (await client.call('GET', `/v1/deductions?employee_id=${id}`)).answer.data;
    const body = bodyOf({
      envelopeId: `retroactive-${id}`,
      deductionId: deduction.id,
      employeeId: id,
      line: deduction.line_of_coverage,
      contribution: '777.50',
      createdAt: new Date().toISOString(),
      startsOn: deduction.effective_start.slice(0, '2025-01-01'.length),
    });
    requests.push(signed(`msg_retroactive_${id}`, body, timestamp));
  }
  const { refused } = await closedLoop([server.port], requests, 1).done;
  if (refused > 0) throw new Error(`${refused} events were rejected`);
  while ((await database.number("select count(*) from inbox where state = 'pending'")) > 0) await delay(5);
}

/** Events at an even rate, alone and while a single client computes runs continuously. */
async function acknowledgeDuring({ server }: Running): Promise<Row[]> {
  await closedLoop([server.port], prepareEvents(WARM_UP_EVENTS), CONNECTIONS).done;
  const send = () => {
    const events = prepareEvents(EVENTS_PER_SECOND * EVENT_SECONDS);
    return openLoop(server.port, events, EVENTS_PER_SECOND, CONNECTIONS);
  };
  const alone = await send();
  const stop = queryInLoop(server, '/v1/payroll-runs/preview', bodyOn(LARGE, payDate(FINALIZED_RUNS)));
  const during = await send();
  const runs = await stop();
  const row = (what: string, { p50, p99, worst }: Latencies, target: string): Row => [
    `${EVENTS_PER_SECOND} events/s acknowledged ${what}, p99 (p50 ${p50.toFixed(2)} ms, worst ${worst.toFixed(1)} ms)`,
    `${p99.toFixed(2)} ms`,
    target,
  ];
  return [
    row('without other load', alone, ''),
    row(`while ${runs} runs are computed`, during, `< ${TARGET.p99Ms} ms`),
  ];
}

/** The run of an employer with all deductions. */
async function streamAll({ server, client }: Running): Promise<Row> {
  const { nowMiB } = server.memory();
  await client.call('PUT', '/v1/payroll-runs/all', bodyOn(LARGE, payDate(0)));
  const before = server.memory().peakMiB;
  const { lines, wholeMs } = await client.csv('all');
  const { peakMiB } = server.memory();
  return [
    `peak memory while a CSV of ${whole(lines)} lines is streamed in ${seconds(wholeMs)} (at rest ${whole(nowMiB)} MiB, with the run created ${whole(before)} MiB)`,
    `${whole(peakMiB)} MiB`,
    'flat',
  ];
}

export function payDate(place: number): string {
  return movedBy(FIRST_PAY_DATE, 14 * place);
}

function movedBy(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}

function periodOf(date: string) {
  return { period_start: movedBy(date, -18), period_end: movedBy(date, -5) };
}

export function bodyOn(employer_id: string, date: string) {
  return { employer_id, pay_frequency: 'biweekly', pay_date: date, ...periodOf(date) };
}

export const SCHEDULE_YEAR = '2025';

/** All pay dates of the year. */
export const SCHEDULE = {
  pay_frequency: 'biweekly',
  pay_dates: Array.from({ length: 26 }, (_, place) => ({
    pay_date: payDate(place),
    ...periodOf(payDate(place)),
  })).filter(({ pay_date }) => pay_date.startsWith(SCHEDULE_YEAR)),
};

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
