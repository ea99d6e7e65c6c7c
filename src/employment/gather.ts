import { type Accepted, type Accepting, acceptChanges, CHANGES_AT_ONCE, type Submission } from './accept.ts';

export type Gathering = {
  /** As `acceptChange`: resolves when the change is on the disk. */
  accept(submission: Submission): Promise<Accepted>;
};

type Waiting = {
  submission: Submission;
  resolve: (accepted: Accepted) => void;
  reject: (error: unknown) => void;
};

/**
 * Group commit, as intake.ts of inbound does for events: changes that arrive in one turn of the event loop share a
 * transaction and its sync to disk, and what arrives meanwhile forms the next. One is in flight on either engine,
 * because accepting holds the ledger. What waits is bounded by the listener's connections.
 */
export function createGathering(accepting: Accepting): Gathering {
  let waiting: Waiting[] = [];
  let isFlushing = false;

  const flush = async (): Promise<void> => {
    const batch = waiting.slice(0, CHANGES_AT_ONCE);
    waiting = waiting.slice(CHANGES_AT_ONCE);
    try {
      const accepted = await acceptChanges(
        accepting,
        batch.map(({ submission }) => submission),
      );
      batch.forEach(({ resolve }, index) => {
        resolve(accepted[index] as Accepted);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      isFlushing = false;
      if (waiting.length > 0) schedule();
    }
  };

  const schedule = (): void => {
    if (isFlushing) return;
    isFlushing = true;
    setImmediate(flush);
  };

  return {
    accept: (submission) =>
      new Promise((resolve, reject) => {
        waiting.push({ submission, resolve, reject });
        schedule();
      }),
  };
}
