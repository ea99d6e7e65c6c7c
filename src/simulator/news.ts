/** Lets callers wait until something holds that requests and deliveries bring about. */
export function createNews() {
  type Waiting = { holds: () => boolean; resolve: () => void; reject: (error: Error) => void };
  let waiting: Waiting[] = [];
  let closed = false;
  return {
    /** Something came or went: whoever waits looks again. */
    tell: (): void => {
      const held = waiting.filter(({ holds }) => holds());
      waiting = waiting.filter((one) => !held.includes(one));
      for (const { resolve } of held) resolve();
    },
    /** Resolves at once when it holds already. Rejects when it is closed before. */
    until: (holds: () => boolean): Promise<void> => {
      if (closed) return Promise.reject(new Error('the simulator is closed'));
      if (holds()) return Promise.resolve();
      return new Promise((resolve, reject) => {
        waiting.push({ holds, resolve, reject });
      });
    },
    close: (): void => {
      closed = true;
      for (const { reject } of waiting) reject(new Error('the simulator is closed'));
      waiting = [];
    },
  };
}
