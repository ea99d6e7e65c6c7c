/** Requests to a thread that does not respond, or that is busy. */
import type { MessagePort } from 'node:worker_threads';
import t from 'tap';
import { request } from '../../src/runtime/threads.ts';
import { send } from '../inbox/deliver.ts';
import { start } from '../runtime/receiver-thread.ts';

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
