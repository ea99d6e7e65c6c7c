import type { Outcome } from './retry.ts';

/** Codes of failures that come before a byte of the request, or the whole of its body, could leave. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  // Our own body did not open, or ended early: the service has at most the begin of a request, which it can't apply.
  'DATA_KEY_MISSING',
  'SEAL_BROKEN',
  'CENSUS_CUT',
]);

/** An attempt that ended without a whole answer, by the code of what broke it: messages may quote what was sent. */
export function failureOf(error: unknown): Outcome {
  const code = failureCode(error);
  return { answered: false, code, sent: !NOT_SENT.has(code) };
}

export function failureCode(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  if (name === 'TimeoutError') return 'TIMEOUT';
  return typeof code === 'string' && code !== '' ? code : 'UNKNOWN';
}
