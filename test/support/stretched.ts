/** The amount of CPU work that is timed: enough to be preempted on a busy machine. */
const SAMPLE_MS = 100;

/**
 * Scales a wall-clock limit for an idle machine by the time that CPU work takes now. For limits on other processes; work
 * of this process is better measured by `cpuTime`.
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
