/**
 * Jobs that arrive while others are being added are added together next. Each resolves when it is durable. Neither
 * library does this, so it gives both the advantage that the sidecar has.
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
      // Both libraries reject the same id twice in one call.
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
      // After this turn of the event loop, in which more jobs may arrive.
      setImmediate(flush);
    });
}
