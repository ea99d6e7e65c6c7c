/** The form by which a person confirms how the files of an employer are read. */
import { putFileFormat } from '../../api/operations/file-formats.ts';
import { ENTITY_TYPES } from '../../contract/census.ts';
import { PAY_FREQUENCIES } from '../../contract/employee.ts';
import { ANY, choicesOf, type Field, problemSummary } from '../elements/fields.ts';
import { censusPath } from '../elements/links.ts';
import { type Html, html } from '../html.ts';
import type { Act } from '../page.ts';
import { attempt } from '../performing.ts';
import { TIMEOUT } from './census-upload.ts';

type Spec = Omit<Field, 'value'>;

const NONE = { ...ANY, label: 'In a column' };
const choices = (values: readonly string[]) => [NONE, ...choicesOf(values)];

/** Values for every row. */
export const CONSTANTS: readonly Spec[] = [
  {
    name: 'employment_status',
    label: 'Employment status of everyone',
    choices: choices(['full_time', 'part_time']),
  },
  { name: 'hours_worked', label: 'Hours per week of everyone', size: 8 },
  { name: 'pay_rate[0].period', label: 'Pay rates are', choices: choices(['annually', 'hourly']) },
  { name: 'pay_frequency', label: 'Pay frequency of everyone', choices: choices(PAY_FREQUENCIES) },
];

/** The employer, which a file of employees lacks. */
export const ORGANIZATION: readonly Spec[] = [
  { name: 'organization.legal_business_name', label: 'Legal business name' },
  { name: 'organization.fein', label: 'FEIN' },
  {
    name: 'organization.entity_type',
    label: 'Type',
    choices: [{ value: '', label: 'Not given' }, ...ENTITY_TYPES.map((value) => ({ value, label: value }))],
  },
  { name: 'organization.contact.first_name', label: 'First name of the contact' },
  { name: 'organization.contact.last_name', label: 'Last name of the contact' },
  { name: 'organization.contact.email', label: 'Email of the contact' },
  { name: 'organization.address.line1', label: 'Street' },
  { name: 'organization.address.line2', label: 'Apartment or suite' },
  { name: 'organization.address.city', label: 'City' },
  { name: 'organization.address.state', label: 'State, such as MA' },
  { name: 'organization.address.zip_code', label: 'ZIP code' },
];

/** Sets the format that the form has. The file is still in the page, and is checked next. */
export async function confirmFirstFile({ api, params, form }: Act): Promise<Html> {
  const { employer_id = '' } = params;
  const call = api.perform(putFileFormat, { params: { employer_id, kind: 'census' }, body: formatIn(form) });
  const { problem } = await attempt(call, 400, 409, 422);
  if (problem !== undefined) return html`<section class="card">${problemSummary(problem)}</section>`;
  return html`
    <section class="card" aria-labelledby="confirmed-title">
      <h2 id="confirmed-title" tabindex="-1" autofocus>3. Check the file, and stage it</h2>
      <p class="done" role="status">Your files are now read this way. Nothing is staged yet.</p>
      <div class="actions">
        <button
          type="button"
          form="upload-form"
          hx-post=${`${censusPath(employer_id)}/check`}
          hx-encoding="multipart/form-data"
          hx-target="#outcome"
          hx-config=${TIMEOUT}
        >Check the file</button>
      </div>
    </section>
  `;
}

type Texts = Readonly<Record<string, string>>;

function formatIn(form: Texts) {
  const organization = organizationIn(form);
  return {
    sheet: form.sheet ?? null,
    columns: columnsIn(form),
    constants: Object.fromEntries(
      CONSTANTS.flatMap(({ name }) => {
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
    return { header: form[`header-${at}`], field, rules };
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
