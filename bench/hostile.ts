/** `npm run bench -- --hostile`: the cost of refusing unsigned requests, and how they delay signed deliveries. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresServer } from '../test/support/postgres.ts';
import { CONNECTIONS } from './at-once.ts';
import { ATTACKS, type Attack } from './attacks.ts';
import type { Engine } from './engines.ts';
import { prepareEvents } from './events.ts';
import { closedLoop, type Latencies, openLoop } from './load.ts';
import { median, type Report, whole } from './report.ts';
import { type Server, startSidecar } from './server.ts';

/** How long each attack is measured in each round. */
const RATE_MS = 3_000;
const WARM_UP_EVENTS = 5_000;
/** Nearly all connections of the receiver: some are left for deliveries. */
const HOSTILE = 450;
/** Deliveries are signed when they are prepared, so all must be sent within the five minutes of their timestamp. */
const DELIVERIES = { perSecond: 20, seconds: 15, connections: 32 };
/** Maximum time of a request that another token keeps busy, in milliseconds. */
const TARGET_MS = 1_000;

export async function reportHostile(
  report: Report,
  postgres: PostgresServer,
  engines: readonly Engine[],
  rounds: number,
): Promise<void> {
  for (const engine of engines) {
    const database = await engine.fill([], postgres);
    const server = await startSidecar(database.url);
    try {
      await closedLoop([server.port], prepareEvents(WARM_UP_EVENTS), CONNECTIONS).done;
      report.line(`## ${engine.title}`);
      report.line();
      reportRates(report, await measureRates(server, rounds));
      await reportDelays(report, server);
    } finally {
      await server.stop();
      await database.remove();
    }
  }
}

/** Each round measures every attack, so that drift affects all equally. Returns refusals per second. */
async function measureRates(server: Server, rounds: number): Promise<Map<Attack, number[]>> {
  const rates = new Map<Attack, number[]>(ATTACKS.map((attack) => [attack, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [attack, measured] of rates) {
      const stop = startAttack(server, attack, CONNECTIONS);
      await delay(RATE_MS);
      measured.push(await stop());
    }
  }
  return rates;
}

function reportRates(report: Report, rates: ReadonlyMap<Attack, readonly number[]>): void {
  const [, rounds = []] = [...rates][0] ?? [];
  report.line(
    `Refusals over ${CONNECTIONS} connections. Medians of ${rounds.length} rounds, alternating between the kinds. The cost is relative to a request of the same size without a signature, which is read and not verified.`,
  );
  report.line();
  const all = [...rates].map(([attack, measured]) => ({ attack, rate: median(measured) }));
  report.table(
    ['request', 'refusals/s', 'cost ratio'],
    all.map(({ attack, rate }) => {
      const unsigned = all.find((one) => one.attack.bytes === attack.bytes)?.rate ?? rate;
      return [attack.title, whole(rate), (unsigned / rate).toFixed(2)];
    }),
  );
}

async function reportDelays(report: Report, server: Server): Promise<void> {
  const { perSecond, seconds, connections } = DELIVERIES;
  const rows: string[][] = [];
  const measure = async (title: string, attack: Attack | null) => {
    const stop = attack === null ? async () => 0 : startAttack(server, attack, HOSTILE);
    const events = prepareEvents(perSecond * seconds);
    const latencies = await openLoop(server.port, events, perSecond, connections);
    const rate = await stop();
    rows.push([title, ...cellsOf(latencies), whole(rate)]);
  };
  await measure('none', null);
  for (const attack of ATTACKS) await measure(attack.title, attack);
  report.line(
    `${perSecond} signed deliveries per second over ${seconds} s, timed from when each was due, during an attack over ${HOSTILE} connections.`,
  );
  report.line();
  report.table(['attack', 'p50 ms', 'p99 ms', 'worst ms', 'refusals/s'], rows);
  report.line(`p99 must be below ${whole(TARGET_MS)} ms.`);
  report.line();
}

function cellsOf({ p50, p99, worst, refused }: Latencies): string[] {
  if (refused > 0) throw new Error(`${refused} signed deliveries were refused`);
  return [p50.toFixed(1), p99.toFixed(1), worst.toFixed(1)];
}

/** Returns a function that stops the attack and returns its refusals per second. */
function startAttack({ port }: Server, { name }: Attack, connections: number): () => Promise<number> {
  const script = new URL('./attack.ts', import.meta.url).pathname;
  const argv = [script, String(port), name, String(connections)];
  // In production the client is on another machine. Here it gets only the time that the server leaves.
  const child = spawn('chrt', ['--idle', '0', process.execPath, ...argv], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const printed = text(child.stdout);
  return async () => {
    child.stdin.end();
    const rate = Number(await printed);
    if (!(rate > 0)) throw new Error(`${name} got no response`);
    return rate;
  };
}
