import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { ROW_TYPES } from '../../formats/rows.ts';
import { tarOf } from '../../formats/tar.ts';
import { auditCursor, csvOfRecords } from '../../operations/audit-files.ts';
import { evidenceOf } from '../../operations/evidence.ts';
import { SettingDifference, settingDifferences } from '../../payroll/settings/differences.ts';
import { ACTIONS } from '../../security/audit.ts';
import { headText, readHead } from '../../security/audit-chain.ts';
import { AUDIT_ORDERS, AuditRecord, allRecords, findRecord, listRecords } from '../../security/audit-list.ts';
import { mayAlso, writeReadDown } from '../auth.ts';
import { employersOf, viewerOf } from '../employers.ts';
import { negotiated } from '../headers.ts';
import { storedRun } from '../operations/payroll-runs.ts';
import { conflict, notFound } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { RunId } from '../run-schemas.ts';
import { cursor, idFilter, instant, LIMIT_DEFAULT, limit, ownId, pageOf } from '../schemas.ts';
import { assertNoPage, interruptedOf, ndjsonOf } from '../streams.ts';

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

const OFFERED = [ROW_TYPES.json, ROW_TYPES.csv, ROW_TYPES.ndjson] as const;

const AuditHead = field.component(
  'AuditHead',
  { head: field.text('The ID of the last record, a colon, and its hash.') },
  'The head of the audit records. Keep it outside the sidecar to verify the records later.',
);

const RecordId = field.closed({
  record_id: Type.String({ pattern: '^[1-9][0-9]{0,14}$', description: 'The ID of the record.' }),
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

const TAR_TYPE = 'application/x-tar';

/** Lists audit records in pages, or streams all that match as one file. */
export function auditRoutes(app: Api, parts: ApiParts): void {
  const { db } = parts;
  app.get(
    '/v1/audit',
    operation('Audit', 'audit:read', {
      operationId: 'listAuditRecords',
      employers: 'list',
      summary: 'List who did what',
      description:
        'Lists audit records. Parameters are combined with AND. `Accept` selects JSON in pages, or all matching records as ' +
        '`text/csv` or `application/x-ndjson`.',
      querystring: Query,
      response: {
        200: Type.Unsafe<unknown>({
          description: 'The records.',
          content: {
            [ROW_TYPES.json]: { schema: pageOf(AuditRecord) },
            [ROW_TYPES.csv]: { schema: field.text('A header, then one row per record.') },
            [ROW_TYPES.ndjson]: { schema: field.text('An `AuditRecord` on each line.') },
          },
        }),
      },
      refuses: ['NOT_ACCEPTABLE'],
    }),
    async (request, reply) => {
      const { cursor, limit = LIMIT_DEFAULT, order = 'newest_first', from, until, ...query } = request.query;
      const type = negotiated(request.headers.accept, OFFERED);
      const filter = {
        action: query.action,
        resourceType: query.resource_type,
        resourceId: query.resource_id,
        employerId: query.employer_id,
        employeeId: query.employee_id,
        actorId: query.actor_id,
        from,
        until,
        employers: employersOf(request),
      };
      reply.header('vary', 'accept').type(type);
      if (type === ROW_TYPES.json) {
        const { records, next } = await listRecords(db, filter, {
          past: auditCursor.decode(cursor),
          limit,
          order,
        });
        return auditCursor.page(records, next);
      }
      assertNoPage(request.query);
      const pages = allRecords(db, filter, order);
      const file = type === ROW_TYPES.csv ? csvOfRecords(pages) : ndjsonOf(pages);
      return file.once('error', interruptedOf(request, parts));
    },
  );

  app.get(
    '/v1/audit/head',
    operation('Audit', 'audit:read', {
      operationId: 'getAuditHead',
      employers: 'none',
      summary: 'Get the head of the audit records',
      description:
        'Returns the head now. `benefits-sidecar audit verify --head` compares the records with a head that you kept.',
      response: { 200: AuditHead },
    }),
    async () => ({ head: headText(await readHead(db)) }),
  );

  app.get(
    '/v1/audit/:record_id',
    operation('Audit', 'audit:read', {
      operationId: 'getAuditRecord',
      employers: 'list',
      summary: 'Get an audit record',
      description:
        'Returns a record. For an action on pay schedules, payroll codes, the payroll policy or second approval, it has each ' +
        'difference from the version before.',
      params: RecordId,
      response: { 200: AuditRecordWithDifferences },
      refuses: ['NOT_FOUND'],
    }),
    async (request) => {
      const record = await findRecord(db, Number(request.params.record_id), employersOf(request));
      if (record === null) throw notFound('audit record');
      const differences = await settingDifferences(db, record);
      return {
        ...record,
        difference_count: differences.length,
        differences: differences.slice(0, DIFFERENCES_MAX),
      };
    },
  );

  app.get(
    '/v1/payroll-runs/:run_id/evidence',
    operation('Audit', 'runs:read', {
      operationId: 'getEvidenceOfPayrollRun',
      employers: 'run',
      summary: 'Get the evidence for a final payroll run',
      description:
        'Returns a tar archive: the run, its lines with their explanations, the versions and events behind each line, accepted ' +
        'findings, approvals, audit records, and a page that explains how to compare events with the log of the provider. With the scopes ' +
        '`events:read` and `pii:read` it contains the bodies of the events, and the read is recorded. Otherwise, and for a token that ' +
        'is limited to employers, it contains only their SHA-256.',
      params: RunId,
      response: {
        200: Type.Unsafe<unknown>({
          description: 'The archive.',
          content: { [TAR_TYPE]: { schema: Type.String({ format: 'binary' }) } },
        }),
      },
      refuses: ['NOT_FOUND', 'CONFLICT'],
    }),
    async (request, reply) => {
      const stored = await storedRun(db, request.params.run_id);
      if (stored.state === 'open') throw conflict('The run is open. Finalize it first.');
      const { caller } = request;
      const viewer = viewerOf(request, parts);
      const bodies = viewer === null && mayAlso(caller, 'events:read') && mayAlso(caller, 'pii:read');
      const { run_id, employer_id } = stored;
      if (bodies) {
        await writeReadDown(parts, request, { action: 'run.read', resource: run_id, employer: employer_id });
      }
      const files = evidenceOf(db, stored, { bodies, viewer, now: parts.now() });
      const archive = tarOf(files, parts.now()).once('error', interruptedOf(request, parts));
      reply.header('content-disposition', `attachment; filename="evidence-${run_id}.tar"`);
      return reply.type(TAR_TYPE).send(archive);
    },
  );
}
