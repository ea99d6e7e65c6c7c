/** Open items that a run takes: decisions, limits, pairs and held refunds. */
import type { Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
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
  LATELY,
  learn,
  lines,
  openItemsOn,
  override,
  put,
  rowsOf,
  send,
  taken,
} from '../../support/payroll.ts';

const TODAY = '2026-02-20';
const INCLUDE: Partial<RunBody> = { adjustments: 'include', arrears: 'include' };

/** e pays 10.00 for medical in each check. Payroll took nothing of the first two ones. */
async function staged(t: Test, fields: object = {}): Promise<Db> {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(db, election('2025-12-01T00:00:00Z', fields));
  for (const place of [0, 1]) {
    await finalized(db, `r${place}`, body(place));
    await taken(db, `r${place}`, { employee_id: 'e', amount: '0.00' });
  }
  return db;
}

/** Returns the lines of items that a run would take: `r0 10.00 left 0.00 recoup_capped`. */
async function items(db: Db, place = 2, fields: Partial<RunBody> = INCLUDE): Promise<string[]> {
  const all = await lines(db, body(place, fields));
  return all
    .filter(({ kind }) => kind !== 'regular')
    .map(({ adjustment_for, opening_id, member_amount, outstanding_after, flags }) =>
      [adjustment_for ?? opening_id, member_amount, 'left', outstanding_after, ...flags].join(' '),
    );
}

type Decision = Parameters<typeof decideItem>[2];

/** Decides about the first outstanding item. */
async function decided(db: Db, decision: Decision): Promise<void> {
  const [item] = await openItemsOn(db, TODAY);
  if (item === undefined) throw new Error('there is no item');
  await decideItem(db, item, decision);
}

onEitherEngine('a run takes decided items, and open ones if the policy includes them', async (t) => {
  const db = await staged(t);
  t.strictSame(await items(db, 2, { arrears: 'decided' }), []);
  t.strictSame(await items(db), ['r0 10.00 left 0.00', 'r1 10.00 left 0.00']);
  await decided(db, { action: 'take' });
  t.strictSame(await items(db, 2, { arrears: 'decided' }), ['r0 10.00 left 0.00']);
  await decided(db, { action: 'hold' });
  t.strictSame(await items(db), ['r1 10.00 left 0.00']);
});

onEitherEngine('an item is taken from a date on, and a part of it once over all runs', async (t) => {
  const db = await staged(t);
  await decided(db, { action: 'take', amount: 400n, notBefore: '2026-02-13' });
  t.strictSame(await items(db, 2, { arrears: 'decided' }), []);
  t.strictSame(await items(db, 3, { arrears: 'decided' }), ['r0 4.00 left 6.00']);
  await finalized(db, 'r3', body(3, { arrears: 'decided' }));
  t.strictSame(await items(db, 4), ['r1 10.00 left 0.00'], 'the part needs a new decision');
});

onEitherEngine(
  'the limit takes items of a line of coverage in order, and refunds do not raise it',
  async (t) => {
    const db = await staged(t);
    await send(db, election('2026-01-25T00:00:00Z', { member_contribution: '9.00' }));
    const recoup = { method: 'multiple', value: '1.5' } as const;
    t.strictSame(await items(db, 2, { ...INCLUDE, recoup }), [
      // The sum of both items of a run is 9.00, and 1.5 × 9.00 = 13.50.
      'r0 -1.00 left 0.00 retro_refund',
      'r1 -1.00 left 0.00 retro_refund',
      'r0 9.00 left 1.00 recoup_capped',
      'r1 4.50 left 5.50 recoup_capped',
    ]);
    t.strictSame(await items(db, 2, { ...INCLUDE, recoup: { method: 'amount', value: '9.00' } }), [
      'r0 -1.00 left 0.00 retro_refund',
      'r1 -1.00 left 0.00 retro_refund',
      'r0 9.00 left 1.00 recoup_capped',
    ]);
    const all = ['r0 9.00 left 1.00', 'r1 9.00 left 1.00'];
    t.strictSame((await items(db)).slice(2), all, 'what is owed of a run and deduction is no limit');
    await learn(db, employment('e', { termination_date: '2026-01-20' }));
    t.strictSame((await items(db, 2, { ...INCLUDE, recoup })).slice(2), all, 'the last check has no limit');
  },
);

