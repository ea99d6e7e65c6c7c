/** The comparison of payroll's lists with the roster and the ledger before the first run, and its sign-off. */
import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { dayAt } from '../../database/time-zone.ts';
import type { OpenRows } from '../../formats/rows.ts';
import {
  CUT_OVER_COLUMNS,
  CUT_OVER_LISTS,
  CUT_OVER_ROWS_MAX,
  CutOver,
  type CutOverList,
  compareCutOver,
  signCutOver,
} from '../../payroll/reconciliation/cut-over.ts';
import { throughListFormat } from '../../payroll/settings/row-files.ts';
import { actingIn } from '../auth.ts';
import { viewerOf } from '../employers.ts';
import { NullableRepairs, viewRepairs } from '../file-repairs.ts';
import { type Call, operation, type Parts } from '../operation.ts';
import { invalid } from '../problem.ts';
import { EmployerId, fileOf } from '../schemas.ts';
import { needsPerson } from './payroll-run-approvals.ts';

const Params = field.closed({
  ...EmployerId.properties,
  list: field.oneOfDescribed(
    CUT_OVER_LISTS,
    '`people`: the employees of payroll. `deductions`: what payroll takes from them. `service`: an export of the benefits service, with its IDs.',
  ),
});

const column = (description: string) => Type.Optional(field.text(description));
const Row = field.component(
  'CutOverRow',
  {
    employee_id: field.text('The employee.'),
    id: column('The ID of the benefits service. Required in the list `service`.'),
    line_of_coverage: column('The line of coverage. Required, except in the list `people`.'),
    taxability: column('The taxability. Required, except in the list `people`.'),
    period: column('The period of the contributions. Required, except in the list `people`.'),
    member_contribution: column('The employee contribution. Required, except in the list `people`.'),
    employer_contribution: column('The employer contribution. Default: 0.'),
    effective_start: column('The first date. A row that starts later than today is left out.'),
    effective_end: column('The last date. A row that ended before today is left out.'),
  },
  'An employee, or a deduction that is in effect today.',
);
const Rows = fileOf(field.component('CutOverRequest', { rows: Type.Array(Row, { minItems: 1 }) }));

const ReadCutOver = field.component(
  'CutOverComparison',
  { ...CutOver.properties, repairs: NullableRepairs },
  'The comparison of a file with the roster or the ledger.',
);

const COMPARES = `The employees and amounts of today are compared. Deductions of one employee, line of coverage and taxability are added up, and deductions in the list \`service\` are compared by ID. Employees whom the list \`people\` names are not repeated in the other lists. A difference stays signed off until it changes. A CSV or an Excel workbook with other columns is read through the employer’s file format: the list \`people\` as a \`census\`, the other lists as \`deductions\`. At most ${CUT_OVER_ROWS_MAX} rows.`;

export const compareCutOverList = operation({
  id: 'compareCutOver',
  method: 'POST',
  path: '/v1/employers/:employer_id/cut-over/:list',
  scope: 'ledger:read',
  employers: 'employer',
  action: 'none',
  summary: 'Compare a list with the roster or the ledger before the first run',
  description: `Stores nothing. ${COMPARES}`,
  params: Params,
  body: Rows,
  rows: CUT_OVER_COLUMNS,
  response: { 200: ReadCutOver },
  refuses: ['NOT_FOUND', 'TOO_SLOW', 'ROWS_REFUSED'],
  run: (call, parts) => compared(call, parts),
});

export const signCutOverList = operation({
  id: 'signCutOver',
  method: 'POST',
  path: '/v1/employers/:employer_id/cut-over/:list/sign',
  scope: 'runs:write',
  employers: 'employer',
  action: 'cut-over.sign',
  summary: 'Sign off a list before the first run',
  description:
    'Send the same file and the ETag of the comparison that was reviewed. The counts, the ETag, a mark of each difference and the reason are kept in an audit record. ' +
    'Refused while a deduction of the employer has no ID of the benefits service, and for deductions before the people are signed off. ' +
    'The token must belong to a person.',
  params: Params,
  query: field.closed({
    etag: Type.Optional(field.text('The ETag of the comparison that was reviewed. Required.')),
    reason: Type.Optional(field.reasonField('Why the differences are right. Required.')),
  }),
  body: Rows,
  rows: CUT_OVER_COLUMNS,
  response: { 200: ReadCutOver },
  refuses: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED', 'FORBIDDEN', 'TOO_SLOW', 'ROWS_REFUSED'],
  async run(call, parts) {
    const { caller, params, query } = call;
    const acting = actingIn(call, parts.now());
    if (acting.actor.kind === 'token' && caller?.person == null) throw needsPerson('A sign-off');
    const { etag, reason } = query;
    if (etag === undefined || reason === undefined) {
      const missing = Object.entries({ etag, reason }).filter(([, value]) => value === undefined);
      throw invalid(missing.map(([path]) => ({ path, rule: 'is required' })));
    }
    const comparison = await compared(call, parts);
    await signCutOver(parts.db, params.employer_id, comparison, { etag, reason }, acting);
    return comparison;
  },
});

type Compared = Pick<Call, 'caller'> & { params: { employer_id: string; list: CutOverList }; body: OpenRows };

async function compared(call: Compared, parts: Parts) {
  const { employer_id: employerId, list } = call.params;
  const today = dayAt(parts.db, parts.now());
  const { required, optional } = CUT_OVER_COLUMNS;
  const of = list === 'people' ? list : 'deductions';
  const through = await throughListFormat(parts, employerId, of, [
    ...required,
    ...(list === 'people' ? [] : optional),
  ]);
  const comparison = await compareCutOver(
    parts.db,
    { employerId, list, today, viewer: viewerOf(call, parts) },
    call.body(through?.reader()),
  );
  const repairs = through?.repairs() ?? null;
  return { ...comparison, repairs: repairs && viewRepairs(repairs, call.caller) };
}
