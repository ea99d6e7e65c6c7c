/** The census of an employer: what is staged, its upload, and the syncs. */
import type { RowOf } from '../../api/operation.ts';
import {
  dismissCensusSync,
  getCensusSync,
  listCensusSyncs,
  releaseCensusSync,
  syncCensus,
} from '../../api/operations/census-syncs.ts';
import { eraseCensus, listCensuses } from '../../api/operations/censuses.ts';
import { pausedNotice } from '../elements/checks.ts';
import { empty, facts, live, savedNotice } from '../elements/facts.ts';
import { foldedDecision } from '../elements/fields.ts';
import { count, lacksScope, since } from '../elements/format.ts';
import { address, censusPath, cutOverPath, fitsPath, nameIn } from '../elements/links.ts';
import { PAGE_ROWS, pager } from '../elements/list.ts';
import { type Html, html } from '../html.ts';
import type { Console, Visit } from '../page.ts';
import { lastUpload, syncButton } from './census-list.ts';
import { timeline } from './census-syncs.ts';
import { uploadForm } from './census-upload.ts';
import { nextStepOf } from './payrolls.ts';

type Staged = RowOf<typeof listCensuses>;

const SOURCES = {
  dir: 'a folder',
  http: 'an HTTP address',
  function: 'the program that embeds the sidecar',
} as const;
const FETCHED =
  'The next sync fetches the census from there and replaces one that was uploaded here. Upload a census only for a sync that is waiting, held or failed.';
const NOT_REQUESTED = html`<p>It requests one when it needs it, and a staged census is then uploaded automatically. A sync that you start here uploads it at once.</p>`;
const NOT_REQUESTED_OFF = html`<p>It requests one when it needs it. While sending is off, a sync uploads nothing and ends as dismissed.</p>`;

export function censusPages({ page, button }: Console): void {
  page('/census/:employer_id', 'census:read', async (visit) => {
    const { api, params, may } = visit;
    const { response: sync_id, erased, requested, saved, ...query } = visit.query;
    const { employer_id = '' } = params;
    const path = censusPath(employer_id);
    const { data, source } = await api.perform(listCensuses, { query: { employer_id } });
    const { cursor } = query;
    const syncs = await api.perform(listCensusSyncs, { query: { employer_id, limit: PAGE_ROWS, cursor } });
    // Each read of a response is recorded, so this runs only when the user requested it.
    const response =
      sync_id !== undefined && may('pii:read')
        ? await api.perform(getCensusSync, { params: { sync_id }, query: { response: true } })
        : null;
    const isOff = await visit.isSendingOff();
    const list =
      syncs.data.length === 0
        ? empty('The service has not requested a census of this employer yet', notRequested(isOff))
        : html`<div class="card">${timeline(syncs.data, visit, response, isOff)}</div>`;
    const body = html`
      ${await pausedNotice(visit)}
      ${savedNotice({ saved }, '/census', 'All censuses')}
      ${savedNotice({ saved: erased }, '/census', 'All censuses', 'The census was erased. Backups keep it.')}
      ${savedNotice({ saved: requested }, '/census', 'All censuses', 'A sync was requested. The newest sync below shows its progress.')}
      ${stagedNow(data[0] ?? null, employer_id, visit, isOff)}
      ${query.staged !== undefined && (await nextStepOf(visit, employer_id))}
      ${source !== 'push' && html`<p class="notice" role="note"><strong>${`Censuses come from ${SOURCES[source]}. `}</strong>${FETCHED}</p>`}
      ${may('census:write') && uploadForm(employer_id)}
      ${may('ledger:read') && html`<p>${'Before the first run: '}<a href=${cutOverPath(employer_id)}>compare payroll’s people and deductions</a>.</p>`}
      <section aria-labelledby="syncs">
        <h2 id="syncs">Syncs, newest first</h2>
        ${response !== null ? list : live({ id: 'rounds', path: address(path, query) }, list)}
        ${pager(path, query, syncs.next_cursor)}
      </section>
    `;
    return { title: html`Census of ${nameIn('employer', employer_id)}`, body };
  });

  const to = ({ employer_id = '' }: Visit['params'], query: Readonly<Record<string, unknown>>) =>
    address(censusPath(employer_id), query);
  const saved = (params: Visit['params']) => to(params, { saved: 'true' });
  button('/census/:employer_id/sync', syncCensus, (params) => to(params, { requested: 'true' }));
  button('/census/:employer_id/erase', eraseCensus, (params, { censuses }) =>
    to(params, { erased: censuses }),
  );
  button('/census/:employer_id/syncs/:sync_id/dismiss', dismissCensusSync, saved);
  button('/census/:employer_id/syncs/:sync_id/release', releaseCensusSync, saved);
}

function notRequested(isOff: boolean): Html {
  return isOff ? NOT_REQUESTED_OFF : NOT_REQUESTED;
}

function stagedNow(
  staged: Staged | null,
  employerId: string,
  { now, may, query }: Visit,
  isOff: boolean,
): Html {
  const mayWrite = may('census:write');
  if (staged === null) {
    const advice = mayWrite
      ? 'Upload the employer and all of its active employees below.'
      : lacksScope('To upload one', 'census:write');
    return html`
      <section aria-labelledby="staged">
        <h2 id="staged">Staged census</h2>
        ${empty('No census of this employer is staged', html`<p>${advice}</p>`)}
        ${mayWrite && html`<div class="actions">${syncButton(employerId, 'Request a sync')}</div>`}
      </section>
    `;
  }
  const { id, employees, staged_at } = staged;
  const path = `/v1/employers/${encodeURIComponent(employerId)}/census`;
  const raw = html`<a href=${path}>Raw JSON with personal data (the read is recorded)</a>`;
  return html`
    <section class="card" aria-labelledby="staged">
      <h2 id="staged">Staged census</h2>
      ${query.staged === id && html`<p class="done" role="status">${`Your census is staged. ${isOff ? 'While sending is off, it is not uploaded.' : 'Syncs that were waiting for it continue automatically.'} `}<a href="/census">All censuses</a></p>`}
      ${facts([
        ['Employees', count(employees)],
        ['Staged', since(staged_at, now)],
        ['Last upload', lastUpload(staged, now)],
        ['ID', html`<code>${id}</code>`],
        ['Content', may('pii:read') && raw],
      ])}
      ${mayWrite && html`<div class="actions">${syncButton(employerId, 'Sync now')}</div>`}
      ${mayWrite && may('pii:read') && erasure(employerId)}
    </section>
  `;
}

/** Renders the form that erases the census of an employer that has left. */
function erasure(employerId: string): Html | null {
  if (!fitsPath(employerId)) return null;
  return foldedDecision('Erase …', `${censusPath(employerId)}/erase`, {
    button: 'Erase this census',
    hint: 'The staged census, the comparison with the last upload, and responses of the service are erased, and unfinished syncs dismissed. It cannot be undone, and is refused while the employer has active employees.',
    reason: 'Reason for erasing',
  });
}
