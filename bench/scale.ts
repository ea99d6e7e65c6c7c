/** `npm run bench -- --scale`: whether stored events slow down new ones, and the disk space per event. */
import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { PostgresServer } from '../test/support/postgres.ts';
import { CONNECTIONS, type Measured, measureRunning, WARM_UP_EVENTS } from './at-once.ts';
import { sidecarOn } from './contenders.ts';
import type { Scratch } from './databases.ts';
import type { Engine } from './engines.ts';
import { prepareEvents } from './events.ts';
import { fillStatements } from './fill.ts';
import { median, type Report, whole } from './report.ts';
import { startSidecar } from './server.ts';

export const SIZES = [0, 1_000_000, 10_000_000];
const EVENTS = 30_000;
/** The targets of issue 3 for the rate and for p99. */
const TARGET = 1.3;
/** An event takes about 1.4 KB, and temporary files need space as well. */
const DISK_BYTES_AN_EVENT = 2_000;

/** `eventBytes` is the size of an event received over HTTP. */
type Sample = Measured & { eventBytes: number };
type Filled = { stored: number; bytes: number; database: Scratch; measured: Sample[] };
/** Each size has its own database, and each round measures every size, so that drift affects all equally. */
export async function reportScale(
  report: Report,
  postgres: PostgresServer,
  engines: readonly Engine[],
  sizes: readonly number[],
  rounds: number,
): Promise<void> {
  assertDiskSpace(sizes.reduce((sum, stored) => sum + stored, 0));
  report.line(
    `${whole(EVENTS)} concurrent events over ${CONNECTIONS} connections, by number of events already stored and applied. Medians; rounds: ${rounds}.`,
  );
  report.line();
  for (const engine of engines) {
    const filled: Filled[] = [];
    const fill = (stored: number) => engine.fill(fillStatements(stored, engine.dialect), postgres);
    try {
      for (const stored of sizes) {
        const database = await fill(stored);
        filled.push({ stored, bytes: await database.bytes(), database, measured: [] });
        process.stderr.write(`${engine.name}: ${whole(stored)} events are stored\n`);
      }
      for (let round = 0; round < rounds; round += 1) {
        for (const one of filled) {
          // Each round starts with a new empty database.
          const fresh = one.stored === 0 ? await fill(0) : null;
          one.measured.push(await measure(fresh ?? one.database));
          await fresh?.remove();
          const rate = whole(one.measured[round]?.acknowledgedPerSecond ?? 0);
          process.stderr.write(`${engine.name}, ${whole(one.stored)} stored: ${rate}/s acknowledged\n`);
        }
      }
      reportEngine(report, engine, filled);
    } finally {
      for (const { database } of filled) await database.remove();
    }
  }
}

async function measure(database: Scratch): Promise<Sample> {
  const bytes = await database.bytes();
  const requests = prepareEvents(WARM_UP_EVENTS + EVENTS);
  const server = await startSidecar(database.url);
  let measured: Measured;
  try {
    measured = await measureRunning(sidecarOn(database, [server]), requests);
  } finally {
    await server.stop();
  }
  return { ...measured, eventBytes: ((await database.bytes()) - bytes) / requests.length };
}

function reportEngine(report: Report, { title }: Engine, filled: readonly Filled[]): void {
  const middle = ({ measured }: Filled, field: keyof Sample) => median(measured.map((one) => one[field]));
  const [least] = filled as [Filled];
  report.line(`## ${title}`);
  report.line();
  report.table(
    [
      'stored',
      'acknowledged/s',
      'slowdown',
      'applied/s',
      'p50 ms',
      'p99 ms',
      'p99 ratio',
      'database MiB',
      'bytes per event stored in bulk',
      'bytes per event received',
    ],
    filled.map((one) => [
      whole(one.stored),
      whole(middle(one, 'acknowledgedPerSecond')),
      (middle(least, 'acknowledgedPerSecond') / middle(one, 'acknowledgedPerSecond')).toFixed(2),
      whole(middle(one, 'appliedPerSecond')),
      middle(one, 'p50').toFixed(1),
      middle(one, 'p99').toFixed(1),
      (middle(one, 'p99') / middle(least, 'p99')).toFixed(2),
      whole(one.bytes / 2 ** 20),
      one.stored === 0 ? '' : whole(one.bytes / one.stored),
      whole(middle(one, 'eventBytes')),
    ]),
  );
  report.line(`Both ratios must be at most ${TARGET}.`);
  report.line();
}

function assertDiskSpace(events: number): void {
  const { bavail, bsize } = statfsSync(tmpdir());
  const needed = events * DISK_BYTES_AN_EVENT;
  if (bavail * bsize < needed) {
    throw new Error(
      `${tmpdir()} has too little space: ${whole(needed / 2 ** 30)} GiB are needed temporarily`,
    );
  }
}
