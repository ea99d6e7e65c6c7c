/** Between two lines about the same failure: a database that is away fails every batch, and people read the log. */
const TOLD_EVERY_MS = 1_000;

export type Failures = { code: string; count: number };

/**
 * Tells what fails often at most once a second: the first failure at once, and those that follow in one sum, with
 * the newest code.
 */
export function tellSeldom(tell: (failures: Failures) => void): (failures: Failures) => void {
  let untold: Failures | null = null;
  let resting = false;
  const tellAll = (): void => {
    resting = untold !== null;
    if (untold === null) return;
    tell(untold);
    untold = null;
    setTimeout(tellAll, TOLD_EVERY_MS).unref();
  };
  return ({ code, count }) => {
    untold = { code, count: (untold?.count ?? 0) + count };
    if (!resting) tellAll();
  };
}
