/** What can't go before a change has. */
import type { Schemas } from '../../../client.ts';
import { table } from '../../elements/table.ts';
import { instant } from '../../elements/time.ts';
import { type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import type { Visit } from '../../page.ts';
import { changePath, KINDS } from './words.ts';

type Change = Schemas['EmployeeChange'];

/** Changes of one employee that wait; a person has a handful. */
const BEHIND_SHOWN = 50;

/** The employee's changes that can't go before this one has. */
export async function heldBehind(change: Change, visit: Visit): Promise<Html | null> {
  const { employee_id, change_id } = change;
  const isOver =
    change.state === 'delivered' ||
    change.state === 'cancelled' ||
    (change.state === 'rejected' && !change.holding);
  if (isOver) return null;
  const query = { employee_id, state: 'pending' as const, limit: BEHIND_SHOWN };
  const { data } = need(await visit.api.GET('/v1/employee-changes', { params: { query } }));
  const held = new Set([change_id]);
  // The oldest first: each waits for the one before it.
  for (const { change_id: id, waits_behind } of data.toReversed()) {
    if (waits_behind !== null && held.has(waits_behind)) held.add(id);
  }
  const behind = data.filter(({ change_id: id }) => id !== change_id && held.has(id));
  if (behind.length === 0) return null;
  return html`
    <section aria-labelledby="behind">
      <h2 id="behind">Held behind it</h2>
      ${table({
        caption: 'Changes of the employee that wait for this one',
        captionHidden: true,
        columns: [
          {
            title: 'Change',
            kind: 'name',
            cell: ({ change_id: id, kind }) => html`<a href=${changePath(id)}>${KINDS[kind]}</a>`,
          },
          { title: 'Accepted', kind: 'date', cell: ({ created_at }) => instant(created_at) },
        ],
        rows: behind,
      })}
    </section>
  `;
}
