/**
 * What an idle loop waits at: someone rings when there is work, or the time is up. A ring while nobody waits is
 * remembered, so that none is missed.
 */
export type Bell = {
  ring(): void;
  /** Resolves when rung (also before), after `ms`, or when the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
};

export function createBell(): Bell {
  let rung = false;
  let wakeUp: (() => void) | null = null;
  return {
    ring() {
      rung = true;
      wakeUp?.();
    },
    async wait(ms, signal) {
      if (!rung && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, ms);
        const stop = () => resolve();
        signal.addEventListener('abort', stop, { once: true });
        wakeUp = resolve;
        await promise;
        signal.removeEventListener('abort', stop);
        clearTimeout(timer);
        wakeUp = null;
      }
      rung = false;
    },
  };
}
