/** Changes of amounts that arrived and are not applied: why an amount may be outdated. */
import type { ResultOf } from '../../api/operation.ts';
import type { getEmployee } from '../../api/operations/employees.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import { sentence } from './format.ts';
import { eventOf } from './links.ts';

type UnappliedChange = ResultOf<typeof getEmployee>['unapplied'][number];

/** Renders changes with their quarantined events; null without any. `nameOf` renders the employee of each. */
export function unappliedNotice(
  changes: readonly UnappliedChange[],
  visit: Pick<Visit, 'may'>,
  nameOf?: (employeeId: string) => Content,
): Html | null {
  if (changes.length === 0) return null;
  const itemOf = ({ employee_id, event_id, message }: UnappliedChange) =>
    html`<li>${nameOf && [nameOf(employee_id), ': ']}${sentence(message)}${' (event '}${eventOf(event_id, visit)})</li>`;
  return html`
    <section class="notice" aria-label="Amounts not applied">
      <p>These amounts arrived in events that are quarantined. The amounts shown are the earlier ones.</p>
      <ul>${changes.map(itemOf)}</ul>
    </section>
  `;
}
