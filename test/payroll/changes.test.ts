/** "Change" of payroll.md: how a run differs from the one before. */
import t, { type Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import type { RunBody } from '../../src/payroll/runs/body.ts';
import type { Line } from '../../src/payroll/runs/line.ts';
import { linesOfOne } from '../../src/payroll/runs/lines-of-employee.ts';
import { scratch } from '../database/scratch.ts';
import { body, employment, event, finalized, learn, lines, put, send, voided } from './runs-stage.ts';

/** Ten dollars a check, so that an amount is what was sent. */
const each = (id: string, sent: string, changes: Parameters<typeof event>[2] = {}) =>
  event(id, sent, { employee_id: 'e', period: 'biweekly', member_contribution: '10.00', ...changes });

async function staged(t: Test): Promise<Db> {
  const { db } = await scratch(t);
  await learn(db, employment('e'), employment('f'));
  await send(db, each('a', '2025-12-01'));
  return db;
}

const told = ({ employee_id, deduction_id, member_amount, change, previous_amount }: Line) =>
  [employee_id, deduction_id, member_amount, change, previous_amount].join(' ');

const changes = async (db: Db, given: RunBody) => (await lines(db, given, 'regular')).map(told);

t.test('in the first run of all each line is new', async (t) => {
  const db = await staged(t);
  t.strictSame(await changes(db, body(2)), ['e a 10.00 new ']);
});

t.test('a line is the same, changed or new', async (t) => {
  const db = await staged(t);
  await send(db, each('b', '2025-12-01', { line_of_coverage: 'dental' }));
  await finalized(db, 'r2', body(2));
  await send(
    db,
    each('b', '2026-01-30', {
      line_of_coverage: 'dental',
      member_contribution: '12',
      effective_start: '2026-02-01',
    }),
    each('c', '2026-01-30', { line_of_coverage: 'vision', effective_start: '2026-02-01' }),
  );
  t.strictSame(await changes(db, body(3)), [
    'e b 12.00 changed 10.00',
    'e a 10.00 same 10.00',
    'e c 10.00 new ',
  ]);
});

const fields: [string, Parameters<typeof event>[2]][] = [
  ["only the employer's side", { employer_contribution: '5.00' }],
  ['how it is taxed', { taxability: 'post_tax' }],
  ['what it is for', { line_of_coverage: 'vision' }],
];
for (const [what, change] of fields) {
  t.test(`${what} is a change too`, async (t) => {
    const db = await staged(t);
    await finalized(db, 'r2', body(2));
    await send(db, each('a', '2026-01-30', { effective_start: '2026-02-01', ...change }));
    t.strictSame(await changes(db, body(3)), ['e a 10.00 changed 10.00']);
  });
}

t.test('a description, another spelling of the amount and a new version are none', async (t) => {
  const db = await staged(t);
  await finalized(db, 'r2', body(2));
  await send(db, each('a', '2026-01-30', { description: 'Gold', member_contribution: '10' }));
  t.strictSame(await changes(db, body(3)), ['e a 10.00 same 10.00']);
});

t.test('a deduction that ended has one line of 0.00, and none in the run after', async (t) => {
  const db = await staged(t);
  await finalized(db, 'r2', body(2));
  await send(db, each('a', '2026-01-30', { effective_end: '2026-01-31' }));
  t.match(await lines(db, body(3)), [
    {
      deduction_id: 'a',
      kind: 'regular',
      member_amount: '0.00',
      employer_amount: '0.00',
      change: 'ended',
      previous_amount: '10.00',
      flags: [],
    },
  ]);
  await finalized(db, 'r3', body(3));
  t.strictSame(await changes(db, body(4)), []);
});

t.test('one that comes back after its end is new', async (t) => {
  const db = await staged(t);
  await finalized(db, 'r2', body(2));
  await send(db, each('a', '2026-01-30', { effective_end: '2026-01-31' }));
  await finalized(db, 'r3', body(3));
  await send(db, each('a', '2026-02-13', { effective_start: '2026-02-15' }));
  t.strictSame(await changes(db, body(4)), ['e a 10.00 new ']);
});

t.test('a zero amount goes on as a line of 0.00', async (t) => {
  const db = await staged(t);
  await finalized(db, 'r2', body(2));
  await send(db, each('a', '2026-01-30', { member_contribution: '0', effective_start: '2026-02-01' }));
  t.strictSame(await changes(db, body(3)), ['e a 0.00 changed 10.00']);
  await finalized(db, 'r3', body(3));
  t.strictSame(await changes(db, body(4)), ['e a 0.00 same 0.00']);
});

t.test('an employee who left has each line ended once, though in the run no more', async (t) => {
  const db = await staged(t);
  await finalized(db, 'r2', body(2));
  await learn(db, employment('e', { termination_date: '2026-01-20' }));
  t.strictSame(await changes(db, body(3)), ['e a 0.00 ended 10.00']);
  await finalized(db, 'r3', body(3));
  t.strictSame(await changes(db, body(4)), []);
});

t.test('so has one who moved to another frequency, pay group or employer', async (t) => {
  for (const elsewhere of [{ pay_frequency: 'weekly' }, { pay_group: 'south' }, { employer_id: 'other' }]) {
    const db = await staged(t);
    const named = 'pay_group' in elsewhere ? { pay_group: 'north' } : {};
    await learn(db, employment('e', named));
    await finalized(db, 'r2', body(2, named));
    if ('employer_id' in elsewhere) await learn(db, employment('e', { termination_date: '2026-01-31' }));
    const since = { hire_date: '2026-02-01', effective_on: '2026-02-01' };
    await learn(db, employment('e', { ...since, ...elsewhere }));
    t.strictSame(await changes(db, body(3, named)), ['e a 0.00 ended 10.00'], Object.keys(elsewhere).join());
  }
});

t.test('who might belong to the run is not told to stop', async (t) => {
  const db = await staged(t);
  await finalized(db, 'r2', body(2));
  await learn(db, employment('e', { employer_id: 'other' }));
  t.strictSame(await changes(db, body(3)), []);
});

t.test('a deduction that changed hands ends for the one and is new for the other', async (t) => {
  const db = await staged(t);
  await finalized(db, 'r2', body(2));
  await send(db, each('a', '2026-01-30', { employee_id: 'f', effective_start: '2026-02-01' }));
  t.strictSame(await changes(db, body(3)), ['e a 0.00 ended 10.00', 'f a 10.00 new ']);
});

t.test('a run that was voided is not compared with', async (t) => {
  const db = await staged(t);
  await finalized(db, 'r1', body(1));
  await send(db, each('a', '2026-01-16', { member_contribution: '12', effective_start: '2026-01-16' }));
  await finalized(db, 'r2', body(2));
  t.strictSame(await changes(db, body(3)), ['e a 12.00 same 12.00']);
  await voided(db, 'r2');
  t.strictSame(await changes(db, body(3)), ['e a 12.00 changed 10.00']);
});

t.test('a stop that a voided run told of is told again', async (t) => {
  const db = await staged(t);
  await finalized(db, 'r1', body(1));
  await send(db, each('a', '2026-01-16', { effective_end: '2026-01-15' }));
  await finalized(db, 'r2', body(2));
  await voided(db, 'r2');
  t.strictSame(await changes(db, body(3)), ['e a 0.00 ended 10.00']);
});

t.test(
  'compared is the last regular run before the pay date, of the same frequency and pay group',
  async (t) => {
    const db = await staged(t);
    await finalized(db, 'r1', body(1));
    await send(db, each('a', '2026-01-16', { member_contribution: '12' }));
    await finalized(db, 'later', body(5));
    await finalized(db, 'off', body(2, { kind: 'off_cycle', employee_ids: ['e'], deductions: ['a'] }));
    await finalized(db, 'weekly', body(2, { pay_frequency: 'weekly' }));
    await finalized(db, 'group', body(2, { pay_group: 'north' }));
    t.strictSame(await changes(db, body(3)), ['e a 12.00 changed 10.00']);
  },
);

t.test('a run that is narrowed says nothing of what it leaves out', async (t) => {
  const db = await staged(t);
  await send(
    db,
    each('b', '2025-12-01', { line_of_coverage: 'dental' }),
    each('c', '2025-12-01', { employee_id: 'f' }),
  );
  await finalized(db, 'r2', body(2));
  t.strictSame(await changes(db, body(3, { employee_ids: ['f'] })), ['f c 10.00 same 10.00']);
  t.strictSame(await changes(db, body(3, { deductions: ['b', 'c'] })), [
    'e b 10.00 same 10.00',
    'f c 10.00 same 10.00',
  ]);
  const narrow = await linesOfOne(db, await put(db, 'narrow', body(3, { employee_ids: ['f'] })), 'e', null);
  for await (const page of narrow.pages) t.strictSame(page, [], 'also when somebody asks');
  await send(db, each('b', '2026-01-30', { effective_end: '2026-01-31' }));
  t.strictSame(await changes(db, body(3, { deductions: ['b'] })), ['e b 0.00 ended 10.00']);
});

t.test('an off-cycle run ends nothing', async (t) => {
  const db = await staged(t);
  await send(db, each('b', '2025-12-01', { line_of_coverage: 'dental' }));
  await finalized(db, 'r2', body(2));
  await send(db, each('a', '2026-01-30', { effective_end: '2026-01-31' }));
  const off = body(3, { kind: 'off_cycle', employee_ids: ['e'], deductions: ['a', 'b'] });
  t.strictSame(await changes(db, off), ['e b 10.00 same 10.00']);
});
