/** docs/payroll-files.md and docs/payroll-lines.md list every column, and their examples can be read. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { type Columns, readRows } from '../../../src/formats/rows.ts';
import { IMPORT_COLUMNS } from '../../../src/inbox/import.ts';
import { TAKEN_COLUMNS } from '../../../src/payroll/facts/taken-rows.ts';
import { CSV_COLUMNS } from '../../../src/payroll/lifecycle/csv.ts';
import { AUDIT_COLUMNS } from '../../../src/payroll/reconciliation/audit.ts';
import { OPENING_COLUMNS } from '../../../src/payroll/reconciliation/opening-rows.ts';
import { parts } from '../../formats/read.ts';

const [lines, files] = ['payroll-lines', 'payroll-files'].map((name) =>
  readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), 'utf8'),
) as [string, string];

/** Returns the part of a page under a heading. */
function section(page: string, heading: string): string {
  return page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
}

/** Returns the columns that the table of a section lists in its first cells. */
function listed(text: string): string[] {
  const cells = [...text.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell);
  return cells.flatMap((cell) => [...cell.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name as string));
}

t.test('the page lists the CSV columns of a run in their order', async (t) => {
  t.strictSame(listed(section(lines, 'CSV columns')), [...CSV_COLUMNS]);
});

const tables: [string, Columns][] = [
  ['Amounts taken', TAKEN_COLUMNS],
  ['Audit', AUDIT_COLUMNS],
  ['Import deductions', IMPORT_COLUMNS],
  ['Opening items', OPENING_COLUMNS],
];
for (const [heading, columns] of tables) {
  t.test(`"${heading}" lists its columns, and its example can be read`, async (t) => {
    const text = section(files, heading);
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
