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

const AT = '2026-07-13T09:00:00.000Z';

/** Values by field, or by component and field. Other fields get the first or the simplest value of their schema. */
const VALUES: Readonly<Record<string, unknown>> = {
  ...{ id: '42', employer_id: 'harbor-clinic', employee_id: 'harbor-clinic-001', deduction_id: 'ded_5521' },
  ...{ run_id: 'hc-2026-07-17', event_id: 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W', envelope_id: 'evt_8842' },
  ...{ legal_business_name: 'Harbor Clinic LLC', fein: '12-3456789', entity_type: 'LLC' },
  ...{
    first_name: 'Ines',
    last_name: 'Ruiz',
    email: 'ines@example.org',
    dob: '1994-02-28',
    job_title: 'Nurse',
  },
  ...{ line1: '4 Mill Lane', city: 'Albany', 'Address.state': 'NY', zip_code: '12207' },
  ...{
    hire_date: '2026-01-05',
    hours_worked: '40',
    employment_status: 'full_time',
    'PayRate.amount': '27.50',
  },
  ...{
    pay_frequency: 'biweekly',
    line_of_coverage: 'medical',
    taxability: 'pre_tax',
    description: 'Gold PPO',
  },
  ...{ member_contribution: '150.00', employer_contribution: '300.00', period: 'monthly' },
  ...{ effective_start: '2026-01-01', period_start: '2026-06-29', period_end: '2026-07-12' },
  ...{ event_type: 'employee.deduction-updated', idempotency_key: 'hire-104', etag: '9f2c4b7d1e8a5036' },
  ...{ explanation: '150.00 monthly × 12 = 1,800.00 a year; check 14 of 26; 69.23' },
  ...{ reason: 'They are paid by another system.', accept: ['employees-not-scheduled'] },
  ...{ check: 'overlap', action: 'run.finalize', 'PayrollRunApproval.action': 'finalize' },
  ...{ details: { position: 42 }, problems: [], errors: undefined, flags: [], taken: '69.23', owed: '0.00' },
};

/** Fields of the example of one operation's response. */
const OUTCOMES: Readonly<Record<string, object>> = {
  finalizePayrollRun: { state: 'finalized' },
  voidPayrollRun: { state: 'voided' },
  reportTermination: { kind: 'termination' },
  reportMove: { kind: 'demographic' },
  reportCompensationChange: { kind: 'compensation-change' },
};

/** Adds an example to every request body and response that has content. */
export function withExamples<D extends object>(document: D): D {
  const { paths = {}, components } = document as Document;
  const schemas = components?.schemas ?? {};
  for (const path of Object.values(paths)) {
    for (const { operationId = '', requestBody, responses = {} } of Object.values(path)) {
      for (const part of [requestBody, ...Object.values(responses)]) {
        if (part?.content === undefined) continue;
        addExamples(part.content, schemas, part === requestBody ? {} : (OUTCOMES[operationId] ?? {}));
      }
    }
  }
  return document;
}

function addExamples(content: MediaTypes, schemas: Schemas, outcome: object): void {
  const json = content['application/json'];
  if (json !== undefined) json.example = exampleOf(json.schema, schemas);
  if (json !== undefined && Object.keys(outcome).length > 0)
    json.example = { ...(json.example as object), ...outcome };
  const rows = rowsIn(json?.example);
  for (const [type, media] of Object.entries(content)) {
    if (type === 'text/csv') media.example = csvOf(rows);
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
  const options = (schema.oneOf ?? schema.anyOf ?? []) as Schema[];
  if (options.some(({ type }) => type === 'null')) return null;
  const [first] = options;
  if (first !== undefined && schema.type === undefined) return exampleOf(first, schemas, component, field);
  const types = [schema.type].flat();
  if ('const' in schema) return schema.const;
  if (types.includes('object')) return objectOf(schema, schemas, component);
  if (types.includes('null')) return null;
  if (types.includes('array'))
    return schema.items ? [exampleOf(schema.items, schemas, '', field.replace(/s$/, ''))] : [];
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (types.includes('boolean')) return false;
  if (types.includes('integer')) return (schema.minimum as number | undefined) ?? 1;
  if (schema.format === 'date') return '2026-07-17';
  return BY_NAME.find(([names]) => names.test(field))?.[1] ?? 'text';
}

/** What the name of a field states of its text. */
const BY_NAME: readonly (readonly [names: RegExp, value: string])[] = [
  [/(^|_)(at|time|since)$/, AT],
  [/(^|_)(on|date)$/, '2026-07-17'],
  [/^year$/, '2026'],
  [/run_id$|^settled_by$/, 'hc-2026-07-17'],
  [/_id$/, '42'],
  [/employee|final_check$/, 'harbor-clinic-001'],
  [/version$/, '1'],
  [/name$/, 'payroll'],
  [/check$/, 'overlap'],
  [/code$/, 'MED'],
  [/(^|_)(amount|difference)$/, '69.23'],
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

/** Returns the rows of an example: its list, its employees, or the example itself. */
function rowsIn(example: unknown): readonly object[] {
  if (Array.isArray(example)) return example;
  const { data, lines, results, employees } = (example ?? {}) as Record<string, object[] | undefined>;
  return data ?? lines ?? results ?? employees ?? [];
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
