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
import { decision } from '../elements/fields.ts';
import { count, lacksScope, since } from '../elements/format.ts';
import { address, censusPath, cutOverPath, fitsPath, nameIn, pathOf } from '../elements/links.ts';
import { PAGE_ROWS, pager } from '../elements/list.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Console, Visit } from '../page.ts';
import { lastUpload, syncButton } from './census-list.ts';
import { timeline } from './census-syncs.ts';
import { uploadForm } from './census-upload.ts';
import { nextStepOf } from './payrolls.ts';

type Sync = RowOf<typeof listCensusSyncs>;
type Staged = RowOf<typeof listCensuses>;

const SOURCES = {
  dir: 'a folder (CENSUS_SOURCE=dir:…)',
  http: 'an HTTP address (CENSUS_SOURCE=http…)',
  function: 'the program that embeds the sidecar',
} as const;
const FETCHED =
  'The next sync fetches the census from there and replaces one that was uploaded here. Upload a census only for a sync that is waiting, held or failed.';
const NOT_REQUESTED = html`<p>It requests one when it needs it, and a staged census is then uploaded automatically. A sync that you start here uploads it at once.</p>`;
const NOT_REQUESTED_OFF = html`<p>It requests one when it needs it. While sending is off, a sync uploads nothing and ends as dismissed.</p>`;

export function censusPages({ page, button }: Console): void {
  page('/census/:employer_id', 'census:read', async (visit) => {
    const { api, params, may } = visit;
    const { response: sync_id, dismiss, release, erase, erased, requested, saved, ...query } = visit.query;
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
        : html`<div class="card">${timeline(syncs.data, visit, response)}</div>`;
    // A refresh would close the problems and the employees, and record another read of a response.
    const isOpen = ({ problem_count, held_for }: Sync) => problem_count > 0 || held_for.length > 0;
    const isStill = response !== null || syncs.data.some(isOpen);
    const body = html`
      ${await pausedNotice(visit)}
      ${savedNotice({ saved }, '/census', 'All censuses')}
      ${savedNotice({ saved: erased }, '/census', 'All censuses', 'The census was erased. Backups keep it.')}
      ${savedNotice({ saved: requested }, '/census', 'All censuses', 'A sync was requested. The newest sync below shows its progress.')}
      ${stagedNow(data[0] ?? null, employer_id, visit, isOff)}
      ${query.staged !== undefined && (await nextStepOf(visit, employer_id))}
      ${source !== 'push' && html`<p class="notice" role="note"><strong>${`Censuses of this sidecar come from ${SOURCES[source]}. `}</strong>${FETCHED}</p>`}
      ${dismiss !== undefined && may('census:write') && dismissal(employer_id, dismiss)}
      ${release !== undefined && may('runs:approve') && releaseForm(employer_id, await heldSync(api, release), isOff)}
      ${erase !== undefined && mayErase(visit) && erasure(employer_id)}
      ${may('census:write') && uploadForm(employer_id)}
      ${may('ledger:read') && html`<p>${'Before the first run: '}<a href=${cutOverPath(employer_id)}>compare payroll’s people and deductions</a>.</p>`}
      <section aria-labelledby="syncs">
        <h2 id="syncs">Syncs, newest first</h2>
        ${isStill ? list : live({ id: 'rounds', path: address(path, query) }, list)}
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

async function heldSync(api: Visit['api'], sync_id: string): Promise<Sync | null> {
  const sync = await api.perform(getCensusSync, { params: { sync_id } });
  return sync.state === 'held' ? sync : null;
}

const RELEASE_EFFECTS: Readonly<Record<Sync['held_for'][number]['cause'], string>> = {
  'employees-missing': 'The service may treat the employees whom it lacks as terminated.',
  'employees-elsewhere':
    "The employees of another employer then count as this employer's too. Only a user who sees both employers can release it.",
};

/** Renders the form that releases a held census, with the census that the user sees. */
function releaseForm(employerId: string, sync: Sync | null, isOff: boolean): Html | null {
  const path = sync && pathOf(`${censusPath(employerId)}/syncs`, sync.id);
  if (sync === null || path === null) return null;
  const effects = sync.held_for.map(({ cause }) => RELEASE_EFFECTS[cause]).join(' ');
  const form = decision(`${path}/release`, {
    button: 'Release this census',
    hint: isOff
      ? `While sending is off, it is not uploaded. ${effects}`
      : `It is uploaded as it is, for all syncs that are held because of it. ${effects}`,
    reason: 'Reason for the release',
    hidden: { census_id: sync.held_census_id ?? '' },
  });
  return decisionCard('Release a held census', form, sync.reason);
}

/** Renders the form that dismisses a sync. It is outside the live list, so that a refresh cannot discard the reason. */
function dismissal(employerId: string, syncId: string): Html | null {
  const path = pathOf(`${censusPath(employerId)}/syncs`, syncId);
  if (path === null) return null;
  const form = decision(`${path}/dismiss`, {
    button: 'Dismiss',
    hint: 'Readiness no longer fails for this sync, and a new census does not continue it. It stays in the list with your reason.',
    reason: 'Reason for dismissing',
  });
  return decisionCard('Dismiss a sync', form, html`<span>${'Sync '}<code>${syncId}</code></span>`);
}

function mayErase({ may }: Visit): boolean {
  return may('census:write') && may('pii:read');
}

/** Renders the form that erases the census of an employer that has left. */
function erasure(employerId: string): Html | null {
  if (!fitsPath(employerId)) return null;
  const form = decision(`${censusPath(employerId)}/erase`, {
    button: 'Erase this census',
    hint: 'The staged census, the comparison with the last upload, and responses of the service are erased, and unfinished syncs dismissed. It cannot be undone, and is refused while the employer has active employees.',
    reason: 'Reason for erasing',
  });
  return decisionCard('Erase the census', form);
}

function decisionCard(title: string, form: Html, about: Content = null): Html {
  return html`
    <section class="card" aria-labelledby="decide">
      <h2 id="decide">${title}</h2>
      ${about !== null && html`<p class="soft">${about}</p>`}
      ${form}
    </section>
  `;
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
      ${mayWrite && may('pii:read') && html`<p><a href=${address(censusPath(employerId), { erase: 'true' })}>Erase</a></p>`}
    </section>
  `;
}
