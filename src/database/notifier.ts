/** Wakes an idle loop. A notification while the loop is busy is remembered. */
export type Notifier = {
  notify(): void;
  /** Resolves when notified (also earlier), after `ms`, or when the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
};

export function createNotifier(): Notifier {
  let notified = false;
  let wakeUp: (() => void) | null = null;
  return {
    notify() {
      notified = true;
      wakeUp?.();
    },
    async wait(ms, signal) {
      if (!notified && !signal.aborted) {
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
      notified = false;
    },
  };
}
