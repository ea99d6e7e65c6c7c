/** A backup under even load: no event is lost, and none waits long for its acknowledgment. */
import { rmSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import BetterSqlite3 from 'better-sqlite3';
import { CONNECTIONS } from './at-once.ts';
import { runCommand } from './command.ts';
import type { Scratch } from './databases.ts';
import { prepareEvents } from './events.ts';
import { closedLoop, type Latencies, openLoop } from './load.ts';
import { type TargetRow, whole } from './report.ts';
import { type Server, startSidecar } from './server.ts';

const PER_SECOND = 200;
/** How long the load lasts. The backup must end earlier, which is checked. */
const SECONDS = 60;
const ALONE_SECONDS = 20;
/** The load before the backup starts. */
const BEFORE_MS = 2_000;
const WARM_UP_EVENTS = 3_000;
/** The target of the issue: no delay above 1 s. */
const TARGET_WORST_MS = 1_000;

export async function backUpUnderLoad(database: Scratch): Promise<TargetRow[]> {
  const server = await startSidecar(database.url);
  const file = `${database.url.slice('sqlite:'.length)}.backup`;
  try {
    await closedLoop([server.port], prepareEvents(WARM_UP_EVENTS), CONNECTIONS).done;
    const alone = await send(server, ALONE_SECONDS);
    const stored = await count(database);
    const sending = send(server, SECONDS);
    await delay(BEFORE_MS);
    const least = await count(database);
    const { tookMs } = await runCommand(database.url, ['backup', file]);
    if (tookMs > SECONDS * 1_000 - BEFORE_MS) throw new Error('the backup took longer than the load');
    const during = await sending;
    const all = (await count(database)) - stored;
    if (all !== PER_SECOND * SECONDS) throw new Error(`${all} events are stored`);
    const backedUp = countIn(file);
    if (backedUp < least) throw new Error('the backup lacks events that were acknowledged before it began');
    const size = whole(statSync(file).size / 1_000_000);
    return [
      row(`${PER_SECOND} events/s acknowledged without other load`, alone, ''),
      row(
        `during a backup of ${size} MB in ${(tookMs / 1_000).toFixed(1)} s`,
        during,
        `< ${whole(TARGET_WORST_MS)} ms`,
      ),
    ];
  } finally {
    await server.stop();
    rmSync(file, { force: true });
  }
}

async function send({ port }: Server, seconds: number): Promise<Latencies> {
  const sent = await openLoop(port, prepareEvents(PER_SECOND * seconds), PER_SECOND, CONNECTIONS);
  if (sent.refused > 0) throw new Error(`${sent.refused} events were rejected`);
  return sent;
}

function row(what: string, { p50, p99, worst }: Latencies, target: string): TargetRow {
  return [
    `${what}, slowest (p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(1)} ms)`,
    `${worst.toFixed(0)} ms`,
    target,
  ];
}

function count(database: Scratch): Promise<number> {
  return database.number('select count(*) from inbox');
}

function countIn(file: string): number {
  const handle = new BetterSqlite3(file, { readonly: true });
  try {
    return handle.prepare('select count(*) from inbox').pluck().get() as number;
  } finally {
    handle.close();
  }
}
