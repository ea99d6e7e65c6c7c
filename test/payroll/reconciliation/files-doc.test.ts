/** The examples of docs/payroll-files.md can be read. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { type Columns, readRows } from '../../../src/formats/rows.ts';
import { IMPORT_COLUMNS } from '../../../src/inbox/import.ts';
import { TAKEN_COLUMNS } from '../../../src/payroll/facts/taken-rows.ts';
import { AUDIT_COLUMNS } from '../../../src/payroll/reconciliation/audit.ts';
import { OPENING_COLUMNS } from '../../../src/payroll/reconciliation/opening-rows.ts';
import { parts } from '../../formats/read.ts';

const files = readFileSync(new URL('../../../docs/payroll-files.md', import.meta.url), 'utf8');

/** Returns the part of a page under a heading. */
function section(page: string, heading: string): string {
  return page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
}

const tables: [string, Columns][] = [
  ['Amounts taken', TAKEN_COLUMNS],
  ['Audit', AUDIT_COLUMNS],
  ['Import deductions', IMPORT_COLUMNS],
  ['Opening items', OPENING_COLUMNS],
];
for (const [heading, columns] of tables) {
  t.test(`"${heading}" has an example that can be read`, async (t) => {
    const text = section(files, heading);
    const example = [...text.matchAll(/^ {4}(.*)$/gm)].map(([, line]) => line).join('\n');
    let rows = 0;
    for await (const row of readRows(parts(example), 'csv', columns)) {
      t.notMatch(row, { problem: {} });
      rows += 1;
    }
    t.ok(rows > 0);
  });
}
