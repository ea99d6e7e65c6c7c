/** The list of censuses, with a row for each employer, and the census of an employer: what is staged, its upload and syncs. */
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
import { empty, facts, live, savedNotice, state } from '../elements/facts.ts';
import { choicesOf, foldedDecision } from '../elements/fields.ts';
import { age, count, counted, lacksScope, since } from '../elements/format.ts';
import { address, censusLink, censusPath, cutOverPath, fitsPath, nameIn } from '../elements/links.ts';
import { type Column, type Filter, PAGE_ROWS, pager, table } from '../elements/list.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Console, Visit } from '../page.ts';
import { isStalled, reasonText, timeline } from './census-syncs.ts';
import { uploadForm } from './census-upload.ts';
import { EMPLOYER_FILTER, filtersOf } from './employers.ts';
import { nextStepOf } from './payrolls.ts';

type Sync = RowOf<typeof listCensusSyncs>;
type Staged = RowOf<typeof listCensuses>;
type Row = {
  readonly employer_id: string;
  readonly sync?: Sync | undefined;
  readonly staged?: Staged | undefined;
};

/** The API lists syncs by time, so an employer's latest sync is searched among this many. */
const SYNCS_READ = 100;
const STATES = ['requested', 'waiting', 'held', 'uploaded', 'completed', 'failed', 'dismissed', 'overdue'];
const FILTERS: readonly Filter[] = [
  EMPLOYER_FILTER,
  { name: 'state', label: 'Sync state', choices: choicesOf(STATES) },
];

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
  page('/census', 'census:read', async (visit) => {
    const { query } = visit;
    const { rows, next } = query.state === undefined ? await byEmployer(visit) : await inState(visit);
    const list = rows.length === 0 ? nothing(visit) : censusTable(rows, visit);
    const body = html`
      ${await pausedNotice(visit)}
      ${await filtersOf(visit, '/census', FILTERS)}
      ${live({ id: 'censuses', path: address('/census', query) }, list)}
      ${pager('/census', query, next)}
    `;
    return { title: 'Census', body };
  });

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

type Rows = { readonly rows: readonly Row[]; readonly next: string | null };

/** Returns the employers with a staged census, and on the first page also employers with only a sync; problems first. */
async function byEmployer({ api, query: { employer_id, cursor } }: Visit): Promise<Rows> {
  const staged = await api.perform(listCensuses, { query: { limit: PAGE_ROWS, employer_id, cursor } });
  const { data: syncs } = await api.perform(listCensusSyncs, { query: { limit: SYNCS_READ, employer_id } });
  const latest = new Map(syncs.toReversed().map((sync) => [sync.employer_id, sync]));
  const known = new Map(staged.data.map((census) => [census.employer_id, census]));
  const ids = new Set([...known.keys(), ...(cursor === undefined ? latest.keys() : [])]);
  const rows = [...ids].map((id) => ({ employer_id: id, sync: latest.get(id), staged: known.get(id) }));
  return { rows: rows.toSorted(byUrgency), next: staged.next_cursor };
}

/** Returns the syncs in a state, newest first. */
async function inState({ api, query: { employer_id, state: wanted, cursor } }: Visit): Promise<Rows> {
  const which = wanted === 'overdue' ? { overdue: true } : { state: wanted };
  const list = { limit: PAGE_ROWS, employer_id, cursor, ...which };
  const { data, next_cursor } = await api.perform(listCensusSyncs, { query: list });
  return { rows: data.map((sync) => ({ employer_id: sync.employer_id, sync })), next: next_cursor };
}

function censusTable(rows: readonly Row[], { now, may, query }: Visit): Html {
  const staged: readonly Column<Row>[] = [
    ['Employees', ({ staged }) => staged && count(staged.employees), 'number'],
    ['Staged census', ({ staged }) => (staged ? age(staged.staged_at, now) : 'none'), 'date'],
    ['Uploaded', ({ staged }) => staged && lastUpload(staged, now)],
  ];
  const sync: Column<Row> = [
    html`<span class="hidden-label">Action</span>`,
    ({ employer_id, staged }) => staged && syncButton(employer_id, 'Sync now'),
  ];
  const isOfSyncs = query.state !== undefined;
  return table(rows, { caption: isOfSyncs ? 'Syncs, newest first' : 'Censuses', captionHidden: true }, [
    ['Employer', ({ employer_id }) => censusLink(employer_id), 'name'],
    ['Latest sync', ({ sync }) => sync && stateOf(sync)],
    ['Requested', ({ sync }) => sync && age(sync.requested_at, now), 'date'],
    ...(isOfSyncs ? [] : staged),
    ['Reason', ({ sync }) => sync && whyOf(sync), 'wide'],
    ...(may('census:write') && !isOfSyncs ? [sync] : []),
  ]);
}

/** Sorts syncs that need a person first, then syncs in progress, then ended syncs and employers without a sync. */
function byUrgency(a: Row, b: Row): number {
  return urgencyOf(a) - urgencyOf(b) || (a.employer_id < b.employer_id ? -1 : 1);
}

function urgencyOf({ sync }: Row): number {
  if (sync === undefined) return 2;
  if (isStalled(sync)) return 0;
  return sync.state === 'completed' || sync.state === 'dismissed' ? 2 : 1;
}

function stateOf(sync: Sync): Html {
  return html`<span>${state(sync.state)}${sync.overdue && html` ${state('overdue')}`}</span>`;
}

function whyOf({ reason, problem_count }: Sync): Content {
  const problems = problem_count > 0 && `${counted(problem_count, 'problem')} in the census`;
  return [reason && reasonText(reason), problems].filter((text) => text).join('. ');
}

function nothing({ query: { employer_id: employer, state: wanted, cursor }, may }: Visit): Html {
  const which = employer === undefined ? '' : ` for “${employer}”`;
  if (wanted !== undefined) return empty(`No ${wanted} syncs${which}`);
  if (cursor !== undefined) return empty('No more employers');
  const advice = !may('census:write')
    ? lacksScope('To upload a census', 'census:write')
    : employer === undefined
      ? 'To upload a census, choose the employer above and press “Show”.'
      : fitsPath(employer) && html`<a href=${censusPath(employer)}>Upload the census of this employer</a>`;
  return empty(`No census and no sync${which} yet`, html`<p>${advice}</p>`);
}

function lastUpload({ id, last_upload }: Staged, now: Date): Content {
  if (last_upload === null) return html`<span class="soft">none yet</span>`;
  const { uploaded_at, employees } = last_upload;
  if (last_upload.census_id === id) return `this census, ${age(uploaded_at, now)}`;
  return `an older census with ${counted(employees, 'employee')}, ${age(uploaded_at, now)}`;
}

function syncButton(employerId: string, label: string): Html | null {
  if (!fitsPath(employerId)) return null;
  return html`
    <form class="inline" hx-post=${`${censusPath(employerId)}/sync`}>
      <button type="submit" class="quiet" aria-label=${`${label}: ${employerId}`}>${label}</button>
    </form>
  `;
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
