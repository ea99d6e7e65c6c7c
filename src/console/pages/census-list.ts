/** The censuses of all employers, with one row for each employer. Syncs that need a person come first. */
import type { RowOf } from '../../api/operation.ts';
import { listCensusSyncs } from '../../api/operations/census-syncs.ts';
import { listCensuses } from '../../api/operations/censuses.ts';
import { pausedNotice } from '../elements/checks.ts';
import { empty, live, state } from '../elements/facts.ts';
import { choicesOf } from '../elements/fields.ts';
import { age, count, counted, lacksScope } from '../elements/format.ts';
import { address, censusLink, censusPath, fitsPath } from '../elements/links.ts';
import { type Column, type Filter, PAGE_ROWS, pager, table } from '../elements/list.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Console, Visit } from '../page.ts';
import { isStalled, reasonText } from './census-syncs.ts';
import { EMPLOYER_FILTER, filtersOf } from './employers.ts';

type Sync = RowOf<typeof listCensusSyncs>;
type Staged = RowOf<typeof listCensuses>;
type Row = {
  readonly employer_id: string;
  readonly sync?: Sync | undefined;
  readonly staged?: Staged | undefined;
};

/** The API lists syncs by time, so an employer's latest sync is searched among this many. */
const SYNCS_READ = 100;
const PATH = '/census';
const STATES = ['requested', 'waiting', 'held', 'uploaded', 'completed', 'failed', 'dismissed', 'overdue'];
const FILTERS: readonly Filter[] = [
  EMPLOYER_FILTER,
  { name: 'state', label: 'Sync state', choices: choicesOf(STATES) },
];

export function censusListPages({ page }: Console): void {
  page(PATH, 'census:read', async (visit) => {
    const { query } = visit;
    const { rows, next } = query.state === undefined ? await byEmployer(visit) : await inState(visit);
    const list = rows.length === 0 ? nothing(visit) : censusTable(rows, visit);
    const body = html`
      ${await pausedNotice(visit)}
      ${await filtersOf(visit, PATH, FILTERS)}
      ${live({ id: 'censuses', path: address(PATH, query) }, list)}
      ${pager(PATH, query, next)}
    `;
    return { title: 'Census', body };
  });
}

type Rows = { readonly rows: readonly Row[]; readonly next: string | null };

/** Returns the employers with a staged census, and on the first page those that only have a sync; problems first. */
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

export function lastUpload({ id, last_upload }: Staged, now: Date): Content {
  if (last_upload === null) return html`<span class="soft">none yet</span>`;
  const { uploaded_at, employees } = last_upload;
  if (last_upload.census_id === id) return `this census, ${age(uploaded_at, now)}`;
  return `an older census with ${counted(employees, 'employee')}, ${age(uploaded_at, now)}`;
}

export function syncButton(employerId: string, label: string): Html | null {
  if (!fitsPath(employerId)) return null;
  return html`
    <form class="inline" hx-post=${`${censusPath(employerId)}/sync`}>
      <button type="submit" class="quiet" aria-label=${`${label}: ${employerId}`}>${label}</button>
    </form>
  `;
}
