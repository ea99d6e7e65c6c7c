import t from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import type { IncomingDeduction } from '../../../src/ledger/fold.ts';
import type { Takes } from '../../../src/payroll/calculation/calendar.ts';
import { type LineRecord, lineOf } from '../../../src/payroll/calculation/line.ts';
import { employeeRow } from '../../../src/payroll/compute/employee-rows.ts';
import { linesOfRun } from '../../../src/payroll/lifecycle/line-pages.ts';
import type { RunBody } from '../../../src/payroll/records/body.ts';
import { onSqlite } from '../../support/engine.ts';
import {
  body,
  dateOf,
  elected,
  election,
  employment,
  type event,
  finalized,
  learn,
  lines,
  put,
  schedule,
  send,
  setCode,
  setPolicy,
  setSchedules,
  voided,
} from '../../support/payroll.ts';
import { every } from '../calendars.ts';
import { recordOf } from '../lines.ts';

const test = onSqlite.with(elected);

const brief = ({ employee_id, deduction_id, member_amount, change, previous_amount }: LineRecord) =>
  [employee_id, deduction_id, member_amount, change, previous_amount].join(' ');

const changes = async (db: Db, given: RunBody) => (await lines(db, given, 'regular')).map(brief);

test('a line is the same, changed or new', async (t, db) => {
  await send(db, election('2025-12-01', { line_of_coverage: 'dental' }, 'b'));
  await finalized(db, 'r2', body(2));
  await send(
    db,
    election(
      '2026-01-30',
      { line_of_coverage: 'dental', member_contribution: '12', effective_start: '2026-02-01' },
      'b',
    ),
    election('2026-01-30', { line_of_coverage: 'vision', effective_start: '2026-02-01' }, 'c'),
  );
  t.strictSame(await changes(db, body(3)), [
    'e b 12.00 changed 10.00',
    'e a 10.00 same 10.00',
    'e c 10.00 new ',
  ]);
});

const contents: [what: string, change: 'changed' | 'same', fields: Parameters<typeof event>[2]][] = [
  ['another employer amount', 'changed', { employer_contribution: '5.00' }],
  ['another taxability', 'changed', { taxability: 'post_tax' }],
  ['another line of coverage', 'changed', { line_of_coverage: 'vision' }],
  [
    'another description or spelling of the amount',
    'same',
    { description: 'Gold', member_contribution: '10' },
  ],
];
for (const [what, change, fields] of contents) {
  t.test(`a line with ${what} is ${change}`, async (t) => {
    const db = await elected(t);
    await finalized(db, 'r2', body(2));
    await send(db, election('2026-01-30', { effective_start: '2026-02-01', ...fields }));
    t.strictSame(await changes(db, body(3)), [`e a 10.00 ${change} 10.00`]);
  });
}

test('a deduction that ended has one line of 0.00, and none in the run after', async (t, db) => {
  await finalized(db, 'r2', body(2));
  await send(db, election('2026-01-30', { effective_end: '2026-01-31' }));
  t.strictSame(await changes(db, body(3)), ['e a 0.00 ended 10.00']);
  await finalized(db, 'r3', body(3));
  t.strictSame(await changes(db, body(4)), []);
});

test('a deduction of zero remains a line of 0.00', async (t, db) => {
  await finalized(db, 'r2', body(2));
  await send(db, election('2026-01-30', { member_contribution: '0', effective_start: '2026-02-01' }));
  t.strictSame(await changes(db, body(3)), ['e a 0.00 changed 10.00']);
  await finalized(db, 'r3', body(3));
  t.strictSame(await changes(db, body(4)), ['e a 0.00 same 0.00']);
});

t.test('a change of frequency, group or employer is a move, not an end', async (t) => {
  const date = '2026-02-01';
  for (const [elsewhere, where] of [
    [{ pay_frequency: 'weekly', effective_on: date }, 'paid weekly from February 1'],
    [{ pay_group: 'south', effective_on: date }, 'in pay group south from February 1'],
    [{ employer_id: 'other', hire_date: '2026-01-30' }, 'with another employer from January 30'],
  ] as const) {
    const db = await elected(t);
    const named = 'pay_group' in elsewhere ? { pay_group: 'north' } : {};
    await learn(db, employment('e', named));
    await finalized(db, 'r2', body(2, named));
    if ('employer_id' in elsewhere) await learn(db, employment('e', { termination_date: '2026-01-29' }));
    await learn(db, employment('e', { ...named, ...elsewhere }));
    const [line] = await lines(db, body(3, named), 'regular');
    t.equal(brief(line as LineRecord), 'e a 0.00 moved 10.00', where);
    t.equal(line?.explanation, `${where}; 10.00 in the previous run, nothing to take now`);
    await finalized(db, 'r3', body(3, named));
    t.strictSame(await changes(db, body(4, named)), [], 'once');
  }
});

