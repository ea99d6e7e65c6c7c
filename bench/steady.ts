/** "Evenly": events at an even rate, far below the most, as a payroll has them; alone and beside ledger queries. */
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
  report.line(`## Evenly: ${PER_SECOND} events/s for ${SECONDS} s on SQLite, timed from when each was due`);
  report.line();
  const alone = await evenRun(() => async () => 0);
  const beside = await evenRun((server) => askInLoop(server, '/v1/deductions?limit=100&on=2026-06-30'));
  const cells = ({ p50, p99, worst }: Latencies) => [p50.toFixed(2), p99.toFixed(2), worst.toFixed(1)];
  report.table(
    ['', 'p50 ms', 'p99 ms', 'worst ms'],
    [
      ['alone', ...cells(alone)],
      [`with ledger queries in a loop (${beside.queries} answered)`, ...cells(beside)],
    ],
  );
}

/** `startQueries` starts queries, and answers how to stop them, which tells how many were answered. */
async function evenRun(
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

/** Asks in a loop, one answer after the other. Answers how to stop it, which tells how many there were. */
export function askInLoop({ api }: Server, path: string, body?: object): () => Promise<number> {
  const script = new URL('./query.ts', import.meta.url).pathname;
  const asked = [api.url + path, api.token, ...(body === undefined ? [] : [JSON.stringify(body)])];
  // In production whoever asks is on another machine: here it only gets what time the server leaves it.
  const child = spawn('chrt', ['--idle', '0', process.execPath, script, ...asked], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const said = text(child.stdout);
  return async () => {
    child.stdin.end();
    const answered = Number(await said);
    if (!(answered > 0)) throw new Error(`${path} was not answered`);
    return answered;
  };
}
