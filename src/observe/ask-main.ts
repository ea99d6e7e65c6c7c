/** How the private side asks the thread that receives for what it counted. */
import { once } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Receiving } from './receiving.ts';

/** That thread answers between two deliveries; one that takes longer is in trouble, which is an answer too. */
const WITHIN_MS = 2_000;

/** The thread that receives did not answer. */
export class NoAnswerFromMain extends Error {
  readonly code = 'MAIN_SILENT';
  constructor() {
    super(`the thread that receives did not answer within ${WITHIN_MS} ms`);
  }
}

/** `send` hands the other end of the channel to that thread. Throws `NoAnswerFromMain`. */
export function createAskMain(send: (port: MessagePort) => void): () => Promise<Receiving> {
  return async () => {
    const { port1, port2 } = new MessageChannel();
    try {
      send(port2);
      const [receiving] = await once(port1, 'message', { signal: AbortSignal.timeout(WITHIN_MS) });
      return receiving as Receiving;
    } catch {
      throw new NoAnswerFromMain();
    } finally {
      port1.close();
    }
  };
}
