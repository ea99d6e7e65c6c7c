import { sql } from 'kysely';
import t, { type Test } from 'tap';
import type { Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { describeLoss, knownLosses } from '../../src/inbox/data-loss.ts';
import { createServerWatch } from '../../src/inbox/server-loss.ts';
import { record } from '../../src/security/audit.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { open, scratch } from '../database/scratch.ts';
import { acting } from '../support/audit.ts';
import { usePostgres } from '../support/engine.ts';
import { pastTriggers } from '../support/past-triggers.ts';

usePostgres();

const NOW = new Date('2026-02-01T00:00:00.000Z');
const at = (day: number): string => `2026-01-0${day}T00:00:00.000Z`;

/** A database with two events and two audit records, which a sidecar has seen. `found` returns what it then finds. */
async function stage(t: Test) {
  const { db, url } = await scratch(t);
  const store = (id: string, day: number) => deliver(db, [deductionOf(id, { id })], at(day));
  const act = (key: string) =>
    transact(db, (trx) => record(trx, acting(NOW), { action: 'key.rotate', resource: key, details: {} }));
  const logged: unknown[] = [];
  const log = { ...silentLog, error: (...line: unknown[]) => logged.push(line) };
  const watch = createServerWatch(db, () => NOW, log);
  await store('a', 1);
  await store('b', 2);
  await act('k1');
  await act('k2');
  await watch.look();
  const found = async () => {
    await watch.look();
    return (await knownLosses(db, NOW)).map(describeLoss);
  };
  return { db, url, store, act, watch, logged, found };
}

const lost: Readonly<Record<'event' | 'position' | 'action', (trx: Trx) => Promise<unknown>>> = {
  event: (trx: Trx) => sql`delete from inbox where event_id = 'b'`.execute(trx),
  position: (trx: Trx) => sql`update ledger_head set position = position - 1`.execute(trx),
  action: async (trx: Trx) => {
    await sql`delete from audit_records where record_id = 2`.execute(trx);
    await sql`update audit_head set record_id = 1,
      hash = (select hash from audit_records where record_id = 1)`.execute(trx);
  },
};

t.test('a running sidecar reports what the server lacks of what it has seen, once', async (t) => {
  const since = 'found at 2026-02-01T00:00:00.000Z that the database lacks';
  const replay = (day: string) => `replay the events from ${day}T20:00:00.000Z onward`;
  const cases = {
    event: `${replay('2025-12-30')}: ${since} up to 1 event, the newest received at ${at(2)}, and their effects`,
    position: `${replay('2025-12-31')}: ${since} everything after position 1`,
    action: `${replay('2025-12-31')}: ${since} the actions after audit record 1`,
  };
  for (const [what, expected] of Object.entries(cases)) {
    const { db, found, logged } = await stage(t);
    t.strictSame(await found(), [], `${what}: nothing is missing`);
    await pastTriggers(db, lost[what as keyof typeof lost]);
    t.strictSame(await found(), [expected]);
    t.strictSame(await found(), [expected]);
    t.equal(logged.length, 1);
  }
});

t.test('an event that took the number of a lost one does not hide the loss', async (t) => {
  const { db, store, act, found, logged } = await stage(t);
  await pastTriggers(db, async (trx) => {
    await lost.event(trx);
    await sql`select setval(pg_get_serial_sequence('inbox', 'seq'), 1)`.execute(trx);
    await lost.action(trx);
  });
  await store('c', 3);
  await act('k3');
  t.match(await found(), [
    /from 2025-12-30T20.* up to 1 event, .* effects, and the actions after audit record 1$/,
  ]);
  t.match(logged, [[{ count: 1, reason: /^replay the events from 2025-12-30T20/ }, String]]);
});

t.test('events stored since the last look count as seen', async (t) => {
  const { watch, found } = await stage(t);
  watch.stored({ seq: 9, received_at: at(3) });
  t.match(await found(), [/lacks up to 7 events, the newest received at 2026-01-03T00/]);
});

t.test('several sidecars record one loss, with the most that any has seen', async (t) => {
  const { db, url, watch, found } = await stage(t);
  const second = createServerWatch(open(t, url), () => new Date(NOW.getTime() + 1), silentLog);
  await second.look();
  watch.stored({ seq: 5, received_at: at(3) });
  await pastTriggers(db, lost.event);
  await second.look();
  t.match(await found(), [/lacks up to 4 events, the newest received at 2026-01-03T00/]);
});
