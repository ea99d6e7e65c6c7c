import t, { type Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import { amountOf } from '../../../src/money.ts';
import { type OpenItem, standingOf } from '../../../src/payroll/compute/item-state.ts';
import type { Decision } from '../../../src/payroll/facts/decisions.ts';
import { NO_TERMS } from '../../../src/payroll/reconciliation/requested-decisions.ts';
import { scratch } from '../../database/scratch.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  body,
  decideItem,
  election,
  employment,
  finalized,
  learn,
  openItemsOn,
  send,
  taken,
} from '../../support/payroll.ts';

const TODAY = '2026-07-10';

/** Returns `kind source deduction: member outstanding of member amount, state`. */
async function brief(db: Db, today = TODAY): Promise<string[]> {
  return (await openItemsOn(db, today)).map(({ identity, line, outstanding, state, reopened }) => {
    const { kind, source, deduction_id } = identity;
    const amounts = `${amountOf(outstanding.member)} of ${amountOf(line.amounts.member)}`;
    return `${kind} ${source} ${deduction_id}: ${amounts} ${state}${reopened === null ? '' : ` (${reopened})`}`;
  });
}

/** e has a medical deduction of 10.00 and a dental one, in two finalized runs. */
async function staged(t: Test): Promise<Db> {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(db, election('2025-12-01'), election('2025-12-01', { line_of_coverage: 'dental' }, 'b'));
  for (const place of [0, 1]) await finalized(db, `r${place}`, body(place));
  return db;
}

/** Decides about the first item, or with an item id of null about the employee. */
async function decided(db: Db, decision: Parameters<typeof decideItem>[2]): Promise<void> {
  const [item] = await openItemsOn(db, TODAY);
  await decideItem(db, item as OpenItem, decision);
}

onEitherEngine('the newest decision that counts decides the state of an item', async (t) => {
  const db = await staged(t);
  await taken(db, 'r0', { employee_id: 'e', deduction_id: 'a', amount: '4.00' });
  const after = async (decision: Parameters<typeof decided>[1]): Promise<string> => {
    await decided(db, decision);
    return (await brief(db)).join().replace('arrears r0 a: ', '');
  };
  t.equal(await after({ action: 'take' }), '6.00 of 6.00 take');
  t.equal(await after({ action: 'hold', until: TODAY }), '6.00 of 6.00 hold');
  t.equal(await after({ action: 'hold', until: '2026-07-09' }), '6.00 of 6.00 open (hold_ended)');
  t.equal(await after({ action: 'take' }), '6.00 of 6.00 take');
  t.equal(await after({ action: 'hold', item_id: null, run_id: null, made_for: null }), '6.00 of 6.00 hold');
  const paid = await after({ action: 'paid_directly', amount: 200n, paid_on: TODAY });
  t.equal(paid, '4.00 of 6.00 open (part_paid)');
  t.equal(await after({ action: 'write_off', amount: 400n }), '0.00 of 6.00 written_off');
  await taken(db, 'r0', { employee_id: 'e', deduction_id: 'a', amount: '3.00' });
  t.strictSame(await brief(db), ['arrears r0 a: 1.00 of 7.00 open (amount_changed)']);
  await taken(db, 'r0', { employee_id: 'e', deduction_id: 'a', amount: '9.00' });
  t.strictSame(await brief(db), ['arrears r0 a: -1.00 of 1.00 open (amount_changed)']);
});

onEitherEngine('an item that was taken or held is open again once its amount grows', async (t) => {
  for (const action of ['take', 'hold'] as const) {
    const db = await staged(t);
    await taken(db, 'r0', { employee_id: 'e', deduction_id: 'a', amount: '4.00' });
    await decided(db, { action });
    await taken(db, 'r0', { employee_id: 'e', deduction_id: 'a', amount: '5.00' });
    t.strictSame(await brief(db), [`arrears r0 a: 5.00 of 5.00 ${action}`], 'a smaller amount');
    await taken(db, 'r0', { employee_id: 'e', deduction_id: 'a', amount: '3.99' });
    t.strictSame(await brief(db), ['arrears r0 a: 6.01 of 6.01 open (amount_changed)'], action);
  }
});

t.test('a take ends once a run took all of an item, whatever a later run takes', (t) => {
  const item = { itemId: 'i', earlierRunId: 'r0', employer: 0n };
  const run = (runId: string, member: bigint) => ({ ...item, runId, decisions: 1, member });
  const amount = { member: 1000n, employer: 0n };
  const take: Decision = {
    ...NO_TERMS,
    ...{ decision_id: 1, employee_id: 'e', item_id: 'i', run_id: 'r0', made_for: amount },
    action: 'take',
    ...{ reason: 'a test', record_id: 1, recorded_at: TODAY },
  };
  const after = (...taken: ReturnType<typeof run>[]) => standingOf(amount, taken, [take], TODAY);
  t.match(after(run('r1', 400n)), { state: 'take', outstanding: { member: 600n } });
  // Payroll reported another amount of r1 after r2 took the rest.
  t.match(after(run('r1', 1000n), run('r2', -600n)), { state: 'open', reopened: 'amount_changed' });
  t.match(after(run('r1', 400n), run('r2', 600n)), { state: 'settled' });
  t.end();
});

onEitherEngine('an amount paid directly comes back if nothing is due of its item any more', async (t) => {
  const db = await staged(t);
  await send(db, election('2025-12-02', { member_contribution: '12.00' }));
  await decided(db, { action: 'paid_directly', amount: 200n, paid_on: TODAY });
  await send(db, election('2025-12-03', { member_contribution: '10.00' }));
  t.strictSame(await brief(db), ['adjustment r0 a: -2.00 of 0.00 open (amount_changed)']);
});

onEitherEngine('a decision stands for what is outstanding after an earlier payment', async (t) => {
  const db = await staged(t);
  await taken(db, 'r0', { employee_id: 'e', deduction_id: 'a', amount: '4.00' });
  await decided(db, { action: 'paid_directly', amount: 600n, paid_on: TODAY });
  await taken(db, 'r0', { employee_id: 'e', deduction_id: 'a', amount: '5.00' });
  await decided(db, { action: 'take' });
  t.strictSame(await brief(db), ['arrears r0 a: -1.00 of 5.00 take']);
});
