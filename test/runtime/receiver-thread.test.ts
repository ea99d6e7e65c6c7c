/** The receiving side on its thread, with what stands behind it in the hands of the test. */
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import t, { type Test } from 'tap';
import type { Arrival } from '../../src/inbox/inbox.ts';
import type { RefusalCause } from '../../src/inbox/signature.ts';
import type { Behind } from '../../src/runtime/receiver-thread.ts';
import { startReceivingThread } from '../../src/runtime/receiver-worker.ts';
import { deliver, post, SECRET, send } from '../inbox/deliver.ts';

const LOCAL = { host: '127.0.0.1', port: 0 };

async function start(t: Test, parts: Partial<Behind> = {}, receiver = LOCAL) {
  const arrived: Arrival[] = [];
  const refused: RefusalCause[] = [];
  const failed: Error[] = [];
  const dropped: number[] = [];
  const behind: Behind = {
    accept: async (arrival) => void arrived.push(arrival),
    refused: (cause) => void refused.push(cause),
    dropped: (count) => void dropped.push(count),
    isAlive: async () => true,
    isReady: async () => true,
    ...parts,
  };
  const config = { receiver, webhookSecrets: [SECRET] };
  const side = await startReceivingThread(config, behind, (error) => failed.push(error));
  t.teardown(side.stop);
  return { side, port: Number(new URL(side.address).port), arrived, refused, failed, dropped };
}

t.test('a delivery is answered when it is stored, and what was counted is told', async (t) => {
  const stored = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<void>();
  const { side, port, refused, failed } = await start(t, {
    accept: ({ eventId }) => {
      if (eventId === 'msg_bad') return Promise.reject(new Error('the disk is full'));
      seen.resolve();
      return stored.promise;
    },
  });
  let isAnswered = false;
  const answer = deliver(port, 'msg_1', '{"a":"ü"}').finally(() => {
    isAnswered = true;
  });
  await seen.promise;
  t.equal((await deliver(port, 'msg_bad', '{}')).status, 503, 'one that is not stored is not acknowledged');
  t.equal((await post(port, {}, '{}')).status, 401);
  t.notOk(isAnswered, 'nor one that is not stored yet');
  stored.resolve();
  t.equal((await answer).status, 204);

  t.strictSame(refused, ['headers']);
  const { received, threads } = await side.counted();
  t.match(received, { unstored: 1, refused: { headers: 1, signature: 0 }, acknowledged: { sum: Number } });
  t.ok((threads.receiving?.heapUsed ?? 0) > 1_000_000);
  t.strictSame(failed, []);
});

t.test('a stop answers what is under way', async (t) => {
  const stored = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<void>();
  const { side, port, failed } = await start(t, {
    accept: () => {
      seen.resolve();
      return stored.promise;
    },
  });
  const answer = deliver(port, 'msg_1', '{}');
  await seen.promise;
  const stopped = side.stop();
  stored.resolve();
  t.equal((await answer).status, 204);
  await stopped;
  t.strictSame(failed, [], 'an end that was asked for is no failure');
});

t.test('a thread that stores and does not answer is neither alive nor ready', async (t) => {
  const never = new Promise<boolean>(() => {});
  const { port } = await start(t, { isAlive: () => never, isReady: () => never });
  const answers = await Promise.all([send(port, 'GET', '/livez'), send(port, 'GET', '/readyz')]);
  t.strictSame(
    answers.map(({ status }) => status),
    [503, 503],
  );
});

t.test('a port that is taken is told with its number', async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen({ ...LOCAL }, resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  await t.rejects(start(t, {}, { ...LOCAL, port }), { code: 'EADDRINUSE', port });
});
