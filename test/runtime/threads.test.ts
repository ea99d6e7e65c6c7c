/** The thread protocol, with the test as the main thread. Silent threads: test/faults/silent-thread.test.ts. */
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { getPriority } from 'node:os';
import t, { type Test } from 'tap';
import { readConfig } from '../../src/config.ts';
import { createLockTurns } from '../../src/database/sqlite.ts';
import { startApiThread } from '../../src/runtime/threads.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { REQUIRED } from '../config-samples.ts';
import { scratch } from '../database/scratch.ts';
import { deliver, post } from '../inbox/deliver.ts';
import { LOCAL, start } from './receiver-thread.ts';

/** Returns a port that another server listens on. */
async function takenPort(t: Test): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen({ ...LOCAL }, resolve));
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function startApi(t: Test, port: number, failed: (error: Error) => void) {
  const { url } = await scratch(t);
  return startApiThread(readConfig({ ...REQUIRED, DATABASE_URL: url, API_PORT: String(port) }), {
    applies: false,
    latestStored: null,
    lockTurns: createLockTurns(),
    census: null,
    log: silentLog,
    counts: () => Promise.reject(new Error('not asked for')),
    wakeApply: () => {},
    failed,
  });
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

t.test('a thread that cannot start reports the error with its code and port', async (t) => {
  const port = await takenPort(t);
  await t.rejects(start(t, {}, { ...LOCAL, port }), { code: 'EADDRINUSE', port });

  const failures: Error[] = [];
  const api = await startApi(t, port, (error) => failures.push(error));
  await t.rejects(api.listening, { code: 'EADDRINUSE', port });
  await api.stop();
  t.match(failures[0], { code: 'EADDRINUSE', port }, 'the failure is reported');
});

t.test('on Linux, the main thread goes before the API thread and the garbage collection', async (t) => {
  if (process.platform !== 'linux') return;
  const read = (thread: string, file: string) => readFileSync(`/proc/self/task/${thread}/${file}`, 'utf8');
  // The 19th field; the second is the name, in brackets.
  const priorityOf = (thread: string) => Number(read(thread, 'stat').split(') ')[1]?.split(' ')[16]);
  const api = await startApi(t, 0, (error) => t.error(error));
  await api.listening;
  const threads = readdirSync('/proc/self/task');
  const collecting = threads.filter((thread) => read(thread, 'comm') === 'V8Worker\n');
  t.ok(collecting.length > 0);
  t.strictSame(new Set(collecting.map(priorityOf)), new Set([10]));
  t.ok(threads.some((thread) => !collecting.includes(thread) && priorityOf(thread) === 10));
  t.equal(priorityOf(String(process.pid)), getPriority());
  await api.stop();
});
