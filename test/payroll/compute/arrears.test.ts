import type { Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import type { LineRecord } from '../../../src/payroll/calculation/line.ts';
import type { OpenItem } from '../../../src/payroll/compute/item-state.ts';
import { itemsOfEmployee } from '../../../src/payroll/reconciliation/open-items.ts';
import { scratch } from '../../database/scratch.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  type Asked,
  body,
  bodyUnder,
  decideItem,
  election,
  employment,
  finalized,
  itemsIn,
  learn,
  lines,
  linesOf,
  send,
  setCodes,
  taken,
  verified,
} from '../../support/payroll.ts';

const TODAY = '2026-07-10';

/** Finalizes runs of these pay dates. e has one medical deduction of 10.00 and two dental ones. */
async function staged(t: Test, places = [2]): Promise<Db> {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(
    db,
    election('2025-12-01', { employer_contribution: '5.00' }),
    election('2025-12-01', { line_of_coverage: 'dental' }, 'b'),
    election('2025-12-01', { line_of_coverage: 'dental' }, 'c'),
  );
  for (const place of places) await finalized(db, `r${place}`, body(place));
  return db;
}

const test = onEitherEngine.with(staged);

/** Reports amounts taken for lines of e, written as `a 4.00` or, with the kind, `a 4.00 arrears`. */
async function took(db: Db, runId: string, ...amounts: string[]): Promise<void> {
  const rows = amounts.map((line) => {
    const [deduction_id = '', amount = '', kind = 'regular'] = line.split(' ');
    return { employee_id: 'e', deduction_id, amount, over: 'true', kind };
  });
  await taken(db, runId, ...rows);
}

const brief = ({ deduction_id, adjustment_for, member_amount, employer_amount, flags }: LineRecord) =>
  [deduction_id, adjustment_for, member_amount, employer_amount, ...flags].join(' ');

const including = (db: Db, place: number, changes: Asked = {}) =>
  bodyUnder(db, place, { open_items: 'include', ...changes });

async function arrears(db: Db, changes: Asked = {}, place = 3): Promise<string[]> {
  return (await lines(db, await including(db, place, changes), 'arrears')).map(brief);
}

test('a shortfall is owed by the employee only', async (t, db) => {
  t.strictSame(await arrears(db), [], 'without a report all was taken');
  await took(db, 'r2', 'a 4.00');
  t.strictSame(await arrears(db), ['a r2 6.00 0.00']);
  t.match((await lines(db, await including(db, 3), 'arrears'))[0], {
    version: null,
    period: null,
    member_contribution: null,
    change: null,
    previous_amount: null,
    explanation: 'Paycheck of January 30: medical was 10.00; 4.00 was taken (reported July 10); 6.00 more.',
  });
  t.strictSame(await arrears(db, { open_items: 'decided' }), []);
});

test('an excess is returned and offsets no shortfall', async (t, db) => {
  await took(db, 'r2', 'a 4.00', 'b 4.00', 'c 16.00');
  t.strictSame(await arrears(db), ['b r2 6.00 0.00', 'c r2 -6.00 0.00', 'a r2 6.00 0.00']);
  await took(db, 'r2', 'a 12.00', 'b 4.00', 'c 13.00');
  const reported = await arrears(db);
  t.strictSame(reported, ['b r2 6.00 0.00', 'c r2 -3.00 0.00', 'a r2 -2.00 0.00'], 'the last report applies');
  const owed = await itemsOfEmployee(db, 'e', ['acme'], { today: TODAY, limit: 100 });
  const briefly = owed.map((item) => `${item.deduction_id} ${item.outstanding_member_amount}`).join(', ');
  t.equal(briefly, 'a -2.00, b 6.00, c -3.00');
  await finalized(db, 'r3', await including(db, 3));
  await took(db, 'r2', 'b 2.00');
  t.strictSame(await arrears(db, {}, 4), ['b r2 2.00 0.00'], 'what c got back settles nothing of b');
});

test('a new report after its arrears were collected changes what is owed', async (t, db) => {
  await took(db, 'r2', 'a 4.00');
  await finalized(db, 'r3', await including(db, 3));
  await took(db, 'r2', 'a 1.00');
  t.strictSame(await arrears(db, {}, 4), ['a r2 3.00 0.00']);
  t.match((await lines(db, await including(db, 4), 'arrears'))[0], {
    explanation:
      'Paycheck of January 30: medical was 10.00; 1.00 was taken (reported July 10); 9.00 more. 6.00 settled since. 3.00 now, 0.00 left.',
  });
  await took(db, 'r2', 'a 10.00');
  t.strictSame(await arrears(db, {}, 4), ['a r2 -6.00 0.00']);
});

test('an amount not taken on a line that settles an item stays in that item', async (t, db) => {
  await took(db, 'r2', 'a 4.00');
  await finalized(db, 'r3', await including(db, 3));
  await took(db, 'r3', 'a 7.00', 'a 1.00 arrears');
  t.strictSame(await arrears(db, {}, 4), ['a r2 5.00 0.00', 'a r3 3.00 0.00']);
  await finalized(db, 'r4', await including(db, 4));
  t.strictSame(await arrears(db, {}, 5), []);
});

test('arrears are separate from adjustments', async (t, db) => {
  await took(db, 'r2', 'a 4.00');
  await send(db, election('2026-01-30', { member_contribution: '12', employer_contribution: '5' }));
  const [raised] = (await itemsIn(db, body(3))).filter(({ identity }) => identity.kind === 'adjustment');
  await decideItem(db, raised as OpenItem, { action: 'take' });
  await finalized(db, 'r3', await including(db, 3));
  const due = (await linesOf(db, 'r3')).filter((line) => line.kind !== 'regular');
  t.strictSame(due.map(brief), ['a r2 2.00 0.00 retro_pre_tax', 'a r2 6.00 0.00']);
  await took(db, 'r3', 'a 0.00 adjustment');
  t.strictSame(await arrears(db, {}, 4), [], 'the adjustment is open again');
  const open = (await itemsIn(db, body(4))).map(({ id, outstanding }) => `${id} ${outstanding.member}`);
  t.strictSame(open, ['adjustment:r2:e:a:medical:pre_tax 200']);
  t.match(await verified(db, 'r3'), { identical: true });
});

test('an amount that payroll went on to take of an ended deduction is owed back', async (t, db) => {
  await learn(db, employment('e', { pay_frequency: 'weekly', effective_on: '2026-02-01' }));
  await finalized(db, 'r3', body(3));
  // The employee moved: the run stops all three deductions with a line of 0.00.
  await took(db, 'r3', 'a 10.00');
  await learn(db, employment('e', { effective_on: '2026-02-15' }));
  t.strictSame(await arrears(db, {}, 4), ['a r3 -10.00 0.00']);
  t.match(await itemsOfEmployee(db, 'e', ['acme'], { today: TODAY, limit: 100 }), [
    { run_id: 'r3', outstanding_member_amount: '-10.00' },
  ]);
});

test('arrears have today’s codes', async (t, db) => {
  await took(db, 'r2', 'a 4.00', 'b 4.00');
  await setCodes(db, [
    { line_of_coverage: 'medical', taxability: null, side: 'employee', code: 'MED', treatment: null },
  ]);
  const [, line] = await lines(db, await including(db, 3), 'arrears');
  t.equal(line?.payroll_code, 'MED');
});
