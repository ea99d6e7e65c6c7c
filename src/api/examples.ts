/** Examples of requests and responses for the reference, made from the schemas and one table of values. */
import { CSV_COLUMNS } from '../payroll/lifecycle/csv.ts';

type Schema = Readonly<Record<string, unknown>> & { properties?: Record<string, Schema>; items?: Schema };
type Schemas = Readonly<Record<string, Schema>>;
type MediaTypes = Record<string, { schema: Schema; example?: unknown }>;
type DescribedPart = { content?: MediaTypes };
type DescribedOperation = {
  operationId?: string;
  requestBody?: DescribedPart;
  responses?: Record<string, DescribedPart>;
};
type Document = {
  paths?: Record<string, Record<string, DescribedOperation>>;
  components?: { schemas?: Schemas };
};

const RECEIVED = '2026-07-01T15:04:05.000Z';
const RECORDED = '2026-07-01T15:04:05.120Z';
const CREATED = '2026-07-13T09:00:00.000Z';
const FINISHED = '2026-07-13T09:05:00.000Z';
const CHANGE = '3f0c9a52-6d1b-4c1e-9b0e-5a7f3b1c2d4e';
const CENSUS = '8a41d7c0-2f5e-4b63-8c19-0d9e7f6a5b3c';
const SYNC = 'c5e2b8f4-7a90-4d36-a1b7-3e4f5d6c7b8a';
const ETAG = '9f2c4b7d1e8a5036';

const PAYROLL = {
  kind: 'token',
  issuer: null,
  id: 'tok_3f9c1a2b4d5e',
  name: 'payroll',
  acting_user: 'dana@example.com',
};

