/** Audit records on pages: the history of the resource of a page, and the words for actions. */
import type { RowOf } from '../../api/operation.ts';
import { listAuditRecords } from '../../api/operations/audit.ts';
import type { Action } from '../../security/audit.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import { checkNames } from './checks.ts';
import { actorName, instant } from './format.ts';
import { address, type Query } from './links.ts';
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
  const more = html`<p><a href=${address('/audit', filter)}>All records</a></p>`;
  const caption = { caption: 'Actions, newest first', captionHidden: true };
  return html`
    <details open=${isOpen && data.length > 0}>
      <summary>History</summary>
      ${data.length === 0 ? html`<p class="hint">No records.</p>` : table(data, caption, [action, time, by, reason])}
      ${has_more && more}
    </details>
  `;
}

export const ACTION_NAMES: Readonly<Record<Action, string>> = {
  'approval-setting.put': 'Second approval set',
  'census.erase': 'Census erased',
  'census.read': 'Census read',
  'census.stage': 'Census staged',
  'census-sync.request': 'Census sync requested',
  'census-sync.dismiss': 'Census sync dismissed',
  'census-sync.release': 'Census released',
  'census-sync.read': 'Response to a census read',
  'change.report': 'Employment change reported',
  'change.retry': 'Employment change retried',
  'change.cancel': 'Employment change canceled',
  'change.release': 'Employment change released',
  'change.read': 'Employment change read',
  'codes.put': 'Payroll codes set',
  'cut-over.sign': 'Cut-over signed off',
  'database.back-up': 'Database backed up',
  'database.copy': 'Database copied',
  'database.migrate': 'Database migrated',
  'database.restore': 'Database restored',
  'deduction.assign': 'Deduction assigned to an employer',
  'deduction.import': 'Deductions imported',
  'employer.export': 'Employer exported',
  'event.reprocess': 'Event reprocessed',
  'event.dismiss': 'Event dismissed',
  'file-format.put': 'File format set',
  'item.decide': 'Open items decided',
  'item.open': 'Opening items added',
  'key.rotate': 'Encryption key rotated',
  'loss.accept': 'Data loss accepted',
  'name.show': 'Names shown',
  'notification.retry': 'Notification retried',
  'notification.test': 'Notifications tested',
  'policy.put': 'Payroll policy set',
  'reason.erase': 'Reason erased',
  'retention.apply': 'Old data deleted',
  'run.accept-findings': 'Findings accepted',
  'run.approve': 'Run approved',
  'run.approval-withdraw': 'Approval withdrawn',
  'run.create': 'Run created',
  'run.delete': 'Run deleted',
  'run.download': 'File of a run downloaded',
  'run.finalize': 'Run finalized',
  'run.read': 'Evidence of a run read',
  'run.override': 'Amount overridden',
  'run.remove-override': 'Override removed',
  'run.taken': 'Deductions taken reported',
  'run.void': 'Run voided',
  'schedule.delete': 'Pay schedule deleted',
  'schedule.put': 'Pay schedule set',
  'sending.off': 'Pilot started',
  'sending.on': 'Pilot ended',
  'session.begin': 'Signed in',
  'session.end': 'Signed out',
  'token.create': 'Token created',
  'token.revoke': 'Token revoked',
};

/** Returns the words for an action of a record, or the action that a newer version recorded. */
export function actionName(action: string): string {
  return (ACTION_NAMES as Readonly<Record<string, string>>)[action] ?? action;
}
