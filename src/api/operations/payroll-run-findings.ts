import Type, { type Static } from 'typebox';
import * as field from '../../contract/fields.ts';
import { acceptancesOf, idsOf } from '../../payroll/lifecycle/acceptances.ts';
import { storedRun } from '../../payroll/records/runs.ts';
import { limitedAcceptances } from '../../readiness/report.ts';
import { Actor, makerOf } from '../../security/audit.ts';
import { employersOf } from '../employers.ts';
import { operation } from '../operation.ts';
import { RunId } from '../run-schemas.ts';
import { readinessOfReviewed } from './readiness.ts';

/** The most findings in a response: more than a person reads before accepting them. */
const FINDINGS_MAX = 1_000;

const Finding = field.closed({
  check_id: field.text('The ID of the check.'),
  result: Type.Enum(['fail', 'warn', 'accepted'], {
    description:
      'A `fail` must be accepted to finalize, and a `warn` can be. Final runs have `accepted` ones.',
  }),
  example: field.nullableText(
    'The finding, as it was when it was accepted. Null for a final run if the token is limited to employers, because it may name another employer.',
  ),
  employee_id: field.nullableText('The employee. Null if the finding names none.'),
  ids: Type.Array(Type.String(), { description: 'The events, versions or dates of the finding.' }),
  reason: field.nullableText('Why it was accepted. Null for an open run.'),
  accepted_by: field.nullable({ ...Actor, description: 'Who accepted it. Null for an open run.' }),
  accepted_at: field.nullableText('The time of the acceptance. Null for an open run.'),
});

const Findings = field.component(
  'PayrollRunFindings',
  {
    count: field.integer('The number of findings.'),
    findings: Type.Array(Finding, { description: 'In the order of the checks, at most 1,000.' }),
  },
  'The readiness findings of a run that a person can accept, or accepted.',
);

export const listPayrollRunFindings = operation({
  id: 'listPayrollRunFindings',
  group: 'Payroll runs',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id/findings',
  scope: 'runs:read',
  employers: 'run',
  summary: 'List the readiness findings that finalizing a payroll run accepts',
  description:
    'Lists each finding of an open run that a person can accept, as it is now. Of a final run, it lists the findings that were ' +
    'accepted with it, then earlier acceptances that still counted.',
  params: RunId,
  response: { 200: Findings },
  refuses: ['NOT_FOUND', 'RUN_REFUSED'],
  async run(call, parts): Promise<Static<typeof Findings>> {
    const stored = await storedRun(parts.db, call.params.run_id);
    if (stored.state !== 'open') {
      const { rows, makers } = await acceptancesOf(parts.db, stored.run_id);
      const shown = employersOf(call) === null ? rows : limitedAcceptances(rows);
      const findings = shown.slice(0, FINDINGS_MAX).map((row) => {
        const { check_id, employee_id, example, reason, record_id } = row;
        const { by: accepted_by, at: accepted_at } = makerOf(makers, record_id);
        const made = { reason, accepted_by, accepted_at };
        return { check_id, result: 'accepted' as const, example, employee_id, ids: idsOf(row), ...made };
      });
      return { count: rows.length, findings };
    }
    const { acceptable } = await readinessOfReviewed(call, parts, stored);
    const findings = acceptable.slice(0, FINDINGS_MAX).map(({ checkId, employeeId, ids, ...finding }) => {
      const open = { reason: null, accepted_by: null, accepted_at: null };
      return { check_id: checkId, employee_id: employeeId, ids: [...ids], ...finding, ...open };
    });
    return { count: acceptable.length, findings };
  },
});
