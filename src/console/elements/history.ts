/** Audit records on pages: the history of the resource of a page, and the words for actions. */
import type { RowOf } from '../../api/operation.ts';
import { listAuditRecords } from '../../api/operations/audit.ts';
import { ACTION_NAMES } from '../../security/audit.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import { checkNames } from './checks.ts';
import { actorName, instant } from './format.ts';
import { address, named, type Query } from './links.ts';
import { type Column, table, withNote } from './list.ts';

type AuditRecord = RowOf<typeof listAuditRecords>;

/** Records shown on the page of a resource. The page of audit records has all. */
const SHOWN = 20;

export const RECORD_COLUMNS = {
  action: ['Action', ({ id, action }) => html`<a href=${`/audit/${id}`}>${actionName(action)}</a>`, 'name'],
  time: ['Time', ({ recorded_at }) => instant(recorded_at), 'date'],
  by: ['By', ({ actor }) => actorName(actor)],
  reason: ['Reason', reasonOf, 'wide'],
} as const satisfies Record<string, Column<AuditRecord>>;

/** Of an action that concerns several employers, each has a record. */
const EMPLOYER: Column<AuditRecord> = [
  'Employer',
  ({ employer_id }) => employer_id && named('employer', employer_id),
];

export function reasonOf({ reason, reason_hash, details }: AuditRecord): Content {
  const { accepted_checks: checks = [] } = details as { accepted_checks?: string[] };
  const text = reason ?? (reason_hash === null ? '–' : 'erased');
  return checks.length === 0 ? text : withNote(text, `Accepted: ${checkNames(checks)}`);
}

/** Renders the records that match, newest first, by default folded. Null for a user who may not read audit records. */
export async function historyOf(
  { api, may }: Visit,
  filter: Query,
  { isOpen = false }: { isOpen?: boolean } = {},
): Promise<Html | null> {
  if (!may('audit:read')) return null;
  const { data, has_more } = await api.perform(listAuditRecords, { query: { ...filter, limit: SHOWN } });
  const { action, time, by, reason } = RECORD_COLUMNS;
  const isOfSeveral = new Set(data.map(({ employer_id }) => employer_id)).size > 1;
  const columns = [action, time, by, ...(isOfSeveral ? [EMPLOYER] : []), reason];
  const more = html`<p><a href=${address('/audit', filter)}>All records</a></p>`;
  const caption = { caption: 'Actions, newest first', captionHidden: true };
  return html`
    <details open=${isOpen && data.length > 0}>
      <summary>History</summary>
      ${data.length === 0 ? html`<p class="hint">No records.</p>` : table(data, caption, columns)}
      ${has_more && more}
    </details>
  `;
}

/** Returns the words for an action of a record, or the action that a newer version recorded. */
export function actionName(action: string): string {
  return (ACTION_NAMES as Readonly<Record<string, string>>)[action] ?? action;
}
