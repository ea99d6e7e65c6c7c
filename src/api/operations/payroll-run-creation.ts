/** Payroll runs that are created, or computed without being stored. */
import Type from 'typebox';
import { PAY_FREQUENCIES } from '../../contract/employee.ts';
import * as field from '../../contract/fields.ts';
import { refused } from '../../errors.ts';
import { beginRun, PREVIEWED_LINES, previewWithLines } from '../../payroll/lifecycle/begin.ts';
import { openOnPayDate } from '../../payroll/lifecycle/open-on-pay-date.ts';
import {
  outlineOf,
  PayrollRun,
  PayrollRunOutline,
  PayrollRunPreview,
  viewPreview,
  viewStoredRun,
} from '../../payroll/lifecycle/run-view.ts';
import { type RequestedRun, RunBody, runOf } from '../../payroll/records/body.ts';
import { actingIn } from '../auth.ts';
import { assertOwnEmployer, lineSightOf, viewerOf } from '../employers.ts';
import { Answer, operation } from '../operation.ts';
import type { Refusal } from '../problem.ts';
import { DescribedRunBody, RunId } from '../run-schemas.ts';
import { compileValidator } from '../validation.ts';
import { etagHeader } from './payroll-runs.ts';

/** A run can name all 100,000 employees of an employer twice, with ids of 36 characters. */
export const RUN_BYTES_MAX = 8 * 1024 * 1024;

const OpenRequest = field.component(
  'OpenPayrollRunRequest',
  {
    employer_id: { ...field.identifier, description: 'The employer.' },
    pay_frequency: field.oneOfDescribed(PAY_FREQUENCIES, 'The pay frequency of the pay schedule.'),
    pay_group: Type.Optional(
      field.nullable({
        ...field.identifier,
        description: 'The pay group of the pay schedule, if it has one.',
      }),
    ),
    pay_date: { ...field.day, description: 'A date of the pay schedule.' },
  },
  'A pay date of a pay schedule.',
);

export const putPayrollRun = operation({
  id: 'putPayrollRun',
  method: 'PUT',
  path: '/v1/payroll-runs/:run_id',
  scope: 'runs:write',
  employers: 'request',
  action: 'run.create',
  summary: 'Create a payroll run',
  description:
    'Creates a run with an ID that you choose. The same body again changes nothing. Omitted fields have their defaults. ' +
    'The run is computed before it is stored. If it cannot be computed, the response names the fields to change and nothing is stored. ' +
    'To change an open run, delete it and create another one. The `ETag` header identifies its lines.',
  params: RunId,
  body: DescribedRunBody,
  response: {
    200: { ...PayrollRun, 'x-response-description': 'The same run already existed.' },
    201: { ...PayrollRun, 'x-response-description': 'The run was created.' },
  },
  refuses: ['CONFLICT', 'RUN_REFUSED'],
  bodyLimit: RUN_BYTES_MAX,
  isBodyUnchecked: true,
  runWork: 'put',
  async run(call, parts) {
    const run = runIn(call.body);
    assertOwnEmployer(call, run.employer_id);
    const { db, now, runReviews } = parts;
    const { outcome, view, stored } = await beginRun(
      db,
      call.params.run_id,
      run,
      actingIn(call, now()),
      runReviews.first(),
      viewerOf(call, parts),
    );
    return made(outcome, await viewStoredRun(db, view, stored), etagHeader(view.etag));
  },
  logs: (_call, run) => createdLine(run),
});

export const openPayrollRun = operation({
  id: 'openPayrollRun',
  method: 'POST',
  path: '/v1/payroll-runs',
  scope: 'runs:write',
  employers: 'request',
  action: 'run.create',
  summary: 'Open the payroll run of a pay date',
  description:
    'Returns the finalized or open regular run of an employer, pay frequency, pay group and pay date, whatever its ID. ' +
    'If there is none, because it was never created or was voided, creates it with the pay period of the pay schedule and ' +
    'an ID such as `acme-biweekly-2026-07-17`. Callers at the same time get the same run.',
  body: OpenRequest,
  response: {
    200: { ...PayrollRunOutline, 'x-response-description': 'The run already existed.' },
    201: { ...PayrollRunOutline, 'x-response-description': 'The run was created.' },
  },
  refuses: ['RUN_REFUSED'],
  async run(call, { db, now }) {
    const { pay_group = null, ...payroll } = call.body;
    assertOwnEmployer(call, payroll.employer_id);
    const { outcome, stored } = await openOnPayDate(db, { ...payroll, pay_group }, actingIn(call, now()));
    return made(outcome, await outlineOf(db, stored));
  },
  logs: (_call, run) => createdLine(run),
});

export const previewPayrollRun = operation({
  id: 'previewPayrollRun',
  method: 'POST',
  path: '/v1/payroll-runs/preview',
  scope: 'runs:read',
  employers: 'request',
  action: 'none',
  summary: 'Preview a payroll run',
  description: `Computes a run without storing it. With \`employee_ids\`, the response includes the first ${PREVIEWED_LINES} lines.`,
  body: DescribedRunBody,
  response: { 200: PayrollRunPreview },
  refuses: ['RUN_REFUSED'],
  bodyLimit: RUN_BYTES_MAX,
  isBodyUnchecked: true,
  runWork: 'preview',
  async run(call, parts) {
    const requested = runIn(call.body);
    assertOwnEmployer(call, requested.employer_id);
    const { view, lines } = await previewWithLines(parts.db, requested, viewerOf(call, parts));
    return viewPreview(parts.db, view, lines, lineSightOf(call, parts));
  },
});

/** Returns the answer of creating a run, which may have existed. */
function made<R>(outcome: string, result: R, headers = {}): Answer<R> {
  const isUnchanged = outcome !== 'created';
  return new Answer(result, { status: isUnchanged ? 200 : 201, headers, isUnchanged });
}

function createdLine({ id, employer_id }: { id: string; employer_id: string }) {
  return [{ run_id: id, employer_id }, 'a payroll run was created'] as const;
}

const checkBody = compileValidator({ schema: RunBody, method: '', url: '', httpPart: 'body' });

/** Returns the run that a body defines. Throws RUN_REFUSED. */
function runIn(body: unknown): RequestedRun {
  const checked = checkBody(body) as { error?: Refusal };
  if (checked.error !== undefined) throw refused('RUN_REFUSED', checked.error.problems);
  return runOf(body);
}
