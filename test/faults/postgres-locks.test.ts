/** A sidecar waiting for a hanging one. */
import { EventEmitter, once } from 'node:events';
import { sql } from 'kysely';
import { Client } from 'pg';
import t from 'tap';
import { isUnavailable } from '../../src/database/errors.ts';
import { transact } from '../../src/database/transaction.ts';
import { codeOf } from '../../src/errors.ts';
import { createIntake } from '../../src/inbox/intake.ts';
import { lockLedger, moveLedger } from '../../src/ledger/position.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { open, scratch } from '../database/scratch.ts';
import { startApplying } from '../inbox/applying.ts';
import { deduction } from '../inbox/bodies.ts';
import { liftTimeLimits, useOwnPostgres } from '../support/engine.ts';
import { stretched } from '../support/stretched.ts';
import { startWire } from '../support/wire.ts';

await useOwnPostgres();

t.test('a hanging applier is disconnected, and another one continues within seconds', async (t) => {
  const { store, loop, states, ledger, commits } = await startApplying(t);
  await store(deduction('a'), deduction('b'));
  const signals = new EventEmitter();
  const held = once(signals, 'held');
  const stopped = transact(commits.other, async (trx) => {
    const position = await lockLedger(trx);
    await moveLedger(trx, position + 1);
    signals.emit('held');
    await once(signals, 'continued');
    await moveLedger(trx, position + 2);
  }).catch((error) => error);
  await held;

  const began = performance.now();
  t.match(await loop.runOnce(), { applied: 2 });
  const tookMs = performance.now() - began;
  t.ok(tookMs > 4_000 && tookMs < stretched(7_500), `after ${Math.round(tookMs)} ms`);
  signals.emit('continued');
  const error = await stopped;
  t.match(codeOf(error), /^(25P03|CONNECTION_LOST)$/, 'its next statement fails');
  t.ok(isUnavailable(error));
  t.strictSame(await states(), ['a: applied', 'b: applied']);
  t.strictSame(await ledger(), ['a', 'b']);
});

t.test('while the inbox is locked deliveries get 503 with Retry-After', async (t) => {
  const { db, url } = await scratch(t);
  const other = new Client(url);
  await other.connect();
  t.teardown(() => other.end());
  const fatal: unknown[] = [];
  const intake = createIntake({
    db,
    receivedAt: () => new Date().toISOString(),
    log: silentLog,
    onStored: () => {},
    onFatal: (error) => fatal.push(error),
  });
  const body = Buffer.from('x');
  // A session without timeouts, like a person's.
  await other.query('begin');
  await other.query('lock table inbox in exclusive mode');

  const began = performance.now();
  const waiting = ['a', 'b', 'c'].map((eventId) => intake.accept({ eventId, body }));
  const outcomes = await Promise.allSettled(waiting);
  const tookMs = performance.now() - began;
  for (const outcome of outcomes) t.match(outcome, { status: 'rejected', reason: { code: 'NOT_STORED' } });
  t.ok(tookMs > 7_000 && tookMs < stretched(14_500), `after ${Math.round(tookMs)} ms`);
  t.strictSame(fatal, []);

  const late = intake.accept({ eventId: 'late', body });
  await other.query('rollback');
  await late;
  const stored = await db.selectFrom('inbox').select('event_id').where('event_id', '=', 'late').execute();
  t.equal(stored.length, 1);
});

t.test('a connection without a response is dropped and not reused', async (t) => {
  const { db } = await scratch(t);
  const began = performance.now();
  await t.rejects(sql`select pg_sleep(60)`.execute(db), { code: 'CONNECTION_LOST' });
  const tookMs = performance.now() - began;
  t.ok(tookMs > 11_000 && tookMs < stretched(15_000), `after ${Math.round(tookMs)} ms`);
  t.match(await db.selectFrom('ledger_head').selectAll().execute(), [{ position: 0 }]);
  t.ok(performance.now() - began < tookMs + stretched(2_000), 'the next statement does not wait');
});

t.test('a connection that falls silent inside a transaction costs one time limit', async (t) => {
  const { url } = await scratch(t);
  const wire = await startWire(t, url);
  const db = open(t, wire.url);
  let silentAt = 0;
  const silent = transact(db, async (trx) => {
    await liftTimeLimits(trx);
    wire.silent = true;
    silentAt = performance.now();
    await lockLedger(trx);
  });
  await t.rejects(silent, { code: 'CONNECTION_LOST' });
  const tookMs = performance.now() - silentAt;
  t.ok(tookMs > 11_000 && tookMs < stretched(15_000), `after ${Math.round(tookMs)} ms`);
});
