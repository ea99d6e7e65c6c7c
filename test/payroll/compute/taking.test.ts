/** Open items that a run takes: decisions, limits, pairs and held refunds. */
import type { Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import type { IncomingDeduction } from '../../../src/ledger/fold.ts';
import type { OpenItem } from '../../../src/payroll/compute/open-items.ts';
import { bringOpeningItems } from '../../../src/payroll/reconciliation/opening-rows.ts';
import type { RunBody } from '../../../src/payroll/records/body.ts';
import { scratch } from '../../database/scratch.ts';
import { acting } from '../../support/audit.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  body,
  decideItem,
  EMPLOYER,
  election,
  employment,
  finalize,
  finalized,
  itemsIn,
  LATELY,
  learn,
  lines,
  override,
  put,
  refusedRun,
  rowsOf,
  send,
  taken,
  verified,
  view,
  voided,
} from '../../support/payroll.ts';

type Fields = Partial<IncomingDeduction['deduction']>;

const INCLUDE: Partial<RunBody> = { adjustments: 'include', arrears: 'include' };

/** e has these deductions, and these runs are finalized. */
async function staged(t: Test, deductions: Readonly<Record<string, Fields>> = { a: {} }, places = [0, 1, 2]) {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(db, ...Object.entries(deductions).map(([id, fields]) => election('2025-12-01', fields, id)));
  for (const place of places) await finalized(db, `r${place}`, body(place));
  return db;
}

const took = (db: Db, run: string, amount: string, deduction_id = 'a') =>
  taken(db, run, { employee_id: 'e', deduction_id, amount, over: 'true' });

/** e pays 10.00 for medical in each check. Payroll took nothing in the first two checks. */
async function owing(t: Test): Promise<Db> {
  const db = await staged(t, { a: {} }, [0, 1]);
  for (const run of ['r0', 'r1']) await took(db, run, '0.00');
  return db;
}

const test = onEitherEngine.with(owing);

const opening = (db: Db, id: string, member_amount: string, deduction_id = '') =>
  bringOpeningItems(
    db,
    EMPLOYER,
    rowsOf({
      ...{ id, employee_id: 'e', line_of_coverage: 'medical', taxability: 'pre_tax' },
      ...{ member_amount, employer_amount: '0.00', pay_date: '2025-06-01' },
      ...(deduction_id !== '' && { deduction_id }),
    }),
    acting(LATELY),
  );

/** Returns `kind source deduction: amount, amount left` of the lines that take items, in their order. */
async function takes(db: Db, fields: Partial<RunBody> = INCLUDE, place = 3): Promise<string[]> {
  const all = await lines(db, body(place, fields));
  return all
    .filter(({ kind }) => kind !== 'regular')
    .map((line) => {
      const { kind, deduction_id, adjustment_for, opening_id, member_amount, outstanding_after } = line;
      const flags = line.flags.filter((flag) => flag === 'recoup_capped' || flag === 'refund_held');
      return [
        `${kind} ${adjustment_for ?? opening_id} ${deduction_id}: ${member_amount}, ${outstanding_after} left`,
        ...flags,
      ].join(' ');
    });
}

async function itemOf(db: Db, source: string, kind?: string): Promise<OpenItem> {
  const items = await itemsIn(db, body(3));
  const item = items.find(
    ({ identity }) => identity.source === source && (kind ?? identity.kind) === identity.kind,
  );
  if (item === undefined) throw new Error(`no item of ${source}`);
  return item;
}

