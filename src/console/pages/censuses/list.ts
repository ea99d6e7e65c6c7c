/** Every employer's census: what is staged, and how its syncs went. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { empty } from '../../elements/empty.ts';
import { type Choice, selectField, textField } from '../../elements/field.ts';
import { gateBox } from '../../elements/gate.ts';
import { canStandInPath } from '../../elements/links.ts';
import { address, PAGE_ROWS, pager } from '../../elements/pager.ts';
import { type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import { action, page, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { censusLink, employerPath } from './paths.ts';
import { pushing } from './pushing.ts';
import { stagedTable } from './staged-table.ts';
import { timeline } from './syncs.ts';

type Sync = Schemas['CensusSync'];
type Staged = Schemas['StagedCensus'];

/** Of each failed sync, in the list of all; the employer's own page has more. */
const PROBLEMS_SHOWN = 20;
const STATES = ['requested', 'waiting', 'uploaded', 'completed', 'failed', 'overdue'] as const;
const ANY: Choice = { value: '', label: 'in any state' };
type Wished = (typeof STATES)[number];

export function censusListPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/census', scope: 'census:read' }, async (visit) => {
    const { state, cursor, employers } = visit.query;
    // Who goes on in one of the two lists, or asks for a state of syncs, looks at that one.
    const staged = state === undefined && cursor === undefined ? await readStaged(visit) : null;
    const syncs = employers === undefined ? await readSyncs(visit) : null;
    const isEmpty = [staged, syncs].every((list) => list === null || list.data.length === 0);
    return {
      title: 'Census',
      place: 'census',
      body: html`
        <div>
          ${await gateBox(visit)}
          ${filters(visit)}
          ${isEmpty && nothing(visit)}
          ${!isEmpty && staged !== null && stagedPart(staged, visit)}
          ${!isEmpty && syncs !== null && syncPart(syncs.data, visit)}
          ${syncs !== null && pager('/census', visit.query, syncs.next_cursor)}
        </div>
      `,
    };
  });

  // Back to the page that it was asked on: one of two, never an address that was sent.
  action(
    app,
    parts,
    { url: '/census/:employer/sync', scope: 'census:write' },
    async ({ api, params, form }) => {
      const employer_id = params.employer ?? '';
      need(await api.POST('/v1/employers/{employer_id}/census/sync', { params: { path: { employer_id } } }));
      return { go: form.from === 'list' ? '/census' : employerPath(employer_id) };
    },
  );
}

async function readSyncs({ api, query: { employer_id, state, cursor } }: Visit) {
  const query = {
    limit: PAGE_ROWS,
    ...(employer_id !== undefined && { employer_id }),
    ...wishOf(state),
    ...(cursor !== undefined && { cursor }),
  };
  return need(await api.GET('/v1/census-syncs', { params: { query } }));
}

async function readStaged({ api, query: { employer_id, employers } }: Visit) {
  const query = {
    limit: PAGE_ROWS,
    ...(employer_id !== undefined && { employer_id }),
    ...(employers !== undefined && { cursor: employers }),
  };
  return need(await api.GET('/v1/censuses', { params: { query } }));
}

function wishOf(state: string | undefined): { state?: Exclude<Wished, 'overdue'>; overdue?: boolean } {
  if (state === undefined) return {};
  // What is none of them the API refuses by name.
  return state === 'overdue' ? { overdue: true } : { state: state as Exclude<Wished, 'overdue'> };
}

function filters({ query }: Visit): Html {
  const given = (name: 'employer_id' | 'state') => ({ name, value: query[name] ?? '' });
  return html`
    <form class="fields" method="get" action="/census" aria-label="Filters">
      ${textField({ ...given('employer_id'), label: 'Employer id' })}
      ${selectField({ ...given('state'), label: 'Syncs that are', choices: [ANY, ...STATES.map((value) => ({ value, label: value }))] })}
      <button type="submit">Show</button>
      ${(query.employer_id ?? query.state) !== undefined && html`<a class="button quiet" href="/census">Show all</a>`}
    </form>
  `;
}

function nothing({ query: { employer_id: employer, state }, origin }: Visit): Html {
  const which = employer === undefined ? '' : ` of “${employer}”`;
  if (state !== undefined) return empty(`No sync${which} is ${state}.`);
  if (employer === undefined) {
    return empty(
      'No census was brought yet, and the service has asked for none.',
      html`
        <div>
          ${pushing('maple-bakery', origin)}
          <p>Or here: write the employer’s id above, and bring the file on the employer’s page.</p>
        </div>
      `,
    );
  }
  return empty(
    `No census${which} was brought, and the service has asked for none.`,
    canStandInPath(employer)
      ? html`<p><a href=${employerPath(employer)}>Bring a census of this employer</a></p>`
      : undefined,
  );
}

function stagedPart(
  { data, next_cursor }: { data: Staged[]; next_cursor: string | null },
  visit: Visit,
): Html {
  const { query, origin } = visit;
  return html`
    <section aria-labelledby="staged">
      <h2 id="staged">Staged for the next upload</h2>
      ${
        data.length > 0
          ? stagedTable(data, visit)
          : empty('No census was brought yet.', pushing(query.employer_id ?? 'maple-bakery', origin))
      }
      ${
        next_cursor !== null &&
        html`<p><a class="button quiet" href=${address('/census', { ...query, employers: next_cursor })}>More employers</a></p>`
      }
    </section>
  `;
}

function syncPart(syncs: readonly Sync[], visit: Visit): Html {
  return html`
    <section aria-labelledby="syncs">
      <h2 id="syncs">Syncs, the newest first</h2>
      ${syncs.length > 0 ? byEmployer(syncs, visit) : empty('The service has asked for no census yet.')}
    </section>
  `;
}

/** The page's syncs, those of an employer together; first the one that has the newest. */
function byEmployer(syncs: readonly Sync[], visit: Visit): Html {
  const employers = Map.groupBy(syncs, ({ employer_id }) => employer_id);
  return html`
    <div>
      ${[...employers].map(
        ([employerId, own]) => html`
          <section class="card" aria-label=${`Syncs of ${employerId}`}>
            <h3>${censusLink(employerId)}</h3>
            ${timeline(own, visit, PROBLEMS_SHOWN)}
          </section>
        `,
      )}
    </div>
  `;
}
