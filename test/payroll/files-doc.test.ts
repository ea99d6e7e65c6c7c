/** docs/payroll-files.md names the columns that there are, and its examples are read. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { type Columns, readRows } from '../../src/formats/rows.ts';
import { IMPORT_COLUMNS } from '../../src/inbox/import.ts';
import { AUDIT_COLUMNS } from '../../src/payroll/reconciliation/audit.ts';
import { TAKEN_COLUMNS } from '../../src/payroll/reconciliation/taken.ts';
import { CSV_COLUMNS } from '../../src/payroll/runs/csv.ts';
import { parts } from '../formats/read.ts';

const page = readFileSync(new URL('../../docs/payroll-files.md', import.meta.url), 'utf8');

/** The part of the page under a heading. */
function section(heading: string): string {
  return page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
}

/** The columns that the table of a section lists, in its first cells. */
function listed(text: string): string[] {
  const cells = [...text.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell);
  return cells.flatMap((cell) => [...cell.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name as string));
}

t.test('the columns of the CSV are those that the page lists, in their order', async (t) => {
  t.strictSame(listed(section('The lines of a run as CSV')), [...CSV_COLUMNS]);
});

const tables: [string, Columns][] = [
  ['What payroll took', TAKEN_COLUMNS],
  ["Audit: payroll's file against a run", AUDIT_COLUMNS],
  ['Begin with what the service sent before', IMPORT_COLUMNS],
];
for (const [heading, columns] of tables) {
  t.test(`"${heading}" lists its columns, and its example is read`, async (t) => {
    const text = section(heading);
    const [table = ''] = text.slice(text.indexOf('| column')).split('\n\n');
    t.strictSame(listed(table).sort(), [...columns.required, ...columns.optional].sort());
    const example = [...text.matchAll(/^ {4}(.*)$/gm)].map(([, line]) => line).join('\n');
    let rows = 0;
    for await (const row of readRows(parts(example), 'csv', columns)) {
      t.notMatch(row, { problem: {} });
      rows += 1;
    }
    t.ok(rows > 0);
  });
}
