/** What the receiving side's worker thread runs. It has no database: what it verified crosses to the thread that stores. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { createCrossings } from '../inbox/intake-channel.ts';
import { watchThread } from '../telemetry/thread-counts.ts';
import { createAsk } from '../telemetry/thread-request.ts';
import { type ReceivingConfig, type ReceivingCounted, startReceivingSide } from './receiver-thread.ts';
import type { FromReceiving, ToReceiving } from './receiver-worker.ts';
import { failureOf, type Saying, type Told } from './thread.ts';

const port = parentPort as MessagePort;
const tell = (message: FromReceiving | Saying, transfer: (ArrayBuffer | MessagePort)[] = []): void =>
  port.postMessage(message, transfer);

async function main(): Promise<void> {
  const watch = watchThread();
  const crossings = createCrossings((crossing) => tell({ say: 'arrived', ...crossing }, [crossing.bodies]));
  const whether = (say: 'ready' | 'alive') => {
    const ask = createAsk<boolean>((channel) => tell({ say, port: channel }, [channel]));
    return () => ask().catch(() => false);
  };
  const side = await startReceivingSide(workerData as ReceivingConfig, {
    accept: crossings.accept,
    refused: (cause) => tell({ say: 'refused', cause }),
    dropped: (count) => tell({ say: 'dropped', count }),
    isAlive: whether('alive'),
    isReady: whether('ready'),
  });
  port.on('message', async (message: ToReceiving | Told) => {
    if (message.say === 'stored') crossings.answered(message.crossing, message.unstored);
    else if (message.say === 'counted') {
      const { received } = await side.counted();
      message.port.postMessage({ received, threads: { receiving: watch.read() } } satisfies ReceivingCounted);
    } else {
      await side.stop();
      watch.stop();
      port.close();
    }
  });
  tell({ say: 'listening', address: side.address });
}

main().catch((error: unknown) => {
  tell({ say: 'failed', error: failureOf(error) });
  port.close();
});
