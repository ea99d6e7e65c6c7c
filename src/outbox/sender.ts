import type { RequestKind, Subject, Trx } from '../database/tables.ts';
import type { Verdict } from './retry.ts';

/** A request that a send loop has claimed. */
export type Claim = Readonly<Subject> & {
  readonly requestId: string;
  readonly kind: RequestKind;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Encrypted; null if the sender creates the body. */
  readonly body: Buffer | null;
  /** Whether this request tests if the paused circuit breaker can become active. */
  readonly probe: boolean;
  /** Whether sending is off: the request must end without being sent. */
  readonly isUnsent: boolean;
  /** Whether to read the API key from its file again first, in case it was replaced. */
  readonly rereadsKey: boolean;
};

/** How long the service may take. */
export type Timeouts = {
  /** From the last byte sent to the response headers, and between any two parts of the response. */
  readonly idleMs: number;
  /** The whole attempt. */
  readonly totalMs: number;
};

export type Post = {
  readonly kind: 'post';
  /** Path segments below the base address, each encoded when sent: `['employer', id, 'census']`. */
  readonly path: readonly string[];
  /** The same for every attempt with the same content. */
  readonly idempotencyKey: string;
  /** Bytes, or a stream of exactly `length` bytes. */
  readonly body: Uint8Array | { readonly length: number; readonly chunks: AsyncIterable<Uint8Array> };
  readonly timeouts: Timeouts;
};

/** Why a request cannot be sent now. Operators see the reason, so it holds no personal data. */
type Disposition =
  /** With `delayMs` null, the usual backoff applies. */
  | { readonly outcome: 'later'; readonly reason: string; readonly delayMs: number | null }
  | { readonly outcome: 'canceled'; readonly reason: string };

/** A request that cannot be sent now. The decision is made in a transaction, because what was missing may have arrived. */
export type Decision = { readonly kind: 'decision'; readonly decide: (trx: Trx) => Promise<Disposition> };

/** How a claim ended. `lost`: it was taken over or left to expire. */
export type Ended = Verdict | Disposition['outcome'] | 'lost';

/** The part of sending that differs by kind. The send loop claims, posts, judges and finishes all kinds. */
export type Sender = {
  /** Creates the POST of a claimed request. Runs outside a transaction and may take long. */
  prepare(claim: Claim, signal: AbortSignal): Promise<Post | Decision>;
  /** Called before the POST starts. */
  started?(trx: Trx, claim: Claim, now: Date): Promise<void>;
  /** Called when the POST ended. `unknown`: an attempt may have been applied. `reason` quotes no response. */
  finished?(
    trx: Trx,
    claim: Claim,
    end: { verdict: Verdict; status: number | null; reason: string; unknown: boolean; now: Date },
  ): Promise<void>;
  /** Called when the request ended because sending is off. */
  unsent?(trx: Trx, claim: Claim): Promise<void>;
  /** Called when a retried request absorbed the newer pending one of its subject, which is canceled. */
  merged?(trx: Trx, kept: string, canceled: string): Promise<void>;
};

export type Senders = Readonly<Partial<Record<RequestKind, Sender>>>;
