/** `npm run bench -- --operations`: what keeps it running, and its pages, at 1,000,000. README.md says what is measured. */
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

/** Events, and deductions. */
export const SIZE = 1_000_000;

/** What was measured, its value, and what is asked of it. */
export type Row = [what: string, measured: string, asked: string];

/** A database, and what is measured on it in this order; a measurement may add to it. */
type Measured = {
  title: string;
  statements: (dialect: Dialect) => string[];
  /** By the names of `ENGINES`. */
  by: Readonly<Record<string, readonly ((database: Scratch, events: number) => Promise<Row[]>)[]>>;
};

/** Both of a size: so many events of few deductions, or so many deductions and some events more. */
function databasesOf(size: number): Measured[] {
  return [
    {
      title: `${whole(size)} events, ten versions a deduction`,
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
          // The whole takes long: who waits sees how far it is.
          for (const [what, value] of measured) process.stderr.write(`${engine.name}: ${what}: ${value}\n`);
        }
      } finally {
        await database.remove();
      }
      report.table([title, 'measured', 'asked'], rows);
    }
  }
}
