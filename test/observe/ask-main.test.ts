import type { MessagePort } from 'node:worker_threads';
import t from 'tap';
import { createAskMain } from '../../src/observe/ask-main.ts';
import { createReceivingCounts } from '../../src/observe/receiving.ts';
import { stillThread } from './still.ts';

t.test('what the thread that receives counted is asked for on a channel of each question', async (t) => {
  const counts = createReceivingCounts(() => new Date(0), ['headers'], stillThread);
  counts.refused('headers');
  const ask = createAskMain((port) => port.postMessage(counts.read()));
  const [first, second] = await Promise.all([ask(), ask()]);
  t.strictSame(first, counts.read());
  t.strictSame(second, first);
});

t.test('one that does not answer is not waited for', async (t) => {
  const asked: MessagePort[] = [];
  await t.rejects(createAskMain((port) => asked.push(port))(), { code: 'MAIN_SILENT' });
  await t.rejects(
    createAskMain(() => {
      throw new Error('the thread is gone');
    })(),
    { code: 'MAIN_SILENT' },
  );
  t.equal(asked.length, 1);
});