const END = () => election('2026-01-30', { effective_end: '2026-01-31' });
const begun = (id: string, changes: Parameters<typeof election>[1] = {}) =>
  election('2026-01-30', { effective_start: '2026-02-01', member_contribution: '12.00', ...changes }, id);

test('the only deduction that began replaces the only one that ended, which needs no line', async (t, db) => {
  await send(db, election('2025-12-01', { line_of_coverage: 'dental' }, 'd'));
  await finalized(db, 'r2', body(2));
  await send(db, END(), begun('b'), begun('v', { line_of_coverage: 'vision' }));
  t.strictSame(await changes(db, body(3)), [
    'e d 10.00 same 10.00',
    'e b 12.00 replaced 10.00',
    'e v 12.00 new ',
  ]);
  const replaced = (await lines(db, body(3))).find(({ deduction_id }) => deduction_id === 'b');
  t.match(replaced, { replaces_deduction_id: 'a', amount_change: 'changed', member_difference: '2.00' });
  const off = body(3, { kind: 'off_cycle', employee_ids: ['e'], deductions: ['b'] });
  t.strictSame(await changes(db, off), ['e b 12.00  '], 'an off-cycle run compares itself with nothing');
  await finalized(db, 'r3', body(3));
  t.strictSame(await changes(db, body(4)), [
    'e d 10.00 same 10.00',
    'e b 12.00 same 12.00',
    'e v 12.00 same 12.00',
  ]);
});

const notReplaced: [what: string, begun: IncomingDeduction[], before: IncomingDeduction[]][] = [
  ['of another taxability', [begun('b', { taxability: 'post_tax' })], []],
  ['of another line of coverage', [begun('b', { line_of_coverage: 'vision' })], []],
  ['of two that began', [begun('b'), begun('c')], []],
  [
    'of two that ended',
    [begun('b'), election('2026-01-30', { effective_end: '2026-01-31' }, 'c')],
    [election('2025-12-01', {}, 'c')],
  ],
];
for (const [what, messages, before] of notReplaced) {
  t.test(`a deduction ${what} replaces none`, async (t) => {
    const db = await elected(t);
    await send(db, ...before);
    await finalized(db, 'r2', body(2));
    await send(db, END(), ...messages);
    const shown = await changes(db, body(3));
    t.ok(shown.includes('e a 0.00 ended 10.00'), 'the old one is stopped');
    t.ok(shown.includes('e b 12.00 new '));
  });
}

test('a deduction with another payroll code replaces none', async (t, db) => {
  await setCode(db, 'medical');
  await finalized(db, 'r2', body(2));
  await setCode(db, 'dental');
  await send(db, END(), begun('b'));
  t.strictSame(await changes(db, body(3)), ['e a 0.00 ended 10.00', 'e b 12.00 new ']);
});

const dental = (sent: string, effective_start: string) =>
  election(sent, { line_of_coverage: 'dental', effective_start }, 'd');

const reasons: [reason: string, work: (db: Db) => Promise<void>][] = [
  ['coverage ended January 31', (db) => send(db, END())],
  [
    'coverage ended December 31, 2025',
    (db) => send(db, election('2026-01-30', { effective_end: '2025-12-31' })),
  ],
  ['coverage starts March 1', (db) => send(db, dental('2026-01-10', '2026-03-01'))],
  [
    'coverage is another employee’s from February 1',
    (db) => send(db, election('2026-01-30', { employee_id: 'f', effective_start: '2026-02-01' })),
  ],
  ['employment ended January 20', (db) => learn(db, employment('e', { termination_date: '2026-01-20' }))],
  ['not hired until March 2', (db) => learn(db, employment('e', { hire_date: '2026-03-02' }))],
];
for (const [reason, work] of reasons) {
  t.test(`a line that ended states why: ${reason}`, async (t) => {
    const db = await elected(t);
    await send(db, dental('2026-01-05', '2026-01-20'));
    await finalized(db, 'r2', body(2));
    await work(db);
    const line = (await lines(db, body(3), 'regular')).find(({ explanation }) =>
      explanation.startsWith(reason),
    );
    t.match(line, {
      change: 'ended',
      explanation: `${reason}; 10.00 in the previous run, nothing to take now`,
    });
  });
}

