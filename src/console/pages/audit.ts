/** Audit records: who did what, newest first, and what an action changed in the settings of an employer. */
import type { ResultOf, RowOf } from '../../api/operation.ts';
import { getAuditHead, getAuditRecord, listAuditRecords } from '../../api/operations/audit.ts';
import { ACTION_NAMES } from '../../security/audit.ts';
import { empty, facts } from '../elements/facts.ts';
import { choicesOf } from '../elements/fields.ts';
import { actorName, count, counted, dayText, instant, plain } from '../elements/format.ts';
import { actionName, RECORD_COLUMNS, reasonOf } from '../elements/history.ts';
import { address, employeeOf, employerLink, named, runLink } from '../elements/links.ts';
import { EMPLOYEE_FILTER, type Filter, table } from '../elements/list.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Console, Visit } from '../page.ts';
import { dataOrNull } from '../performing.ts';
import { EMPLOYER_FILTER, readList } from './employers.ts';
import { choiceOf, OPTION_NAMES, OPTIONS, periodOf, RECOUP, recoupLimit } from './runs/labels.ts';
import { TAKES, titleOf } from './settings/overview.ts';

type AuditRecord = RowOf<typeof listAuditRecords>;

const PATH = '/audit';
const FILTERS: readonly Filter[] = [
  { name: 'action', label: 'Action', choices: choicesOf(ACTION_NAMES) },
  EMPLOYER_FILTER,
  EMPLOYEE_FILTER,
  { name: 'resource_type', label: 'Resource type' },
  { name: 'resource_id', label: 'Resource ID', size: 28 },
  { name: 'actor_id', label: 'Token or person' },
  { name: 'from', label: 'From', type: 'datetime-local' },
  { name: 'until', label: 'Before', type: 'datetime-local' },
];

export function auditPages({ page, csv }: Console): void {
  page(PATH, 'audit:read', async (visit) => {
    const { data, filter, form, pages } = await readList(visit, PATH, listAuditRecords, FILTERS);
    const { head } = await visit.api.perform(getAuditHead);
    const { action, time, by, reason } = RECORD_COLUMNS;
    const caption = { caption: 'Audit records, newest first', captionHidden: true };
    const list = table(data, caption, [
      action,
      time,
      by,
      ['Resource', (record) => resourceOf(record, visit)],
      [
        'Employer',
        ({ employer_id }) =>
          employer_id && visit.may('ledger:read') ? employerLink(employer_id) : employer_id,
      ],
      ['Employee', ({ employee_id }) => employee_id && employeeOf(employee_id, visit)],
      reason,
    ]);
    const body = html`
      ${form}
      ${data.length === 0 ? empty('No matching records', html`<p><a href=${PATH}>Show all records</a></p>`) : list}
      ${pages}
      <div class="actions"><a class="button quiet" href=${address(`${PATH}.csv`, filter)} download="audit.csv">Download these records (CSV)</a></div>
      <details>
        <summary>Proof that no record was altered</summary>
        <p>If an auditor keeps a copy of this code outside the sidecar, an operator can later prove that today’s records are unchanged.</p>
        <p><code>${head}</code></p>
      </details>
    `;
    return { title: 'Audit records', body };
  });

  csv(`${PATH}.csv`, listAuditRecords, async ({ query }) => ({ query, filename: 'audit.csv' }));

  page('/audit/:record_id', 'audit:read', async (visit) => {
    const record = await dataOrNull(visit.api.perform(getAuditRecord));
    if (record === null) {
      const body = empty('There is no such record', html`<p><a href="/audit">All records</a></p>`);
      return { title: 'Audit record', status: 404, body };
    }
    const { action, recorded_at, actor, employer_id, employee_id, hash } = record;
    const body = html`
      <section class="card" aria-label="Record">
        ${facts([
          ['Time', instant(recorded_at)],
          ['By', actorName(actor)],
          ['Resource', resourceOf(record, visit)],
          ['Employer', employer_id !== null && named('employer', employer_id)],
          ['Employee', employee_id !== null && employeeOf(employee_id, visit)],
          ['Reason', reasonOf(record)],
          ['Hash', html`<code>${hash}</code>`],
        ])}
      </section>
      ${isOfSettings(action) && changesOf(record, visit)}
    `;
    return { title: `${actionName(action)}, record ${record.id}`, body };
  });
}

/** Names the resource of a record, or links to the decisions that it recorded. */
function resourceOf(
  { resource_type, resource_id, ...record }: AuditRecord,
  { may }: Pick<Visit, 'may'>,
): Content {
  const { decisions } = record.details;
  if (typeof decisions === 'number') {
    if (!may('runs:read')) return counted(decisions, 'decision');
    const { employer_id, employee_id } = record;
    const query = { employer_id, employee_id: employee_id ?? undefined, item_id: resource_id ?? undefined };
    return html`<a href=${address('/open-items/decisions', query)}>${counted(decisions, 'decision')}</a>`;
  }
  if (resource_id === null) return resource_type;
  return resource_type === 'run' && may('runs:read') ? runLink(resource_id) : resource_id;
}

