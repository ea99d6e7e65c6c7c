/** Open items that a run takes: decisions, limits, groups and refunds. */
import type { Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import type { IncomingDeduction } from '../../../src/ledger/fold.ts';
import { itemIdentity } from '../../../src/payroll/calculation/items.ts';
import type { OpenItem } from '../../../src/payroll/compute/item-state.ts';
import { bringOpeningItems } from '../../../src/payroll/reconciliation/opening-rows.ts';
import type { RunBody } from '../../../src/payroll/records/body.ts';
import { scratch } from '../../database/scratch.ts';
import { acting } from '../../support/audit.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  type Asked,
  body,
  bodyUnder,
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
  setPolicy,
  taken,
  verified,
  view,
  voided,
} from '../../support/payroll.ts';

type Fields = Partial<IncomingDeduction['deduction']>;

const INCLUDE: Asked = { open_items: 'include' };

/** e has these deductions, and these runs are finalized. */
async function staged(t: Test, deductions: Readonly<Record<string, Fields>> = { a: {} }, places = [0, 1, 2]) {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  // Post-tax, so that no increase needs a decision.
  const post: Fields = { taxability: 'post_tax' };
  await send(
    db,
    ...Object.entries(deductions).map(([id, fields]) => election('2025-12-01', { ...post, ...fields }, id)),
  );
  for (const place of places) await finalized(db, `r${place}`, body(place));
  return db;
}

/** A version of a post-tax deduction. */
const post = (sent: string, fields: Fields = {}, id = 'a') =>
  election(sent, { taxability: 'post_tax', ...fields }, id);

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
      ...{ id, employee_id: 'e', line_of_coverage: 'medical', taxability: 'post_tax' },
      ...{ member_amount, employer_amount: '0.00', pay_date: '2025-06-01' },
      ...(deduction_id !== '' && { deduction_id }),
    }),
    acting(LATELY),
  );

