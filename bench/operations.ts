/** `npm run bench -- --operations`: what keeps it running, on 1,000,000 events. README.md says what is measured. */
import type { PostgresServer } from '../test/support/postgres.ts';
import type { Scratch } from './databases.ts';
import type { Engine } from './engines.ts';
import { fillStatements } from './fill.ts';
import { backUpUnderLoad } from './operations-backup.ts';
import { verifyAll } from './operations-verify.ts';
import { type Report, whole } from './report.ts';

export const EVENTS = 1_000_000;

/** What was measured, its value, and what is asked of it. */
export type Row = [what: string, measured: string, asked: string];

/** One more thing to measure on a database with so many events: it is handed the database, and may add to it. */
export type Measurement = {
  /** Those of `ENGINES` that it can be measured on. */
  engines: readonly string[];
  measure(database: Scratch, events: number): Promise<Row[]>;
};

/** In this order, on one database an engine. */
const MEASUREMENTS: readonly Measurement[] = [
  { engines: ['sqlite', 'postgres'], measure: verifyAll },
  { engines: ['sqlite'], measure: backUpUnderLoad },
];

export async function reportOperations(
  report: Report,
  postgres: PostgresServer,
  engines: readonly Engine[],
  events: number,
): Promise<void> {
  report.line(`On a database of ${whole(events)} events, ten versions a deduction.`);
  report.line();
  for (const engine of engines) {
    const database = await engine.fill(fillStatements(events, engine.dialect), postgres);
    const rows: Row[] = [];
    try {
      for (const { measure } of MEASUREMENTS.filter((one) => one.engines.includes(engine.name))) {
        const measured = await measure(database, events);
        rows.push(...measured);
        // The whole takes long: who waits sees how far it is.
        for (const [what, value] of measured) process.stderr.write(`${engine.name}: ${what}: ${value}\n`);
      }
    } finally {
      await database.remove();
    }
    report.line(`## ${engine.title}`);
    report.line();
    report.table(['', 'measured', 'asked'], rows);
  }
}
