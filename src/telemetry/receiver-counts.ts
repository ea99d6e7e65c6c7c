/** The counts of receiving and storing, which the API thread requests. */
import type { Clock } from '../clock.ts';
import { createMinutes, type Minute } from './minutes.ts';
import { createTally, note, SECONDS, type Tally } from './tally.ts';
import type { ThreadCounts } from './thread-counts.ts';

/** Events in one commit: 256 at most. */
const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;

/** The counts of the public listener since the start, as plain numbers that can be sent between threads. */
export type Received = {
  /** When the counting began: the start of the process. */
  since: string;
  acknowledged: Tally;
  /** By cause. */
  refused: Record<string, number>;
  /** Verified but not stored; the response was 503. */
  unstored: number;
  minutes: Minute[];
};

/** The counts of storing since the start. */
export type Storing = { duplicates: number; conflicts: number; commits: Tally; batches: Tally };

/** All counts that the other threads report to the API thread. */
export type Receiving = Received &
  Storing & {
    /** By the thread's name. */
    threads: Readonly<Record<string, ThreadCounts>>;
  };

export type ReceivingCounts = {
  /** Counts a stored delivery. `tookMs` is the time from its headers to its response. */
  acknowledged(tookMs: number): void;
  refused(cause: string): void;
  unstored(): void;
  read(): Received;
};

/** `causes`: every cause of a refusal, so that each is exported from the start. */
export function createReceivingCounts(now: Clock, causes: readonly string[]): ReceivingCounts {
  const minutes = createMinutes();
  const counts = {
    since: now().toISOString(),
    acknowledged: createTally(SECONDS),
    refused: Object.fromEntries(causes.map((cause) => [cause, 0])),
    unstored: 0,
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
    read: () => ({ ...counts, minutes: minutes.read(now().getTime()) }),
  };
}

export type StoringCounts = {
  /** Counts a committed batch. `tookMs` is the time that the commit took. */
  committed(stored: { accepted: number; duplicates: number; conflicts: number }, tookMs: number): void;
  read(): Storing;
};

export function createStoringCounts(): StoringCounts {
  const counts: Storing = {
    duplicates: 0,
    conflicts: 0,
    commits: createTally(SECONDS),
    batches: createTally(BATCHES),
  };
  return {
    committed({ accepted, duplicates, conflicts }, tookMs) {
      counts.duplicates += duplicates;
      counts.conflicts += conflicts;
      note(counts.commits, tookMs / 1_000);
      note(counts.batches, accepted + duplicates);
    },
    read: () => counts,
  };
}
