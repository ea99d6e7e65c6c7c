/** How much CPU work is timed: enough to be preempted on a busy machine. */
const SAMPLE_MS = 100;

/**
 * Returns a limit on wall-clock time as it is on an idle machine, multiplied by how much longer CPU work takes on this
 * one now. For limits on other processes; work of this process is better measured by `cpuTime`.
 */
export function stretched(limitMs: number): number {
  const began = performance.now();
  const before = process.cpuUsage();
  let usedMs = 0;
  while (usedMs < SAMPLE_MS) {
    const { user, system } = process.cpuUsage(before);
    usedMs = (user + system) / 1_000;
  }
  return limitMs * Math.max(1, (performance.now() - began) / usedMs);
}
