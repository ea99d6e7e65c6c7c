import type { RequestKind, Trx } from '../database/tables.ts';
import type { Verdict } from './retry.ts';

/** A request that one send loop has claimed. */
export type Claim = {
  readonly requestId: string;
  readonly kind: RequestKind;
  readonly subject: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** Sealed; null when the sender makes the body itself. */
  readonly body: Buffer | null;
  /** This one request finds out whether the closed gate can open. */
  readonly probe: boolean;
};

/** How long the service may take. */
export type Timeouts = {
  /** From the last byte sent to the answer's headers, and between any two parts of the answer. */
  readonly idleMs: number;
  /** The whole attempt. */
  readonly totalMs: number;
};

export type Post = {
  readonly kind: 'post';
  /** Segments of the path below the base address, each put in encoded: `['employer', id, 'census']`. */
  readonly path: readonly string[];
  /** The same for every attempt whose content is the same. */
  readonly idempotencyKey: string;
  /** Bytes, or a stream of exactly `length` bytes. */
  readonly body: Uint8Array | { readonly length: number; readonly chunks: AsyncIterable<Uint8Array> };
  readonly timeouts: Timeouts;
};

/** What becomes of a request that can't be sent now. The reason is shown to people and holds no personal data. */
export type Disposition =
  /** `delayMs` null: the usual backoff. */
  | { readonly outcome: 'later'; readonly reason: string; readonly delayMs: number | null }
  | { readonly outcome: 'cancelled'; readonly reason: string };

/** Decided inside the transaction, because what was missing may have come meanwhile. */
export type NotNow = { readonly kind: 'not-now'; readonly decide: (trx: Trx) => Promise<Disposition> };

export type Prepared = Post | NotNow;

/** What a kind of request has of its own. The loop claims, posts, judges and finishes for all of them. */
export type Sender = {
  /** Makes the POST of a claimed request, or says why it can't be sent now. Runs in no transaction and may take long. */
  prepare(claim: Claim, signal: AbortSignal): Promise<Prepared>;
  /** The POST is about to start. */
  started?(trx: Trx, claim: Claim, now: Date): Promise<void>;
  /** The POST ended. `unknown`: this or an earlier attempt may have been applied although no answer said so. */
  finished?(trx: Trx, claim: Claim, end: AttemptEnd): Promise<void>;
  /**
   * Two requests of a subject became one. A kind with this function coalesces: a request that must be retried
   * takes in the newer pending one of its subject, which is then cancelled.
   */
  merged?(trx: Trx, kept: string, cancelled: string): Promise<void>;
};

export type AttemptEnd = {
  readonly verdict: Verdict;
  readonly status: number | null;
  /** The outcome in words, without anything that the service wrote. */
  readonly reason: string;
  readonly unknown: boolean;
  readonly now: Date;
};

export type Senders = Readonly<Partial<Record<RequestKind, Sender>>>;
