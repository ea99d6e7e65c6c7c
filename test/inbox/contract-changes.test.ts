import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { CONTRACT_CHANGED, verifyChanges } from '../../src/inbox/contract-changes.ts';
import { viewWholeEvent } from '../../src/inbox/event-views.ts';
import { dismissEvent, getEvent, reprocessEvent, type WholeEvent } from '../../src/inbox/events.ts';
import { adoptTypes } from '../../src/notifications/store.ts';
import { listNotifications } from '../../src/notifications/view.ts';
import { apply, deductionOf, deliver, eventOf } from '../api/deliver.ts';
import { deduction } from '../contract/samples.ts';
import { scratch } from '../database/scratch.ts';
import { notifyConfig } from '../notifications/parts.ts';
import { ACTING } from '../support/audit.ts';
import { differencesOf } from '../support/differences.ts';
import { onEitherEngine } from '../support/engine.ts';

const QUESTION = { now: new Date(), clockWarning: null, silentAfterMs: null } as never;

const reported = async (db: Db) =>
  (await CONTRACT_CHANGED.find(db, QUESTION)).map((found) => CONTRACT_CHANGED.text?.(found));
const dismiss = (db: Db, id: string) => transact(db, (trx) => dismissEvent(trx, id, 'read', ACTING));
const viewed = async (db: Db, id: string) => viewWholeEvent(db, (await getEvent(db, id)) as WholeEvent, true);

onEitherEngine('a change has its first and its last event, and one notification', async (t) => {
  const { db } = await scratch(t);
  await adoptTypes(db, notifyConfig('http://127.0.0.1'));
  await deliver(db, [deductionOf('evt-1', {}), deductionOf('evt-2', { tier: 1 })]);
  await deliver(db, [deductionOf('evt-3', { tier: 1, period: 'daily' }), deductionOf('evt-4', { tier: 1 })]);
  await deliver(db, [eventOf('evt-5', 'employee.deduction_updated', deduction)]);
  t.strictSame(await reported(db), [
    'evt-3: a new value of data.period (employee.deduction-updated)',
    'evt-2: a new field data.tier (employee.deduction-updated, last in evt-4)',
    'evt-5: a new event type (employee.deduction_updated)',
  ]);
  const { data } = await listNotifications(db, { type: 'contract.changed' }, { limit: 9 });
  const event_type = 'employee.deduction-updated';
  t.strictSame(data.map((notification) => notification.data).toReversed(), [
    { event_id: 'evt-2', event_type, field: 'data.tier', kind: 'field' },
    { event_id: 'evt-3', event_type, field: 'data.period', kind: 'value' },
    { event_id: 'evt-5', event_type: 'employee.deduction_updated', field: 'event_type', kind: 'event_type' },
  ]);
});

onEitherEngine('dismissing the first event of a change ends its warning', async (t) => {
  const { db } = await scratch(t);
  await deliver(db, [deductionOf('evt-1', { tier: 1 }), deductionOf('evt-2', { tier: 1 })]);
  t.match(await viewed(db, 'evt-1'), { state: 'applied', flags: ['contract-changed'], next_step: 'dismiss' });
  t.match(await viewed(db, 'evt-2'), { flags: [], next_step: 'none' });
  await t.rejects(dismiss(db, 'evt-2'), { code: 'CONFLICT' });
  t.equal(await dismiss(db, 'evt-1'), true);
  await deliver(db, [deductionOf('evt-3', { tier: 1 })]);
  t.strictSame(await reported(db), [], 'known now');
  await deliver(db, [deductionOf('evt-4', { network: 1 })]);
  t.match(await reported(db), [/^evt-4: a new field data\.network/]);
});

onEitherEngine('an event that is applied again is not the last one', async (t) => {
  const { db } = await scratch(t);
  await deliver(db, [deductionOf('evt-1', { tier: 1 }), deductionOf('evt-2', { tier: 1 })]);
  await transact(db, (trx) => reprocessEvent(trx, 'evt-1', ACTING));
  await apply(db);
  t.match(await reported(db), [/last in evt-2/]);
});

onEitherEngine('an event that does not exist is a difference', async (t) => {
  const { db } = await scratch(t);
  await deliver(db, [deductionOf('evt-1', { tier: 1 })]);
  t.strictSame(await differencesOf((on) => verifyChanges(db, on)), []);
  await transact(db, (trx) => trx.updateTable('contract_changes').set({ last_event_id: 'gone' }).execute());
  t.match(await differencesOf((on) => verifyChanges(db, on)), [
    { table: 'contract_changes', field: 'last_event_id' },
  ]);
});

onEitherEngine('at most 100 changes are stored, whatever a sender makes up', async (t) => {
  const { db } = await scratch(t);
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  const names = letters.flatMap((first) => letters.slice(0, 6).map((second) => `${first}_${second}`));
  await deliver(
    db,
    names.map((name) => deductionOf(`evt-${name}`, { [name]: 1 })),
  );
  t.equal((await reported(db)).length, 100);
});
