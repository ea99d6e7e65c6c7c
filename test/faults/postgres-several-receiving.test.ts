/** Several sidecars on one database receive and apply at the same time. */
import { EventEmitter, once } from 'node:events';
import { sql } from 'kysely';
import t, { type Test } from 'tap';
import { completeSyncs, requestSync } from '../../src/census/syncs.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact, transactionsRetried } from '../../src/database/transaction.ts';
import { createApplyLoop } from '../../src/inbox/apply.ts';
import { createIntake, type Intake } from '../../src/inbox/intake.ts';
import { lockLedger, moveLedger } from '../../src/ledger/position.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { open, scratch } from '../database/scratch.ts';
import { liftTimeLimits, useOwnPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';

await useOwnPostgres();

const now = () => new Date('2026-03-01T12:00:00.000Z');

type Side = { db: Db; intake: Intake; run(signal: AbortSignal): Promise<void> };

/** The receiver of one sidecar, with its own connections. */
function side(t: Test, url: string, onApplied: (events: number) => void): Side {
  const db = open(t, url);
  const onFatal = (error: unknown) => t.fail('nothing fatal happens', { error });
  const loop = createApplyLoop({
    db,
    sharedNow: async () => now(),
    log: silentLog,
    effects: { requestSync, completeSyncs },
    onApplied: ({ applied }) => onApplied(applied),
    onFatal,
  });
  const onStored = ({ accepted }: { accepted: number }) => loop.wake(accepted);
  const intake = createIntake({
    db,
    receivedAt: () => now().toISOString(),
    log: silentLog,
    onStored,
    onFatal,
  });
  return { db, intake, run: loop.run };
}

function arrival(eventId: string, body = eventId) {
  return { eventId, body: Buffer.from(body) };
}

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

for (const [name, bodies] of [
  ['ids', ['first']],
  ['ids with different bodies', ['first', 'other']],
] as const) {
  t.test(`two sidecars store the same ${name} at once, in opposite orders, without a deadlock`, async (t) => {
    const { db, url } = await scratch(t);
    const sides = [side(t, url, () => {}), side(t, url, () => {})];
    const before = transactionsRetried();
    const ids = Array.from({ length: 200 }, (_, n) => `event-${n}`);
    const rounds = 4;
    for (let round = 0; round < rounds; round += 1) {
      const orders = [ids, ids.toReversed()];
      for (const body of bodies) {
        const accepting = sides.flatMap(({ intake }, index) =>
          orders[index]?.map((id) => intake.accept(arrival(`${round} ${id}`, body))),
        );
        await Promise.all(accepting);
      }
    }
    const rows = await db.selectFrom('inbox').select('body').execute();
    t.equal(rows.length, rounds * ids.length, 'each id is one row');
    t.ok(rows.every(({ body }) => body?.equals(Buffer.from('first'))));
    const conflicts = await db.selectFrom('event_conflicts').select('event_id').execute();
    t.equal(conflicts.length, (bodies.length - 1) * rows.length, 'one conflict if the bodies differ');
    t.equal(transactionsRetried() - before, 0, 'no deadlock occurred');
  });
}
