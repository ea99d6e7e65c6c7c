import type { Db } from '../../src/database/tables.ts';
import { readRows } from '../../src/formats/rows.ts';
import { IMPORT_COLUMNS, importDeductions } from '../../src/inbox/import.ts';
import { listDeductions } from '../../src/ledger/deductions.ts';
import { timelineOfDeduction } from '../../src/ledger/timeline.ts';
import { assignDeduction } from '../../src/payroll/lifecycle/assign.ts';
import { apply, deductionOf, deliver } from '../api/deliver.ts';
import { deduction as sample } from '../contract/samples.ts';
import { scratch } from '../database/scratch.ts';
import { parts } from '../formats/read.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { employment, learn } from '../support/payroll.ts';

const test = onEitherEngine.with(scratch);

const TODAY = '2026-06-15';
const IMPORTED_AT = '2026-06-15T12:00:00.000Z';

/** An event of the service: its deduction and fields, and the day on which it was sent. */
type Sent = [sent: string, id: string, fields?: object];

/**
 * The events of the service → what applies on days to `emp`, whose file names medical, pre-tax, 69.23, from May 1 without an id.
 * A placeholder is `P`.
 */
const CASES: Record<string, [Sent[], string]> = {
  'without an event a placeholder applies': [[], '2026-04-30 -, 2026-05-01 P, 2027-12-31 P'],
  'the event of the service replaces it from its start': [
    [['2026-06-01', 'ded', { effective_start: '2026-07-01' }]],
    '2026-05-01 P, 2026-06-30 P, 2026-07-01 ded, 2027-12-31 ded',
  ],
  'an earlier start replaces all of it': [
    [['2026-06-01', 'ded', { effective_start: '2026-01-01' }]],
    '2026-01-01 ded, 2026-05-01 ded, 2026-07-01 ded',
  ],
  'an event without a start replaces all of it': [[['2026-06-01', 'ded']], '2026-05-01 ded, 2026-07-01 ded'],
  'a replacement that ends is not followed by it': [
    [['2026-06-01', 'ded', { effective_end: '2026-05-31' }]],
    '2026-05-01 ded, 2026-05-31 ded, 2026-06-01 -',
  ],
  'a replacement that is canceled ends it all the same': [
    [['2026-06-01', 'ded', { effective_start: '2026-07-01', effective_end: '2026-06-30' }]],
    '2026-06-30 P, 2026-07-01 -',
  ],
  'of two deductions the earlier start counts': [
    [
      ['2026-06-01', 'late', { effective_start: '2027-01-01' }],
      ['2026-06-02', 'early', { effective_start: '2026-07-01', effective_end: '2026-12-31' }],
    ],
    '2026-06-30 P, 2026-07-01 early, 2026-12-31 early, 2027-01-01 late',
  ],
  'a start that is corrected before it arrives replaces it later': [
    [
      ['2026-06-01', 'ded', { effective_start: '2026-07-01' }],
      ['2026-06-10', 'ded', { effective_start: '2026-08-01' }],
    ],
    '2026-07-31 P, 2026-08-01 ded',
  ],
  'a corrected taxability still replaces it': [
    [
      ['2026-06-01', 'ded', { effective_start: '2026-07-01' }],
      ['2026-06-10', 'ded', { effective_start: '2026-07-01', taxability: 'post_tax' }],
    ],
    '2026-06-30 P, 2026-07-01 ded',
  ],
  'a deduction that proves to be of another employee opens it again': [
    [
      ['2026-06-01', 'ded', { effective_start: '2026-07-01' }],
      ['2026-06-10', 'ded', { effective_start: '2026-07-01', employee_id: 'another' }],
    ],
    '2026-06-30 P, 2026-07-01 P',
  ],
  'another taxability, line or employee replaces nothing': [
    [
      ['2026-06-01', 'post', { taxability: 'post_tax', effective_start: '2026-07-01' }],
      ['2026-06-01', 'dental', { line_of_coverage: 'dental', effective_start: '2026-07-01' }],
      ['2026-06-01', 'else', { employee_id: 'another' }],
    ],
    '2026-06-30 P, 2026-07-01 P dental post',
  ],
};

const row = (employee: string, fields: object = {}) => ({
  ...sample,
  ...{ employee_id: employee, member_contribution: '69.23', effective_start: '2026-05-01' },
  id: undefined,
  ...fields,
});

async function load(db: Db, ...rows: object[]) {
  const text = rows.map((one) => `${JSON.stringify(one)}\n`).join('');
  await importDeductions(db, () => readRows(parts(text), 'ndjson', IMPORT_COLUMNS), acting(IMPORTED_AT));
  await apply(db, IMPORTED_AT);
}

