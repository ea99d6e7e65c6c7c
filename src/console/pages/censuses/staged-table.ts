/** What is staged for employers, how old it is, and whether the service has it. */
import type { Schemas } from '../../../client.ts';
import { count } from '../../elements/facts.ts';
import { canStandInPath } from '../../elements/links.ts';
import { table } from '../../elements/table.ts';
import { age, instant } from '../../elements/time.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import { censusLink, employerPath } from './paths.ts';

type Staged = Schemas['StagedCensus'];

export function stagedTable(data: readonly Staged[], { now, may }: Visit): Html {
  const columns = [
    {
      title: 'Employer',
      kind: 'name' as const,
      cell: ({ employer_id }: Staged) => censusLink(employer_id),
    },
    { title: 'Employees', kind: 'number' as const, cell: ({ employees }: Staged) => count(employees) },
    {
      title: 'Staged',
      kind: 'date' as const,
      cell: ({ staged_at }: Staged) => html`<span title=${staged_at}>${age(staged_at, now)}</span>`,
    },
    { title: 'The service took last', cell: takenOf(now) },
    ...(may('census:write')
      ? [{ title: 'Sync', cell: ({ employer_id }: Staged) => syncButton(employer_id, 'Sync now', 'list') }]
      : []),
  ];
  return table({ caption: 'Staged censuses', captionHidden: true, columns, rows: data });
}

/** Whether what is staged is what the service has. */
export const takenOf =
  (now: Date) =>
  ({ census_id, last_upload }: Staged): Content => {
    if (last_upload === null) return html`<span class="soft">none yet</span>`;
    const { uploaded_at, employees } = last_upload;
    if (last_upload.census_id === census_id) return html`<span>this one, ${instant(uploaded_at)}</span>`;
    return html`<span>an older one of ${count(employees)}, ${age(uploaded_at, now)}</span>`;
  };

/** A button that asks for a sync; `from`: the page to come back to. */
export function syncButton(employerId: string, words: string, from: 'list' | 'employer'): Html | null {
  if (!canStandInPath(employerId)) return null;
  return html`
    <form class="inline" hx-post=${`${employerPath(employerId)}/sync`}>
      <input type="hidden" name="from" value=${from} />
      <button type="submit" class="quiet" aria-label=${`${words}: ${employerId}`}>${words}</button>
    </form>
  `;
}
