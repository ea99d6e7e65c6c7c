/** `npm run bench -- --soak`: memory over hours of events and payroll runs. README.md describes what is measured. */
import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresServer } from '../test/support/postgres.ts';
import { CONNECTIONS } from './at-once.ts';
import type { Engine } from './engines.ts';
import { prepareEvents } from './events.ts';
import { openLoop } from './load.ts';
import { bodyOn, payDate, SCHEDULE, SCHEDULE_YEAR } from './payroll.ts';
import { type Client, clientOf } from './payroll-client.ts';
import { employerId, ledgerOf, ledgerStatements } from './payroll-fill.ts';
import { type Report, whole } from './report.ts';
import { type Server, startSidecar } from './server.ts';

export const SOAK_MINUTES = 60;
const PER_SECOND = 170;
/**
 * A request is signed for the minute in which it is sent, because the receiver accepts five minutes of
 * difference.
 */
const SIGNED_SECONDS = 60;
const DEDUCTIONS = 1_000_000;
const LARGE_EMPLOYEES = 10_000;
const RUN_EVERY_MS = 5_000;
/** One in this many runs is of the large employer: one every 30 seconds. */
const LARGE_EVERY = 6;
const RUNS_A_YEAR = SCHEDULE.pay_dates.length;
/** How often a monitoring system scrapes the metrics and reads readiness. */
const SCRAPE_EVERY_MS = 15_000;
const SAMPLE_EVERY_MS = 2_000;
/** The rows of the table, whatever the duration. */
const ROWS = 12;
const TARGET_MIB = 450;

type Sample = { atMs: number; nowMiB: number };

export async function reportSoak(
  report: Report,
  postgres: PostgresServer,
  engines: readonly Engine[],
  minutes: number,
): Promise<void> {
  const ledger = ledgerOf(DEDUCTIONS, LARGE_EMPLOYEES);
  report.line(
    `Resident memory of \`serve\` (VmRSS, nothing subtracted), sampled every ${SAMPLE_EVERY_MS / 1_000} s: ${PER_SECOND} events/s on a ledger of ${whole(ledger.deductions)} deductions, a payroll run every ${RUN_EVERY_MS / 1_000} s (computed, read as CSV, finalized), one in ${LARGE_EVERY} of an employer with ${whole(ledger.large.employees)} employees, and a scrape of metrics and readiness every ${SCRAPE_EVERY_MS / 1_000} s.`,
  );
  report.line();
  for (const engine of engines) {
    const database = await engine.fill(ledgerStatements(ledger, engine.dialect), postgres);
    const server = await startSidecar(database.url);
    const client = clientOf(server);
    try {
      const restMiB = server.memory().nowMiB;
      const stored = () => database.number('select count(*) from inbox');
      const before = await stored();
      const { samples, refused, runs, lines } = await soak(
        server,
        client,
        minutes,
        ledger.employers,
        engine.name,
      );
      const most = Math.max(...samples.map(({ nowMiB }) => nowMiB));
      report.line(`## ${engine.title}, ${minutes} minutes`);
      report.line();
      report.table(
        ['', 'measured', 'target'],
        [
          ['peak resident memory', `${whole(most)} MiB`, `< ${TARGET_MIB} MiB`],
          ['at start', `${whole(restMiB)} MiB`, ''],
          ['events stored', whole((await stored()) - before), ''],
          ['events rejected (503)', whole(refused), ''],
          ['payroll runs (their lines)', `${whole(runs)} (${whole(lines)})`, ''],
        ],
      );
      report.table(['minutes', 'peak, MiB', 'at the end, MiB'], rowsOf(samples, minutes));
    } finally {
      await client.close();
      await server.stop();
      await database.remove();
    }
  }
}

async function soak(server: Server, client: Client, minutes: number, employers: number, name: string) {
  const samples: Sample[] = [];
  const began = performance.now();
  const endsAt = began + minutes * 60_000;
  const sample = (): void => {
    const { nowMiB } = server.memory();
    samples.push({ atMs: performance.now() - began, nowMiB });
  };
  const sampling = setInterval(sample, SAMPLE_EVERY_MS);
  const showing = setInterval(() => {
    const minute = Math.round((performance.now() - began) / 60_000);
    process.stderr.write(`${name}: ${minute} min: ${whole(server.memory().nowMiB)} MiB\n`);
  }, 60_000);
  const isDone = (): boolean => performance.now() >= endsAt;
  try {
    const [refused, finalized] = await Promise.all([
      sendEvents(server, isDone),
      runPayrolls(client, employers, isDone),
      scrape(server, isDone),
    ]);
    sample();
    return { samples, refused, ...finalized };
  } finally {
    clearInterval(sampling);
    clearInterval(showing);
  }
}

/** Returns the number of rejected events. */
async function sendEvents({ port }: Server, isDone: () => boolean): Promise<number> {
  let refused = 0;
  while (!isDone()) {
    const events = prepareEvents(PER_SECOND * SIGNED_SECONDS);
    refused += (await openLoop(port, events, PER_SECOND, CONNECTIONS)).refused;
  }
  return refused;
}

/** Runs payrolls in sequence, each for the next employer and its next pay date. */
async function runPayrolls(client: Client, employers: number, isDone: () => boolean) {
  let [runs, lines] = [0, 0];
  for (let nth = 0; !isDone(); nth += 1) {
    const began = performance.now();
    const isLarge = nth % LARGE_EVERY === 0;
    const employer = employerId(isLarge ? 0 : 1 + (nth % (employers - 1)));
    const place = Math.floor(nth / (isLarge ? LARGE_EVERY : employers - 1));
    if (place === 0) {
      await client.call('PUT', `/v1/employers/${employer}/pay-schedules/${SCHEDULE_YEAR}`, {
        schedules: [SCHEDULE],
      });
    }
    const path = `/v1/payroll-runs/soak-${nth}`;
    await client.call('PUT', path, bodyOn(employer, payDate(place % RUNS_A_YEAR)));
    lines += (await client.csv(`soak-${nth}`)).lines;
    // Once its year is finalized, an employer's runs are only computed.
    if (place >= RUNS_A_YEAR) await client.call('DELETE', path);
    else await client.finalize(`soak-${nth}`);
    runs += 1;
    await delay(Math.max(0, RUN_EVERY_MS - (performance.now() - began)));
  }
  return { runs, lines };
}

async function scrape(server: Server, isDone: () => boolean): Promise<void> {
  // Its own connection: it does not wait for a payroll run.
  const client = clientOf(server);
  try {
    while (!isDone()) {
      await client.text('/metrics');
      await client.call('GET', '/v1/readiness');
      await delay(SCRAPE_EVERY_MS);
    }
  } finally {
    await client.close();
  }
}

function rowsOf(samples: readonly Sample[], minutes: number): [string, string, string][] {
  const step = minutes / ROWS;
  return Array.from({ length: ROWS }, (_, row) => {
    const [from, to] = [row * step, (row + 1) * step];
    const of = samples.filter(({ atMs }) => atMs >= from * 60_000 && atMs < to * 60_000);
    const most = Math.max(...of.map(({ nowMiB }) => nowMiB));
    return [
      `${Number(from.toFixed(1))} to ${Number(to.toFixed(1))}`,
      whole(most),
      whole(of.at(-1)?.nowMiB ?? Number.NaN),
    ];
  });
}