type FullRecord = ResultOf<typeof getAuditRecord>;
type Difference = NonNullable<FullRecord['differences']>[number];

/** Reports whether an action changed settings, so that its record has the difference to the version before. */
function isOfSettings(action: string): boolean {
  return action.endsWith('.put') || action === 'schedule.delete';
}

function changesOf(record: FullRecord, { may }: Visit): Html {
  const { differences, difference_count, employer_id, details } = record;
  const from = details.effective_from;
  const list = table(differences, { caption: 'Changed values', captionHidden: true }, [
    ['Setting', ({ of }) => html`<span class="term">${settingOf(of)}</span>`, 'name'],
    ['Before', ({ of, before }) => valueInWords(of, before), 'wide'],
    ['After', ({ of, after }) => valueInWords(of, after), 'wide'],
  ]);
  return html`
    <section aria-labelledby="changed">
      <h2 id="changed">What changed</h2>
      ${typeof from === 'string' && html`<p>${`For pay dates from ${dayText(from)} on, compared with the options until then.`}</p>`}
      ${differences.length > 0 ? list : html`<p>The values are the same as before.</p>`}
      ${difference_count > differences.length && html`<p class="hint">${`The first ${count(differences.length)} of ${count(difference_count)} are shown.`}</p>`}
      ${may('runs:read') && html`<p><a href=${address('/settings', { employer_id: employer_id ?? undefined })}>Payroll settings as they are now</a></p>`}
    </section>
  `;
}

type Names = Readonly<Partial<Record<string, string | null>>>;

/** Names a setting: `biweekly, Dec 24, 2026`, `vision, pre-tax, employee`, `Open items`, `Column DOB`. */
function settingOf(of: Difference['of']): string {
  const ofFormat = formatPartOf(of);
  if (ofFormat !== null) return ofFormat;
  const { pay_date, year, line_of_coverage, taxability, side, option, ...schedule } = of as Names;
  if (schedule.pay_frequency != null) {
    const dates = pay_date == null ? `all pay dates of ${year}` : dayText(pay_date);
    return `${titleOf(schedule as Parameters<typeof titleOf>[0])}, ${dates}`;
  }
  if (line_of_coverage != null)
    return [plain(line_of_coverage), plain(taxability ?? 'any taxability'), side].join(', ');
  if (option === 'recoup') return RECOUP.label;
  if (option != null) return OPTIONS[option as keyof typeof OPTIONS]?.label ?? option;
  return 'Second approval';
}

/** Names what differs in a file format; null for another setting. */
function formatPartOf({ header, constant, left_out, part }: Difference['of']): string | null {
  if (header !== undefined) return `Column ${header}`;
  if (constant !== undefined) return `Constant ${constant}`;
  if (left_out !== undefined) {
    const { header, reason } = left_out as Names;
    return `Rows left out by ${header}: ${reason}`;
  }
  if (part === undefined) return null;
  return part === 'organization' ? 'Organization' : 'Prefix of IDs';
}

/** Shows the value of a setting in words. */
function valueInWords({ option }: Difference['of'], values: Difference['before']): string {
  if (values === null) return 'none';
  if (typeof option === 'string') return optionOf(option, values.value);
  if ('value' in values) return String(values.value);
  if ('values' in values) return (values.values as string[]).join(', ');
  if ('rules' in values) {
    const { field, rules } = values as { field: string | null; rules: readonly string[] };
    return [field ?? 'not read', ...rules.map((rule) => rule.replaceAll('-', ' '))].join(', ');
  }
  if ('period_start' in values) {
    const takes =
      values.takes === 'all'
        ? ''
        : `; takes ${TAKES.find(({ value }) => value === values.takes)?.label.toLowerCase()}`;
    return `pays ${periodOf(values as Parameters<typeof periodOf>[0])}${takes}`;
  }
  const { pay_dates, first, last, code, treatment, required, stop_requested } = values as Names;
  if (first != null && last != null) return `${pay_dates} pay dates, ${dayText(first)} to ${dayText(last)}`;
  if (code != null) return treatment == null ? code : `${code}, ${treatment}`;
  if ('year_in_fewer_checks' in values)
    return values.year_in_fewer_checks ? 'coverage all year' : 'coverage in the months of the pay dates';
  if (!required) return 'not required';
  return stop_requested ? 'required; a second person must confirm the request to stop' : 'required';
}

function optionOf(option: string, value: unknown): string {
  if (option === 'recoup') return recoupLimit(value as Parameters<typeof recoupLimit>[0]);
  const name = OPTION_NAMES.find((known) => known === option);
  return (name && choiceOf(name, String(value))?.label) ?? String(value);
}
