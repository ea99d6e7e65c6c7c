/** What the thread that receives counts of its own work; the private listener asks for it. */
import type { Clock } from '../clock.ts';
import { createMinutes, type Minute } from './minutes.ts';
import { createTally, note, SECONDS, type Tally } from './tally.ts';
import type { ThreadCounts } from './thread.ts';

/** Events in one commit: 256 at most. */
const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;

/** Counts since the start, in plain numbers, as they cross from one thread to another. */
export type Receiving = {
  /** When the counting began: the start of the process. */
  since: string;
  acknowledged: Tally;
  /** By cause. */
  refused: Record<string, number>;
  /** Verified, and not stored: answered 503. */
  unstored: number;
  duplicates: number;
  conflicts: number;
  commits: Tally;
  batches: Tally;
  minutes: Minute[];
  thread: ThreadCounts;
};

export type ReceivingCounts = {
  /** A delivery was stored and answered; milliseconds from its headers to its answer. */
  acknowledged(tookMs: number): void;
  refused(cause: string): void;
  unstored(): void;
  /** A batch was committed, in so many milliseconds. */
  committed(stored: { accepted: number; duplicates: number; conflicts: number }, tookMs: number): void;
  read(): Receiving;
};

/**
 * `causes`: every cause that a delivery may be refused for, so that each is told from the start; `readThread`: what is
 * told of the thread itself.
 */
export function createReceivingCounts(
  now: Clock,
  causes: readonly string[],
  readThread: () => ThreadCounts,
): ReceivingCounts {
  const minutes = createMinutes();
  const since = now().toISOString();
  const counts: Omit<Receiving, 'since' | 'minutes' | 'thread'> = {
    acknowledged: createTally(SECONDS),
    refused: Object.fromEntries(causes.map((cause) => [cause, 0])),
    unstored: 0,
    duplicates: 0,
    conflicts: 0,
    commits: createTally(SECONDS),
    batches: createTally(BATCHES),
  };
  return {
    acknowledged(tookMs) {
      minutes.note(now().getTime(), tookMs);
      note(counts.acknowledged, tookMs / 1_000);
    },
    refused(cause) {
      counts.refused[cause] = (counts.refused[cause] ?? 0) + 1;
    },
    unstored() {
      counts.unstored += 1;
    },
    committed({ accepted, duplicates, conflicts }, tookMs) {
      counts.duplicates += duplicates;
      counts.conflicts += conflicts;
      note(counts.commits, tookMs / 1_000);
      note(counts.batches, accepted + duplicates);
    },
    read: () => ({ since, ...counts, minutes: minutes.read(now().getTime()), thread: readThread() }),
  };
}
