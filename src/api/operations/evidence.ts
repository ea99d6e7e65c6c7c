/** The evidence for a final payroll run. */
import * as field from '../../contract/fields.ts';
import { conflict } from '../../errors.ts';
import { tarOf } from '../../formats/tar.ts';
import { evidenceOf } from '../../operations/evidence.ts';
import { storedRun } from '../../payroll/records/runs.ts';
import { alsoNeeds, mayAlso, writeReadDown } from '../auth.ts';
import { viewerOf } from '../employers.ts';
import { Answer, operation } from '../operation.ts';
import { RunId } from '../run-schemas.ts';
import { ARCHIVE, flag } from '../schemas.ts';

export const getEvidenceOfPayrollRun = operation({
  id: 'getEvidenceOfPayrollRun',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id/evidence',
  scope: 'runs:read',
  employers: 'run',
  summary: 'Get the evidence for a final payroll run',
  description:
    'Returns a tar archive: the run, its lines with their explanations, the versions and events behind each line, accepted ' +
    'findings, approvals, audit records, and a page that explains how to compare events with the log of the provider. With the scopes ' +
    '`events:read` and `pii:read` it contains the bodies of the events, and the read is recorded. Otherwise, and for a token that ' +
    'is limited to employers, it contains only their SHA-256.',
  params: RunId,
  query: field.closed({
    personal_data: flag(
      '`true`: the scopes `events:read` and `pii:read` are required. `false`: without the bodies of events. ' +
        'Default: with the bodies if the token has these scopes.',
    ),
  }),
  response: { 200: ARCHIVE },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(call, parts) {
    const { db, now } = parts;
    const stored = await storedRun(db, call.params.run_id);
    if (stored.state === 'open') throw conflict('The run is open. Finalize it first.');
    const { caller } = call;
    const viewer = viewerOf(call, parts);
    const { personal_data = mayAlso(caller, 'events:read') && mayAlso(caller, 'pii:read') } = call.query;
    if (personal_data) for (const scope of ['events:read', 'pii:read'] as const) alsoNeeds(call, scope);
    const bodies = viewer === null && personal_data;
    const { run_id, employer_id } = stored;
    if (bodies) {
      await writeReadDown(parts, call, { action: 'run.read', resource: run_id, employer: employer_id });
    }
    const archive = tarOf(evidenceOf(db, stored, { bodies, viewer, now: now() }), now());
    const headers = { 'content-disposition': `attachment; filename="evidence-${run_id}.tar"` };
    return new Answer(archive, { headers });
  },
});
