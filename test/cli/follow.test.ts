import { listEventDeliveries } from '../../src/api/operations/event-deliveries.ts';
import { createFollower } from '../../src/cli/follow.ts';
import type { Clock } from '../../src/clock.ts';
import type { Db } from '../../src/database/tables.ts';
import { createRefusals } from '../../src/inbox/refusals.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { apply, deductionOf, deliver, eventOf, receive } from '../api/deliver.ts';
import { scratch } from '../database/scratch.ts';
import { setClock } from '../outbox/parts.ts';
import { onEitherEngine } from '../support/engine.ts';

const START = new Date('2026-03-01T12:00:30.000Z');

const following = (db: Db, clock: Clock, filter = {}) =>
  createFollower(
    (cursor) =>
      listEventDeliveries.run(
        { query: { ...filter, ...(cursor && { cursor }) }, caller: null } as never,
        { db, sharedNow: async () => clock() } as never,
      ) as never,
  );

onEitherEngine(
  'a follower shows each delivery once, with its result, and refused ones as counts',
  async (t) => {
    const { db } = await scratch(t);
    const clock = setClock(START);
    const refusals = createRefusals(async () => clock(), silentLog);
    const at = () => clock().toISOString();
    refusals.count('path');
    await refusals.flush(db);
    await deliver(db, [deductionOf('before', {})], at());
    const next = await following(db, clock);
    const followed = async () => {
      const { data, refused } = await next();
      return [
        ...data.map(({ id, state }) => `${id} ${state}`),
        ...refused.map(({ cause, refused }) => `${refused} ${cause}`),
      ];
    };
    t.strictSame(await followed(), [], 'nothing from before');

    await receive(db, [deductionOf('one', {})], at());
    t.strictSame(await followed(), [], 'a pending event waits for its result');
    await apply(db, at());
    await deliver(db, [eventOf('two', 'moon.landed', {})], at());
    for (const cause of ['path', 'signature', 'signature'] as const) refusals.count(cause);
    await refusals.flush(db);
    t.strictSame(await followed(), ['one applied', 'two ignored', '1 path', '2 signature']);
    t.strictSame(await followed(), [], 'each once');

    await receive(db, [deductionOf('stuck', {})], at());
    clock.advance(4_000);
    t.strictSame(await followed(), ['stuck pending'], 'but not for long');
    clock.advance(60_000);
    refusals.count('signature');
    await refusals.flush(db);
    t.strictSame(await followed(), ['1 signature'], 'in the next minute');
  },
);

onEitherEngine('a follower shows more events than it reads at once, and only those that match', async (t) => {
  const { db } = await scratch(t);
  const clock = setClock(START);
  const next = await following(db, clock, { state: 'ignored' });
  const many = Array.from({ length: 1_200 }, (_, index) => eventOf(`evt-${index}`, 'moon.landed', {}));
  await deliver(db, [deductionOf('other', {}), ...many], START.toISOString());
  const counts: number[] = [];
  for (let page = await next(); page.has_more || page.data.length > 0; page = await next())
    counts.push(page.data.length);
  t.equal(counts.length, 2, 'in two readings');
  t.equal(
    counts.reduce((sum, count) => sum + count),
    1_200,
  );
});