/** Values by field, or by component and field. Other fields get the first or the simplest value of their schema. */
const VALUES: Readonly<Record<string, unknown>> = {
  ...{ absent: { count: 0, employee_ids: [] }, 'AuditCategory.count': 0, 'AuditCategory.rows': [] },
  ...{ reported: { employees: 0, lines: 0, member_amount: '0.00', employer_amount: '0.00' } },
  ...{ employer_id: 'harbor-clinic', employee_id: 'harbor-clinic-001', employee_ids: ['harbor-clinic-001'] },
  ...{ deduction_id: 'ded_5521', run_id: 'hc-2026-07-17', event_id: 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W' },
  ...{ census_id: CENSUS, change_id: CHANGE, source_id: CENSUS, envelope_id: 'evt_8842' },
  ...{
    'Deduction.id': 'ded_5521',
    'DeductionAssignment.id': '58',
    'DeductionAssignment.reason': 'elected in this job',
    'DeductionAssignmentRequest.reason': 'elected in this job',
    'CensusReceipt.id': CENSUS,
  },
  ...{ 'StagedCensus.id': CENSUS, 'CensusSync.id': SYNC, 'EmployeeChangeReceipt.id': CHANGE },
  ...{ 'EmployeeChangeSummary.id': CHANGE, 'EmployeeChange.id': CHANGE, 'Employee.id': 'harbor-clinic-001' },
  ...{ 'Actor.kind': 'token', 'Actor.issuer': null, 'Actor.id': 'tok_3f9c1a2b4d5e', 'Actor.name': 'payroll' },
  ...{ 'Actor.acting_user': 'dana@example.com', 'AuditRecord.id': '311', action: 'run.finalize' },
  ...{ 'PayrollRunApproval.action': 'finalize', 'ApprovalRequest.action': 'finalize' },
  ...{ resource_type: 'run', resource_id: 'hc-2026-07-17', details: { position: 42 }, finalized_by: null },
  ...{ approval_id: null, approved_by: null, switching_off: null },
  ...{ 'PayrollRunApproval.approved_by': PAYROLL, 'PayrollRunApprovals.approved_by': PAYROLL },
  'PayrollRunApprovals.action': 'finalize',
  ...{ voided_by: null, void_approved_by: null, accepted_by: null, 'AuditRecord.reason': null },
  ...{ 'TakenReport.id': '1', 'Event.id': 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W' },
  ...{ 'EventSummary.id': 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W', 'PayrollRun.id': 'hc-2026-07-17' },
  ...{ 'PayrollRunOutline.id': 'hc-2026-07-17', 'PayrollRunSummary.id': 'hc-2026-07-17' },
  ...{ 'VoidedPayrollRun.id': 'hc-2026-07-17', 'ReadinessCheck.id': 'events-quarantined' },
  ...{ 'Session.id': '5d41402abc4b2a76', id: '42', legal_business_name: 'Harbor Clinic LLC' },
  ...{ fein: '12-3456789', job_title: 'Nurse', first_name: 'Ines', last_name: 'Ruiz' },
  ...{ email: 'ines@example.org', dob: '1994-02-28', line1: '4 Mill Lane', city: 'Albany' },
  ...{ 'Address.state': 'NY', zip_code: '12207', hire_date: '2026-01-05' },
  ...{ 'Termination.termination_date': '2026-12-31', hours_worked: '40', idempotency_key: 'hire-104' },
  ...{ pay_frequency: 'biweekly', employment_status: 'full_time', 'PayRate.amount': '27.50' },
  ...{ entity_type: 'LLC', 'PayRate.effective_start': '2026-07-06', effective_from: '2026-01-01' },
  ...{ line_of_coverage: 'medical', coverage_type: 'member', taxability: 'pre_tax', description: 'Gold PPO' },
  ...{ member_contribution: '150.00', employer_contribution: '300.00', period: 'monthly' },
  ...{ effective_start: '2026-01-01', version: 1, position: 42, matched: true },
  ...{ placeholder: null, placeholders: 0 },
  ...{ event_time: '2026-07-01T15:04:04.000000000Z', recorded_at: RECORDED, received_at: RECEIVED },
  ...{ event_type: 'employee.deduction-updated', from: '2026-07-01T00:00:00Z' },
  ...{
    until: '2026-07-02T00:00:00Z',
    not_stored: 0,
    last_not_stored_at: null,
    'Event.finished_at': RECORDED,
  },
  ...{ 'EventSummary.finished_at': RECORDED, census_sync: null, open: false, stored: 0 },
  ...{ 'Event.body': '{"id":"evt_8842","event_type":"employee.deduction-updated","data":{…}}' },
  ...{ effect: 'applied', in_effect: { from: '2026-01-01', until: null }, 'EventSubject.employer_id': null },
  ...{ next_step: 'none', 'Event.unapplied': null, 'Paycheck.id': 'hc-2026-07-17' },
  ...{ last_attempts: [], reprocessed: 12, without_body: 0 },
  ...{ 'CancelRequest.reason': 'Reported twice.', 'DismissalRequest.reason': 'A sample event.' },
  ...{ 'VoidRequest.reason': 'The pay date was wrong.', 'FinalizeRequest.reason': 'Paid by another system.' },
  ...{ 'AcceptanceRequest.reason': 'They are paid by another system.', 'AcceptedFindings.findings': 1 },
  ...{ 'AcceptedFindings.accepted_checks': ['employees-not-scheduled'] },
  ...{ accept: ['employees-not-scheduled'], force: false, valid: true, problem_count: 0, problems: [] },
  ...{ created_at: CREATED, requested_at: CREATED, staged_at: CREATED, 'CensusUpload.uploaded_at': CREATED },
  ...{ last_received_at: RECEIVED, 'StagedCensus.uploaded_at': CREATED },
  ...{ counted_since: '2026-07-13T06:00:00.000Z', acknowledged: 12, p50_ms: 3.1, p99_ms: 8.4, slowest_ms: 9 },
  ...{ at: CREATED, database_bytes: 4_194_304, disk_free_bytes: 21_474_836_480, pending: 0, sending: 0 },
  ...{
    quarantined: 0,
    rejected: 0,
    'Activity.conflicts': 0,
    ready: true,
    checked_at: CREATED,
    'ReadinessCheck.findings': [],
    check: 'overlap',
  },
  ...{ accepted: [], etag: ETAG, 'ReadinessCheck.count': 0, advice: 'No event is quarantined.' },
  ...{ 'PayrollRunOutline.etag': null, 'PayrollRunSummary.etag': null, 'PayrollRunOutline.totals': null },
  ...{ 'PayrollRunSummary.totals': null, period_start: '2026-06-29', period_end: '2026-07-12' },
  ...{ pay_date: '2026-07-17', comparison: null, 'PayrollRunRequest.employee_ids': undefined },
  ...{ 'PayrollRun.employee_ids': null, final_checks: [], 'PayrollRunOutline.employee_ids': null },
  ...{ 'VoidedPayrollRun.employee_ids': null, stated_options: [] },
  ...{ pay_dates_used: ['2026-07-03', '2026-07-17', '2026-07-31'], rules_version: '1', not_in_run: [] },
  ...{
    not_in_run_count: 0,
    on_other_schedules: [],
    accepted_checks: [],
    taken_reports: [],
    settled_by: [],
    left_out: [],
    flags: [],
  },
  ...{ member_amount: '69.23', employer_amount: '138.46', change: 'new', owed: '0.00' },
  ...{ explanation: '150.00 monthly × 12 = 1,800.00 a year; check 14 of 26; 69.23' },
  ...{
    'TakenRow.amount': '60.00',
    'TakenLine.report_id': '1',
    taken: '69.23',
    code: 'MED',
    payroll_member_amount: '69.23',
  },
  ...{ payroll_employer_amount: '138.46', differences: [], identical: true, difference_count: 0 },
  ...{ last_used_at: FINISHED, is_current: true },
  ...{ url: '/v1/deductions?employee_id=harbor-clinic-001', unchanged: 41, 'CensusChanges.organization': [] },
  ...{ 'PayrollRunRequest.final_checks': undefined, fields: ['address'] },
  ...{ 'DeductionVersionFeed.next_cursor': '42', 'Line.unapplied': null, 'Employee.unapplied': [] },
  unapplied_notice: null,
  ...{ 'ItemDecisionsRequest.action': 'hold', 'ItemDecisionsRequest.until': '2026-09-01' },
  'ItemDecision.until': null,
  ...{ 'ReadinessCheck.unapplied': undefined },
};

const AUDIT_HEAD = `42:${'5f'.repeat(32)}`;

/** Fields of the example of one operation's response. */
const OUTCOMES: Readonly<Record<string, object>> = {
  finalizePayrollRun: {
    ...{ state: 'finalized', finalized_at: FINISHED, finalized_by: PAYROLL, audit_head: AUDIT_HEAD },
  },
  voidPayrollRun: {
    ...{ state: 'voided', finalized_at: FINISHED, voided_at: '2026-07-14T08:30:00.000Z' },
    ...{ finalized_by: PAYROLL, voided_by: PAYROLL },
    ...{ void_reason: 'The pay date was wrong.', audit_head: AUDIT_HEAD },
  },
  reportTermination: { kind: 'termination' },
  reportMove: { kind: 'demographic' },
  reportCompensationChange: { kind: 'compensation-change' },
  reprocessEvent: { state: 'pending', effect: 'pending', in_effect: null, finished_at: null },
  cancelEmployeeChange: { state: 'canceled', finished_at: FINISHED, reason: 'Reported twice.' },
  releaseEmployeeChange: { state: 'rejected', finished_at: FINISHED, status: 409 },
};

/** Adds an example to every request body and response that has content. */
export function withExamples<D extends object>(document: D): D {
  const { paths = {}, components } = document as Document;
  const schemas = components?.schemas ?? {};
  for (const path of Object.values(paths)) {
    for (const { operationId = '', requestBody, responses = {} } of Object.values(path)) {
      for (const part of [requestBody, ...Object.values(responses)]) {
        if (part?.content === undefined) continue;
        addExamples(part.content, schemas, part === requestBody ? null : (OUTCOMES[operationId] ?? {}));
      }
    }
  }
  return document;
}

/** Vendors' files have columns of their own, and are converted into ours. */
const VENDOR_CSV = {
  request: 'Emp ID,Surname\r\nharbor-clinic-001,Ruiz\r\n',
  response: 'employee_id,last_name\r\nharbor-clinic-001,Ruiz\r\n',
};

/** `outcome`: fields of the example of a response; null for a request. */
function addExamples(content: MediaTypes, schemas: Schemas, outcome: object | null): void {
  const json = content['application/json'];
  if (json !== undefined) json.example = exampleOf(json.schema, schemas);
  if (json !== undefined && Object.keys(outcome ?? {}).length > 0)
    json.example = { ...(json.example as object), ...outcome };
  const rows = rowsIn(json?.example);
  for (const [type, media] of Object.entries(content)) {
    if (type === 'text/csv')
      media.example = rows.length > 0 ? csvOf(rows) : VENDOR_CSV[outcome === null ? 'request' : 'response'];
    else if (type === 'application/x-ndjson')
      media.example = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    else if (type === 'application/x-tar') media.example = '(bytes of the archive)';
    else if (type === 'text/plain')
      media.example = '# TYPE benefits_sidecar_ready gauge\nbenefits_sidecar_ready 1\n';
  }
}

/** Returns the example of a schema; undefined for an optional field that examples leave out. */
function exampleOf(schema: Schema, schemas: Schemas, component = '', field = ''): unknown {
  const known = [`${component}.${field}`, field].find((name) => name in VALUES);
  if (known !== undefined && fits(VALUES[known], schema)) return VALUES[known];
  const name = typeof schema.$ref === 'string' ? (schema.$ref.split('/').at(-1) as string) : null;
  if (name !== null) return exampleOf(schemas[name] as Schema, schemas, name);
  const [first] = (schema.oneOf ?? schema.anyOf ?? []) as Schema[];
  if (first !== undefined && schema.type === undefined) return exampleOf(first, schemas, component, field);
  const types = [schema.type].flat();
  if ('const' in schema) return schema.const;
  if (types.includes('object')) return objectOf(schema, schemas, component);
  if (types.includes('null')) return null;
  if (types.includes('array')) return schema.items ? [exampleOf(schema.items, schemas, component)] : [];
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (types.includes('boolean')) return false;
  if (types.includes('integer')) return (schema.minimum as number | undefined) ?? 1;
  if (schema.format === 'date') return '2026-07-17';
  return BY_NAME.find(([names]) => names.test(field))?.[1] ?? 'text';
}

/** What the name of a field states of its text. */
const BY_NAME: readonly (readonly [names: RegExp, value: string])[] = [
  [/_at$/, CREATED],
  [/_(on|date)$/, '2026-07-17'],
  [/^year$/, '2026'],
  [/_(amount|difference)$/, '69.23'],
];

function objectOf({ properties = {}, required = [] }: Schema, schemas: Schemas, component: string): object {
  const fields = Object.entries(properties).map(([field, schema]) => {
    const isOptional = !(required as string[]).includes(field);
    const isOmitted = isOptional && (VALUES[`${component}.${field}`] ?? VALUES[field] ?? null) === null;
    return [field, isOmitted ? undefined : exampleOf(schema, schemas, component, field)] as const;
  });
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

/** Returns whether a value of the table has the type of the field. */
function fits(value: unknown, { type, enum: values }: Schema): boolean {
  if (value === undefined || type === undefined) return value === undefined || value === null;
  if (Array.isArray(values)) return values.includes(value);
  const valueType = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  return [type].flat().some((name) => name === valueType || (valueType === 'number' && name === 'integer'));
}

/** Returns the rows of an example: the list in it, or the example itself. */
function rowsIn(example: unknown): readonly object[] {
  if (Array.isArray(example)) return example;
  return Object.values(example ?? {}).find(Array.isArray) ?? [];
}

/** Returns a CSV of rows, whose columns are the paths of their fields; lines of a run have their own columns. */
function csvOf(rows: readonly object[]): string {
  const flat = rows.map((row) => Object.fromEntries(fieldsOf(row, '')));
  const isLine = flat.some((row) => 'explanation' in row);
  const columns = isLine ? CSV_COLUMNS : Object.keys(flat[0] ?? {});
  const cell = (text: unknown) => (/[",\n]/.test(String(text)) ? `"${text}"` : String(text ?? ''));
  const lines = flat.map((row) => columns.map((name) => cell(name in row ? row[name] : VALUES[name])));
  return [columns, ...lines].map((cells) => `${cells.join(',')}\r\n`).join('');
}

function fieldsOf(value: unknown, path: string): [string, unknown][] {
  if (Array.isArray(value)) return value.flatMap((item, index) => fieldsOf(item, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([name, part]) =>
    fieldsOf(part, path === '' ? name : `${path}.${name}`),
  );
}
