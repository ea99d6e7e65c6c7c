import Type from 'typebox';
import { nullable } from '../../contract/fields.ts';
import { bodyOf } from '../../payroll/runs/store.ts';
import { verifyRun, whyOtherRules } from '../../payroll/runs/verify.ts';
import { viewReadiness } from '../../readiness/report.ts';
import { readinessOfRun } from '../../readiness/run-report.ts';
import type { ApiParts } from '../parts.ts';
import { Refusal } from '../problem.ts';
import { RunId } from '../run-schemas.ts';
import { type Api, closed, named } from '../schemas.ts';
import { storedRun, withEtag } from './payroll-runs.ts';
import type { Readiness } from './readiness.ts';

const Verification = closed(
  {
    identical: Type.Boolean({ description: 'Every line comes out as it was frozen.' }),
    lines: Type.Integer({ description: 'Lines that were frozen.' }),
    difference_count: Type.Integer({ description: 'All that differs.' }),
    differences: Type.Array(
      closed({
        employee_id: Type.String({ description: 'Whose.' }),
        line: nullable(
          Type.String({
            description: "Kind, deduction and run of the line; null: the employee's being in the run.",
          }),
        ),
        frozen: Type.Unknown({ description: 'As it was frozen; null when it was not.' }),
        computed: Type.Unknown({ description: 'As it is computed; null when it is not.' }),
      }),
      { description: 'The first of them.' },
    ),
  },
  'Whether a finalized run comes out the same again.',
);

/** Whether a run can be trusted: before it is finalized, and ever after. */
export function payrollRunProofRoutes(app: Api, { db, now, overdueMs, silentAfterMs }: ApiParts): void {
  app.get(
    '/v1/payroll-runs/:run_id/readiness',
    {
      config: { scope: 'runs:read', refuses: ['not-found', 'conflict', 'run-refused'] },
      schema: {
        operationId: 'getPayrollRunReadiness',
        tags: ['Payroll runs'],
        summary: 'Can this payroll run be finalized?',
        description:
          'Computes an open run and runs every check, including those of the run itself. A failed check stops `finalize` unless it is accepted by name. The header `ETag` is that of the lines and the failures.',
        params: RunId,
        response: { 200: Type.Unsafe<Readiness>({ $ref: 'Readiness#' }) },
      },
    },
    async ({ params }, reply) => {
      const stored = await storedRun(db, params.run_id);
      if (stored.state !== 'open') {
        throw new Refusal(
          'conflict',
          `the run is ${stored.state}: readiness is checked before that, verify proves it afterward`,
        );
      }
      const question = { now: now(), overdueMs, silentAfterMs };
      const report = await readinessOfRun(db, bodyOf(stored), stored.run_id, question);
      withEtag(reply, report.etag);
      return viewReadiness(report);
    },
  );

  app.get(
    '/v1/payroll-runs/:run_id/verify',
    {
      config: { scope: 'runs:read', refuses: ['not-found', 'conflict'] },
      schema: {
        operationId: 'verifyPayrollRun',
        tags: ['Payroll runs'],
        summary: 'Prove a finalized payroll run',
        description:
          'Computes it again from the ledger at its position, by the options, pay dates, codes and roster frozen with it. A run that was finalized by the rules of another release is a 409.',
        params: RunId,
        response: { 200: named(app, 'Verification', Verification) },
      },
    },
    async ({ params }) => {
      const stored = await storedRun(db, params.run_id);
      if (stored.state === 'open') {
        throw new Refusal('conflict', 'the run is open, so nothing is frozen yet: finalize it first');
      }
      const otherRules = whyOtherRules(stored);
      if (otherRules !== null) throw new Refusal('conflict', otherRules);
      return verifyRun(db, stored);
    },
  );
}
