import { EventEmitter, once } from 'node:events';
import type { Wait } from '../../src/simulator/waiting.ts';

/** A clock whose time passes on command. `due` are the pending delays. */
export function manualTimer() {
  const waiting = new Set<{ ms: number; resolve: () => void }>();
  const asked = new EventEmitter();
  const wait: Wait = (ms, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const entry = { ms, resolve };
    waiting.add(entry);
    const cancel = () => {
      waiting.delete(entry);
      reject(signal.reason);
    };
    if (signal.aborted) cancel();
    else signal.addEventListener('abort', cancel, { once: true });
    asked.emit('wait');
    return promise;
  };
  /** Ends the wait of this delay as soon as it is started. */
  const pass = async (ms: number): Promise<void> => {
    const entry = () => [...waiting].find((each) => each.ms === ms);
    while (!entry()) await once(asked, 'wait');
    const due = entry()!;
    waiting.delete(due);
    due.resolve();
  };
  return { wait, pass, due: () => [...waiting].map((each) => each.ms) };
}
