import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { createQueue, handled } from '../../../src/payroll/compute/queue.ts';

/** A queue with one place, which is taken until `finish`. `ran` has the work that proceeded, in order. */
function createHeldQueue() {
  const inTurn = createQueue({ atOnce: 1, longMs: 0 });
  const ran: string[] = [];
  const { promise, resolve: free } = Promise.withResolvers<void>();
  const holding = inTurn('held', () => promise);
  const add = (employerId: string, nth: number) =>
    inTurn(employerId, async () => {
      ran.push(`${employerId} ${nth}`);
    });
  const finish = async (...added: Promise<void>[]) => {
    free();
    await Promise.all([holding, ...added]);
  };
  return { inTurn, ran, add, finish };
}

t.test('other employers proceed before the second computation of an employer', async (t) => {
  const { ran, add, finish } = createHeldQueue();
  await finish(add('a', 1), add('a', 2), add('a', 3), add('b', 1), add('c', 1), add('b', 2));
  t.strictSame(ran, ['a 1', 'b 1', 'c 1', 'a 2', 'b 2', 'a 3']);
});

/** Returns the largest number of computations of four employers that proceeded at once. Each one fails after `lasting`. */
async function peakOf(inTurn: ReturnType<typeof createQueue>, lasting: () => Promise<unknown>) {
  let running = 0;
  let peak = 0;
  const fail = async () => {
    running += 1;
    peak = Math.max(peak, running);
    await lasting();
    running -= 1;
    throw new Error('cannot be computed');
  };
  const all = await Promise.allSettled(['a', 'b', 'c', 'd'].map((employerId) => inTurn(employerId, fail)));
  return { peak, failed: all.filter(({ status }) => status === 'rejected').length };
}

t.test('computations proceed one at a time, and one that fails frees its place', async (t) => {
  const inTurn = createQueue({ atOnce: 2, longMs: 60_000 });
  const lasting = () => new Promise(setImmediate);
  t.strictSame(await peakOf(inTurn, lasting), { peak: 1, failed: 4 });
  t.equal(await inTurn('a', async () => 'computed'), 'computed');
});

t.test('a computation that takes long lets others start, at most the given number at once', async (t) => {
  const inTurn = createQueue({ atOnce: 3, longMs: 0 });
  const third = Promise.withResolvers<void>();
  let started = 0;
  const lasting = async () => {
    started += 1;
    if (started === 3) third.resolve();
    await third.promise;
    // Timers fire in order: that of the third computation before this one.
    await delay(0);
  };
  t.strictSame(await peakOf(inTurn, lasting), { peak: 3, failed: 4 });
  t.equal(await inTurn('a', async () => 'computed'), 'computed');
});

t.test('when one that took long ends, the next one waits for the one that just started', async (t) => {
  const inTurn = createQueue({ atOnce: 2, longMs: 0 });
  const second = Promise.withResolvers<void>();
  let hasThirdStarted = false;
  const first = inTurn('a', () => second.promise);
  const others = [
    inTurn('b', async () => {
      second.resolve();
      await first;
      await Promise.resolve();
      return hasThirdStarted;
    }),
    inTurn('c', async () => {
      hasThirdStarted = true;
      return hasThirdStarted;
    }),
  ];
  t.strictSame(await Promise.all(others), [false, true]);
});

t.test('a computation leaves the queue when its client leaves', async (t) => {
  const { ran, add, finish } = createHeldQueue();
  const client = new AbortController();
  const addHandled = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    handled(client.signal, () => resolve(add('a', 1)));
    return promise;
  };
  const left = t.rejects(addHandled(), { code: 'CALLER_LEFT' });
  const stayed = add('a', 2);
  client.abort();
  await left;
  await t.rejects(addHandled(), { code: 'CALLER_LEFT' }, 'after the client left, it is not added');
  await finish(stayed);
  t.strictSame(ran, ['a 2']);
});
