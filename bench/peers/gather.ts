/**
 * Jobs that arrive while some are being added are added together as the next ones; each resolves when its own are
 * durable. Neither library does this by itself: it gives both the advantage that the sidecar takes for itself.
 */
export function gather<T extends { id: string }>(
  add: (jobs: readonly T[]) => Promise<unknown>,
): (job: T) => Promise<void> {
  let waiting: { job: T; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let adding = false;
  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      // Both libraries refuse the same id twice in one call.
      const jobs = new Map(batch.map(({ job }) => [job.id, job]));
      try {
        await add([...jobs.values()]);
        for (const one of batch) one.resolve();
      } catch (error) {
        for (const one of batch) one.reject(error);
      }
    }
    adding = false;
  };
  return (job) =>
    new Promise((resolve, reject) => {
      waiting.push({ job, resolve, reject });
      if (adding) return;
      adding = true;
      // After this turn of the event loop, in which more may arrive.
      setImmediate(flush);
    });
}