onEitherEngine('a run takes decided items, and with include also undecided ones', async (t) => {
  const db = await staged(t);
  for (const run of ['r0', 'r1']) await took(db, run, '0.00');
  await opening(db, 'o', '7.00');
  await send(db, election('2026-01-31', { member_contribution: '12.00' }));
  const all = [
    'adjustment r0 a: 2.00, 0.00 left',
    'adjustment r1 a: 2.00, 0.00 left',
    'adjustment r2 a: 2.00, 0.00 left',
  ];
  const arrears = [
    'arrears o : 7.00, 0.00 left',
    'arrears r0 a: 10.00, 0.00 left',
    'arrears r1 a: 10.00, 0.00 left',
  ];
  t.strictSame(await takes(db, {}), []);
  t.strictSame(await takes(db, { adjustments: 'include' }), all);
  t.strictSame(await takes(db, { arrears: 'include' }), arrears);
  await decideItem(db, await itemOf(db, 'r1', 'adjustment'), { action: 'take' });
  await decideItem(db, await itemOf(db, 'o'), { action: 'take', amount: 300n });
  await decideItem(db, await itemOf(db, 'r0', 'arrears'), { action: 'hold' });
  t.strictSame(await takes(db, {}), ['adjustment r1 a: 2.00, 0.00 left', 'arrears o : 3.00, 4.00 left']);
  t.strictSame(await takes(db), [...all, 'arrears o : 3.00, 4.00 left', 'arrears r1 a: 10.00, 0.00 left']);
  await finalized(db, 'r3', body(3));
  t.strictSame((await view(db, 'r3')).outcome.open_items, [
    { kind: 'arrears', employees: 1, items: 2, member_amount: '20.00', employer_amount: '0.00' },
    { kind: 'opening', employees: 1, items: 1, member_amount: '4.00', employer_amount: '0.00' },
    { kind: 'adjustment', employees: 1, items: 2, member_amount: '4.00', employer_amount: '0.00' },
  ]);
  const left = await takes(db, { arrears: 'include' }, 4);
  t.strictSame(left, ['arrears r1 a: 10.00, 0.00 left'], 'the remaining amount needs a decision');
  t.match(await verified(db, 'r3'), { identical: true });
  await voided(db, 'r3');
  const again = await takes(db, {}, 4);
  t.strictSame(again, ['adjustment r1 a: 2.00, 0.00 left', 'arrears o : 3.00, 4.00 left'], 'again');
});

test('an item is taken from a date on, and a part of it once over all runs', async (t, db) => {
  await decideItem(db, await itemOf(db, 'r0'), { action: 'take', amount: 400n, notBefore: '2026-02-13' });
  t.strictSame(await takes(db, {}, 2), []);
  t.strictSame(await takes(db, {}, 3), ['arrears r0 a: 4.00, 6.00 left']);
  await finalized(db, 'r3', body(3));
  t.strictSame(await takes(db, INCLUDE, 4), ['arrears r1 a: 10.00, 0.00 left'], 'it needs a new decision');
  await decideItem(db, await itemOf(db, 'r0'), { action: 'take', amount: 500n });
  t.strictSame(await takes(db, {}, 4), ['arrears r0 a: 5.00, 1.00 left']);
  await decideItem(db, await itemOf(db, 'r1'), { action: 'hold', until: '2026-03-13' });
  t.strictSame(await takes(db, { arrears: 'include' }, 4), ['arrears r0 a: 5.00, 1.00 left']);
  const all = ['arrears r0 a: 5.00, 1.00 left', 'arrears r1 a: 10.00, 0.00 left'];
  t.strictSame(await takes(db, { arrears: 'include' }, 5), all, 'the hold has ended');
});

test('the limit takes items of a coverage in order, and refunds do not raise it', async (t, db) => {
  await send(db, election('2026-01-25T00:00:00Z', { member_contribution: '9.00' }));
  const refunds = ['adjustment r0 a: -1.00, 0.00 left', 'adjustment r1 a: -1.00, 0.00 left'];
  const multiple = { ...INCLUDE, recoup: { method: 'multiple', value: '1.5' } } as const;
  t.strictSame(await takes(db, multiple, 2), [
    // The sum of both items of a run is 9.00, and 1.5 × 9.00 = 13.50.
    ...refunds,
    'arrears r0 a: 9.00, 1.00 left recoup_capped',
    'arrears r1 a: 4.50, 5.50 left recoup_capped',
  ]);
  const amount = { ...INCLUDE, recoup: { method: 'amount', value: '9.00' } } as const;
  t.strictSame(await takes(db, amount, 2), [...refunds, 'arrears r0 a: 9.00, 1.00 left recoup_capped']);
  const all = ['arrears r0 a: 9.00, 1.00 left', 'arrears r1 a: 9.00, 1.00 left'];
  t.strictSame((await takes(db, INCLUDE, 2)).slice(2), all, 'the sum owed of a run is no limit');
  await learn(db, employment('e', { termination_date: '2026-01-20' }));
  t.strictSame((await takes(db, multiple, 2)).slice(2), all, 'the last check has no limit');
  const later: Partial<RunBody> = { ...amount, kind: 'off_cycle', employee_ids: ['e'] };
  t.strictSame((await takes(db, later, 3)).length, 3, 'a check after the last one has a limit');
});

