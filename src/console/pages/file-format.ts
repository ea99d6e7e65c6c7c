/** The form by which a person confirms how an employer's files of a kind are read. */
import type { ResultOf } from '../../api/operation.ts';
import {
  choicesOf as choicesOfKind,
  getFileFormat,
  type proposeFileFormat,
  putFileFormat,
} from '../../api/operations/file-formats.ts';
import { ENTITY_TYPES } from '../../contract/census.ts';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import { PAY_FREQUENCIES } from '../../contract/employee.ts';
import {
  ANY,
  choicesOf,
  type Field,
  field,
  hiddenFields,
  optionsOf,
  problemSummary,
} from '../elements/fields.ts';
import { type FileOf, filePath } from '../elements/file.ts';
import { type Html, html } from '../html.ts';
import type { Act, Visit } from '../page.ts';
import { attempt, dataOrNull } from '../performing.ts';
import { codesOf } from './settings/overview.ts';

type Format = NonNullable<ResultOf<typeof proposeFileFormat>['format']>;
type Constant = ReturnType<typeof choicesOfKind>['constants'][number];
type Spec = Omit<Field, 'value'>;

const choices = (values: readonly string[]) => [{ ...ANY, label: 'In a column' }, ...choicesOf(values)];

const CONSTANTS: Readonly<Record<Constant, Omit<Spec, 'name'>>> = {
  employment_status: { label: 'Employment status of everyone', choices: choices(['full_time', 'part_time']) },
  hours_worked: { label: 'Hours per week of everyone', size: 8 },
  'pay_rate[0].period': { label: 'Pay rates are', choices: choices(['annually', 'hourly']) },
  pay_frequency: { label: 'Pay frequency of everyone', choices: choices(PAY_FREQUENCIES) },
  line_of_coverage: { label: 'Line of coverage of every row', choices: choices(LINES_OF_COVERAGE) },
  taxability: { label: 'Taxability of every row', choices: choices(TAXABILITIES) },
  period: { label: 'Amounts are', choices: choices(PAY_FREQUENCIES) },
  employer_contribution: {
    label: 'Employer amount of every row',
    size: 8,
    hint: '0 if the employer pays nothing.',
  },
  over: { label: 'Payroll may take more than the run', choices: choices(['true', 'false']) },
};

/** The employer, which a file of employees lacks. */
const ORGANIZATION: readonly Spec[] = [
  { name: 'organization.legal_business_name', label: 'Legal business name' },
  { name: 'organization.fein', label: 'FEIN' },
  {
    name: 'organization.entity_type',
    label: 'Type of the employer',
    choices: [{ value: '', label: 'Not given' }, ...ENTITY_TYPES.map((value) => ({ value, label: value }))],
  },
  { name: 'organization.contact.first_name', label: 'First name of the contact' },
  { name: 'organization.contact.last_name', label: 'Last name of the contact' },
  { name: 'organization.contact.email', label: 'Email of the contact' },
  { name: 'organization.address.line1', label: 'Street of the employer' },
  { name: 'organization.address.line2', label: 'Apartment or suite of the employer' },
  { name: 'organization.address.city', label: 'City of the employer' },
  { name: 'organization.address.state', label: 'State of the employer, such as MA' },
  { name: 'organization.address.zip_code', label: 'ZIP code of the employer' },
];

export async function formatForm(format: Format, of: FileOf, visit: Visit): Promise<Html> {
  const { columns, constants = {}, id_prefix, leave_out = [], sheet } = format;
  const { names, constants: ofKind } = choicesOfKind(of.kind);
  const fields = [...names, ...(await codeColumns(of, visit))];
  const options = [{ value: '', label: 'Not read' }, ...fields.map((name) => ({ value: name, label: name }))];
  const rowOf = ({ header, field: name, rules = [], value }: Format['columns'][number], at: number) => html`
    <tr>
      <th scope="row"><label for=${`field-${at}`}>${header}</label></th>
      <td>
        ${hiddenFields({ [`header-${at}`]: header, [`was-${at}`]: name ?? '', [`rules-${at}`]: rules.join(','), [`value-${at}`]: value })}
        <select id=${`field-${at}`} name=${`field-${at}`}>${optionsOf(options, name ?? '')}</select>
      </td>
      <td>${rules.map((rule) => rule.replaceAll('-', ' ')).join(', ')}</td>
    </tr>
  `;
  return html`
    <form id="format-form" class="long" novalidate hx-post=${filePath(of, '/confirm')} hx-target="#confirmed">
      ${hiddenFields({ sheet: sheet ?? undefined })}
      <div class="scroll" role="region" aria-label="Columns" tabindex="0">
        <table>
          <caption>Columns of the file</caption>
          <thead><tr><th scope="col">Column</th><th scope="col">Is read as</th><th scope="col">Confirmed changes</th></tr></thead>
          <tbody>${columns.map(rowOf)}</tbody>
        </table>
      </div>
      <h3>What the file lacks</h3>
      <div class="columns">
        ${ofKind.map((name) => field({ ...CONSTANTS[name], name: `constant-${name}`, value: (constants as Readonly<Record<string, string>>)[name] ?? '' }))}
        ${field({ name: 'id_prefix', label: 'Prefix of employee IDs', value: id_prefix ?? '', hint: 'Only if the benefits service has other IDs: acme- reads 1001 as acme-1001. It cannot change after the first file.' })}
      </div>
      ${of.kind === 'census' && of.use === undefined && (await organizationFields(of, visit))}
      <details open=${leave_out.length > 0}>
        <summary>Rows to leave out</summary>
        ${[...leave_out, { header: '', values: [], reason: '' }].map(leftOutFields)}
      </details>
      <div class="actions">
        <button type="submit">Confirm how files are read</button>
        <span class="hint">Later files are read the same way, including files that a program sends.</span>
      </div>
    </form>
  `;
}

