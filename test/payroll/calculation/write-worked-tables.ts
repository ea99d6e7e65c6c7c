/** Writes the worked tables into docs/amounts.md: `node test/payroll/calculation/write-worked-tables.ts`. */
import { writeFileSync } from 'node:fs';
import { PAGE, readPage, withTables } from './worked-tables.ts';

writeFileSync(PAGE, withTables(readPage()));