/** Returns `kind source deduction: amount, amount left` of the lines that take items, in their order. */
async function takes(db: Db, asked: Asked = INCLUDE, place = 3): Promise<string[]> {
  const all = await lines(db, await bodyUnder(db, place, asked));
  return all
    .filter(({ kind }) => kind !== 'regular')
    .map((line) => {
      const { kind, deduction_id, item_id, member_amount, outstanding_after } = line;
      const flags = line.flags.filter((flag) => flag === 'recoup_capped');
      return [
        `${kind} ${itemIdentity(item_id ?? '')?.source} ${deduction_id}: ${member_amount}, ${outstanding_after} left`,
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
  await send(db, post('2026-01-31', { member_contribution: '12.00' }));
  const all = [
    'adjustment r0 a: 2.00, 0.00 left',
    'adjustment r1 a: 2.00, 0.00 left',
    'adjustment r2 a: 2.00, 0.00 left',
    'arrears o : 7.00, 0.00 left',
    'arrears r0 a: 10.00, 0.00 left',
    'arrears r1 a: 10.00, 0.00 left',
  ];
  t.strictSame(await takes(db, {}), []);
  t.strictSame(await takes(db), all);
  await decideItem(db, await itemOf(db, 'r1', 'adjustment'), { action: 'take' });
  await decideItem(db, await itemOf(db, 'o'), { action: 'take' });
  await decideItem(db, await itemOf(db, 'r0', 'arrears'), { action: 'hold' });
  const decided = ['adjustment r1 a: 2.00, 0.00 left', 'arrears o : 7.00, 0.00 left'];
  t.strictSame(await takes(db, {}), decided);
  t.strictSame(await takes(db), [...all.slice(0, 4), 'arrears r1 a: 10.00, 0.00 left']);
  await finalized(db, 'r3', await bodyUnder(db, 3, {}));
  t.strictSame((await view(db, 'r3')).outcome.open_items, [
    { kind: 'arrears', employees: 1, items: 2, member_amount: '20.00', employer_amount: '0.00' },
    { kind: 'adjustment', employees: 1, items: 2, member_amount: '4.00', employer_amount: '0.00' },
  ]);
  t.strictSame(await takes(db, {}, 4), []);
  t.match(await verified(db, 'r3'), { identical: true });
  await voided(db, 'r3');
  t.strictSame(await takes(db, {}, 4), decided, 'what a voided run took is to be taken again');
});

test('a hold lasts through its last day', async (t, db) => {
  await decideItem(db, await itemOf(db, 'r1'), { action: 'hold', until: '2026-02-27' });
  t.strictSame(await takes(db, INCLUDE, 4), ['arrears r0 a: 10.00, 0.00 left'], 'paid on February 27');
  t.strictSame(await takes(db, INCLUDE, 5), [
    'arrears r0 a: 10.00, 0.00 left',
    'arrears r1 a: 10.00, 0.00 left',
  ]);
});

onEitherEngine('a take stands until the item outgrows it', async (t) => {
  const db = await staged(t, { a: {} }, [0]);
  await send(db, post('2026-01-10', { member_contribution: '14.00' }));
  await decideItem(db, await itemOf(db, 'r0'), { action: 'take' });
  await send(db, post('2026-01-11', { member_contribution: '13.99' }));
  t.strictSame(await takes(db, {}, 1), ['adjustment r0 a: 3.99, 0.00 left'], 'a cent less');
  await send(db, post('2026-01-12', { member_contribution: '14.01' }));
  t.strictSame(await takes(db, {}, 1), [], 'a cent more than the decision was made for');
  t.match(await itemOf(db, 'r0'), { state: 'open', reopened: 'amount_changed', needsDecision: true });
  await send(db, post('2026-01-13', { member_contribution: '9.00' }));
  t.match(await itemOf(db, 'r0'), { state: 'open', reopened: 'amount_changed' }, 'the other sign');
});

test('the limit takes items of a coverage in order, and refunds do not raise it', async (t, db) => {
  await send(db, post('2026-01-25T00:00:00Z', { member_contribution: '9.00' }));
  const multiple: Asked = { ...INCLUDE, recoup: { method: 'multiple', value: '1.5' } };
  const refunds = ['adjustment r0 a: -1.00, 0.00 left', 'adjustment r1 a: -1.00, 0.00 left'];
  t.strictSame(await takes(db, multiple, 2), [
    // The sum of both items of a run is 9.00, and 1.5 × 9.00 = 13.50.
    ...refunds,
    'arrears r0 a: 9.00, 1.00 left recoup_capped',
    'arrears r1 a: 4.50, 5.50 left recoup_capped',
  ]);
  const amount: Asked = { ...INCLUDE, recoup: { method: 'amount', value: '9.00' } };
  t.strictSame(await takes(db, amount, 2), [...refunds, 'arrears r0 a: 9.00, 1.00 left recoup_capped']);
  const all = ['arrears r0 a: 9.00, 1.00 left', 'arrears r1 a: 9.00, 1.00 left'];
  t.strictSame((await takes(db, INCLUDE, 2)).slice(2), all, 'the sum owed of a run is no limit');
  await learn(db, employment('e', { termination_date: '2026-01-20' }));
  t.strictSame((await takes(db, multiple, 2)).slice(2), all, 'the last check has no limit');
  const later: Asked = { ...amount, kind: 'off_cycle', employee_ids: ['e'] };
  t.strictSame((await takes(db, later, 3)).length, 3, 'a check after the last one has a limit');
});

onEitherEngine('without a policy a paycheck takes at most the regular amount of arrears', async (t) => {
  const db = await owing(t);
  await setPolicy(db, { open_items: 'include' });
  t.strictSame(
    (await lines(db, body(2), 'arrears')).map(({ member_amount }) => member_amount),
    ['10.00'],
    'a late hire pays at most twice the regular amount',
  );
});

onEitherEngine('the limit follows the last regular amount above zero, without overrides', async (t) => {
  const limited: Asked = { ...INCLUDE, recoup: { method: 'multiple', value: '0.5' } };
  const capped = ['arrears r0 a: 5.00, 5.00 left recoup_capped'];
  const db = await owing(t);
  await send(db, post('2026-01-20T00:00:00Z', { effective_end: '2026-01-17' }));
  t.strictSame(await takes(db, limited, 2), capped);
  const [line] = await lines(db, await bodyUnder(db, 2, limited), 'arrears');
  t.match(
    line?.explanation,
    /arrears 20\.00 from 2 paychecks; at most 0\.5 × 10\.00 a paycheck: 5\.00; 15\.00 left/,
  );
  await finalized(db, 'r2', await bodyUnder(db, 2, {}));
  t.strictSame(await takes(db, limited), capped, 'the deduction took 0.00 in between');
  const offCycle: Asked = { ...limited, kind: 'off_cycle', employee_ids: ['e'] };
  const early = await owing(t);
  await send(early, post('2026-02-20T00:00:00Z', { member_contribution: '30.00' }));
  await finalized(early, 'later', body(5));
  t.strictSame(await takes(early, offCycle, 2), capped, 'a later run does not count');
  const without = await staged(t, { a: { line_of_coverage: 'dental' } });
  await opening(without, 'o', '7.00');
  t.strictSame(await takes(without, limited), ['arrears o : 7.00, 0.00 left'], 'no amount, no limit');
  const overridden = await owing(t);
  await put(overridden, 'r2', body(2));
  await override(overridden, 'r2', 'e', 'a', { member: '4.00' });
  await finalize(overridden, 'r2');
  await send(overridden, post('2026-02-01T00:00:00Z', { effective_end: '2026-01-31' }));
  t.strictSame(await takes(overridden, limited), capped);
});

onEitherEngine('a correction under a new id is taken as the difference', async (t) => {
  // 80.00 pre-tax was taken twice. It was post-tax all the time, and the service sends a new id.
  const db = await staged(t, { a: { taxability: 'pre_tax', member_contribution: '80.00' } }, [0, 1]);
  await send(db, election('2026-01-25', { member_contribution: '80.00', effective_end: '2025-12-31' }));
  await send(db, post('2026-01-25', { member_contribution: '80.00' }, 'b'));
  t.strictSame(await takes(db, INCLUDE, 2), [], 'both wait, because one is a retroactive pre-tax change');
  for (const run of ['r0', 'r1']) await decideItem(db, await itemOf(db, run), { action: 'take' });
  const all = await lines(db, await bodyUnder(db, 2, { recoup: { method: 'multiple', value: '1' } }));
  t.equal(
    all.reduce((sum, { member_amount }) => sum + Number(member_amount), 0),
    80,
    'regular 80.00, and each group is 0.00: a decision on one of its items is one on both',
  );
});

onEitherEngine('a re-issue with another amount is taken as the difference, up to the limit', async (t) => {
  const db = await staged(t, { a: { member_contribution: '80.00' } }, [0]);
  await send(db, post('2026-01-10', { member_contribution: '80.00', effective_end: '2025-12-31' }));
  await send(db, post('2026-01-10', { member_contribution: '110.00' }, 'b'));
  const half: Asked = { ...INCLUDE, recoup: { method: 'amount', value: '10.00' } };
  t.strictSame(await takes(db, half, 1), [
    'adjustment r0 a: -80.00, 0.00 left recoup_capped',
    'adjustment r0 b: 90.00, 20.00 left recoup_capped',
  ]);
  t.strictSame(await takes(db, INCLUDE, 1), [
    'adjustment r0 a: -80.00, 0.00 left',
    'adjustment r0 b: 110.00, 0.00 left',
  ]);
});

onEitherEngine(
  'the sum of a group counts in the taxability of the deduction that started last',
  async (t) => {
    const db = await staged(t, { a: {} }, [0]);
    await send(db, post('2026-01-01', { member_contribution: '8.00', taxability: 'pre_tax' }));
    const group = ['adjustment r0 a: -10.00, 0.00 left', 'adjustment r0 a: 8.00, 0.00 left'];
    t.strictSame(await takes(db, INCLUDE, 1), group, 'it takes 2.00 back from 8.00 of pre-tax deductions');
    await send(db, post('2026-01-01T13:00:00Z', { member_contribution: '1.00', taxability: 'pre_tax' }));
    t.strictSame(await takes(db, INCLUDE, 1), [], '9.00 back from 1.00 waits whole');
  },
);

onEitherEngine('a refund is taken whole if it fits, else it waits for a decision', async (t) => {
  const db = await staged(t, { a: {} }, [0, 1]);
  for (const run of ['r0', 'r1']) await took(db, run, '16.00');
  t.strictSame(await takes(db, INCLUDE, 2), ['arrears r0 a: -6.00, 0.00 left'], '-12.00 of 10.00');
  const large = await itemOf(db, 'r0');
  await took(db, 'r0', '21.00');
  t.strictSame(await takes(db, INCLUDE, 2), ['arrears r1 a: -6.00, 0.00 left'], 'the next one is tried');
  await decideItem(db, await itemOf(db, 'r0'), { action: 'take' });
  t.strictSame(await takes(db, {}, 2), ['arrears r0 a: -11.00, 0.00 left'], 'a decided one is taken whole');
  t.not(large.id, undefined);
});

onEitherEngine('the employer’s amount of an item that was written off is settled with 0.00', async (t) => {
  const db = await staged(t, { a: {} }, [0, 1]);
  const raised = { member_contribution: '12.00', employer_contribution: '5.00' };
  await send(db, post('2025-12-02T00:00:00Z', raised));
  await decideItem(db, await itemOf(db, 'r0'), { action: 'write_off', amount: 200n });
  const all = await lines(db, await bodyUnder(db, 2, {}), 'adjustment');
  t.match(all, [{ adjustment_for: 'r0', member_amount: '0.00', employer_amount: '5.00' }]);
});

onEitherEngine('a pre-tax increase is taken in its tax year, refunds and arrears in any', async (t) => {
  const db = await staged(t, { a: { taxability: 'pre_tax' } }, [-1, 0]);
  await took(db, 'r-1', '4.00');
  await send(db, election('2025-12-02T00:00:00Z', { member_contribution: '12.00' }));
  const ofThisYear = 'adjustment r0 a: 2.00, 0.00 left';
  t.strictSame(await takes(db, INCLUDE, 1), [ofThisYear, 'arrears r-1 a: 6.00, 0.00 left']);
  const december: Asked = { kind: 'off_cycle', employee_ids: ['e'], pay_date: '2025-12-31' };
  t.strictSame(await takes(db, { ...INCLUDE, ...december }, 0), [
    'adjustment r-1 a: 2.00, 0.00 left',
    'arrears r-1 a: 6.00, 0.00 left',
  ]);
  await send(db, election('2025-12-03T00:00:00Z', { member_contribution: '9.00' }));
  t.match(await takes(db, INCLUDE, 1), [/^adjustment r-1 a: -1.00/, /^adjustment r0 a: -1.00/, /^arrears/]);
});

onEitherEngine('a settled item does not decide whether pre-tax deductions rise or fall', async (t) => {
  const db = await staged(t, { a: { taxability: 'pre_tax' } }, [0]);
  await send(db, election('2026-01-17', { member_contribution: '20.00' }));
  await decideItem(db, await itemOf(db, 'r0'), { action: 'take' });
  await finalized(db, 'r2', await bodyUnder(db, 2, {}));
  await send(db, election('2026-01-31', { member_contribution: '9.00' }));
  const flags = (await itemsIn(db, body(3))).map(({ identity, line }) =>
    [identity.source, ...line.flags].join(' '),
  );
  t.strictSame(flags, ['r0 retro_refund', 'r2 retro_refund']);
});

test('an opening item with the id of a run does not limit the arrears of the run', async (t, db) => {
  await opening(db, 'r0', '-6.00', 'a');
  const all = [
    'arrears r0 a: -6.00, 0.00 left',
    'arrears r0 a: 10.00, 0.00 left',
    'arrears r1 a: 10.00, 0.00 left',
  ];
  t.strictSame(await takes(db, INCLUDE, 2), all);
  await finalized(db, 'r2', await bodyUnder(db, 2, INCLUDE));
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
  await send(db, post('2026-01-31', { member_contribution: '8.00' }));
  const arrears = async () => (await takes(db)).filter((line) => line.startsWith('arrears'));
  t.strictSame(await arrears(), ['arrears r0 a: 4.00, 2.00 left']);
  await send(db, post('2026-02-01', { member_contribution: '2.00' }));
  t.strictSame(await arrears(), [], '2.00 in total are to be returned');
});

onEitherEngine('items that need a decision are not taken without one', async (t) => {
  const deductions: Readonly<Record<string, Fields>> = { b: { taxability: 'pre_tax' }, c: {} };
  const db = await staged(t, deductions);
  await finalized(db, 'december', body(-1));
  for (const [id, fields] of Object.entries(deductions))
    await send(db, post('2026-01-31', { ...fields, member_contribution: '12.00' }, id));
  const sources = async () => (await takes(db)).map((line) => line.split(':')[0]);
  const usual = ['r0', 'r1', 'r2'].map((run) => `adjustment ${run} c`);
  t.strictSame(await sources(), usual, 'a retroactive pre-tax change and an earlier year need a decision');
  for (const item of await itemsIn(db, body(3))) await decideItem(db, item, { action: 'take' });
  const bound = (await sources()).filter((line) => line?.includes('december'));
  t.strictSame(bound, ['adjustment december c'], 'a pre-tax increase is bound to its year');
});

test('an off-cycle run takes the items that it names, and refuses others', async (t, db) => {
  const [first, second] = await itemsIn(db, body(3));
  const off: Partial<RunBody> = { kind: 'off_cycle', employee_ids: ['e'] };
  t.strictSame(await takes(db, { ...off, ...INCLUDE, items: [second?.id as string] }), [
    'arrears r1 a: 10.00, 0.00 left',
  ]);
  await setPolicy(db, {});
  const problems = (fields: Partial<RunBody>) => refusedRun(db, body(3, { ...off, ...fields }));
  t.strictSame(await problems({ items: [first?.id as string] }), ['items[0]: needs the decision take']);
  t.strictSame(await problems({ items: ['arrears:r9:e:a:medical:pre_tax'] }), [
    'items[0]: is no open item of an employee in the run',
  ]);
  t.strictSame(await problems({ kind: 'regular', items: [first?.id as string] }), [
    'items: is for an off_cycle run: a regular run takes all items',
  ]);
});
