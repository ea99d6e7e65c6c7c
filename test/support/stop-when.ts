import { readdirSync, readFileSync } from 'node:fs';
import { eventually } from './eventually.ts';
import type { Sidecar } from './sidecar.ts';

/** Stops a sidecar while a condition holds. Otherwise lets it continue, and stops it again later. */
export async function stopWhen(
  what: string,
  { pid, signal }: Sidecar,
  holds: () => Promise<boolean> | boolean,
): Promise<void> {
  const isStoppedWhenItHolds = async (): Promise<boolean> => {
    signal('SIGSTOP');
    // The threads stop after the call returns, and could still change what the condition reads.
    await eventually('every thread is stopped', () => statesOf(pid).join(''), isStopped);
    const doesHold = await holds();
    if (!doesHold) signal('SIGCONT');
    return doesHold;
  };
  await eventually(what, isStoppedWhenItHolds, true);
}

const isStopped = (states: string): boolean => /^T+$/.test(states);

/** Returns the state of each thread of a process on Linux: a letter after the thread's name in parentheses. */
function statesOf(pid: number): string[] {
  const threads = `/proc/${pid}/task`;
  return readdirSync(threads).map((thread) => {
    const stat = readFileSync(`${threads}/${thread}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')')).charAt(2);
  });
}
