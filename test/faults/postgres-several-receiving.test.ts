/** Several sidecars on one database receive and apply at the same time. */
import { EventEmitter, once } from 'node:events';
import { sql } from 'kysely';
import t from 'tap';
import { transact, transactionsRetried } from '../../src/database/transaction.ts';
import { createIntake } from '../../src/inbox/intake.ts';
import { lockLedger, moveLedger } from '../../src/ledger/position.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { open, scratch } from '../database/scratch.ts';
import { liftTimeLimits, useOwnPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';

await useOwnPostgres();

const ROUNDS = 4;

t.test('one applies at a time, and continues where the previous one ended', async (t) => {
  const { db, url } = await scratch(t);
  const other = open(t, url);
  const signals = new EventEmitter();
  const locked = once(signals, 'locked');
  const first = transact(db, async (trx) => {
    await liftTimeLimits(trx);
    const position = await lockLedger(trx);
    signals.emit('locked');
    await once(signals, 'go on');
    await moveLedger(trx, position + 7);
  });
  await locked;
  const second = transact(other, async (trx) => {
    await liftTimeLimits(trx);
    return lockLedger(trx);
  });
  const waiting = () => sql<{ n: number }>`select count(*) as n from pg_locks where not granted`.execute(db);
  await eventually('the second waits', waiting, ({ rows }) => rows[0]?.n === 1);
  const head = await other.selectFrom('ledger_head').selectAll().execute();
  t.match(head, [{ position: 0 }], 'readers do not wait');
  signals.emit('go on');
  await first;
  t.equal(await second, 7);
});

t.test('two sidecars store the same ids at once, in opposite orders, without a deadlock', async (t) => {
  const { db, url } = await scratch(t);
  const intakes = [1, 2].map(() =>
    createIntake({
      db: open(t, url),
      receivedAt: () => '2026-03-01T12:00:00.000Z',
      log: silentLog,
      onStored: () => {},
      onFatal: (error) => t.fail('nothing fatal happens', { error }),
    }),
  );
  const before = transactionsRetried();
  const ids = Array.from({ length: 200 }, (_, n) => `event-${n}`);
  for (let round = 0; round < ROUNDS; round += 1) {
    const orders = [ids, ids.toReversed()];
    for (const body of ['first', 'other']) {
      const accepting = intakes.flatMap(({ accept }, index) =>
        orders[index]?.map((id) => accept({ eventId: `${round} ${id}`, body: Buffer.from(body) })),
      );
      await Promise.all(accepting);
    }
  }
  const rows = await db.selectFrom('inbox').select('body').execute();
  t.equal(rows.length, ROUNDS * ids.length, 'each id is one row');
  t.ok(rows.every(({ body }) => body?.equals(Buffer.from('first'))));
  const conflicts = await db.selectFrom('event_conflicts').select('event_id').execute();
  t.equal(conflicts.length, rows.length, 'the other body is one conflict');
  t.equal(transactionsRetried() - before, 0, 'no deadlock occurred');
});
