/**
 * `npm run bench`: how fast events are acknowledged durably and applied, against the same server that only verifies.
 * Prints tables and writes bench/results.md. Figures of one run compare with each other, not with other machines.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import BetterSqlite3 from 'better-sqlite3';
import { openWriter } from '../src/database/handle.ts';
import { prepareEvents } from './events.ts';
import { closedLoop, type Latencies, openLoop } from './load.ts';
import { type Side, startCeiling, startSidecar } from './sides.ts';

const ROUNDS = 5;
const EVENTS = 60_000;
const CONNECTIONS = 64;
const EVEN_PER_SECOND = 1_000;
const EVEN_SECONDS = 20;
/** The first thousands of events compile the server's code. */
const WARM_UP_EVENTS = 5_000;

type Closed = Latencies & { drainMs: number; backlogMost: number; peakMiB: number };

const lines: string[] = [];
const say = (line = ''): void => {
  console.log(line);
  lines.push(line);
};

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

/** Pending events, counted from beside the server. */
function backlogOf(side: Side): number {
  if (side.databaseFile === null) return 0;
  const file = new BetterSqlite3(side.databaseFile, { readonly: true });
  try {
    return file.prepare("select count(*) from inbox where state = 'pending'").pluck().get() as number;
  } finally {
    file.close();
  }
}

async function closedRun(start: () => Promise<Side>): Promise<Closed> {
  const side = await start();
  await closedLoop(side.port, prepareEvents(WARM_UP_EVENTS), CONNECTIONS);
  const events = prepareEvents(EVENTS);
  let backlogMost = 0;
  const watch = setInterval(() => {
    backlogMost = Math.max(backlogMost, backlogOf(side));
  }, 500);
  const latencies = await closedLoop(side.port, events, CONNECTIONS);
  clearInterval(watch);
  const ended = performance.now();
  while (backlogOf(side) > 0) await delay(5);
  const drainMs = performance.now() - ended;
  const { peakMiB } = side.memory();
  await side.stop();
  return { ...latencies, drainMs, backlogMost, peakMiB };
}

async function evenRun(withQueries: boolean): Promise<Latencies & { queries: number }> {
  const side = await startSidecar();
  await closedLoop(side.port, prepareEvents(WARM_UP_EVENTS), CONNECTIONS);
  const events = prepareEvents(EVEN_PER_SECOND * EVEN_SECONDS);
  const queries = withQueries ? startQueries(side) : async () => 0;
  const latencies = await openLoop(side.port, events, EVEN_PER_SECOND, CONNECTIONS);
  const answered = await queries();
  await side.stop();
  return { ...latencies, queries: answered };
}

/** Ledger queries in a loop, one at a time; answers how to stop them, which tells how many were answered. */
function startQueries(side: Side): () => Promise<number> {
  const { url, token } = side.api as { url: string; token: string };
  const script = new URL('./query.ts', import.meta.url).pathname;
  // In production whoever asks is on another machine: here it only gets what time the server leaves it.
  const child = spawn('chrt', ['--idle', '0', process.execPath, script, url, token], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const said = text(child.stdout);
  return async () => {
    child.stdin.end();
    const answered = Number(await said);
    if (!(answered > 0)) throw new Error('the ledger queries failed');
    return answered;
  };
}

function engine(): string {
  const handle = openWriter('/tmp/benefits-sidecar-bench-engine.db');
  const version = handle.prepare('select sqlite_version()').pluck().get();
  const settings = `journal_mode=${handle.pragma('journal_mode', { simple: true })}, synchronous=${handle.pragma('synchronous', { simple: true })} (2 is FULL)`;
  handle.close();
  return `SQLite ${version}, ${settings}`;
}

const cpu = cpus();
say('# Benchmark');
say();
say(
  `${cpu.length} x ${cpu[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.versions.node}`,
);
say();
say(`Engine, as read from it: ${engine()}. ${new Date().toISOString().slice(0, 10)}.`);
say();
say(
  `## At once: ${EVENTS.toLocaleString('en')} events over ${CONNECTIONS} connections, ${ROUNDS} rounds, load generator on the same machine`,
);
say();
say('| side | events/s | p50 ms | p99 ms | to drain ms | most waiting | peak MiB |');
say('|---|---|---|---|---|---|---|');

const ceilings: Closed[] = [];
const sidecars: Closed[] = [];
for (let round = 1; round <= ROUNDS; round += 1) {
  for (const [name, runs, start] of [
    ['(a) verify only', ceilings, startCeiling],
    ['(b) sidecar, stored and applied', sidecars, startSidecar],
  ] as const) {
    const run = await closedRun(start);
    if (run.refused > 0) throw new Error(`${run.refused} events were refused`);
    runs.push(run);
    say(
      `| ${name}, round ${round} | ${run.perSecond.toFixed(0)} | ${run.p50.toFixed(1)} | ${run.p99.toFixed(1)} | ${run.drainMs.toFixed(0)} | ${run.backlogMost} | ${run.peakMiB.toFixed(0)} |`,
    );
  }
}
const ratios = sidecars.map((run, index) => run.perSecond / (ceilings[index] as Closed).perSecond);
say();
say(
  `Medians: (a) ${median(ceilings.map((run) => run.perSecond)).toFixed(0)}/s, (b) ${median(sidecars.map((run) => run.perSecond)).toFixed(0)}/s; ` +
    `ratio b/a round by round ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}: median **${median(ratios).toFixed(2)}**.`,
);
say();
say(`## Evenly: ${EVEN_PER_SECOND} events/s for ${EVEN_SECONDS} s, timed from when each was due`);
say();
say('| | p50 ms | p99 ms | worst ms |');
say('|---|---|---|---|');
for (const withQueries of [false, true]) {
  const run = await evenRun(withQueries);
  const name = withQueries ? `with ledger queries in a loop (${run.queries} answered)` : 'alone';
  say(`| ${name} | ${run.p50.toFixed(2)} | ${run.p99.toFixed(2)} | ${run.worst.toFixed(1)} |`);
}
say();
say('## Start and rest');
say();
const started: number[] = [];
let restingMiB = 0;
for (let round = 1; round <= ROUNDS; round += 1) {
  const side = await startSidecar();
  started.push(side.readyMs);
  await delay(2_000);
  restingMiB = Math.max(restingMiB, side.memory().nowMiB);
  await side.stop();
}
say(
  `From start to ready: median ${median(started).toFixed(0)} ms. Idle memory: ${restingMiB.toFixed(0)} MiB.`,
);
writeFileSync(new URL('./results.md', import.meta.url), `${lines.join('\n')}\n`);
