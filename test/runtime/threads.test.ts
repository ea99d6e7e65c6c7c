/** The thread protocol, with the test as the main thread. */
import { type AddressInfo, createServer } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { readConfig } from '../../src/config.ts';
import { createLockTurns } from '../../src/database/sqlite.ts';
import type { Arrival } from '../../src/inbox/inbox.ts';
import type { Downstream, RefusalCause } from '../../src/inbox/receiver.ts';
import { request, startApiThread, startReceiverThread } from '../../src/runtime/threads.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { REQUIRED } from '../config-samples.ts';
import { scratch } from '../database/scratch.ts';
import { deliver, post, SECRET, send } from '../inbox/deliver.ts';

const LOCAL = { host: '127.0.0.1', port: 0 };

async function start(t: Test, parts: Partial<Downstream> = {}, receiver = LOCAL) {
  const arrived: Arrival[] = [];
  const refused: RefusalCause[] = [];
  const failed: Error[] = [];
  const downstream: Downstream = {
    accept: async (arrival) => void arrived.push(arrival),
    refused: (cause) => void refused.push(cause),
    dropped: () => {},
    isAlive: async () => true,
    isReady: async () => true,
    ...parts,
  };
  const config = { receiver, webhookSecrets: [SECRET] };
  const thread = await startReceiverThread(config, downstream, (error) => failed.push(error));
  t.teardown(thread.stop);
  return { thread, port: Number(new URL(thread.address).port), arrived, refused, failed };
}

/** Returns a port that another server listens on. */
async function takenPort(t: Test): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen({ ...LOCAL }, resolve));
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

t.test('the receiver thread acknowledges a delivery once the main thread has stored it', async (t) => {
  const stored = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<void>();
  const { thread, port, refused, failed } = await start(t, {
    accept: ({ eventId }) => {
      if (eventId === 'msg_bad') return Promise.reject(new Error('the disk is full'));
      seen.resolve();
      return stored.promise;
    },
  });
  let isAcknowledged = false;
  const response = deliver(port, 'msg_1', '{"a":"ü"}').finally(() => {
    isAcknowledged = true;
  });
  await seen.promise;
  t.equal((await deliver(port, 'msg_bad', '{}')).status, 503, 'a rejected event is not acknowledged');
  t.equal((await post(port, {}, '{}')).status, 401);
  t.notOk(isAcknowledged, 'an event is not acknowledged before it is stored');
  stored.resolve();
  t.equal((await response).status, 204);

  t.strictSame(refused, ['unstored', 'headers']);
  const [{ received, threads }, again] = await Promise.all([thread.counts(), thread.counts()]);
  t.match(received, { unstored: 1, refused: { headers: 1, signature: 0 }, acknowledged: { sum: Number } });
  t.ok((threads.receiver?.heapUsed ?? 0) > 1_000_000);
  t.strictSame(again.received.refused, received.refused, 'each request has its own response');
  t.strictSame(failed, []);
});

t.test('a stop lets deliveries in flight finish, and is not a failure', async (t) => {
  const stored = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<void>();
  const { thread, port, failed } = await start(t, {
    accept: () => {
      seen.resolve();
      return stored.promise;
    },
  });
  const response = deliver(port, 'msg_1', '{}');
  await seen.promise;
  const stopped = Promise.all([thread.stop(), thread.stop()]);
  stored.resolve();
  t.equal((await response).status, 204);
  await stopped;
  t.strictSame(failed, []);
});

t.test('the receiver is neither alive nor ready while the main thread does not respond', async (t) => {
  const never = new Promise<boolean>(() => {});
  const { port } = await start(t, { isAlive: () => never, isReady: () => never });
  const responses = await Promise.all([send(port, 'GET', '/livez'), send(port, 'GET', '/readyz')]);
  t.match(responses, [{ status: 503 }, { status: 503 }]);
});

t.test('a request to a thread that does not respond, or is gone, is rejected', async (t) => {
  const ports: MessagePort[] = [];
  const silent = request((port) => ports.push(port));
  await t.rejects(silent, { code: 'THREAD_SILENT' });
  t.equal(ports.length, 1);
  await t.rejects(
    request(() => {
      throw new Error('the thread is gone');
    }),
    { code: 'THREAD_SILENT' },
  );
});

t.test('a response that arrives while the requesting thread is busy is read', async (t) => {
  // The event loop runs timers after this turn, and only then reads messages: the time limit fires first.
  await new Promise(setImmediate);
  const requested = request<string>((port) => port.postMessage('here'));
  // Keeps this thread busy for longer than the limit.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_100);
  t.equal(await requested, 'here');
});

t.test('a thread that cannot start reports the error with its code and port', async (t) => {
  const port = await takenPort(t);
  await t.rejects(start(t, {}, { ...LOCAL, port }), { code: 'EADDRINUSE', port });

  const { url } = await scratch(t);
  const failures: Error[] = [];
  const api = startApiThread(readConfig({ ...REQUIRED, DATABASE_URL: url, API_PORT: String(port) }), {
    applies: false,
    latestStored: null,
    lockTurns: createLockTurns(),
    census: null,
    log: silentLog,
    counts: () => Promise.reject(new Error('not asked for')),
    wakeApply: () => {},
    failed: (error) => failures.push(error),
  });
  await t.rejects(api.listening, { code: 'EADDRINUSE', port });
  await api.stop();
  t.match(failures[0], { code: 'EADDRINUSE', port }, 'the failure is reported');
});
