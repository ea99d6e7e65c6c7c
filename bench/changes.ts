/**
 * `npm run bench -- --changes`: accepting and delivering employment changes, with few and with many pending.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresServer } from '../test/support/postgres.ts';
import { CONNECTIONS } from './at-once.ts';
import { bodyOf, CHANGES_EACH, nthOf, owe, timeClaims } from './changes-fill.ts';
import { type Service, startService } from './changes-service.ts';
import type { Scratch } from './databases.ts';
import type { Engine } from './engines.ts';
import { closedLoop, type Latencies } from './load.ts';
import { median, type Report, whole } from './report.ts';
import { type Server, startSidecar } from './server.ts';

export const BACKLOG = 1_000_000;
/** The small backlog: more than is delivered during the measurement. */
const LITTLE = 20_000;
const WARM_UP = 2_000;
const ACCEPTED = 20_000;
const DELIVERED = 3_000;
const CLAIMS = 50;
/** The targets: two minimums and a maximum. */
const TARGET = { accepted: 2_000, delivered: 300, ratio: 1.5 };
const IN_FLIGHT = 8;

type Sample = { accepted: Latencies; deliveredPerSecond: number; claimMs: number };
type Filled = { waiting: number; database: Scratch; service: Service; samples: Sample[] };

export async function reportChanges(
  report: Report,
  postgres: PostgresServer,
  engines: readonly Engine[],
  backlog: number,
  rounds: number,
): Promise<void> {
  report.line(
    `${whole(ACCEPTED)} changes reported one by one over ${CONNECTIONS} connections, each with a unique Idempotency-Key, while the backlog is sent to the service; then ${whole(DELIVERED)} delivered to a service that responds in 20 ms. The order per employee is checked. Medians; rounds: ${rounds}.`,
  );
  report.line();
  for (const engine of engines) {
    const all: Filled[] = [];
    try {
      for (const waiting of [LITTLE, backlog]) {
        const database = await engine.fill([], postgres);
        await owe(database.url, waiting);
        all.push({ waiting, database, service: await startService(), samples: [] });
        process.stderr.write(`${engine.name}: ${whole(waiting)} wait\n`);
      }
      for (let round = 0; round < rounds; round += 1) {
        for (const one of all) one.samples.push(await measure(engine, one, round));
      }
      for (const { service, waiting } of all) assertOrder(service, waiting);
      reportEngine(report, engine, all);
    } finally {
      for (const { service, database } of all) {
        await service.stop();
        await database.remove();
      }
    }
  }
}

async function measure(
  engine: Engine,
  { database, service, waiting }: Filled,
  round: number,
): Promise<Sample> {
  const claimMs = median(await timeClaims(database.url, CLAIMS));
  const sidecar = await startSidecar(database.url, 0, { BENEFITS_BASE_URL: service.url });
  try {
    const port = Number(new URL(sidecar.api.url).port);
    await closedLoop([port], requestsOf(sidecar, WARM_UP, `warm-${round}`), CONNECTIONS).done;
    const accepted = await closedLoop([port], requestsOf(sidecar, ACCEPTED, `round-${round}`), CONNECTIONS)
      .done;
    if (accepted.refused > 0) throw new Error(`${accepted.refused} changes were rejected`);
    const deliveredPerSecond = await rateOf(service);
    process.stderr.write(
      `${engine.name}, ${whole(waiting)} waiting: ${whole(accepted.perSecond)}/s accepted, ${whole(deliveredPerSecond)}/s delivered, 8 claimed in ${claimMs.toFixed(2)} ms\n`,
    );
    return { accepted, deliveredPerSecond, claimMs };
  } finally {
    await sidecar.stop();
  }
}

/** Measures from the next delivery on. */
async function rateOf(service: Service): Promise<number> {
  const first = service.at.length;
  await Promise.race([service.reached(first + DELIVERED + 1), silent(service)]);
  const began = service.at[first];
  const ended = service.at[first + DELIVERED];
  if (began === undefined || ended === undefined) throw new Error('no more changes are delivered');
  return (DELIVERED * 1_000) / (ended - began);
}

const SILENT_MS = 20_000;

/** Resolves when nothing was received for a while, so that the benchmark does not wait forever. */
async function silent(service: Service): Promise<void> {
  for (let before = -1; before !== service.at.length; ) {
    before = service.at.length;
    await delay(SILENT_MS);
  }
}

/** Requests for other employees than the pending ones. */
function requestsOf({ api }: Server, count: number, series: string): Buffer[] {
  return Array.from({ length: count }, (_, nth) => {
    const body = JSON.stringify(bodyOf(`${series}-${nth % (count / CHANGES_EACH)}`, nth));
    return Buffer.from(
      `POST /v1/employee-changes/demographic HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${api.token}\r\ncontent-type: application/json\r\nidempotency-key: ${series}-${nth}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  });
}

/** Checks that each enqueued change was delivered once, in order per employee, and never too many at once. */
function assertOrder(service: Service, waiting: number): void {
  const employees = waiting / CHANGES_EACH;
  const last = new Map<number, number>();
  for (const requestId of service.received) {
    if (!requestId.startsWith('owed-')) continue;
    const nth = nthOf(requestId);
    const before = last.get(nth % employees);
    if (before !== undefined && before >= nth) throw new Error(`change ${nth} came after ${before}`);
    last.set(nth % employees, nth);
  }
  if (service.mostInFlight() > IN_FLIGHT) throw new Error(`${service.mostInFlight()} requests at once`);
}

function reportEngine(report: Report, engine: Engine, [little, much]: readonly Filled[]): void {
  if (little === undefined || much === undefined) throw new Error('both are measured');
  const of = ({ samples }: Filled, value: (sample: Sample) => number) => median(samples.map(value));
  const accepted = (one: Filled) => of(one, (sample) => sample.accepted.perSecond);
  const delivered = (one: Filled) => of(one, (sample) => sample.deliveredPerSecond);
  const claimed = (one: Filled) => of(one, (sample) => sample.claimMs);
  const ms = (one: Filled, of99: 'p50' | 'p99') => of(one, (sample) => sample.accepted[of99]).toFixed(1);
  const times = (ratio: number) => ratio.toFixed(2);
  report.line(`## ${engine.title}`);
  report.line();
  report.table(
    ['', `${whole(little.waiting)} waiting`, `${whole(much.waiting)} waiting`, 'slowdown', 'target'],
    [
      [
        'accepted per second',
        whole(accepted(little)),
        whole(accepted(much)),
        times(accepted(little) / accepted(much)),
        `>= ${whole(TARGET.accepted)}, <= ${TARGET.ratio}`,
      ],
      [
        'until the 202, p50 and p99 in ms',
        `${ms(little, 'p50')}, ${ms(little, 'p99')}`,
        `${ms(much, 'p50')}, ${ms(much, 'p99')}`,
        '',
        '',
      ],
      [
        `delivered per second, ${IN_FLIGHT} in flight (400 are possible)`,
        whole(delivered(little)),
        whole(delivered(much)),
        times(delivered(little) / delivered(much)),
        `>= ${TARGET.delivered}`,
      ],
      [
        'claiming eight, in ms',
        claimed(little).toFixed(2),
        claimed(much).toFixed(2),
        times(claimed(much) / claimed(little)),
        `<= ${TARGET.ratio}`,
      ],
    ],
  );
}
