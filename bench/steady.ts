/**
 * "Steady rate": events at an even rate far below the maximum, as in a real payroll; alone and with ledger
 * queries.
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { CONNECTIONS } from './at-once.ts';
import { newSqlite } from './databases.ts';
import { prepareEvents } from './events.ts';
import { closedLoop, type Latencies, openLoop } from './load.ts';
import type { Report } from './report.ts';
import { type Server, startSidecar } from './server.ts';

const PER_SECOND = 1_000;
const SECONDS = 20;
const WARM_UP_EVENTS = 5_000;

export async function reportSteady(report: Report): Promise<void> {
  report.line(
    `## Steady rate: ${PER_SECOND} events/s for ${SECONDS} s on SQLite, timed from when each event was due`,
  );
  report.line();
  const alone = await steadyRun(() => async () => 0);
  const queried = await steadyRun((server) => queryInLoop(server, '/v1/deductions?limit=100&on=2026-06-30'));
  const cells = ({ p50, p99, worst }: Latencies) => [p50.toFixed(2), p99.toFixed(2), worst.toFixed(1)];
  report.table(
    ['', 'p50 ms', 'p99 ms', 'worst ms'],
    [
      ['alone', ...cells(alone)],
      [`with ledger queries in a loop (${queried.queries} responses)`, ...cells(queried)],
    ],
  );
}

/** `startQueries` starts queries and returns a function that stops them and returns their number. */
async function steadyRun(
  startQueries: (server: Server) => () => Promise<number>,
): Promise<Latencies & { queries: number }> {
  const database = await newSqlite();
  const server = await startSidecar(database.url);
  try {
    await closedLoop([server.port], prepareEvents(WARM_UP_EVENTS), CONNECTIONS).done;
    const events = prepareEvents(PER_SECOND * SECONDS);
    const stopQueries = startQueries(server);
    const latencies = await openLoop(server.port, events, PER_SECOND, CONNECTIONS);
    return { ...latencies, queries: await stopQueries() };
  } finally {
    await server.stop();
    await database.remove();
  }
}

/** Sends requests in a loop, one after another. Returns a function that stops it and returns their number. */
export function queryInLoop({ api }: Server, path: string, body?: object): () => Promise<number> {
  const script = new URL('./query.ts', import.meta.url).pathname;
  const argv = [api.url + path, api.token, ...(body === undefined ? [] : [JSON.stringify(body)])];
  // In production the client is on another machine. Here it gets only the time that the server leaves.
  const child = spawn('chrt', ['--idle', '0', process.execPath, script, ...argv], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const said = text(child.stdout);
  return async () => {
    child.stdin.end();
    const responses = Number(await said);
    if (!(responses > 0)) throw new Error(`${path} got no response`);
    return responses;
  };
}
