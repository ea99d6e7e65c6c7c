/** The entry of the receiver thread. It has no database: the main thread stores what it verified. */
import { workerData } from 'node:worker_threads';
import { createIntakeChannel } from '../inbox/intake-channel.ts';
import { type ReceiverConfig, type ReceiverCounts, startReceiver } from '../inbox/receiver.ts';
import { watchThread } from '../telemetry/counts.ts';
import { type FromReceiver, request, runWorker, type ToReceiver } from './threads.ts';

runWorker<ToReceiver, FromReceiver>(async (main) => {
  const watch = watchThread();
  const channel = createIntakeChannel((batch) => main.send({ type: 'arrived', ...batch }, [batch.bodies]));
  const ask = (type: 'alive' | 'ready') => (): Promise<boolean> =>
    request<boolean>((port) => main.send({ type, port }, [port])).catch(() => false);
  const receiver = await startReceiver(workerData as ReceiverConfig, {
    accept: channel.accept,
    refused: (cause) => main.send({ type: 'refused', cause }),
    dropped: (count) => main.send({ type: 'dropped', count }),
    isAlive: ask('alive'),
    isReady: ask('ready'),
  });
  return {
    address: receiver.address,
    async receive(message) {
      if (message.type === 'stored') return channel.finish(message.batch, message.unstored);
      const { received } = await receiver.counts();
      message.port.postMessage({ received, threads: { receiver: watch.read() } } satisfies ReceiverCounts);
    },
    async stop() {
      await receiver.stop();
      watch.stop();
    },
  };
});
