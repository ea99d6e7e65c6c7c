import t from 'tap';
import { AMOUNT_FLAGS } from '../../../src/payroll/calculation/amounts.ts';
import { APPLIES_ON, EXTRA_PAYCHECKS, REMAINDERS, SCHEMES } from '../../../src/payroll/calculation/plan.ts';
import { readPage, TABLES, tablesOn, withTables } from './worked-tables.ts';

t.test('the worked tables in docs/amounts.md equal the computed ones', async (t) => {
  const page = readPage();
  t.equal(
    page,
    withTables(page),
    'else run `node test/payroll/calculation/write-worked-tables.ts` and read the difference',
  );
  t.strictSame(tablesOn(page).sort(), Object.keys(TABLES).sort(), 'each once');
});

t.test('docs/amounts.md names every option and every flag of an amount', async (t) => {
  const page = readPage();
  const names = { SCHEMES, APPLIES_ON, REMAINDERS, EXTRA_PAYCHECKS, AMOUNT_FLAGS };
  for (const [list, values] of Object.entries(names)) {
    t.strictSame(
      values.filter((name) => !page.includes(`\`${name}\``)),
      [],
      list,
    );
  }
});