onEitherEngine('the limit follows the last regular amount above zero, without overrides', async (t) => {
  const limited = { ...INCLUDE, recoup: { method: 'multiple', value: '0.5' } } as const;
  const capped = ['arrears r0 a: 5.00, 5.00 left recoup_capped'];
  const db = await owing(t);
  await send(db, election('2026-01-20T00:00:00Z', { effective_end: '2026-01-17' }));
  t.strictSame(await takes(db, limited, 2), capped);
  const [line] = await lines(db, body(2, limited), 'arrears');
  t.match(
    line?.explanation,
    /arrears 20\.00 from 2 paychecks; at most 0\.5 × 10\.00 a paycheck: 5\.00; 15\.00 left/,
  );
  await finalized(db, 'r2', body(2));
  t.strictSame(await takes(db, limited), capped, 'the deduction took 0.00 in between');
  const offCycle: Partial<RunBody> = { ...limited, kind: 'off_cycle', employee_ids: ['e'] };
  const early = await owing(t);
  await send(early, election('2026-02-20T00:00:00Z', { member_contribution: '30.00' }));
  await finalized(early, 'later', body(5));
  t.strictSame(await takes(early, offCycle, 2), capped, 'a later run does not count');
  const without = await staged(t, { a: { line_of_coverage: 'dental' } });
  await opening(without, 'o', '7.00');
  t.strictSame(await takes(without, limited), ['arrears o : 7.00, 0.00 left'], 'no amount, no limit');
  const overridden = await owing(t);
  await put(overridden, 'r2', body(2));
  await override(overridden, 'r2', 'e', 'a', { member: '4.00' });
  await finalize(overridden, 'r2');
  await send(overridden, election('2026-02-01T00:00:00Z', { effective_end: '2026-01-31' }));
  t.strictSame(await takes(overridden, limited), capped);
});

onEitherEngine('a pair is taken whole, or not at all', async (t) => {
  const db = await staged(t, { a: {} }, [0, 1]);
  // Both checks should have been dental: −10.00 of medical and 11.00 of dental each.
  const dental = { line_of_coverage: 'dental', member_contribution: '11.00' } as const;
  await send(db, election('2026-01-25T00:00:00Z', dental));
  t.strictSame(await takes(db, { ...INCLUDE, recoup: { method: 'amount', value: '0.50' } }, 2), [
    'adjustment r0 a: 11.00, 0.00 left recoup_capped',
    'adjustment r0 a: -10.00, 0.00 left recoup_capped',
  ]);
});

onEitherEngine('the sum of a pair counts in the taxability of its deduction today', async (t) => {
  const db = await staged(t, { a: { taxability: 'post_tax' } }, [0]);
  await send(db, election('2026-01-10', { taxability: 'pre_tax', member_contribution: '8.00' }));
  const pair = ['adjustment r0 a: -10.00, 0.00 left', 'adjustment r0 a: 8.00, 0.00 left'];
  t.strictSame(await takes(db, INCLUDE, 1), pair, 'it takes 2.00 back from 8.00 of pre-tax deductions');
  await send(db, election('2026-01-11', { taxability: 'pre_tax', member_contribution: '1.00' }));
  t.strictSame(await takes(db, INCLUDE, 1), [], '9.00 back from 1.00 is held whole');
});

onEitherEngine('the items of a pair are held together', async (t) => {
  const db = await staged(t);
  await send(db, election('2026-01-31', { taxability: 'post_tax', member_contribution: '12.00' }));
  const pair = (run: string) => [
    `adjustment ${run} a: 12.00, 0.00 left`,
    `adjustment ${run} a: -10.00, 0.00 left`,
  ];
  t.strictSame(await takes(db), [...pair('r0'), ...pair('r1'), ...pair('r2')]);
  await decideItem(db, await itemOf(db, 'r0'), { action: 'hold' });
  t.strictSame(await takes(db), [...pair('r1'), ...pair('r2')]);
});

