/**
 * `npm run bench -- --operations`: `verify`, and a backup under load, with 1,000,000 events. README.md describes them.
 */
import type { PostgresServer } from '../test/support/postgres.ts';
import type { Scratch } from './databases.ts';
import type { Engine } from './engines.ts';
import { fillStatements } from './fill.ts';
import { backUpUnderLoad } from './operations-backup.ts';
import { verifyAll } from './operations-verify.ts';
import { type Report, type TargetRow, whole } from './report.ts';

/** The number of events. */
export const SIZE = 1_000_000;

/** The measurements by the name of the engine, in order. A measurement may add data. */
const MEASURED: Readonly<
  Record<string, readonly ((database: Scratch, events: number) => Promise<TargetRow[]>)[]>
> = { sqlite: [verifyAll, backUpUnderLoad], postgres: [verifyAll] };

export async function reportOperations(
  report: Report,
  postgres: PostgresServer,
  engines: readonly Engine[],
  size: number,
): Promise<void> {
  for (const engine of engines) {
    report.line(`## ${engine.title}`);
    report.line();
    const database = await engine.fill(fillStatements(size, engine.dialect), postgres);
    const rows: TargetRow[] = [];
    try {
      for (const measure of MEASURED[engine.name] ?? []) {
        const measured = await measure(database, size);
        rows.push(...measured);
        // The whole run takes long, so it shows its progress.
        for (const [what, value] of measured) process.stderr.write(`${engine.name}: ${what}: ${value}\n`);
      }
    } finally {
      await database.remove();
    }
    report.table([`${whole(size)} events, ten versions per deduction`, 'measured', 'target'], rows);
  }
}
