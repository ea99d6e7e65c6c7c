import { readFileSync } from 'node:fs';
import t from 'tap';
import { stepsOf } from '../../src/console/pages/runs/explanation.ts';

const YEAR = '150.00 monthly x 12 = 1800.00 a year, ';
/** What the API says of a line, and what the page does, in payroll.md's own examples. */
const SAID = [
  [
    'check 24 of 26, spread: 1661.54 - 1592.31 = 69.23',
    'over 26 checks: 1661.54 through check 24, less 1592.31 through check 23 = 69.23',
  ],
  [
    'check 1 of 26, spread, down: 69.23 - 0.00 = 69.23',
    'over 26 checks, rounded down: 69.23 through check 1, less 0.00 before it = 69.23',
  ],
  ['check 7 of 26, none: 1800.00 / 26 = 69.23', 'check 7 of 26 (rounded by itself): 1800.00 / 26 = 69.23'],
  [
    'check 7 of 26, none, up: 1800.00 / 26 = 69.24',
    'check 7 of 26 (rounded by itself, up): 1800.00 / 26 = 69.24',
  ],
  [
    'check 1 of 26, first: 1800.00 - 25 x 69.23 = 69.25',
    'check 1 of 26 (the first check takes the cents that are left): 1800.00 - 25 x 69.23 = 69.25',
  ],
  [
    'in July 1050.00 - 900.00 = 150.00, check 2 of 3, spread: 100.00 - 50.00 = 50.00',
    'in July: 1050.00 of the year through July, less 900.00 before it = 150.00, over 3 checks: 100.00 through check 2, less 50.00 through check 1 = 50.00',
  ],
  [
    'in July check 2 of the first 2, none: 1800.00 / 12 / 2 = 75.00',
    'in July check 2 of the first 2 (rounded by itself): 1800.00 / 12 / 2 = 75.00',
  ],
  [
    'off-cycle beside 26, none: 1800.00 / 26 = 69.23',
    'off-cycle beside 26 (rounded by itself): 1800.00 / 26 = 69.23',
  ],
] as const;

t.test('what a formula leaves unnamed is named on the page', async (t) => {
  for (const [formula, words] of SAID) t.strictSame(stepsOf(YEAR + formula), [YEAR + words]);
  t.strictSame(stepsOf(`${YEAR}check 2 of 26, spread: 2.31 - 1.15 = 1.16; employer 0.00`), [
    `${YEAR}over 26 checks: 2.31 through check 2, less 1.15 through check 1 = 1.16`,
    'employer 0.00',
  ]);
});

t.test('no formula of payroll.md keeps the name of a rule, and none loses an amount', async (t) => {
  const formulas = readFileSync(new URL('../../docs/payroll.md', import.meta.url), 'utf8').match(
    /^[\d.]+ \w+ x \d+ = .* a year, .*$/gm,
  );
  t.ok((formulas ?? []).length > 10);
  for (const formula of formulas ?? []) {
    const said = stepsOf(formula).join('; ');
    t.notMatch(said, /, (spread|first|last|none)[,:]/);
    t.strictSame(said.match(/\d+\.\d+/g), formula.match(/\d+\.\d+/g), formula);
  }
});
