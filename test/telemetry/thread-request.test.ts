import type { MessagePort } from 'node:worker_threads';
import t from 'tap';
import { createReceivingCounts } from '../../src/telemetry/receiver-counts.ts';
import { createAsk } from '../../src/telemetry/thread-request.ts';

t.test('what the thread that receives counted is asked for on a channel of each question', async (t) => {
  const counts = createReceivingCounts(() => new Date(0), ['headers']);
  counts.refused('headers');
  const ask = createAsk((port) => port.postMessage(counts.read()));
  const [first, second] = await Promise.all([ask(), ask()]);
  t.strictSame(first, counts.read());
  t.strictSame(second, first);
});

t.test('one that does not answer is not waited for', async (t) => {
  const asked: MessagePort[] = [];
  await t.rejects(createAsk((port) => asked.push(port))(), { code: 'THREAD_SILENT' });
  await t.rejects(
    createAsk(() => {
      throw new Error('the thread is gone');
    })(),
    { code: 'THREAD_SILENT' },
  );
  t.equal(asked.length, 1);
});
