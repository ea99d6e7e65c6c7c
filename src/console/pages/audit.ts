/** Audit records: who did what, newest first. */
import type { Schemas } from '../../client.ts';
import { ACTIONS } from '../../security/audit.ts';
import { empty, facts } from '../elements/facts.ts';
import { choicesOf } from '../elements/fields.ts';
import { RECORD_COLUMNS } from '../elements/history.ts';
import { employeeLink, employerLink, runLink } from '../elements/links.ts';
import { filterForm, filtersIn, PAGE_ROWS, pager, table } from '../elements/list.ts';
import { type Content, html } from '../html.ts';
import type { Console } from '../page.ts';

type AuditRecord = Schemas['AuditRecord'];

const PATH = '/audit';
const FILTERS = [
  { name: 'action', label: 'Action', choices: choicesOf(ACTIONS) },
  { name: 'employer_id', label: 'Employer ID' },
  { name: 'employee_id', label: 'Employee ID' },
  { name: 'resource_type', label: 'Resource type' },
  { name: 'resource_id', label: 'Resource ID', size: 28 },
  { name: 'actor_id', label: 'Token or person' },
  { name: 'from', label: 'From', type: 'datetime-local' },
  { name: 'until', label: 'Before', type: 'datetime-local' },
] as const;

export function auditPages({ page }: Console): void {
  page(PATH, 'audit:read', async ({ api, query }) => {
    const { cursor } = query;
    const filter = filtersIn(query, FILTERS);
    const { data, next_cursor } = await api.get('/v1/audit', { ...filter, cursor, limit: PAGE_ROWS });
    const { head } = await api.get('/v1/audit/head');
    const { action, time, by, reason } = RECORD_COLUMNS;
    const caption = { caption: 'Audit records, newest first', captionHidden: true, stacked: true };
    const list = table(data, caption, [
      action,
      time,
      by,
      ['Resource', resourceOf],
      ['Employer', ({ employer_id }) => employer_id && employerLink(employer_id)],
      ['Employee', ({ employee_id }) => employee_id && employeeLink(employee_id)],
      reason,
    ]);
    const body = html`
      ${filterForm(PATH, query, FILTERS)}
      ${data.length === 0 ? empty('No matching records', html`<p><a href=${PATH}>Show all records</a></p>`) : list}
      ${pager(PATH, { ...filter, cursor }, next_cursor)}
      ${facts([['Head', html`<code>${head}</code>`]])}
      <p class="hint">Keep the head outside the sidecar. An auditor can later verify with it that no record was altered.</p>
    `;
    return { title: 'Audit records', body };
  });
}

function resourceOf({ resource_type, resource_id }: AuditRecord): Content {
  if (resource_id === null) return resource_type;
  return resource_type === 'run' ? runLink(resource_id) : resource_id;
}
