import type { LogFields } from './log.ts';

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

/** Different lines per report; the others are counted in one more. */
const LINES_PER_REPORT = 10;

type Lines = { line: (fields: LogFields) => void; others: (count: number) => void };

/**
 * Reports lines at most once a second: the first one immediately, later ones with their count by `fields`. Only a line that
 * occurred once has its `ids`.
 */
export function rateLimitedLines({ line, others }: Lines): (fields: LogFields, ids?: LogFields) => void {
  const lines = new Map<string, { fields: LogFields; ids: LogFields; count: number }>();
  let rest = 0;
  const report = rateLimited(() => {
    for (const { fields, ids, count } of lines.values()) line({ ...fields, ...(count === 1 && ids), count });
    if (rest > 0) others(rest);
    lines.clear();
    rest = 0;
  });
  return (fields, ids = {}) => {
    const key = JSON.stringify(fields);
    const known = lines.get(key);
    if (known !== undefined) known.count += 1;
    else if (lines.size < LINES_PER_REPORT) lines.set(key, { fields, ids, count: 1 });
    else rest += 1;
    report({ code: '', count: 1 });
  };
}