onEitherEngine('refunds are held from the last one back, unless they were decided', async (t) => {
  const db = await staged(t, { a: {} }, [0, 1]);
  for (const run of ['r0', 'r1']) await took(db, run, '16.00');
  t.strictSame(await takes(db, INCLUDE, 2), [
    'arrears r0 a: -6.00, 0.00 left',
    'arrears r1 a: -4.00, -2.00 left refund_held',
  ]);
  await decideItem(db, await itemOf(db, 'r1'), { action: 'take' });
  t.strictSame(await takes(db, INCLUDE, 2), [
    'arrears r0 a: -4.00, -2.00 left refund_held',
    'arrears r1 a: -6.00, 0.00 left',
  ]);
  await learn(db, employment('e', { termination_date: '2026-01-20' }));
  const all = ['arrears r0 a: -6.00, 0.00 left', 'arrears r1 a: -6.00, 0.00 left'];
  t.strictSame(await takes(db, INCLUDE, 2), all, 'the last check');
});

onEitherEngine('the employer’s amount of an item that was written off is settled with 0.00', async (t) => {
  const db = await staged(t, { a: {} }, [0, 1]);
  const raised = { member_contribution: '12.00', employer_contribution: '5.00' };
  await send(db, election('2025-12-02T00:00:00Z', raised));
  await decideItem(db, await itemOf(db, 'r0'), { action: 'write_off', amount: 200n });
  const all = await lines(db, body(2, { adjustments: 'decided' }), 'adjustment');
  t.match(all, [{ adjustment_for: 'r0', member_amount: '0.00', employer_amount: '5.00' }]);
  await decideItem(db, await itemOf(db, 'r1'), { action: 'take', amount: 50n });
  await finalized(db, 'r2', body(2));
  await decideItem(db, await itemOf(db, 'r1'), { action: 'take' });
  const after = await lines(db, body(3), 'adjustment');
  t.match(after, [{ member_amount: '1.50', employer_amount: '0.00' }], 'a part settled the employer’s');
});

onEitherEngine('a pre-tax difference is taken in its tax year, arrears in any', async (t) => {
  const db = await staged(t, { a: {} }, [-1, 0]);
  await took(db, 'r-1', '4.00');
  await send(db, election('2025-12-02T00:00:00Z', { member_contribution: '12.00' }));
  const ofThisYear = 'adjustment r0 a: 2.00, 0.00 left';
  t.strictSame(await takes(db, INCLUDE, 1), [ofThisYear, 'arrears r-1 a: 6.00, 0.00 left']);
  const december: Partial<RunBody> = { kind: 'off_cycle', employee_ids: ['e'], pay_date: '2025-12-31' };
  t.strictSame(await takes(db, { ...INCLUDE, ...december }, 0), [
    'adjustment r-1 a: 2.00, 0.00 left',
    'arrears r-1 a: 6.00, 0.00 left',
  ]);
  await send(db, election('2025-12-03T00:00:00Z', { taxability: 'post_tax' }));
  const pairs = (await itemsIn(db, body(1))).filter(({ identity }) => identity.kind === 'adjustment');
  for (const item of pairs) await decideItem(db, item, { action: 'take' });
  const sources = (await takes(db, {}, 1)).map((line) => line.split(':')[0]);
  t.strictSame(sources, ['adjustment r0 a', 'adjustment r0 a'], 'one pre-tax item binds its pair');
});

onEitherEngine('a settled item does not decide whether pre-tax deductions rise or fall', async (t) => {
  const db = await staged(t, { a: {} }, [0, 1]);
  const raised = election('2026-01-17', { member_contribution: '20.00', effective_start: '2026-01-01' });
  await send(db, raised, election('2026-01-18', { effective_start: '2026-01-15' }));
  await finalized(db, 'r2', body(2, INCLUDE));
  await send(db, election('2026-01-31', { member_contribution: '9.00', effective_start: '2026-01-16' }));
  const refunds = (await lines(db, body(3, INCLUDE), 'adjustment')).map(
    ({ adjustment_for, member_amount, flags }) => [adjustment_for, member_amount, ...flags].join(' '),
  );
  t.strictSame(refunds, ['r1 -1.00 retro_refund', 'r2 -1.00 retro_refund'], '10.00 more of run 0 were taken');
});

