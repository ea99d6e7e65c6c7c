/** The lines of a run in pages: those of one employee, those that changed, or whatever else is asked for. */
import type { FastifyInstance } from 'fastify';
import { empty } from '../../elements/empty.ts';
import { ANY, choicesOf, selectField } from '../../elements/field.ts';
import { address, PAGE_ROWS, pager } from '../../elements/pager.ts';
import { problemSummary } from '../../elements/problem-summary.ts';
import { type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import { part, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { paychecks } from './line-list.ts';
import { runPath } from './run-path.ts';
import { CHANGES, FLAGS, flagWord, LINE_KINDS, type Line, type Run } from './words.ts';

type Wish = { kind?: Line['kind']; change?: NonNullable<Line['change']>; flag?: Line['flags'][number] };

export function runLinePages(app: FastifyInstance, parts: ConsoleParts): void {
  part(app, parts, { url: '/runs/:run_id/lines', scope: 'runs:read' }, linePage);
}

/**
 * The lines on a run's page. One page of all of them is there at once; to find those of a kind the whole run is read,
 * which takes its time for a large one, so they come by themselves.
 */
export async function linesOfRun(
  visit: Visit,
  { run_id, state }: Pick<Run, 'run_id' | 'state'>,
): Promise<Html> {
  const { query } = visit;
  const isSearch = Object.keys(wishOf(query)).length > 0;
  const below = runPath(run_id);
  return html`
    <section id="lines" aria-labelledby="lines-title">
      <h2 id="lines-title">Lines</h2>
      ${kinds(query, below)}
      ${filters(query, below)}
      ${
        isSearch
          ? html`<div hx-get=${address(`${below}/lines`, query)} hx-trigger="load" hx-swap="outerHTML"><p class="soft" role="status">Looking through the whole run …</p></div>`
          : await linePage(visit)
      }
      <div class="actions">
        <a class="button quiet" href=${address(`${below}/lines.csv`, { ...wishOf(query), employee_id: query.employee_id })} download=${`${run_id}.csv`}>
          ${isSearch || query.employee_id !== undefined ? 'These lines as CSV' : 'All lines as CSV'}
        </a>
        ${state === 'open' && html`<span class="hint">Of an open run: as it is computed now.</span>`}
      </div>
    </section>
  `;
}

async function linePage({ api, params, query, may }: Visit): Promise<Html> {
  const run_id = params.run_id ?? '';
  const path = runPath(run_id);
  const { cursor, employee_id } = query;
  const asked = {
    limit: PAGE_ROWS,
    ...wishOf(query),
    ...(employee_id !== undefined && { employee_id }),
    ...(cursor !== undefined && { cursor }),
  };
  const answer = await api.GET('/v1/payroll-runs/{run_id}/lines', {
    params: { path: { run_id }, query: asked },
  });
  // An open run may have become one that can't be computed, or a list have ended with its run's finalizing.
  if (answer.error !== undefined && [409, 422].includes(answer.response.status)) {
    return html`
      <div>
        ${problemSummary(answer.error)}
        ${cursor !== undefined && html`<p><a href=${path}>Begin the list again</a></p>`}
      </div>
    `;
  }
  const { data, next_cursor } = need(answer);
  return html`
    <div>
      ${data.length === 0 ? none(query) : paychecks(data, { path, mayLedger: may('ledger:read') })}
      ${pager(path, query, next_cursor)}
    </div>
  `;
}

function none(query: Visit['query']): Html {
  const isNarrowed = query.employee_id !== undefined || Object.keys(wishOf(query)).length > 0;
  if (isNarrowed) return empty('This run has no such line.');
  return empty(
    'Nobody in this run has anything to deduct.',
    html`<p>A line is a deduction that is in effect on the day that counts. See above whether the run is ready: events may be pending, or the census be missing.</p>`,
  );
}

/** What the address asks for; what the API does not know is not asked. */
function wishOf({ kind, change, flag }: Visit['query']): Wish {
  return {
    ...(isKeyOf(LINE_KINDS, kind) && { kind }),
    ...(isKeyOf(CHANGES, change) && { change }),
    ...(isKeyOf(FLAGS, flag) && { flag }),
  };
}

function isKeyOf<Key extends string>(
  known: Readonly<Record<Key, string>>,
  given: string | undefined,
): given is Key {
  return given !== undefined && Object.hasOwn(known, given);
}

function kinds({ kind, employee_id }: Visit['query'], path: string): Html {
  const links = [
    { title: 'All lines', of: undefined },
    ...Object.entries(LINE_KINDS).map(([of, title]) => ({ title, of })),
  ];
  return html`
    <nav class="tabs" aria-label="Kinds of lines">
      <ul>
        ${links.map(
          ({ title, of }) => html`
            <li>
              <a href=${`${address(path, { employee_id, kind: of })}#lines`} aria-current=${of === kind ? 'true' : undefined}>${title}</a>
            </li>
          `,
        )}
      </ul>
    </nav>
  `;
}

function filters(query: Visit['query'], path: string): Html {
  return html`
    <form class="fields" method="get" action=${`${path}#lines`} role="search">
      ${query.kind !== undefined && html`<input type="hidden" name="kind" value=${query.kind} />`}
      <div class="field">
        <label for="employee_id">Employee id</label>
        <input id="employee_id" name="employee_id" value=${query.employee_id} autocomplete="off" />
      </div>
      ${selectField({
        name: 'change',
        label: 'Against the run before',
        value: query.change ?? '',
        choices: [ANY, ...choicesOf(CHANGES)],
      })}
      ${selectField({
        name: 'flag',
        label: 'To look at',
        value: query.flag ?? '',
        choices: [
          ANY,
          ...(Object.keys(FLAGS) as (keyof typeof FLAGS)[]).map((value) => ({
            value,
            label: flagWord(value),
          })),
        ],
      })}
      <button type="submit" class="quiet">Show</button>
    </form>
  `;
}
