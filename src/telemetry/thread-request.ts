/** How one thread asks another for something, each time on a channel of its own. */
import { once } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** Each thread answers between two pieces of its work; one that takes longer is in trouble, which is an answer too. */
const WITHIN_MS = 2_000;

/** The other thread did not answer. */
export class NoAnswer extends Error {
  readonly code = 'THREAD_SILENT';
  constructor() {
    super(`a thread of this process did not answer within ${WITHIN_MS} ms`);
  }
}

/** `send` hands the other end of the channel to the thread that is asked, which answers with a `T`. Throws `NoAnswer`. */
export function createAsk<T>(send: (port: MessagePort) => void): () => Promise<T> {
  return async () => {
    const { port1, port2 } = new MessageChannel();
    try {
      send(port2);
      const [answer] = await once(port1, 'message', { signal: AbortSignal.timeout(WITHIN_MS) });
      return answer as T;
    } catch {
      throw new NoAnswer();
    } finally {
      port1.close();
    }
  };
}

/** The other end: answers on the channel of a question. What can't be answered is not, and whoever asked sees that. */
export function answer(port: MessagePort, answer: Promise<unknown>): void {
  answer.then((value) => port.postMessage(value)).catch(() => {});
}