test('an opening item with the id of a run does not limit the arrears of the run', async (t, db) => {
  await opening(db, 'r0', '-6.00', 'a');
  t.strictSame(await takes(db, INCLUDE, 2), [
    'arrears r0 a: -6.00, 0.00 left',
    'arrears r0 a: 10.00, 0.00 left',
    'arrears r1 a: 10.00, 0.00 left',
  ]);
  await finalized(db, 'r2', body(2, INCLUDE));
  t.strictSame(await takes(db), [], 'each is settled by its own line');
});

onEitherEngine('items of one pay date are taken in the order of their sources', async (t) => {
  const db = await staged(t);
  await opening(db, 'p', '7.00');
  await opening(db, 'o', '7.00');
  t.strictSame(await takes(db, { ...INCLUDE, recoup: { method: 'amount', value: '9.00' } }), [
    'arrears o : 7.00, 0.00 left recoup_capped',
    'arrears p : 2.00, 5.00 left recoup_capped',
  ]);
});

onEitherEngine('arrears are taken up to the outstanding sum of their run and deduction', async (t) => {
  const db = await staged(t, { a: {}, b: { line_of_coverage: 'dental', member_contribution: '50.00' } });
  await took(db, 'r0', '4.00');
  await send(db, election('2026-01-31', { member_contribution: '8.00' }));
  t.strictSame(await takes(db, { arrears: 'include' }), ['arrears r0 a: 4.00, 2.00 left']);
  await send(db, election('2026-02-01', { member_contribution: '2.00' }));
  t.strictSame(await takes(db, { arrears: 'include' }), [], '2.00 in total are to be returned');
});

onEitherEngine('items that need a decision are not taken without one', async (t) => {
  const deductions: Readonly<Record<string, Fields>> = {
    a: { line_of_coverage: 'hsa' },
    b: {},
    c: { taxability: 'post_tax' },
  };
  const db = await staged(t, deductions);
  await finalized(db, 'december', body(-1));
  for (const [id, fields] of Object.entries(deductions))
    await send(db, election('2026-01-31', { ...fields, member_contribution: '12.00' }, id));
  const sources = async () => (await takes(db)).map((line) => line.split(':')[0]);
  const usual = ['b', 'c'].flatMap((id) => ['r0', 'r1', 'r2'].map((run) => `adjustment ${run} ${id}`));
  t.strictSame(await sources(), usual, 'an HSA and an earlier year need a decision');
  const december = (await itemsIn(db, body(3))).filter(({ identity }) => identity.source === 'december');
  for (const item of december) await decideItem(db, item, { action: 'take' });
  const ofDecember = (await sources()).filter((line) => line?.includes('december'));
  t.strictSame(ofDecember, ['adjustment december c'], 'pre-tax is bound');
});

test('an off-cycle run takes the items that it names, and refuses others', async (t, db) => {
  const [first, second] = await itemsIn(db, body(3));
  const off: Partial<RunBody> = { kind: 'off_cycle', employee_ids: ['e'] };
  t.strictSame(await takes(db, { ...off, arrears: 'include', items: [second?.id as string] }), [
    'arrears r1 a: 10.00, 0.00 left',
  ]);
  const problems = (fields: Partial<RunBody>) => refusedRun(db, body(3, { ...off, ...fields }));
  t.strictSame(await problems({ items: [first?.id as string] }), ['items[0]: needs the decision take']);
  t.strictSame(await problems({ items: ['arrears:r9:e:a:medical:pre_tax'] }), [
    'items[0]: is no open item of an employee in the run',
  ]);
  t.strictSame(await problems({ kind: 'regular', items: [first?.id as string] }), [
    'items: is for an off_cycle run: a regular run takes all items',
  ]);
});
