/** Changes of amounts that arrived and are not applied: why an amount may be outdated. */
import type { ResultOf } from '../../api/operation.ts';
import type { getEmployee } from '../../api/operations/employees.ts';
import { type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import { sentence } from './format.ts';
import { eventOf } from './links.ts';

type UnappliedChange = ResultOf<typeof getEmployee>['unapplied'][number];

/** Renders the changes of an employee with their quarantined events; null without any. */
export function unappliedNotice(changes: readonly UnappliedChange[], visit: Pick<Visit, 'may'>): Html | null {
  if (changes.length === 0) return null;
  const itemOf = ({ event_id, message }: UnappliedChange) =>
    html`<li>${sentence(message)}${' (event '}${eventOf(event_id, visit)})</li>`;
  return html`
    <section class="notice" aria-label="Amounts not applied">
      <p>These amounts arrived in events that are quarantined. The amounts shown are the earlier ones.</p>
      <ul>${changes.map(itemOf)}</ul>
    </section>
  `;
}
