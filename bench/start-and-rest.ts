/** "Start and rest": the time until the sidecar serves, and its idle memory. */
import { setTimeout as delay } from 'node:timers/promises';
import { newSqlite } from './databases.ts';
import { median, type Report } from './report.ts';
import { startSidecar } from './server.ts';

const STARTS = 5;
const REST_MS = 2_000;

export async function reportStartAndRest(report: Report): Promise<void> {
  const readyMs: number[] = [];
  let restingMiB = 0;
  for (let start = 0; start < STARTS; start += 1) {
    const database = await newSqlite();
    const server = await startSidecar(database.url);
    readyMs.push(server.readyMs);
    await delay(REST_MS);
    restingMiB = Math.max(restingMiB, server.memory().nowMiB);
    await server.stop();
    await database.remove();
  }
  report.line('## Start and rest, on SQLite');
  report.line();
  report.line(
    `From start to ready: ${median(readyMs).toFixed(0)} ms (median of ${STARTS}). Idle memory: ${restingMiB.toFixed(0)} MiB.`,
  );
}
