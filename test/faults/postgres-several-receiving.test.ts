/** Several sidecars on one database receive and apply at the same time. */
import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { Client } from 'pg';
import t, { type Test } from 'tap';
import { completeSyncs, requestSync } from '../../src/census/syncs.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact, transactionsRetried } from '../../src/database/transaction.ts';
import { createApplyLoop } from '../../src/inbox/apply.ts';
import { createIntake, type Intake } from '../../src/inbox/intake.ts';
import { lockLedger, moveLedger } from '../../src/ledger/position.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { open, scratch } from '../database/scratch.ts';
import { startApplying } from '../inbox/applying.ts';
import { deduction, deductionBody, syncBody } from '../inbox/bodies.ts';
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

t.test('two sidecars receive and apply each event once, on positions without a gap', async (t) => {
  const { db, url } = await scratch(t);
  const deductions = Array.from({ length: 1_950 }, (_, n) => {
    const created_at = new Date(now().getTime() + n).toISOString();
    const data = { id: `ded-${n % 100}`, member_contribution: String(n) };
    return arrival(`event-${n}`, deductionBody(data, { created_at }));
  });
  const employers = ['a', 'b', 'c', 'd', 'e'];
  const syncs = Array.from({ length: 50 }, (_, n) =>
    arrival(`sync-${n}`, syncBody('sync-request', employers[n % employers.length])),
  );
  const events = deductions.flatMap((event, n) =>
    n < syncs.length ? [event, syncs[n] as typeof event] : event,
  );
  const stop = new AbortController();
  const all = Promise.withResolvers<void>();
  let applied = 0;
  const count = (more: number) => {
    applied += more;
    if (applied >= events.length) all.resolve();
  };
  const sides = [side(t, url, count), side(t, url, count)] as const;
  const running = sides.map(({ run }) => run(stop.signal));
  const before = transactionsRetried();
  const followed = follow(db, deductions.length);
  // Every tenth event is delivered to both, as a sender does after a late response.
  await Promise.all(
    events.flatMap((event, n) => {
      const [one, other] = n % 2 === 0 ? sides : [...sides].reverse();
      return n % 10 === 0
        ? [one, other].map((each) => each?.intake.accept(event))
        : one?.intake.accept(event);
    }),
  );
  await all.promise;
  stop.abort();
  await Promise.all(running);

  t.equal(applied, events.length);
  const versions = await db
    .selectFrom('deduction_versions')
    .select(['position', 'event_id'])
    .orderBy('position')
    .execute();
  const positions = versions.map(({ position }) => position);
  t.strictSame(
    positions,
    deductions.map((_, index) => index + 1),
  );
  t.strictSame(await followed, positions, 'a client that follows the feed at the same time misses none');
  t.strictSame(
    new Set(versions.map(({ event_id }) => event_id)),
    new Set(deductions.map(({ eventId }) => eventId)),
  );
  const latest = await db
    .selectFrom('deductions')
    .innerJoin('deduction_versions', 'deduction_versions.position', 'deductions.position')
    .select('member_contribution')
    .execute();
  t.strictSame(
    latest.map((row) => Number(row.member_contribution)).sort((one, other) => one - other),
    Array.from({ length: 100 }, (_, n) => 1_850 + n),
    'the last event of each deduction',
  );
  const uploads = await db.selectFrom('outbox').select('subject_id').orderBy('subject_id').execute();
  t.strictSame(
    uploads.map(({ subject_id }) => subject_id),
    employers,
    'one upload serves all syncs of an employer',
  );
  t.equal(transactionsRetried() - before, 0, 'no deadlock occurred');
});

/** Reads the feed like a client that polls it for what follows the last position. */
async function follow(db: Db, until: number): Promise<number[]> {
  const seen: number[] = [];
  while (seen.length < until) {
    const rows = await db
      .selectFrom('deduction_versions')
      .select('position')
      .where('position', '>', seen.at(-1) ?? 0)
      .orderBy('position')
      .execute();
    seen.push(...rows.map(({ position }) => position));
    if (rows.length === 0) await delay(1);
    if ((seen.at(-1) ?? 0) > seen.length) break;
  }
  return seen;
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
  t.match(
    await other.selectFrom('ledger_head').selectAll().execute(),
    [{ position: 0 }],
    'readers do not wait',
  );
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

t.test('an applier that loses its connection quarantines nothing and retries', async (t) => {
  const aborting = new AbortController();
  let losing = 2;
  const { store, loop, states, logged, ledger } = await startApplying(t, {
    effects: {
      requestSync: async (trx) => {
        losing -= 1;
        if (losing >= 0) await sql`select pg_terminate_backend(pg_backend_pid())`.execute(trx);
      },
    },
    onApplied: () => aborting.abort(),
  });
  await store(deduction('a'), ['sync', syncBody('sync-request')], deduction('b'));
  await loop.run(aborting.signal);
  t.ok(losing < 0, 'the connection was lost twice');
  t.match(logged, [/^events could not be applied: trying again /]);
  t.strictSame(await states(), ['a: applied', 'sync: applied', 'b: applied']);
  t.strictSame(await ledger(), ['a', 'b']);
});

t.test('events whose connection is lost are rejected, and nothing is stored', async (t) => {
  const { db, url } = await scratch(t);
  const { intake } = side(t, url, () => {});
  const other = new Client(url);
  await other.connect();
  t.teardown(() => other.end());
  await other.query('begin');
  await other.query('lock table inbox in exclusive mode');
  const outcome = intake.accept(arrival('event')).catch((error) => error);
  const kill = async () => {
    const { rows } = await sql`
        select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'`.execute(db);
    return rows.length;
  };
  await eventually('it waits', kill, (killed) => killed === 1);
  t.match(await outcome, { code: 'NOT_STORED' });
  await other.query('rollback');
  t.strictSame(await db.selectFrom('inbox').select('event_id').execute(), []);
  await intake.accept(arrival('event'));
  t.strictSame(await db.selectFrom('inbox').select('event_id').execute(), [{ event_id: 'event' }]);
});
