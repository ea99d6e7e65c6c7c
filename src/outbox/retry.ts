/** Decides what an attempt's outcome means and when the next attempt is due. Pure. */

export type AttemptOutcome =
  /** `response`: the first bytes of the body, for operators. */
  | { responded: true; status: number; content: BodyKind; retryAfterMs: number | null; response: Buffer }
  /** No complete response. `sent`: the request may have reached the service. */
  | { responded: false; code: string; sent: boolean };

/** The kind of a response body, found by parsing it. `json-error` is a JSON object with an `error`. */
export type BodyKind = 'empty' | 'json' | 'json-error' | 'not-json' | 'too-long';

export type Verdict = 'delivered' | 'retry' | 'pause' | 'hold' | 'rejected';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

export const RETRY_MIN_MS = SECOND_MS;
/** A service that was down for hours is detected again within this time. */
export const RETRY_MAX_MS = 15 * MINUTE_MS;
/** A longer Retry-After is more likely a mistake, and employment changes have deadlines. */
export const RETRY_AFTER_MAX_MS = 60 * MINUTE_MS;
/** For what an operator must fix (403, a census that breaks the contract). */
export const SLOW_RETRY_MS = 15 * MINUTE_MS;
/** The longest delay of a request. A due time beyond it comes from a clock that jumped. */
export const DELAY_MAX_MS = RETRY_AFTER_MAX_MS;

/** Returns `minMs` doubled so many times, at most `maxMs`. */
export function doubled(minMs: number, maxMs: number, times: number): number {
  return Math.min(maxMs, minMs * 2 ** times);
}

export function after(now: Date, ms: number): string {
  return new Date(now.getTime() + ms).toISOString();
}

export function judge(outcome: AttemptOutcome): Verdict {
  if (!outcome.responded) return 'retry';
  const { status, content } = outcome;
  if (isUnreadSuccess(outcome)) return 'retry';
  if (isSuccess(status)) return 'delivered';
  const isWrongTarget = status === 401 || (status === 404 && content !== 'json-error');
  if (isWrongTarget || (status >= 300 && status < 400)) return 'pause';
  if (status === 403) return 'hold';
  if (status >= 400 && status < 500 && ![408, 425, 429].includes(status)) return 'rejected';
  return 'retry';
}

/** Returns whether the service may have applied the request unconfirmed. A 4xx means that it did not. */
export function isUnknown(outcome: AttemptOutcome): boolean {
  return outcome.responded ? outcome.status >= 500 || isUnreadSuccess(outcome) : outcome.sent;
}

/** Returns the outcome in words, without anything from the response, which may be personal data. */
export function reasonOf(outcome: AttemptOutcome): string {
  if (!outcome.responded) return `no response was received: ${outcome.code}`;
  const { status, content } = outcome;
  const reason = `the service responded with ${status}`;
  if (!isUnreadSuccess(outcome)) return reason;
  return `${reason} and a body ${content === 'too-long' ? 'over 1 MiB' : 'that is not JSON'}`;
}

/** A success that is not JSON comes from something in front of the service, such as a maintenance page. */
function isUnreadSuccess({ status, content }: { status: number; content: BodyKind }): boolean {
  return isSuccess(status) && (content === 'not-json' || content === 'too-long');
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Returns the wait after an attempt (1 for the first): exponential backoff with full jitter, at least Retry-After. */
export function backoffMs(attempt: number, random: () => number, retryAfterMs: number | null = null): number {
  const most = doubled(RETRY_MIN_MS, RETRY_MAX_MS, attempt);
  const backoff = RETRY_MIN_MS + Math.floor(random() * (most - RETRY_MIN_MS));
  return Math.max(backoff, Math.min(retryAfterMs ?? 0, RETRY_AFTER_MAX_MS));
}

/**
 * Returns the milliseconds of a Retry-After header (RFC 9110, 10.2.3), or null if it is invalid. `now` is the
 * response's own Date if it has one, in case the local clock is wrong.
 */
export function retryAfterMs(header: string | undefined, now: Date): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND_MS;
  const at = /^[A-Z][a-z]+, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now.getTime());
}
