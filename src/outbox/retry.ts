/**
 * What an attempt's outcome means, and when the next one is due. Pure; the table is "Outgoing requests" of the
 * design. The interface shows no status codes, so every plausible one has its place.
 */

export type Outcome =
  /** `answer`: the first bytes of the body, for a person. */
  | { answered: true; status: number; content: Content; retryAfterMs: number | null; answer: Buffer }
  /** No whole answer came. `sent`: the request may have reached the service. */
  | { answered: false; code: string; sent: boolean };

/** The kind of a response body, found by parsing it. `json-error` is a JSON object with an `error`. */
export type Content = 'empty' | 'json' | 'json-error' | 'not-json' | 'too-long';

export type Verdict = 'delivered' | 'retry' | 'close-gate' | 'hold' | 'rejected';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

/** Soon enough that a hiccup is not noticed, late enough not to be part of it. */
export const RETRY_MIN_MS = SECOND_MS;
/** A service that was down for hours is found up again within this. */
export const RETRY_MAX_MS = 15 * MINUTE_MS;
/** A longer Retry-After is more likely a mistake than a options, and employment changes have deadlines. */
export const RETRY_AFTER_MAX_MS = 60 * MINUTE_MS;
/** For what only a person can mend (403, a census that breaks the contract): seen mended within this. */
export const SLOW_RETRY_MS = 15 * MINUTE_MS;
/** The longest time that a request is ever put off. A due time beyond it comes from a clock that jumped. */
export const DELAY_MAX_MS = RETRY_AFTER_MAX_MS;

/** The three 4xx that say "later" rather than "no". */
const RETRIED_4XX: ReadonlySet<number> = new Set([408, 425, 429]);
/** Doublings after which the backoff is at its most, and 2 to their power is still an exact number. */
const DOUBLINGS_MAX = 30;

export function judge(outcome: Outcome): Verdict {
  if (!outcome.answered) return 'retry';
  const { status, content } = outcome;
  if (isUnreadSuccess(outcome)) return 'retry';
  if (isSuccess(status)) return 'delivered';
  if (status >= 300 && status < 400) return 'close-gate';
  if (status === 401) return 'close-gate';
  if (status === 404 && content !== 'json-error') return 'close-gate';
  if (status === 403) return 'hold';
  if (status >= 400 && status < 500 && !RETRIED_4XX.has(status)) return 'rejected';
  return 'retry';
}

/** Whether the service may have applied the request although it did not say so. A 4xx says that it did not. */
export function isUnknown(outcome: Outcome): boolean {
  return outcome.answered ? outcome.status >= 500 || isUnreadSuccess(outcome) : outcome.sent;
}

/** Returns what came of an attempt in words, and nothing that the service wrote: that may be personal data. */
export function reasonOf(outcome: Outcome): string {
  if (!outcome.answered) return `no answer: ${outcome.code}`;
  const { status, content } = outcome;
  if (!isUnreadSuccess(outcome)) return `answered ${status}`;
  return content === 'too-long'
    ? `responded ${status} with a body over 1 MiB`
    : `responded ${status} with a body that is not JSON`;
}

/** A success that is not JSON comes from something in front of the service, such as a maintenance page. */
function isUnreadSuccess({ status, content }: { status: number; content: Content }): boolean {
  return isSuccess(status) && (content === 'not-json' || content === 'too-long');
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/**
 * Milliseconds until the next attempt after `attempt` (1 for the first): exponential with full jitter, so that
 * requests that failed together don't come back together; never sooner than the service asked for.
 * `random` gives numbers from 0 up to 1.
 */
export function backoffMs(attempt: number, random: () => number, retryAfterMs: number | null = null): number {
  const most = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(attempt, DOUBLINGS_MAX));
  const own = RETRY_MIN_MS + Math.floor(random() * (most - RETRY_MIN_MS));
  return Math.max(own, Math.min(retryAfterMs ?? 0, RETRY_AFTER_MAX_MS));
}

/**
 * The value of a Retry-After header in milliseconds from `now`: seconds or an HTTP date (RFC 9110, 10.2.3).
 * `now` is the answer's own Date where it has one, so that a wrong clock here changes nothing. Null when it says neither.
 */
export function retryAfterMs(header: string | undefined, now: Date): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND_MS;
  const at = /^[A-Z][a-z]+, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now.getTime());
}
