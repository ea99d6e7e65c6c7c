import type { FastifyReply } from 'fastify';
import type { Timer } from './timer.ts';

/** How an answer goes out, or does not. */
export type Answering = {
  /** Waits a number of milliseconds; at once when the simulator closes. */
  pause(ms: number): Promise<void>;
  /** Takes the request and never answers it. */
  hang(reply: FastifyReply): void;
  /** Resets the connection in place of an answer. */
  reset(reply: FastifyReply): void;
  /** Sends the head and a part of the body, and breaks off. */
  half(reply: FastifyReply): void;
  /** Resets what hangs, as a service does that is started anew. */
  resetHanging(): void;
  close(): void;
};

/** The body that the head of half an answer promises is longer than what comes. */
const HALF = '{"half":';
const PROMISED_BYTES = 50;

export function createAnswering(timer: Timer): Answering {
  const hanging = new Set<FastifyReply>();
  const pauses = new Set<() => void>();
  const reset = (reply: FastifyReply): void => {
    reply.hijack();
    reply.request.raw.socket.resetAndDestroy();
  };
  return {
    pause: (ms) =>
      ms === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            const cancel = timer(ms, () => end());
            const end = (): void => {
              cancel();
              pauses.delete(end);
              resolve();
            };
            pauses.add(end);
          }),
    hang: (reply) => {
      reply.hijack();
      hanging.add(reply);
      reply.raw.once('close', () => hanging.delete(reply));
    },
    reset,
    half: (reply) => {
      reply.hijack();
      const { raw } = reply;
      raw.writeHead(200, { 'content-type': 'application/json', 'content-length': PROMISED_BYTES });
      raw.write(HALF, () => raw.destroy());
    },
    resetHanging: () => {
      for (const reply of hanging) reply.request.raw.socket.resetAndDestroy();
    },
    close: () => {
      for (const end of [...pauses]) end();
    },
  };
}
