import Type, { type Static } from 'typebox';
import * as field from '../../contract/fields.ts';
import { FINDING_FIELDS } from '../../formats/finding.ts';
import { UnappliedChange } from '../../inbox/unapplied.ts';
import { APPROVALS_SEEN } from '../../payroll/records/approvals.ts';
import type { StoredRun } from '../../payroll/records/runs.ts';
import { readReadiness, viewReadiness } from '../../readiness/report.ts';
import { CHECK_TEXTS, type CheckTexts, readinessOf } from '../../readiness/run-report.ts';
import { Actor } from '../../security/audit.ts';
import { assertOwnEmployer, employersOf, viewerOf } from '../employers.ts';
import { type Call, operation, type Parts } from '../operation.ts';
import { invalid } from '../problem.ts';
import { idFilter } from '../schemas.ts';

const Finding = field.component(
  'Finding',
  FINDING_FIELDS,
  'What a readiness check found. Fields that do not apply are absent. A token limited to employers gets only `check` and `count` of what belongs to another employer.',
);

const Check = field.component('ReadinessCheck', {
  id: field.text('The name of the check; never changes.'),
  result: Type.Enum(['pass', 'warn', 'fail', 'accepted'], {
    description:
      'A `fail` stops finalizing; a `warn` is for a person to review; `accepted` has only findings that a person accepted.',
  }),
  count: field.integer('The number of open findings, counted up to 1,000.'),
  advice: field.text('What to do; for a passed check, what it means.'),
  findings: Type.Array(Finding, { description: 'The first 20 open findings, failures first.' }),
  accepted: Type.Array(
    field.closed({
      ...FINDING_FIELDS,
      reason: field.text('Why it was accepted.'),
      accepted_by: Actor,
      accepted_at: field.text('The time of the acceptance.'),
    }),
    { description: 'The first findings that a person accepted earlier and whose facts have not changed.' },
  ),
  unapplied: Type.Optional(
    Type.Array(UnappliedChange, {
      description:
        'The first changes of amounts that the findings are about. Absent without any. Amounts need the scope `ledger:read`.',
    }),
  ),
});

const Readiness = field.component(
  'Readiness',
  {
    ready: field.boolean('No check failed.'),
    checked_at: field.text('The time of the checks.'),
    checks: Type.Array(Check, { description: 'Each check, in order.' }),
    etag: field.text(
      'Changes with the findings that can be accepted and, for a run, with its lines. Send it as `If-Match` to accept them.',
    ),
  },
  'Whether a payroll run can trust the ledger now.',
);

export const RunReadiness = field.component(
  'PayrollRunReadiness',
  {
    ...Readiness.properties,
    approval: field.nullable(
      field.closed(
        {
          state: field.oneOfDescribed(
            APPROVALS_SEEN,
            '`missing`: no approval covers these lines and failed checks; `given` by another person; `yours`: you gave it, so another person must finalize the run.',
          ),
          approved_by: field.nullable({ ...Actor, description: 'Who gave it. Null without one.' }),
        },
        'The second approval. Null if the employer requires none.',
      ),
    ),
  },
  'Whether a payroll run can be finalized.',
);

/** Returns the texts of a check. Empty for a check that only an earlier release had. */
export function textsOfCheck(id: string): Partial<CheckTexts> {
  return CHECK_TEXTS.get(id) ?? {};
}

/** Returns the title of a check, or its id if only an earlier release had it. */
export function titleOfCheck(id: string): string {
  return textsOfCheck(id).title ?? id;
}

/** Returns the question that all readiness reports share. It reads no other parts, because commands may lack DATA_KEYS. */
export async function questionOf(parts: Parts) {
  const { db, sharedNow, clockWarning, overdueMs, silentAfterMs, employeeSets } = parts;
  const at = { now: await sharedNow(db), clockWarning: await clockWarning() };
  return { ...at, overdueMs, silentAfterMs, employeeSets };
}

/** Returns the readiness of an open run as the caller sees it, from the run's kept review. Throws RUN_REFUSED. */
export async function readinessOfReviewed(call: Pick<Call, 'caller'>, parts: Parts, stored: StoredRun) {
  const question = { ...(await questionOf(parts)), viewer: viewerOf(call, parts) };
  const { computation, summary } = await parts.runReviews.review(stored);
  return readinessOf(parts.db, computation, summary, question);
}

export const getReadiness = operation({
  id: 'getReadiness',
  method: 'GET',
  path: '/v1/readiness',
  scope: 'ledger:read',
  employers: 'request',
  summary: 'Check whether payroll can trust the ledger',
  description: 'Runs every check and reports its findings and what to do. Call it before running payroll.',
  query: field.closed({
    employer_id: idFilter(
      'Runs the checks of single employers for this employer only. Required for a token limited to employers.',
    ),
  }),
  response: { 200: Readiness },
  async run(call, parts): Promise<Static<typeof Readiness>> {
    const { employer_id: employerId } = call.query;
    if (employerId !== undefined) assertOwnEmployer(call, employerId);
    else if (employersOf(call) !== null)
      throw invalid([{ path: 'employer_id', rule: 'is required for a token limited to employers' }]);
    const question = { ...(await questionOf(parts)), employerId, viewer: viewerOf(call, parts) };
    return viewReadiness(await readReadiness(parts.db, question), true);
  },
});
