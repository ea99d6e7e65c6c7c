/** Decides what an attempt's outcome means and when the next attempt is due. Pure. */

export type AttemptOutcome =
  /** `response`: the first bytes of the body, for operators. */
  | { responded: true; status: number; content: BodyKind; retryAfterMs: number | null; response: Buffer }
  /** No complete response. `sent`: the request may have reached the service. */
  | { responded: false; code: string; sent: boolean };

/**
 * The kind of a response body, found by parsing it. `json-error`: a JSON object with an `error`. `json-failure`: one that
 * reports a failure otherwise, with `errors`, or with `success` or `ok` false.
 */
export type BodyKind = 'empty' | 'json' | 'json-error' | 'json-failure' | 'not-json' | 'too-long';

/** `hold`: the request is retried, and its subject's later requests wait for an operator or the service. */
export type Verdict = 'delivered' | 'retry' | 'hold' | 'rejected';

/** How the attempts before this one ended. */
export type Before = {
  /** Whether one of them may have been applied. */
  readonly unknown: boolean;
  /** The status of the last response, or null. */
  readonly status: number | null;
  /** Consecutive responses of the kind of `status` that refused the request without deciding about it. */
  readonly refusals: number;
};

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

export const RETRY_MIN_MS = SECOND_MS;
/** A service that was down for hours is detected again within this time. */
export const RETRY_MAX_MS = 15 * MINUTE_MS;
/** A longer Retry-After is more likely a mistake, and employment changes have deadlines. */
export const RETRY_AFTER_MAX_MS = 60 * MINUTE_MS;
/** For what an operator must fix (403, a census that breaks the contract). */
export const SLOW_RETRY_MS = 15 * MINUTE_MS;
/** A held subject is probed this soon, so that a replaced key takes effect at once. */
export const HOLD_MIN_MS = SECOND_MS;
/** A fix is detected within a minute, without a high load on the service until then. */
export const HOLD_MAX_MS = MINUTE_MS;
/** How often a request is retried whose success reports a failure. An error that lasts is about its content. */
export const FAILED_SUCCESS_RETRIES = 5;
/** The longest delay of a request. A due time beyond it comes from a clock that jumped. */
export const DELAY_MAX_MS = RETRY_AFTER_MAX_MS;

/** Returns `minMs` doubled so many times, at most `maxMs`. */
export function doubled(minMs: number, maxMs: number, times: number): number {
  return Math.min(maxMs, minMs * 2 ** times);
}

export function after(now: Date, ms: number): string {
  return new Date(now.getTime() + ms).toISOString();
}

const RETRIED = [408, 425, 429];
/** Statuses of a request that is still in progress, or that conflicts with an attempt of its own. */
const IN_PROGRESS = [409, 421, 423];

export function judge(outcome: AttemptOutcome, before: Before): Verdict {
  if (!outcome.responded) return 'retry';
  const { status } = outcome;
  if (isUnreadSuccess(outcome)) return 'retry';
  if (isFailedSuccess(outcome)) {
    return refusalsAfter(outcome, before) > FAILED_SUCCESS_RETRIES ? 'rejected' : 'retry';
  }
  if (isSuccess(status)) return 'delivered';
  if (isWrongTarget(outcome) || status === 403) return 'hold';
  const isInProgress = before.unknown || outcome.retryAfterMs !== null;
  if (RETRIED.includes(status) || (IN_PROGRESS.includes(status) && isInProgress)) return 'retry';
  return status >= 400 && status < 500 ? 'rejected' : 'retry';
}

/** Returns whether the response shows that the address or the API key is wrong, for this subject or for all. */
export function isWrongTarget(outcome: AttemptOutcome): boolean {
  if (!outcome.responded) return false;
  const { status, content } = outcome;
  // A proxy that wants another password responds with 407.
  const isUnauthorized = status === 401 || status === 407;
  return isUnauthorized || (status >= 300 && status < 400) || (status === 404 && content !== 'json-error');
}

/** Returns `refusals` after this attempt. Failed successes, 403s and responses of a wrong target are counted apart. */
export function refusalsAfter(outcome: AttemptOutcome, { status, refusals }: Before): number {
  const isHeld = outcome.responded && (isWrongTarget(outcome) || outcome.status === 403);
  if (!outcome.responded || !(isHeld || isFailedSuccess(outcome))) return 0;
  return (status !== null && refusalKind(status) === refusalKind(outcome.status) ? refusals : 0) + 1;
}

function refusalKind(status: number): string {
  if (status === 403) return 'forbidden';
  return isSuccess(status) ? 'failed success' : 'wrong target';
}

/** Returns whether the service may have applied the request unconfirmed. A 4xx means that it did not. */
export function isUnknown(outcome: AttemptOutcome): boolean {
  if (!outcome.responded) return outcome.sent;
  return outcome.status >= 500 || isUnreadSuccess(outcome) || isFailedSuccess(outcome);
}

/** Returns the outcome in words, without anything from the response, which may be personal data. */
export function reasonOf(outcome: AttemptOutcome): string {
  if (!outcome.responded) return `no response was received: ${outcome.code}`;
  const { status, content } = outcome;
  const reason = `the service responded with ${status}`;
  if (isFailedSuccess(outcome)) return `${reason} and reported a failure`;
  if (!isUnreadSuccess(outcome)) return reason;
  return `${reason} and a body ${content === 'too-long' ? 'over 1 MiB' : 'that is not JSON'}`;
}

/** A success that is not JSON comes from something in front of the service, such as a maintenance page. */
function isUnreadSuccess({ status, content }: { status: number; content: BodyKind }): boolean {
  return isSuccess(status) && (content === 'not-json' || content === 'too-long');
}

/** A success whose body reports a failure confirms nothing. */
function isFailedSuccess({ status, content }: { status: number; content: BodyKind }): boolean {
  return isSuccess(status) && (content === 'json-error' || content === 'json-failure');
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

/** Returns the wait of a held subject after so many responses that held it. */
export function holdMs(status: number | null, refusals: number): number {
  return status === 403 ? SLOW_RETRY_MS : doubled(HOLD_MIN_MS, HOLD_MAX_MS, refusals - 1);
}

/**
 * Returns the milliseconds of a Retry-After header (RFC 9110, 10.2.3), or null without one. An invalid one asks for a retry
 * at no certain time: 0. `now` is the response's own Date if it has one, in case the local clock is wrong.
 */
export function retryAfterMs(header: string | undefined, now: Date): number | null {
  const text = header?.trim() ?? '';
  if (text === '') return null;
  if (/^\d+$/.test(text)) return Number(text) * SECOND_MS;
  const at = /^[A-Z][a-z]+, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, at - now.getTime());
}
