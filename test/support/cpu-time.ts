import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Runs the work and returns its result with the CPU time of this process, in milliseconds. Other processes increase
 * wall-clock time but not CPU time.
 */
export async function cpuTime<R>(work: () => Promise<R> | R): Promise<{ result: R; cpuMs: number }> {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return { result, cpuMs: (user + system) / 1_000 };
}

/** Runs the work and returns its result with the CPU time of the longest turn of the event loop, in milliseconds. */
export async function longestTurn<R>(work: () => Promise<R>): Promise<{ result: R; cpuMs: number }> {
  let isOver = false;
  let longest = 0;
  const result = work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const before = process.threadCpuUsage();
    await nextTurn();
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, user + system);
  }
  return { result: await result, cpuMs: longest / 1_000 };
}
