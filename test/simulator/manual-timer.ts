import { EventEmitter, once } from 'node:events';
import type { Timer } from '../../src/simulator/provider.ts';

/** A timer whose time passes on command. `due` are the pending delays. */
export function manualTimer() {
  const waiting = new Set<{ ms: number; act: () => void }>();
  const asked = new EventEmitter();
  const timer: Timer = (ms, act) => {
    const entry = { ms, act };
    waiting.add(entry);
    asked.emit('timer');
    return () => waiting.delete(entry);
  };
  /** Ends the timer of this delay as soon as it is started. */
  const pass = async (ms: number): Promise<void> => {
    const entry = () => [...waiting].find((each) => each.ms === ms);
    while (!entry()) await once(asked, 'timer');
    const due = entry()!;
    waiting.delete(due);
    due.act();
  };
  return { timer, pass, due: () => [...waiting].map((each) => each.ms) };
}
