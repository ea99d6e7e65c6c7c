/** One employer's census: what is staged, the upload form, and the syncs. */
import type { Schemas } from '../../../client.ts';
import { pausedNotice } from '../../elements/checks.ts';
import { empty, facts, live } from '../../elements/facts.ts';
import { count, since } from '../../elements/format.ts';
import { address, censusPath } from '../../elements/links.ts';
import { PAGE_ROWS, pager } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { lastUpload, syncButton } from './list.ts';
import { type SyncResponse, timeline } from './syncs.ts';
import { uploadForm } from './upload.ts';

type Sync = Schemas['CensusSync'];
type Staged = Schemas['StagedCensus'];

/** The API returns at most this many problems of a sync. */
const PROBLEMS_SHOWN = 1_000;
const SOURCES = {
  dir: 'a folder (CENSUS_SOURCE=dir:…)',
  http: 'an HTTP address (CENSUS_SOURCE=http…)',
  function: 'the program that embeds the sidecar',
} as const;

export function employerCensusPages({ page }: Console): void {
  page('/census/:employer_id', 'census:read', async (visit) => {
    const { api, params, may } = visit;
    const { response: sync_id, ...query } = visit.query;
    const { employer_id = '' } = params;
    const path = censusPath(employer_id);
    const { data, source } = await api.get('/v1/censuses', { employer_id });
    const { cursor } = query;
    const syncs = await api.get('/v1/census-syncs', { employer_id, limit: PAGE_ROWS, cursor });
    // Each read of a response is recorded, so this runs only when the user requested it.
    const response =
      sync_id !== undefined && may('pii:read')
        ? await api.get('/v1/census-syncs/{sync_id}', { sync_id, response: true })
        : null;
    return {
      title: `Census of ${employer_id}`,
      body: html`
        ${await pausedNotice(visit)}
        ${stagedNow(data[0] ?? null, employer_id, visit)}
        ${source !== 'push' && fetchedNotice(source)}
        ${may('census:write') && uploadForm(employer_id)}
        <section aria-labelledby="syncs">
          <h2 id="syncs">Syncs, newest first</h2>
          ${syncsOf(syncs.data, visit, address(path, query), response)}
          ${pager(path, query, syncs.next_cursor)}
        </section>
      `,
    };
  });
}

/** The list refreshes unless it shows problems or a response: those would close, and a read would be recorded again. */
function syncsOf(syncs: readonly Sync[], visit: Visit, path: string, response: SyncResponse | null): Html {
  const list =
    syncs.length === 0
      ? empty('The service has not requested a census of this employer yet')
      : html`<div class="card">${timeline(syncs, visit, PROBLEMS_SHOWN, response)}</div>`;
  const isStill = response !== null || syncs.some(({ problem_count }) => problem_count > 0);
  return isStill ? list : live({ id: 'rounds', path }, list);
}

function fetchedNotice(source: keyof typeof SOURCES): Html {
  return html`
    <p class="notice" role="note">
      <strong>${`Censuses of this sidecar come from ${SOURCES[source]}. `}</strong>
      The next sync fetches the census from there and replaces one that was uploaded here. Upload a census only for a sync that is waiting or failed.
    </p>
  `;
}

function stagedNow(staged: Staged | null, employerId: string, { now, may, query }: Visit): Html {
  const mayWrite = may('census:write');
  if (staged === null) {
    return html`
      <section aria-labelledby="staged">
        <h2 id="staged">Staged census</h2>
        ${empty('No census of this employer is staged', html`<p>${mayWrite ? 'Upload the employer and all of its active employees below.' : 'To upload one, your token needs the scope census:write.'}</p>`)}
        ${mayWrite && syncButton(employerId, 'Request a sync', 'employer')}
      </section>
    `;
  }
  const { id, employees, staged_at } = staged;
  return html`
    <section class="card" aria-labelledby="staged">
      <h2 id="staged">Staged census</h2>
      ${
        query.staged === id &&
        html`<p class="done" role="status">Your census is staged. Syncs that were waiting for it continue automatically.</p>`
      }
      ${facts([
        ['Employees', count(employees)],
        ['Staged', since(staged_at, now)],
        ['Last upload', lastUpload(staged, now)],
        ['ID', html`<code>${id}</code>`],
        [
          'Content',
          may('pii:read') &&
            html`<a href=${`/v1/employers/${encodeURIComponent(employerId)}/census`}>Raw JSON with personal data (the read is recorded)</a>`,
        ],
      ])}
      ${mayWrite && html`<div class="actions">${syncButton(employerId, 'Sync now', 'employer')}</div>`}
    </section>
  `;
}
