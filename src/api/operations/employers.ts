/** An employer as a whole. */
import * as field from '../../contract/fields.ts';
import { fromSnapshot, transact } from '../../database/transaction.ts';
import { tarOf } from '../../formats/tar.ts';
import { exportOf } from '../../operations/employer-export.ts';
import { record } from '../../security/audit.ts';
import { actingIn, alsoNeeds, mayAlso } from '../auth.ts';
import { employersOf } from '../employers.ts';
import { Answer, operation } from '../operation.ts';
import { ARCHIVE, EmployerId, flag } from '../schemas.ts';

/** Each holds a snapshot of the database, and on PostgreSQL a connection. */
const EXPORTS_AT_ONCE = 2;

export const exportEmployer = operation({
  id: 'exportEmployer',
  method: 'POST',
  path: '/v1/employers/:employer_id/export',
  scope: 'audit:read',
  employers: 'employer',
  action: 'employer.export',
  summary: 'Export everything that is kept of an employer',
  description:
    'Returns a tar archive of newline-delimited JSON with every stored row of the employer, all at one position of the ledger. Also ' +
    'requires the scope `runs:read`. With `pii:read` it contains personal data: the census, changes, responses and bodies of events ' +
    '(for a token that is limited to employers, without bodies of events). Each export is recorded before it starts.',
  params: EmployerId,
  query: field.closed({
    personal_data: flag(
      '`true`: the scope `pii:read` is required. `false`: without personal data. Default: with it if the token has the scope.',
    ),
  }),
  response: { 200: ARCHIVE },
  streams: { what: 'exports', atOnce: EXPORTS_AT_ONCE },
  refuses: ['NOT_FOUND'],
  async run(call, parts) {
    const { db, now } = parts;
    const { employer_id } = call.params;
    alsoNeeds(call, 'runs:read');
    const { personal_data = mayAlso(call.caller, 'pii:read') } = call.query;
    if (personal_data) alsoNeeds(call, 'pii:read');
    const exporting = {
      ...{ employerId: employer_id, now: now(), isLimited: employersOf(call) !== null },
      // Without its keys nothing is recorded.
      encryptor: personal_data ? parts.encryptor : null,
    };
    const exported = { resource: employer_id, employer: employer_id, details: { personal_data } };
    await transact(db, (trx) =>
      record(trx, actingIn(call, exporting.now), { action: 'employer.export', ...exported }),
    );
    const files = fromSnapshot(db, (trx) => exportOf(trx, exporting));
    const headers = { 'content-disposition': 'attachment; filename="employer-export.tar"' };
    return new Answer(tarOf(files, exporting.now), { headers });
  },
  logs: ({ params: { employer_id } }) => [{ employer_id }, 'an employer was exported'],
});