test('a move is dated by the first of the facts that agree on it', async (t, db) => {
  await finalized(db, 'r2', body(2));
  for (const effective_on of ['2026-02-01', '2026-02-09'])
    await learn(db, employment('e', { pay_frequency: 'weekly', effective_on }));
  const [line] = await lines(db, body(3), 'regular');
  t.match(line?.explanation, /^paid weekly from February 1;/);
});

test('amounts of one election differ by the calendar or the policy, and by cents not at all', async (t, db) => {
  await learn(db, employment('m', {}), employment('n', {}));
  const monthly = { period: 'monthly', member_contribution: '150.00' } as const;
  await send(db, election('2025-12-01', { employee_id: 'm', ...monthly }, 'm'));
  const list = (marks: Record<string, Takes> = {}) =>
    schedule({
      pay_dates: every(14, '2026-01-02', 26).map((date) => ({
        ...dateOf(date, 14, 1),
        takes: marks[date] ?? 'all',
      })),
    });
  const amountChange = async (place: number) => {
    const line = (await lines(db, body(place), 'regular')).find((shown) => shown.employee_id === 'm');
    return [line?.change, line?.amount_change, line?.member_difference, line?.employer_difference];
  };
  await setSchedules(db, [list()]);
  await finalized(db, 'r24', body(24));
  t.strictSame(await amountChange(25), ['same', 'same', '0.02', '0.00'], 'the closing check');
  await voided(db, 'r24');
  await finalized(db, 'r2', body(2));
  t.strictSame(await amountChange(4), ['same', 'same', '0.00', '0.00']);
  await setSchedules(db, [list({ '2026-02-13': 'own_period' })]);
  t.strictSame(await amountChange(3), ['same', 'calendar', '-69.23', '0.00'], 'the date takes nothing of it');
  t.strictSame(await amountChange(4), ['same', 'calendar', '3.14', '0.00'], 'what is left of the year');
  await setPolicy(db, { applies_on: 'period_end' }, '2026-02-27');
  t.strictSame(await amountChange(4), ['same', 'changed', '3.14', '0.00']);
});

t.test('an employee’s reasons name why the amount of an election differs', async (t) => {
  const reasonsOf = (amount_change: LineRecord['amount_change'], member_difference = '0.01') => {
    const line = lineOf(recordOf({ change: 'same', amount_change, member_difference }));
    const { reasons } = employeeRow('e', { isIn: true, lines: [line] }, { isIn: true, lines: [line] });
    return reasons.map(({ reason }) => reason).join();
  };
  t.equal(reasonsOf('same', '0.00'), '');
  t.equal(reasonsOf('same'), 'rounding', 'the cents of a closing check');
  t.equal(reasonsOf('changed'), 'policy', 'an option of the run');
});

test('lines of an employee who may belong to the run do not end', async (t, db) => {
  await finalized(db, 'r2', body(2));
  await learn(db, employment('e', { employer_id: 'other' }));
  t.strictSame(await changes(db, body(3)), []);
});

test('a voided run is not the previous run', async (t, db) => {
  await finalized(db, 'r1', body(1));
  await send(db, election('2026-01-16', { member_contribution: '12', effective_start: '2026-01-16' }));
  await finalized(db, 'r2', body(2));
  t.strictSame(await changes(db, body(3)), ['e a 12.00 same 12.00']);
  await voided(db, 'r2');
  t.strictSame(await changes(db, body(3)), ['e a 12.00 changed 10.00']);
});

test('the previous run is the last regular one of the frequency and group', async (t, db) => {
  await finalized(db, 'r1', body(1));
  await send(db, election('2026-01-16', { member_contribution: '12' }));
  await finalized(db, 'later', body(5));
  await finalized(db, 'off', body(2, { kind: 'off_cycle', employee_ids: ['e'], deductions: ['a'] }));
  await finalized(db, 'weekly', body(2, { pay_frequency: 'weekly' }));
  await finalized(db, 'group', body(2, { pay_frequency: 'monthly', pay_group: 'north' }));
  t.strictSame(await changes(db, body(3)), ['e a 12.00 changed 10.00']);
});

test('a narrowed run has no lines for the employees it leaves out', async (t, db) => {
  const dental = election('2025-12-01', { line_of_coverage: 'dental' }, 'b');
  await send(db, dental, election('2025-12-01', { employee_id: 'f' }, 'c'));
  await finalized(db, 'r2', body(2));
  t.strictSame(await changes(db, body(3, { employee_ids: ['f'] })), ['f c 10.00 same 10.00']);
  const narrow = await linesOfRun(db, await put(db, 'narrow', body(3, { employee_ids: ['f'] })), {
    employeeId: 'e',
  });
  for await (const page of narrow.pages) t.strictSame(page, [], 'not even if requested');
});
