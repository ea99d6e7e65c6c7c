/** What the private side's worker thread runs. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Config } from './config.ts';
import { startPrivateSide } from './private-side.ts';
import type { FromThread, ToThread } from './private-thread.ts';

async function main(port: MessagePort): Promise<void> {
  const tell = (message: FromThread): void => port.postMessage(message);
  const starting = startPrivateSide(workerData as Config, {
    wakeApply: () => tell({ say: 'wake apply' }),
    failed: (error) => tell({ say: 'failed', message: messageOf(error) }),
  });
  port.on('message', async (message: ToThread) => {
    const side = await starting.catch(() => null);
    if (message.say === 'wake send') side?.wakeSend();
    else {
      await side?.stop();
      port.close();
    }
  });
  tell({ say: 'listening', address: (await starting).address });
}

const port = parentPort as MessagePort;
main(port).catch((error: unknown) => {
  port.postMessage({ say: 'failed', message: messageOf(error) });
  port.close();
});

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error';
}
