/** Audit records: who did what, newest first. */
import type { RowOf } from '../../api/operation.ts';
import { getAuditHead, listAuditRecords } from '../../api/operations/audit.ts';
import { ACTION_NAMES } from '../elements/actions.ts';
import { EMPLOYER_FILTER, withEmployers } from '../elements/employers.ts';
import { empty } from '../elements/facts.ts';
import { choicesOf } from '../elements/fields.ts';
import { counted } from '../elements/format.ts';
import { RECORD_COLUMNS } from '../elements/history.ts';
import { address, employeeOf, employerLink, runLink } from '../elements/links.ts';
import { filterForm, filtersIn, PAGE_ROWS, pager, table } from '../elements/list.ts';
import { type Content, html } from '../html.ts';
import type { Console, Visit } from '../page.ts';

type AuditRecord = RowOf<typeof listAuditRecords>;

const PATH = '/audit';
const FILTERS = [
  { name: 'action', label: 'Action', choices: choicesOf(ACTION_NAMES) },
  EMPLOYER_FILTER,
  { name: 'employee_id', label: 'Employee ID' },
  { name: 'resource_type', label: 'Resource type' },
  { name: 'resource_id', label: 'Resource ID', size: 28 },
  { name: 'actor_id', label: 'Token or person' },
  { name: 'from', label: 'From', type: 'datetime-local' },
  { name: 'until', label: 'Before', type: 'datetime-local' },
] as const;

export function auditPages({ page, csv }: Console): void {
  page(PATH, 'audit:read', async (visit) => {
    const { api, query } = visit;
    const { cursor } = query;
    const filter = filtersIn(query, FILTERS);
    const { data, next_cursor } = await api.perform(listAuditRecords, {
      query: { ...filter, cursor, limit: PAGE_ROWS },
    });
    const { head } = await api.perform(getAuditHead);
    const { action, time, by, reason } = RECORD_COLUMNS;
    const caption = { caption: 'Audit records, newest first', captionHidden: true, stacked: true };
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
      ${filterForm(PATH, query, await withEmployers(visit, FILTERS))}
      ${data.length === 0 ? empty('No matching records', html`<p><a href=${PATH}>Show all records</a></p>`) : list}
      ${pager(PATH, { ...filter, cursor }, next_cursor)}
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
}

/** Names the resource of a record, or links to the decisions that it recorded. */
export function resourceOf(
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
