/** What was reviewed: the ETag of its lines, and the refusals of lines or findings that changed since or were not accepted. */
import type { ReadinessReport } from '../../checks.ts';
import { AppError } from '../../errors.ts';

/** Returns the ETag of the lines, with which the ETag of a readiness report begins. */
export function linesEtagOf(etag: string): string {
  return etag.split('.')[0] as string;
}

/** Returns the refusal of lines for the failed checks that the request does not accept. */
export function notReady(
  { checks, acceptable }: Pick<ReadinessReport, 'checks' | 'acceptable'>,
  accept: readonly string[] = [],
): AppError {
  const failed = checks.filter(({ id, result }) => result === 'fail' && !accept.includes(id));
  // Failures of other checks must be fixed.
  const canAccept = new Set(acceptable.map(({ checkId }) => checkId));
  const todo = failed.every(({ id }) => canAccept.has(id))
    ? 'Fix what the readiness report lists, or accept each check by name with a reason.'
    : 'Fix what the readiness report lists.';
  const detail = `These readiness checks fail: ${failed.map(({ id }) => id).join(', ')}. ${todo}`;
  const problems = failed.map(({ id, count, advice }) => ({ path: id, rule: `${count} found. ${advice}` }));
  return new AppError('READINESS_FAILED', detail, { problems });
}

/** Returns a refusal with the current ETag, for another attempt after a review. */
export function reviewAgain(etag: string, detail: string): AppError {
  return new AppError('PRECONDITION_FAILED', detail, { subject: etag });
}

/** Throws if a readiness report is not the one that was reviewed. */
export function assertReviewed({ etag }: Pick<ReadinessReport, 'etag'>, ifMatch: string | null): void {
  if (etag === ifMatch) return;
  const why = `The run changed since it was reviewed. Review it again, then send the ETag of its readiness report, "${etag}".`;
  throw reviewAgain(etag, why);
}

/** Returns the refusal of a request without the ETag of what was reviewed. */
export function etagRequired(reviewed: string): AppError {
  return new AppError(
    'PRECONDITION_REQUIRED',
    `Send the ETag of the ${reviewed} that was reviewed as If-Match, so that nothing else is accepted.`,
  );
}
