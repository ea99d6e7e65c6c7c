/** One employer's census: what is staged, a file to check and stage, and how its syncs went. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { empty } from '../../elements/empty.ts';
import { count, facts } from '../../elements/facts.ts';
import { gateBox } from '../../elements/gate.ts';
import { live } from '../../elements/live.ts';
import { address, PAGE_ROWS, pager } from '../../elements/pager.ts';
import { since } from '../../elements/time.ts';
import { type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import { page, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { bringForm } from './bring-form.ts';
import { censusPath, employerPath } from './paths.ts';
import { pushing } from './pushing.ts';
import { syncButton, takenOf } from './staged-table.ts';
import { type Answered, timeline } from './syncs.ts';

type Sync = Schemas['CensusSync'];
type Staged = Schemas['StagedCensus'];

/** All that the API names of one failed sync. */
const PROBLEMS_SHOWN = 1_000;

export function employerCensusPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/census/:employer', scope: 'census:read' }, async (visit) => {
    const { api, params, may } = visit;
    const { answer: answerOf, ...query } = visit.query;
    const employer_id = params.employer ?? '';
    const { data, source } = need(await api.GET('/v1/censuses', { params: { query: { employer_id } } }));
    const syncs = need(
      await api.GET('/v1/census-syncs', {
        params: {
          query: {
            employer_id,
            limit: PAGE_ROWS,
            ...(query.cursor !== undefined && { cursor: query.cursor }),
          },
        },
      }),
    );
    // Each read is recorded, so this runs only when a person asked for it.
    const answered =
      answerOf !== undefined && may('pii:read')
        ? need(
            await api.GET('/v1/census-syncs/{sync_id}', {
              params: { path: { sync_id: answerOf }, query: { answer: true } },
            }),
          )
        : null;
    return {
      title: `Census of ${employer_id}`,
      place: 'census',
      body: html`
        <div>
          ${await gateBox(visit)}
          ${stagedNow(data[0] ?? null, employer_id, visit)}
          ${source !== 'push' && fetched(source)}
          ${may('census:write') && bringForm(employer_id)}
          <section aria-labelledby="syncs">
            <h2 id="syncs">Syncs, the newest first</h2>
            ${syncsOf(syncs.data, visit, address(employerPath(employer_id), query), answered)}
            ${pager(employerPath(employer_id), query, syncs.next_cursor)}
          </section>
        </div>
      `,
    };
  });
}

/** Live, unless there are row errors to be read: a list that somebody has opened would close. */
function syncsOf(syncs: readonly Sync[], visit: Visit, path: string, answered: Answered | null): Html {
  if (syncs.length === 0)
    return live({ id: 'rounds', path }, empty('The service has asked for no census of this employer yet.'));
  const list = html`<div class="card">${timeline(syncs, visit, PROBLEMS_SHOWN, answered)}</div>`;
  // Nor beside a response: showing it again would record another read.
  return answered !== null || syncs.some(({ problem_count }) => problem_count > 0)
    ? list
    : live({ id: 'rounds', path }, list);
}

const SOURCES = {
  dir: 'a folder (CENSUS_SOURCE=dir:…)',
  http: 'an address (CENSUS_SOURCE=http…)',
  function: 'a function of the program that the sidecar is embedded in',
} as const;

/** Before somebody stages a census that does not stay. */
function fetched(source: keyof typeof SOURCES): Html {
  return html`
    <p class="notice" role="note">
      <strong>${`Here censuses come from ${SOURCES[source]}. `}</strong>
      ${'At the next sync the employer’s census is fetched from there, and takes the place of one that is brought here. That one serves only syncs that wait or failed: what is to last must be changed at the source.'}
    </p>
  `;
}

function stagedNow(staged: Staged | null, employerId: string, { now, may, query, origin }: Visit): Html {
  if (staged === null) {
    return html`
      <section aria-labelledby="staged">
        <h2 id="staged">Staged for the next upload</h2>
        ${empty('No census of this employer is staged.', pushing(employerId, origin))}
        ${may('census:write') && syncButton(employerId, 'Ask for a sync', 'employer')}
      </section>
    `;
  }
  const { census_id, employees, staged_at } = staged;
  return html`
    <section class="card" aria-labelledby="staged">
      <h2 id="staged">Staged for the next upload</h2>
      ${
        query.staged === census_id &&
        html`<p class="done" role="status">This is the census that you brought. Syncs that waited for one go on by themselves.</p>`
      }
      ${facts([
        ['Employees', count(employees)],
        ['Staged', since(staged_at, now)],
        ['The service took last', takenOf(now)(staged)],
        ['Id', html`<code>${census_id}</code>`],
        [
          'What it says',
          may('pii:read') &&
            html`<a href=${censusPath(employerId)}>the whole census as raw JSON, with personal data; that you looked is written down</a>`,
        ],
      ])}
      ${may('census:write') && html`<div class="actions">${syncButton(employerId, 'Sync now', 'employer')}</div>`}
    </section>
  `;
}
