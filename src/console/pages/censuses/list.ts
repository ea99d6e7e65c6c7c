/** The censuses of all employers: what is staged, and the syncs. */
import type { Schemas } from '../../../client.ts';
import { pausedNotice } from '../../elements/checks.ts';
import { empty } from '../../elements/facts.ts';
import { choicesOf, type Filter, filterForm } from '../../elements/fields.ts';
import { age, count, instant } from '../../elements/format.ts';
import { address, censusLink, censusPath, fitsPath } from '../../elements/links.ts';
import { type Column, PAGE_ROWS, pager, table } from '../../elements/table.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { timeline } from './syncs.ts';

type Sync = Schemas['CensusSync'];
type Staged = Schemas['StagedCensus'];

/** Problems shown of each failed sync; the employer's page shows more. */
const PROBLEMS_SHOWN = 20;
const STATES = ['requested', 'waiting', 'uploaded', 'completed', 'failed', 'overdue'];
const FILTERS: readonly Filter[] = [
  { name: 'employer_id', label: 'Employer ID' },
  { name: 'state', label: 'Sync state', choices: choicesOf(STATES) },
];

export function censusListPages({ page, action }: Console): void {
  page('/census', 'census:read', async (visit) => {
    const { api, query } = visit;
    const { employer_id, state, cursor, employers } = query;
    // The page has two lists with a cursor each; a cursor or a state selects one of them.
    const staged =
      state === undefined && cursor === undefined
        ? await api.get('/v1/censuses', { limit: PAGE_ROWS, employer_id, cursor: employers })
        : null;
    const which = state === 'overdue' ? { overdue: true } : { state };
    const syncs =
      employers === undefined
        ? await api.get('/v1/census-syncs', { limit: PAGE_ROWS, employer_id, cursor, ...which })
        : null;
    const isEmpty = [staged, syncs].every((list) => list === null || list.data.length === 0);
    return {
      title: 'Census',
      body: html`
        ${await pausedNotice(visit)}
        ${filterForm('/census', query, FILTERS)}
        ${isEmpty && nothing(visit)}
        ${!isEmpty && staged !== null && stagedPart(staged, visit)}
        ${!isEmpty && syncs !== null && syncPart(syncs.data, visit)}
        ${syncs !== null && pager('/census', query, syncs.next_cursor)}
      `,
    };
  });

  action('/census/:employer_id/sync', 'census:write', async ({ api, params, form }) => {
    await api.send('post', '/v1/employers/{employer_id}/census/sync');
    return { go: form.from === 'list' ? '/census' : censusPath(params.employer_id ?? '') };
  });
}

function nothing({ query: { employer_id: employer, state }, may }: Visit): Html {
  const which = employer === undefined ? '' : ` for “${employer}”`;
  if (state !== undefined) return empty(`No ${state} syncs${which}`);
  const mayUpload = may('census:write');
  const advice = !mayUpload
    ? 'To upload a census, your token needs the scope census:write.'
    : employer === undefined
      ? 'Enter an employer ID above to upload its census.'
      : fitsPath(employer) && html`<a href=${censusPath(employer)}>Upload the census of this employer</a>`;
  return empty(`No census and no sync${which} yet`, html`<p>${advice}</p>`);
}

function stagedPart(
  { data, next_cursor }: { data: Staged[]; next_cursor: string | null },
  visit: Visit,
): Html {
  return html`
    <section aria-labelledby="staged">
      <h2 id="staged">Staged censuses</h2>
      ${data.length > 0 ? stagedTable(data, visit) : nothing(visit)}
      ${
        next_cursor !== null &&
        html`<p><a class="button quiet" href=${address('/census', { ...visit.query, employers: next_cursor })}>More employers</a></p>`
      }
    </section>
  `;
}

function stagedTable(data: readonly Staged[], { now, may }: Visit): Html {
  const sync: Column<Staged> = ['Sync', ({ employer_id }) => syncButton(employer_id, 'Sync now', 'list')];
  return table(data, { caption: 'Staged censuses', captionHidden: true }, [
    ['Employer', ({ employer_id }) => censusLink(employer_id), 'name'],
    ['Employees', ({ employees }) => count(employees), 'number'],
    ['Staged', ({ staged_at }) => html`<span title=${staged_at}>${age(staged_at, now)}</span>`, 'date'],
    ['Last upload', (staged) => lastUpload(staged, now)],
    ...(may('census:write') ? [sync] : []),
  ]);
}

/** Describes the last upload, and whether it is the staged census. */
export function lastUpload({ id, last_upload }: Staged, now: Date): Content {
  if (last_upload === null) return html`<span class="soft">none yet</span>`;
  const { uploaded_at, employees } = last_upload;
  if (last_upload.census_id === id) return html`<span>this census, ${instant(uploaded_at)}</span>`;
  return html`<span>an older census with ${count(employees)} employees, ${age(uploaded_at, now)}</span>`;
}

/** Requests a sync; `from` is the page to return to. */
export function syncButton(employerId: string, label: string, from: 'list' | 'employer'): Html | null {
  if (!fitsPath(employerId)) return null;
  return html`
    <form class="inline" hx-post=${`${censusPath(employerId)}/sync`}>
      <input type="hidden" name="from" value=${from} />
      <button type="submit" class="quiet" aria-label=${`${label}: ${employerId}`}>${label}</button>
    </form>
  `;
}

/** Groups the syncs by employer, the employer with the newest sync first. */
function syncPart(syncs: readonly Sync[], visit: Visit): Html {
  const employers = Map.groupBy(syncs, ({ employer_id }) => employer_id);
  return html`
    <section aria-labelledby="syncs">
      <h2 id="syncs">Syncs, newest first</h2>
      ${syncs.length === 0 && empty('The service has not requested a census yet')}
      ${[...employers].map(
        ([employerId, own]) => html`
          <section class="card" aria-label=${`Syncs of ${employerId}`}>
            <h3>${censusLink(employerId)}</h3>
            ${timeline(own, visit, PROBLEMS_SHOWN)}
          </section>
        `,
      )}
    </section>
  `;
}
