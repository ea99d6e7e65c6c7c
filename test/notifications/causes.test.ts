/** What a transaction decides is told by this transaction. */

import { awaitCensus, failSyncs } from '../../src/census/syncs.ts';
import { transact } from '../../src/database/transaction.ts';
import { applySignals, pauseSending } from '../../src/outbox/circuit-breaker.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { PAY_DATE, startPayroll } from '../api/payroll-stage.ts';
import { askSync, heldSync, needOf } from '../census/parts.ts';
import { scratch } from '../database/scratch.ts';
import { owe, START, sending, setClock } from '../outbox/parts.ts';
import { inTurn } from '../outbox/stub-service.ts';
import { onEitherEngine } from '../support/engine.ts';
import { adopt, told } from './parts.ts';

onEitherEngine('a run that is finalized and voided', async (t) => {
  const { db, put, finalize, post } = await startPayroll(t);
  await adopt(db);
  await put('r');
  await finalize('r');
  t.equal((await post('/r/void', { reason: 'a test' })).status, 200);
  const run = { run_id: 'r', employer_id: 'acme', pay_date: PAY_DATE };
  t.match(await told(db), [
    ['run.finalized', { ...run, employer_id: String }],
    ['run.voided', { ...run, employer_id: String }],
  ]);
});

onEitherEngine('an event that is quarantined', async (t) => {
  const { db } = await scratch(t);
  await adopt(db);
  await deliver(db, [deductionOf('evt-bad', { member_contribution: 'much' }), deductionOf('evt-good', {})]);
  t.strictSame(await told(db), [['event.quarantined', { event_id: 'evt-bad' }]]);
});

onEitherEngine('an employment change that is rejected', async (t) => {
  const { db, loop } = await sending(t, inTurn(422));
  await adopt(db);
  await owe(db, 'r-1', 'e-1');
  await loop.runOnce();
  t.strictSame(await told(db), [['change.rejected', { change_id: 'r-1', employee_id: 'e-1' }]]);
});

onEitherEngine('sending that is paused, once, and resumed', async (t) => {
  const { db } = await scratch(t);
  await adopt(db);
  const pause = () => transact(db, (trx) => pauseSending(trx, '401', START));
  t.strictSame([await pause(), await pause()], [true, false]);
  const success = { probe: true, subject: 'employee:e', status: 200, reason: '', isFirst: false };
  const signal = { ...success, responded: true, isDelivered: true, isWrongTarget: false };
  await transact(db, (trx) => applySignals(trx, [signal], START));
  t.strictSame(await told(db), [
    ['sending.paused', {}],
    ['sending.resumed', {}],
  ]);
});

onEitherEngine('a census sync that waits, is held or failed, when its state or reason changes', async (t) => {
  const { db } = await scratch(t);
  await adopt(db);
  const { sync_id, request_id } = await askSync(db, 'acme', 'evt-1', START.toISOString());
  const upload = String(request_id);
  const wait = (reason: string) =>
    transact(db, (trx) => awaitCensus(trx, upload, needOf(reason, 'census-too-old')));
  await wait('none: stage one');
  await wait('none: stage one');
  await wait('too old: stage a new one');
  await transact(db, (trx) => failSyncs(trx, upload, needOf('status 422')));
  const held = await heldSync(db, setClock(), 'oak');
  const acme = { sync_id, employer_id: 'acme' };
  const waiting = ['census.needed', { ...acme, state: 'waiting', reason: 'census-too-old' }];
  t.strictSame(await told(db), [
    waiting,
    waiting,
    ['census.needed', { ...acme, state: 'failed', reason: 'upload-rejected' }],
    ['census.needed', { sync_id: held, employer_id: 'oak', state: 'held', reason: 'employees-missing' }],
  ]);
});