onEitherEngine('the limit follows the last regular amount above zero, without overrides', async (t) => {
  const db = await staged(t);
  await send(db, election('2026-01-20T00:00:00Z', { effective_end: '2026-01-17' }));
  const recoup = { method: 'multiple', value: '0.5' } as const;
  t.strictSame(await items(db, 2, { ...INCLUDE, recoup }), ['r0 5.00 left 5.00 recoup_capped']);
  const overridden = await staged(t);
  await put(overridden, 'r2', body(2));
  await override(overridden, 'r2', 'e', 'a', { member: '4.00' });
  await finalize(overridden, 'r2');
  await send(overridden, election('2026-02-01T00:00:00Z', { effective_end: '2026-01-31' }));
  t.strictSame(await items(overridden, 3, { ...INCLUDE, recoup }), ['r0 5.00 left 5.00 recoup_capped']);
});

onEitherEngine('a pair is taken whole, or not at all', async (t) => {
  const db = await staged(t);
  // Both checks should have been dental: −10.00 of medical and 11.00 of dental each.
  const dental = { line_of_coverage: 'dental', member_contribution: '11.00' } as const;
  await send(db, election('2026-01-25T00:00:00Z', dental));
  await taken(db, 'r0', { employee_id: 'e', amount: '10.00' });
  await taken(db, 'r1', { employee_id: 'e', amount: '10.00' });
  const limited = { ...INCLUDE, recoup: { method: 'amount', value: '0.50' } } as const;
  t.strictSame(await items(db, 2, limited), [
    'r0 11.00 left 0.00 retro_pre_tax recoup_capped',
    'r0 -10.00 left 0.00 retro_refund recoup_capped',
  ]);
});

onEitherEngine('refunds are held from the last one back, unless they were decided', async (t) => {
  const db = await staged(t, { member_contribution: '10.00' });
  for (const run of ['r0', 'r1']) await taken(db, run, { employee_id: 'e', amount: '16.00' });
  t.strictSame(await items(db), ['r0 -6.00 left 0.00', 'r1 -4.00 left -2.00 refund_held']);
  const [, last] = await openItemsOn(db, TODAY);
  await decideItem(db, last as NonNullable<typeof last>, { action: 'take' });
  t.strictSame(await items(db), ['r0 -4.00 left -2.00 refund_held', 'r1 -6.00 left 0.00']);
  await learn(db, employment('e', { termination_date: '2026-01-20' }));
  t.strictSame(await items(db), ['r0 -6.00 left 0.00', 'r1 -6.00 left 0.00'], 'the last check');
});

onEitherEngine('the employer’s amount of an item that was written off is settled with 0.00', async (t) => {
  const db = await staged(t);
  for (const run of ['r0', 'r1']) await taken(db, run, { employee_id: 'e', amount: '10.00' });
  const raised = { member_contribution: '12.00', employer_contribution: '5.00' };
  await send(db, election('2025-12-02T00:00:00Z', raised));
  await decided(db, { action: 'write_off', amount: 200n });
  const all = await lines(db, body(2, { adjustments: 'decided' }), 'adjustment');
  t.match(all, [{ adjustment_for: 'r0', member_amount: '0.00', employer_amount: '5.00' }]);
});

onEitherEngine('a pre-tax difference is taken in its tax year, arrears in any', async (t) => {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(db, election('2025-11-01T00:00:00Z'));
  await finalized(db, 'r', body(-1));
  await taken(db, 'r', { employee_id: 'e', amount: '4.00' });
  await send(db, election('2025-11-02T00:00:00Z', { member_contribution: '12.00' }));
  t.strictSame(await items(db, 0), ['r 6.00 left 0.00']);
  t.strictSame(await items(db, -1, { ...INCLUDE, kind: 'off_cycle', employee_ids: ['e'] }), [
    'r 2.00 left 0.00',
    'r 6.00 left 0.00',
  ]);
});

onEitherEngine('an opening item with the id of a run does not limit the arrears of the run', async (t) => {
  const db = await staged(t);
  const opening = rowsOf({
    ...{ id: 'r0', employee_id: 'e', deduction_id: 'a', line_of_coverage: 'medical', taxability: 'pre_tax' },
    ...{ member_amount: '-6.00', employer_amount: '0.00', pay_date: '2025-12-01' },
  });
  await bringOpeningItems(db, EMPLOYER, opening, acting(LATELY));
  t.strictSame(await items(db), ['r0 -6.00 left 0.00', 'r0 10.00 left 0.00', 'r1 10.00 left 0.00']);
});
