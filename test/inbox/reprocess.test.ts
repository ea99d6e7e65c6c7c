import { transact } from '../../src/database/transaction.ts';
import { reprocessEvent } from '../../src/inbox/events.ts';
import { ACTING } from '../support/audit.ts';
import { onEachEngine } from '../support/engine.ts';
import { startApplying } from './applying.ts';
import { deduction, deductionBody, syncBody } from './bodies.ts';

onEachEngine('a reprocessed event has no second effect in the ledger', async (t) => {
  const { store, loop, states, ledger, db } = await startApplying(t);
  await store(
    deduction('a'),
    ['a-later', deductionBody({ id: 'ded-a', member_contribution: '1' })],
    deduction('b'),
  );
  await loop.runOnce();
  const tables = () =>
    Promise.all([
      db.selectFrom('deduction_versions').selectAll().orderBy('position').execute(),
      db.selectFrom('deductions').selectAll().orderBy('deduction_id').execute(),
    ]);
  const before = await tables();
  for (const eventId of ['a', 'b', 'a']) {
    t.equal(await transact(db, (trx) => reprocessEvent(trx, eventId, ACTING)), 'put back');
    t.ok((await states()).includes(`${eventId}: pending`));
    loop.wake();
    t.match(await loop.runOnce(), { applied: 1 });
  }
  await transact(db, (trx) => reprocessEvent(trx, 'a', ACTING));
  await store(deduction('new'));
  loop.wake();
  t.match(await loop.runOnce(), { applied: 2 }, 'together with a new one');
  t.strictSame(await states(), ['a: applied', 'a-later: applied', 'b: applied', 'new: applied']);
  const [versions, deductions] = await tables();
  t.strictSame(versions.slice(0, 3), before[0]);
  t.strictSame(
    deductions.filter(({ deduction_id }) => deduction_id !== 'ded-new'),
    before[1],
  );
  t.strictSame(await ledger(), ['a', 'a-later', 'b', 'new']);
});

onEachEngine('a failed event is applied when it is reprocessed after the cause is fixed', async (t) => {
  let broken = true;
  const requestSync = async () => {
    if (broken) throw new Error();
  };
  const { store, loop, states, db } = await startApplying(t, { effects: { requestSync } });
  await store(['e', syncBody('sync-request')]);
  t.match(await loop.runOnce(), { quarantined: 1 });
  broken = false;
  await transact(db, (trx) => reprocessEvent(trx, 'e', ACTING));
  loop.wake();
  t.match(await loop.runOnce(), { applied: 1, quarantined: 0 });
  t.strictSame(await states(), ['e: applied']);
});