/** Returns the deductions in effect on the days of `expected`, by id. */
async function stateOf(db: Db, employeeId: string, expected: string): Promise<string> {
  const days = expected.split(', ').map((text) => text.slice(0, 10));
  const states = days.map(async (on) => {
    const { deductions } = await listDeductions(db, { employeeId, on }, { limit: 10 }, TODAY);
    const ids = deductions.map(({ version, placeholder }) =>
      placeholder === null ? version.deduction_id.replace(`-${employeeId}`, '') : 'P',
    );
    return `${on} ${ids.sort().join(' ') || '-'}`;
  });
  return (await Promise.all(states)).join(', ');
}

test('a deduction of the service replaces a placeholder from its start, in any order of arrival', async (t, {
  db,
}) => {
  for (const [place, [name, [events, expected]]] of Object.entries(CASES).entries()) {
    const deliveries = (employee: string) =>
      events.map(([sent, id, fields = {}]) =>
        deductionOf(
          `${employee}-${id}-${sent}`,
          { employee_id: employee, ...fields, id: `${id}-${employee}` },
          `${sent}T00:00:00Z`,
        ),
      );
    const [first, second, third] = [`a${place}`, `b${place}`, `c${place}`];
    await load(db, row(first), row(third));
    await deliver(db, deliveries(first), IMPORTED_AT);
    await deliver(db, deliveries(third).reverse(), IMPORTED_AT);
    await deliver(db, deliveries(second), IMPORTED_AT);
    await load(db, row(second));
    await load(db, row(first), row(second));
    for (const employee of [first, second, third])
      t.equal(await stateOf(db, employee, expected), expected, `${name} (${employee})`);
  }
});

test('placeholders of one employee that differ in taxability are replaced apart', async (t, { db }) => {
  await load(db, row('emp'), row('emp', { taxability: 'post_tax' }));
  await deliver(db, [deductionOf('e1', { id: 'ded', employee_id: 'emp', effective_start: '2026-07-01' })]);
  const expected = '2026-06-30 P P, 2026-07-01 P ded';
  t.equal(await stateOf(db, 'emp', expected), expected);
});

test('a limited caller does not see the deduction of another employer that replaces a placeholder', async (t, {
  db,
}) => {
  await load(db, row('emp'));
  await learn(db, employment('emp'), employment('emp', { employer_id: 'globex' }));
  await deliver(db, [deductionOf('e1', { id: 'ded', employee_id: 'emp', effective_start: '2026-07-01' })]);
  const assigned = { acme: 'placeholder:emp:medical:pre_tax', globex: 'ded' };
  for (const [employerId, deductionId] of Object.entries(assigned)) {
    const assignment = { deductionId, employerId, effectiveOn: '2026-01-01', reason: 'asked' };
    await assignDeduction(db, assignment, acting(IMPORTED_AT));
  }
  const viewer = { employers: ['acme'], today: TODAY };
  const { deductions } = await listDeductions(db, { viewer }, { limit: 10 }, TODAY);
  t.match(deductions, [
    { placeholder: { replacement: { deduction_id: 'another employer', from: '2026-07-01' } } },
  ]);
});

test('open and replaced placeholders are listed', async (t, { db }) => {
  await load(
    db,
    row('e1'),
    row('e2'),
    row('e3', { effective_end: '2026-06-14' }),
    row('e4', { id: 'ded-4' }),
  );
  await deliver(db, [deductionOf('evt', { id: 'ded-2', employee_id: 'e2', effective_start: '2026-07-01' })]);
  const listed = async (placeholder: 'open' | 'replaced', filter = {}) => {
    const { deductions } = await listDeductions(db, { placeholder, ...filter }, { limit: 10 }, TODAY);
    return deductions.map(({ version, placeholder: shown }) => [version.deduction_id, shown?.replacement]);
  };
  t.strictSame(await listed('open'), [['placeholder:e1:medical:pre_tax', null]]);
  const replaced = ['placeholder:e2:medical:pre_tax', { deduction_id: 'ded-2', from: '2026-07-01' }];
  t.strictSame(await listed('replaced'), [replaced]);
  t.strictSame(await listed('replaced', { on: '2026-06-30' }), [replaced]);
  t.strictSame(await listed('replaced', { on: '2026-07-01' }), []);
  const versions = await timelineOfDeduction(db, 'placeholder:e2:medical:pre_tax', {
    ...{ limit: 10, today: TODAY, viewer: null },
  });
  t.strictSame(
    versions?.map(({ days }) => days),
    [{ from: '2026-05-01', until: '2026-06-30' }],
  );
});
