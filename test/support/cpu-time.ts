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
