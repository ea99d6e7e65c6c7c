/** Audit records: who did what. */
import Type, { type Static } from 'typebox';
import * as field from '../../contract/fields.ts';
import { notFound } from '../../errors.ts';
import { AUDIT_ORDERS, allRecords, csvOfRecords, listRecords } from '../../operations/audit-files.ts';
import { SettingDifference, settingDifferences } from '../../payroll/settings/differences.ts';
import { ACTIONS } from '../../security/audit.ts';
import { headText, readHead } from '../../security/audit-chain.ts';
import { type AuditFilter, AuditRecord, findRecord } from '../../security/audit-list.ts';
import { assertKnownFilter, employersOf } from '../employers.ts';
import { type Call, operation, type Parts } from '../operation.ts';
import { cursor, idFilter, instant, limit, ownId, pageOf } from '../schemas.ts';

const Query = field.closed({
  action: Type.Optional({ ...field.oneOf(ACTIONS), description: 'Only this action.' }),
  resource_type: Type.Optional({ ...ownId, description: 'Only this type of resource, such as `run`.' }),
  resource_id: Type.Optional({ ...ownId, description: 'Only the resource with this ID.' }),
  employer_id: idFilter('Only this employer.'),
  employee_id: idFilter('Only this employee.'),
  actor_id: Type.Optional({ ...ownId, description: 'Only this token, or this subject of a person.' }),
  from: instant('Only records at or after this time.'),
  until: instant('Only records before this time.'),
  order: Type.Optional({ ...field.oneOf(AUDIT_ORDERS), description: 'Default: `newest_first`.' }),
  cursor,
  limit,
});

/** Returns which records are listed. Throws NOT_FOUND for an unknown employer. */
async function filterOf(
  call: Pick<Call, 'caller'> & { query: Static<typeof Query> },
  parts: Parts,
): Promise<AuditFilter> {
  const { query } = call;
  await assertKnownFilter(call, parts, query.employer_id);
  return {
    action: query.action,
    resourceType: query.resource_type,
    resourceId: query.resource_id,
    employerId: query.employer_id,
    employeeId: query.employee_id,
    actorId: query.actor_id,
    from: query.from,
    until: query.until,
    employers: employersOf(call),
  };
}

export const listAuditRecords = operation({
  id: 'listAuditRecords',
  method: 'GET',
  path: '/v1/audit',
  scope: 'audit:read',
  employers: 'list',
  summary: 'List who did what',
  description: 'Lists audit records. Parameters are combined with AND.',
  query: Query,
  response: { 200: pageOf(AuditRecord) },
  refuses: ['NOT_FOUND'],
  async run(call, parts) {
    return listRecords(parts.db, await filterOf(call, parts), call.query);
  },
  async files(call, parts) {
    return { rows: allRecords(parts.db, await filterOf(call, parts), call.query.order), csv: csvOfRecords };
  },
});

/** Differences in a response: more than a person reads. */
const DIFFERENCES_MAX = 500;

const AuditRecordWithDifferences = field.component(
  'AuditRecordWithDifferences',
  {
    ...AuditRecord.properties,
    difference_count: field.integer('The number of differences.'),
    differences: Type.Array(SettingDifference, {
      description: `What the action changed in the stored settings of the employer, at most ${DIFFERENCES_MAX}. Empty for other actions.`,
    }),
  },
  'An audit record, and what its action changed in the settings of an employer.',
);

export const getAuditRecord = operation({
  id: 'getAuditRecord',
  method: 'GET',
  path: '/v1/audit/:record_id',
  scope: 'audit:read',
  employers: 'list',
  summary: 'Get an audit record',
  description:
    'Returns a record. For an action on pay schedules, payroll codes, the payroll policy or second approval, it has each ' +
    'difference from the version before.',
  params: field.closed({
    record_id: Type.String({
      pattern: '^[1-9][0-9]{0,14}$',
      rule: 'must be the ID of an audit record, such as 42',
      description: 'The ID of the record.',
    }),
  }),
  response: { 200: AuditRecordWithDifferences },
  refuses: ['NOT_FOUND'],
  async run(call, { db }) {
    const record = await findRecord(db, Number(call.params.record_id), employersOf(call));
    if (record === null) throw notFound('audit record');
    const differences = await settingDifferences(db, record);
    return {
      ...record,
      difference_count: differences.length,
      differences: differences.slice(0, DIFFERENCES_MAX),
    };
  },
});

const AuditHead = field.component(
  'AuditHead',
  { head: field.text('The ID of the last record, a colon, and its hash.') },
  'The head of the audit records. Keep it outside the sidecar to verify the records later.',
);

export const getAuditHead = operation({
  id: 'getAuditHead',
  method: 'GET',
  path: '/v1/audit/head',
  scope: 'audit:read',
  employers: 'none',
  summary: 'Get the head of the audit records',
  description:
    'Returns the head now. `benefits-sidecar audit verify --head` compares the records with a head that you kept.',
  response: { 200: AuditHead },
  run: async (_call, { db }) => ({ head: headText(await readHead(db)) }),
});
