/** The newest census sync of each employer. */
import type { Schemas } from '../../../client.ts';
import { empty } from '../../elements/empty.ts';
import { state } from '../../elements/state.ts';
import { table } from '../../elements/table.ts';
import { instant } from '../../elements/time.ts';
import { type Html, html } from '../../html.ts';
import { censusLink } from '../censuses/paths.ts';

type Sync = Schemas['CensusSync'];

/** The list of the API is by time: the employers of so many of the newest syncs are shown. */
export const SYNCS_LOOKED_AT = 100;

/** `syncs`: the newest first. */
export function newestSyncs(syncs: readonly Sync[]): Html {
  const newest = [...new Map(syncs.toReversed().map((sync) => [sync.employer_id, sync])).values()];
  return html`
    <div>
      <h2>Last census sync of each employer</h2>
      ${newest.length === 0 ? none() : list(newest.sort(byEmployer))}
      ${syncs.length === SYNCS_LOOKED_AT && html`<p class="hint">${`Of the newest ${SYNCS_LOOKED_AT} syncs. `}<a href="/census">All of them</a></p>`}
    </div>
  `;
}

function list(syncs: readonly Sync[]): Html {
  return table<Sync>({
    caption: 'Last census sync of each employer',
    stacked: true,
    captionHidden: true,
    columns: [
      {
        title: 'Employer',
        kind: 'name',
        cell: ({ employer_id }) => censusLink(employer_id),
      },
      {
        title: 'State',
        cell: (sync) =>
          html`<span>${state(sync.state)}${sync.overdue && html`<span> ${state('overdue')}</span>`}</span>`,
      },
      { title: 'Asked for', kind: 'date', cell: ({ requested_at }) => instant(requested_at) },
      { title: 'Uploaded', kind: 'date', cell: ({ uploaded_at }) => instant(uploaded_at) },
      { title: 'Completed', kind: 'date', cell: ({ completed_at }) => instant(completed_at) },
      { title: 'Why', cell: ({ reason }) => reason },
    ],
    rows: syncs,
  });
}

function none(): Html {
  return empty(
    'No census was asked for or uploaded yet.',
    html`<p>${'Bring one: see '}<a href="/census">Census</a>${'. The service asks for it when it needs one.'}</p>`,
  );
}

function byEmployer(one: Sync, other: Sync): number {
  return one.employer_id < other.employer_id ? -1 : 1;
}
