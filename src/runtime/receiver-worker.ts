/** The main thread's end of the receiving side's worker thread. */
import type { MessagePort } from 'node:worker_threads';
import { type Crossing, storeCrossing } from '../inbox/intake-channel.ts';
import type { RefusalCause } from '../inbox/signature.ts';
import { answer, createAsk } from '../telemetry/thread-request.ts';
import type { Behind, ReceivingConfig, ReceivingCounted, ReceivingSide } from './receiver-thread.ts';
import { startThread } from './thread.ts';

export type ToReceiving =
  | { say: 'stored'; crossing: number; unstored: readonly number[] }
  /** What it has counted is answered on the port. */
  | { say: 'counted'; port: MessagePort };
export type FromReceiving =
  | ({ say: 'arrived' } & Crossing)
  | { say: 'refused'; cause: RefusalCause }
  | { say: 'dropped'; count: number }
  /** Whether this process can commit, or only whether the thread answers at all, is answered on the port. */
  | { say: 'ready'; port: MessagePort }
  | { say: 'alive'; port: MessagePort };

/** Starts the receiving side on a thread of its own. Rejects when the port is taken; `failed` is told when it ends later. */
export async function startReceivingThread(
  config: ReceivingConfig,
  behind: Behind,
  failed: (error: Error) => void,
): Promise<ReceivingSide> {
  const thread = startThread<ToReceiving, FromReceiving>(
    {
      entry: 'receiver-thread-entry',
      called: 'the receiving side',
      data: { receiver: config.receiver, webhookSecrets: config.webhookSecrets } satisfies ReceivingConfig,
    },
    {
      async message(message) {
        if (message.say === 'refused') behind.refused(message.cause);
        else if (message.say === 'dropped') behind.dropped(message.count);
        else if (message.say === 'ready') answer(message.port, behind.isReady());
        else if (message.say === 'alive') answer(message.port, behind.isAlive());
        else {
          const unstored = await storeCrossing(message, behind.accept);
          thread.tell({ say: 'stored', crossing: message.crossing, unstored });
        }
      },
      failed,
    },
  );
  return {
    address: await thread.listening,
    counted: createAsk<ReceivingCounted>((port) => thread.tell({ say: 'counted', port }, [port])),
    stop: thread.stop,
  };
}
