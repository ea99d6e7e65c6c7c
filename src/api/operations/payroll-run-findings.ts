import Type, { type Static } from 'typebox';
import * as field from '../../contract/fields.ts';
import { conflict } from '../../errors.ts';
import { cursorOf } from '../../formats/cursor.ts';
import { FINDING_FIELDS } from '../../formats/finding.ts';
import { acceptedInRun } from '../../payroll/lifecycle/acceptances.ts';
import { type StoredRun, storedRun } from '../../payroll/records/runs.ts';
import { limitedAcceptances } from '../../readiness/report.ts';
import { CHECK_TEXTS } from '../../readiness/run-report.ts';
import { Actor } from '../../security/audit.ts';
import { employersOf } from '../employers.ts';
import { type Call, operation, type Parts } from '../operation.ts';
import { RunId } from '../run-schemas.ts';
import { cursor } from '../schemas.ts';
import { readinessOfReviewed } from './readiness.ts';

/** The most findings in a response, more than a person reads before accepting them. */
const FINDINGS_MAX = 1_000;

const Finding = field.closed({
  ...FINDING_FIELDS,
  result: Type.Enum(['fail', 'warn', 'accepted'], {
    description: 'A `fail` must be accepted or fixed to finalize. Final runs have `accepted` ones.',
  }),
  acceptable: field.boolean('Whether finalizing the run can accept it. False if the run is final.'),
  ids: Type.Array(Type.String(), {
    description:
      'With the employee, these events, versions or dates identify the finding while they are the same.',
  }),
  reason: Type.Optional(field.text('Why it was accepted. Absent for an open run.')),
  accepted_by: Type.Optional({ ...Actor, description: 'Who accepted it. Absent for an open run.' }),
  accepted_at: Type.Optional(field.text('The time of the acceptance. Absent for an open run.')),
});

const Findings = field.component(
  'PayrollRunFindings',
  {
    count: field.integer('The number of findings.'),
    findings: Type.Array(Finding, {
      description: 'In the order of the checks, at most 1,000 in a response.',
    }),
    next_cursor: field.nullableText('Pass it as `cursor` to get the next findings. Null after the last one.'),
  },
  'The readiness findings of a run.',
);

/** `after`: the number of findings on the pages before. `etag`: of all findings. */
const place = cursorOf(
  'run-findings',
  Type.Object({ after: Type.Integer({ minimum: 1 }), etag: Type.String() }),
);

export const listPayrollRunFindings = operation({
  id: 'listPayrollRunFindings',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id/findings',
  scope: 'runs:read',
  employers: 'run',
  summary: 'List the readiness findings of a payroll run',
  description:
    'Lists every open finding of an open run, as it is now. Of a final run, it lists the findings that were ' +
    'accepted with it, then earlier acceptances that still counted.',
  params: RunId,
  query: field.closed({
    check: Type.Optional(Type.Enum([...CHECK_TEXTS.keys()], { description: 'Only findings of this check.' })),
    cursor,
  }),
  response: { 200: Findings },
  refuses: ['NOT_FOUND', 'RUN_REFUSED', 'CONFLICT'],
  async run(call, parts): Promise<Static<typeof Findings>> {
    const stored = await storedRun(parts.db, call.params.run_id);
    const { etag, all } =
      stored.state === 'open'
        ? await openFindings(call, parts, stored)
        : await acceptedFindings(call, parts, stored);
    const from = place.decode(call.query.cursor);
    if (from !== undefined && from.etag !== etag)
      throw conflict('The findings changed while the list was read. Start again without cursor.');
    const { check } = call.query;
    const listed = check === undefined ? all : all.filter((finding) => finding.check === check);
    const start = from?.after ?? 0;
    const end = start + FINDINGS_MAX;
    const next_cursor = end < listed.length ? place.encode({ after: end, etag }) : null;
    return { count: listed.length, findings: listed.slice(start, end), next_cursor };
  },
});

type Listed = { etag: string; all: Static<typeof Finding>[] };

async function openFindings(call: Pick<Call, 'caller'>, parts: Parts, stored: StoredRun): Promise<Listed> {
  const { etag, open } = await readinessOfReviewed(call, parts, stored);
  const all = open.map(({ finding, result, isAcceptable: acceptable, ids }) => {
    return { ...finding, result, acceptable, ids: [...ids] };
  });
  return { etag, all };
}

async function acceptedFindings(
  call: Pick<Call, 'caller'>,
  parts: Parts,
  stored: StoredRun,
): Promise<Listed> {
  const accepted = await acceptedInRun(parts.db, stored.run_id);
  const shown = employersOf(call) === null ? accepted : limitedAcceptances(accepted);
  const all = shown.map(({ finding, ...acceptance }) => {
    return { ...finding, result: 'accepted' as const, acceptable: false, ...acceptance };
  });
  return { etag: stored.state, all };
}