/** Returns the columns that payroll's file may have for the amounts of one code. */
async function codeColumns({ employer_id, kind }: FileOf, { api, may }: Visit): Promise<string[]> {
  if (kind !== 'payroll' || !may('runs:read')) return [];
  const codes = await dataOrNull(codesOf(api, employer_id));
  return [...new Set(codes?.map(({ code }) => `amount[${code}]`))];
}

async function organizationFields({ employer_id, kind }: FileOf, { api, may }: Visit): Promise<Html> {
  // Nothing is stored of an employer that is not known yet.
  const stored = may('runs:read')
    ? await dataOrNull(api.perform(getFileFormat, { params: { employer_id, kind } }))
    : null;
  const isStored = stored?.has_organization === true;
  return html`
    <details open=${!isStored}>
      <summary>${isStored ? 'Replace the stored employer' : 'Employer'}</summary>
      <div class="columns">${ORGANIZATION.map((spec) => field({ ...spec, value: '' }))}</div>
    </details>
  `;
}

function leftOutFields(
  { header, values, reason }: NonNullable<Format['leave_out']>[number],
  at: number,
): Html {
  return html`
    <div class="columns">
      ${field({ name: `leave-header-${at}`, label: 'Column', value: header })}
      ${field({ name: `leave-values-${at}`, label: 'Values, one in each line', rows: 2, value: values.join('\n'), hint: 'Total* stands for all values that begin with Total.' })}
      ${field({ name: `leave-reason-${at}`, label: 'Reason', value: reason })}
    </div>
  `;
}

/** Sets the format that the form has. Returns its problems; null if it is set. */
export async function confirmFormat({ api, form }: Act, { employer_id, kind }: FileOf): Promise<Html | null> {
  const call = api.perform(putFileFormat, { params: { employer_id, kind }, body: formatIn(form) });
  const { problem } = await attempt(call, 400, 409, 422);
  return problem === undefined ? null : html`<section class="card">${problemSummary(problem)}</section>`;
}

type Texts = Readonly<Record<string, string>>;

function formatIn(form: Texts) {
  const organization = organizationIn(form);
  return {
    sheet: form.sheet ?? null,
    columns: columnsIn(form),
    constants: Object.fromEntries(
      Object.keys(CONSTANTS).flatMap((name) => {
        const value = form[`constant-${name}`];
        return value === undefined ? [] : [[name, value]];
      }),
    ),
    id_prefix: form.id_prefix ?? null,
    leave_out: leftOutIn(form),
    ...(organization !== null && { organization }),
  };
}

/** A column that a person reads as another field has no confirmed changes yet. */
function columnsIn(form: Texts) {
  return numbersOf(form, 'header-').map((at) => {
    const field = form[`field-${at}`] ?? null;
    const isAsProposed = field === (form[`was-${at}`] ?? null);
    const rules = isAsProposed ? (form[`rules-${at}`]?.split(',') ?? []) : [];
    const value = field === null ? form[`value-${at}`] : undefined;
    return { header: form[`header-${at}`], field, rules, ...(value !== undefined && { value }) };
  });
}

function leftOutIn(form: Texts) {
  const numbers = [...numbersOf(form, 'leave-header-'), ...numbersOf(form, 'leave-values-')];
  return [...new Set(numbers)].map((at) => ({
    header: form[`leave-header-${at}`] ?? '',
    values: (form[`leave-values-${at}`] ?? '').split(/\r?\n/).filter((value) => value.trim() !== ''),
    reason: form[`leave-reason-${at}`] ?? '',
  }));
}

function numbersOf(form: Texts, prefix: string): number[] {
  return Object.keys(form)
    .filter((name) => name.startsWith(prefix))
    .map((name) => Number(name.slice(prefix.length)))
    .toSorted((a, b) => a - b);
}

/** Returns null if no field is filled: the stored organization stays. */
function organizationIn(form: Texts): object | null {
  const organization: Record<string, unknown> = {};
  for (const { name } of ORGANIZATION) {
    const value = form[name];
    if (value === undefined) continue;
    const [, group = '', inner] = name.split('.');
    if (inner === undefined) organization[group] = value;
    else organization[group] = { ...(organization[group] as object | undefined), [inner]: value };
  }
  return Object.keys(organization).length === 0 ? null : organization;
}
