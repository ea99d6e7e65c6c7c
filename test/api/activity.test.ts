import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { dismissEvent } from '../../src/inbox/events.ts';
import { pauseSending } from '../../src/outbox/circuit-breaker.ts';
import { enqueue } from '../../src/outbox/queue.ts';
import { createReceivingCounts } from '../../src/telemetry/counts.ts';
import { engineOf, onEitherEngine } from '../support/engine.ts';
import { onlyReceived } from '../telemetry/still.ts';
import { deductionOf, deliver, eventOf, receive } from './deliver.ts';
import { NOW, start } from './start.ts';

onEitherEngine('a new database shows nothing, and sending active', async (t) => {
  const { call } = await start(t);
  const { status, json } = await call({ url: '/v1/activity' });
  t.equal(status, 200);
  const { minutes, database_bytes, disk_free_bytes, ...rest } = json;
  t.strictSame(rest, {
    events: { pending: 0, oldest_pending_at: null, quarantined: 0, conflicts: 0, last_received_at: null },
    requests: { pending: 0, sending: 0, rejected: 0, oldest_unfinished_at: null },
    circuit_breaker: { state: 'active', reason: null, paused_at: null },
    counted_since: NOW.toISOString(),
    position: 0,
  });
  t.equal(minutes.length, 60);
  t.ok(database_bytes > 10_000, `${database_bytes} bytes`);
  if (engineOf(t) === 'postgres') t.equal(disk_free_bytes, null);
  else t.ok(disk_free_bytes > 0, `${disk_free_bytes} bytes free`);
});

onEitherEngine('pending work and open problems are counted, and dismissed ones are not', async (t) => {
  const { call, db } = await start(t);
  await deliver(db, [deductionOf('e1', {}), deductionOf('e2', {}, '2026-01-11T00:00:00Z')]);
  await deliver(db, [eventOf('q1', 'employee.deduction-updated', {})], '2026-01-16T00:00:00.000Z');
  await deliver(db, [eventOf('q2', 'employee.deduction-updated', {})], '2026-01-17T00:00:00.000Z');
  await receive(db, [eventOf('e1', 'x', {}), eventOf('e2', 'x', {}), eventOf('e2', 'y', {})]);
  await receive(db, [deductionOf('p1', {})], '2026-01-18T00:00:00.000Z');
  await receive(db, [deductionOf('p2', {})], '2026-01-19T00:00:00.000Z');
  await requests(db);
  await transact(db, (trx) => pauseSending(trx, 'the service responded with 401', NOW));
  const { events, requests: owed, circuit_breaker, position } = (await call({ url: '/v1/activity' })).json;
  t.strictSame(events, {
    pending: 2,
    oldest_pending_at: '2026-01-18T00:00:00.000Z',
    quarantined: 2,
    conflicts: 2,
    last_received_at: '2026-01-19T00:00:00.000Z',
  });
  t.strictSame(owed, {
    pending: 1,
    sending: 1,
    rejected: 1,
    oldest_unfinished_at: '2026-01-20T00:00:00.000Z',
  });
  t.strictSame(circuit_breaker, {
    state: 'paused',
    reason: 'the service responded with 401',
    paused_at: NOW.toISOString(),
  });
  t.equal(position, 2);

  const dismiss = (id: string) => transact(db, (trx) => dismissEvent(trx, id, 'seen', NOW.toISOString()));
  await dismiss('q1');
  await dismiss('e2');
  t.match((await call({ url: '/v1/activity' })).json.events, { quarantined: 1, conflicts: 1 });
});

/** One row of each state. */
async function requests(db: Db): Promise<void> {
  const states = ['delivered', 'pending', 'sending', 'rejected', 'canceled'] as const;
  await transact(db, async (trx) => {
    for (const [index, state] of states.entries()) {
      const request = {
        requestId: `r-${state}`,
        kind: 'termination',
        subject_type: 'employee',
        subject_id: String(index),
        encrypted: null,
      } as const;
      await enqueue(trx, [request], `2026-01-${19 + index}T00:00:00.000Z`);
      const finished = state === 'pending' || state === 'sending' ? null : NOW.toISOString();
      await trx
        .updateTable('outbox')
        .set({
          state,
          finished_at: finished,
          is_next: finished === null ? 1 : 0,
          ...(state === 'sending' && { claimed_by: 'me', lease_expires_at: NOW.toISOString() }),
        })
        .where('request_id', '=', request.requestId)
        .execute();
    }
  });
}

onEitherEngine('the counts per minute come from the receiver thread', async (t) => {
  const counts = createReceivingCounts(() => NOW, []);
  for (const tookMs of [2, 2, 20]) counts.acknowledged(tookMs);
  const { call } = await start(t, { receiving: async () => onlyReceived(counts.read()) });
  const { minutes } = (await call({ url: '/v1/activity' })).json;
  t.match(minutes.at(-1), { at: NOW.toISOString(), acknowledged: 3, slowest_ms: 20 });
});
