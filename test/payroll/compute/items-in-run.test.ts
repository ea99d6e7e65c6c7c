/** Open items from run to run: decided, taken, left and named. */
import type { Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import type { IncomingDeduction } from '../../../src/ledger/fold.ts';
import { centsOf } from '../../../src/money.ts';
import type { OpenItem } from '../../../src/payroll/compute/open-items.ts';
import { putOpeningItems } from '../../../src/payroll/facts/opening-items.ts';
import { previewWithLines } from '../../../src/payroll/lifecycle/begin.ts';
import { type RunBody, runOf, type StatedRun } from '../../../src/payroll/records/body.ts';
import { scratch } from '../../database/scratch.ts';
import { acting } from '../../support/audit.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  body,
  decideItem,
  EMPLOYER,
  election,
  employment,
  finalized,
  itemsIn,
  LATELY,
  learn,
  lines,
  send,
  taken,
  verified,
  view,
  voided,
} from '../../support/payroll.ts';

type Fields = Partial<IncomingDeduction['deduction']>;

/** e has deductions of these lines of coverage; the runs 0 to 2 are finalized. */
async function staged(t: Test, deductions: Readonly<Record<string, Fields>> = { a: {} }): Promise<Db> {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(db, ...Object.entries(deductions).map(([id, fields]) => election('2025-12-01', fields, id)));
  for (const place of [0, 1, 2]) await finalized(db, `r${place}`, body(place));
  return db;
}

const unpaid = async (db: Db, deduction: string, ...runs: string[]) => {
  for (const run of runs) await taken(db, run, { employee_id: 'e', deduction_id: deduction, amount: '0.00' });
};

const INCLUDE: Partial<RunBody> = { adjustments: 'include', arrears: 'include' };

/** Returns `kind run deduction taxability: amount, left` of the lines that take items, in their order. */
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

const opening = (db: Db, openingId: string, member: string, deductionId: string | null = null) =>
  transact(db, (trx) =>
    putOpeningItems(
      trx,
      EMPLOYER,
      [
        {
          ...{ openingId, employeeId: 'e', deductionId, lineOfCoverage: 'medical', taxability: 'pre_tax' },
          ...{ amount: { member: centsOf(member), employer: 0n }, payDate: '2025-06-01' },
        },
      ],
      acting(LATELY),
    ),
  );

onEitherEngine('a run takes decided items, and with include also undecided ones', async (t) => {
  const db = await staged(t);
  await unpaid(db, 'a', 'r0', 'r1');
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
  t.strictSame(
    await takes(db, { arrears: 'include' }, 4),
    ['arrears r1 a: 10.00, 0.00 left'],
    'the rest needs a decision',
  );
  t.match(await verified(db, 'r3'), { identical: true });
  await voided(db, 'r3');
  t.strictSame(
    await takes(db, {}, 4),
    ['adjustment r1 a: 2.00, 0.00 left', 'arrears o : 3.00, 4.00 left'],
    'again',
  );
});

onEitherEngine(
  'a capped line explains the limit, and its base is the last run with a regular amount',
  async (t) => {
    const db = await staged(t, { a: { member_contribution: '130.00' } });
    await unpaid(db, 'a', 'r0', 'r1', 'r2');
    await send(db, election('2026-01-31', { member_contribution: '130.00', effective_end: '2026-02-01' }));
    const fields: Partial<RunBody> = { ...INCLUDE, recoup: { method: 'multiple', value: '1' } };
    const [line] = await lines(db, body(3, fields), 'arrears');
    t.match(line, {
      member_amount: '130.00',
      flags: ['recoup_capped'],
      explanation: /arrears 390\.00 from 3 paychecks; at most 1 × 130\.00 a paycheck: 130\.00; 260\.00 left/,
    });
  },
);

onEitherEngine('the items of a pair are held together', async (t) => {
  const db = await staged(t);
  await send(db, election('2026-01-31', { taxability: 'post_tax', member_contribution: '12.00' }));
  const pair = (run: string) => [
    `adjustment ${run} a: 12.00, 0.00 left`,
    `adjustment ${run} a: -10.00, 0.00 left`,
  ];
  t.strictSame(await takes(db), [...pair('r0'), ...pair('r1'), ...pair('r2')]);
  const [first] = await itemsIn(db, body(3));
  await decideItem(db, first as OpenItem, { action: 'hold' });
  t.strictSame(await takes(db), [...pair('r1'), ...pair('r2')]);
});

onEitherEngine('arrears are taken up to the outstanding sum of their run and deduction', async (t) => {
  const db = await staged(t, { a: {}, b: { line_of_coverage: 'dental', member_contribution: '50.00' } });
  await taken(db, 'r0', { employee_id: 'e', deduction_id: 'a', amount: '4.00' });
  await send(db, election('2026-01-31', { member_contribution: '8.00' }));
  t.strictSame(await takes(db, { arrears: 'include' }), ['arrears r0 a: 4.00, 2.00 left']);
});

onEitherEngine('items that need a decision are not taken without one', async (t) => {
  const deductions: Readonly<Record<string, Fields>> = {
    ...{ a: { line_of_coverage: 'hsa' }, b: {}, c: { taxability: 'post_tax' } },
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
  t.strictSame(
    (await sources()).filter((line) => line?.includes('december')),
    ['adjustment december c'],
    'pre-tax is bound',
  );
});

onEitherEngine('an off-cycle run takes the items that it names, and refuses others', async (t) => {
  const db = await staged(t);
  await unpaid(db, 'a', 'r0', 'r1');
  const [first, second] = await itemsIn(db, body(3));
  const off: Partial<RunBody> = { kind: 'off_cycle', employee_ids: ['e'] };
  t.strictSame(await takes(db, { ...off, arrears: 'include', items: [second?.id as string] }), [
    'arrears r1 a: 10.00, 0.00 left',
  ]);
  const problems = async (fields: Partial<RunBody>) => {
    const checked = runOf(body(3, { ...off, ...fields }));
    if (!checked.ok) return checked.problems;
    return previewWithLines(db, checked.run as StatedRun).then(
      () => [],
      (error) => error.problems,
    );
  };
  t.strictSame(await problems({ items: [first?.id as string] }), [
    { path: 'items[0]', rule: 'needs the decision take' },
  ]);
  t.strictSame(await problems({ items: ['arrears:r9:e:a:medical:pre_tax'] }), [
    { path: 'items[0]', rule: 'is no open item of an employee in the run' },
  ]);
  t.strictSame(await problems({ kind: 'regular', items: [first?.id as string] }), [
    { path: 'items', rule: 'is for an off_cycle run: a regular run takes all items' },
  ]);
});
