/** The time between two reports: a database that is unreachable fails every batch. */
const REPORT_EVERY_MS = 1_000;

export type Failures = { code: string; count: number };

/** Reports failures at most once a second: the first one immediately, later ones as a sum with the newest code. */
export function rateLimited(report: (failures: Failures) => void): (failures: Failures) => void {
  let pending: Failures | null = null;
  let isWaiting = false;
  const flush = (): void => {
    isWaiting = pending !== null;
    if (pending === null) return;
    report(pending);
    pending = null;
    setTimeout(flush, REPORT_EVERY_MS).unref();
  };
  return ({ code, count }) => {
    pending = { code, count: (pending?.count ?? 0) + count };
    if (!isWaiting) flush();
  };
}
