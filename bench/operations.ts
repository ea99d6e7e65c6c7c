/**
 * `npm run bench -- --operations`: operations and console pages with 1,000,000 events. README.md describes
 * them.
 */
import type { PostgresServer } from '../test/support/postgres.ts';
import type { Scratch } from './databases.ts';
import type { Engine } from './engines.ts';
import { type Dialect, fillStatements } from './fill.ts';
import { backUpUnderLoad } from './operations-backup.ts';
import { openPages } from './operations-pages.ts';
import { verifyAll } from './operations-verify.ts';
import { LARGE_ONE_IN } from './payroll.ts';
import { ledgerOf, ledgerStatements } from './payroll-fill.ts';
import { type Report, whole } from './report.ts';

/** The number of events, and of deductions. */
export const SIZE = 1_000_000;

/** A measurement, its value and its target. */
export type Row = [what: string, measured: string, target: string];

/** A database and its measurements, in order. A measurement may add data. */
type Measured = {
  title: string;
  statements: (dialect: Dialect) => string[];
  /** The names of the engines. */
  by: Readonly<Record<string, readonly ((database: Scratch, events: number) => Promise<Row[]>)[]>>;
};

/** Databases of one size: events of few deductions, or many deductions with few more events. */
function databasesOf(size: number): Measured[] {
  return [
    {
      title: `${whole(size)} events, ten versions per deduction`,
      statements: (dialect) => fillStatements(size, dialect),
      by: { sqlite: [verifyAll, backUpUnderLoad], postgres: [verifyAll] },
    },
    {
      title: `${whole(size)} deductions, one in five changed once`,
      statements: (dialect) => ledgerStatements(ledgerOf(size, size / LARGE_ONE_IN), dialect),
      by: { sqlite: [openPages], postgres: [openPages] },
    },
  ];
}

export async function reportOperations(
  report: Report,
  postgres: PostgresServer,
  engines: readonly Engine[],
  size: number,
): Promise<void> {
  for (const engine of engines) {
    report.line(`## ${engine.title}`);
    report.line();
    for (const { title, statements, by } of databasesOf(size)) {
      const database = await engine.fill(statements(engine.dialect), postgres);
      const rows: Row[] = [];
      try {
        for (const measure of by[engine.name] ?? []) {
          const measured = await measure(database, size);
          rows.push(...measured);
          // The whole run takes long, so it shows its progress.
          for (const [what, value] of measured) process.stderr.write(`${engine.name}: ${what}: ${value}\n`);
        }
      } finally {
        await database.remove();
      }
      report.table([title, 'measured', 'target'], rows);
    }
  }
}
