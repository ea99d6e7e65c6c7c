/**
 * Runs the work and returns its result with the CPU time that this process used meanwhile, in milliseconds. Other
 * processes stretch wall-clock time and leave CPU time as it is.
 */
export async function cpuTime<R>(work: () => Promise<R> | R): Promise<{ result: R; cpuMs: number }> {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return { result, cpuMs: (user + system) / 1_000 };
}
