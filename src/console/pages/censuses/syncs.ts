/** Census syncs as a timeline: the steps of each, its problems, and the service's response. */
import type { Schemas } from '../../../client.ts';
import { recordedRead, responseOfService, state } from '../../elements/facts.ts';
import type { FieldProblem } from '../../elements/fields.ts';
import { age, count, counted, instant } from '../../elements/format.ts';
import { censusPath, pathOf } from '../../elements/links.ts';
import { rowProblems } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';

type Sync = Schemas['CensusSync'];
type Step = readonly [name: string, at: string | null, tone: 'done' | 'now' | 'stuck' | 'open'];

/** A sync with the response that the user requested to see. */
export type SyncResponse = { readonly id: string; readonly response?: string | null };

const STEP_STATES = { done: 'done', now: 'in progress', stuck: 'action needed', open: 'not yet' } as const;

/** Lists the syncs in their order, with at most `problemsShown` problems each. */
export function timeline(
  syncs: readonly Sync[],
  visit: Visit,
  problemsShown: number,
  response: SyncResponse | null = null,
): Html {
  return html`
    <ol class="syncs">
      ${syncs.map((sync) => html`<li class=${`sync ${sync.state}`}>${oneSync(sync, visit, problemsShown, response)}</li>`)}
    </ol>
  `;
}

function oneSync(
  sync: Sync,
  { now, may }: Visit,
  problemsShown: number,
  response: SyncResponse | null,
): Html {
  const { event_id, id, problem_count, problems } = sync;
  const event = event_id !== null && may('events:read') ? pathOf('/events', event_id) : null;
  const requested = event_id === null ? 'requested manually' : 'requested by the service';
  const mayShowResponse = sync.state === 'failed' && problem_count === 0 && may('pii:read');
  return html`
    <article>
      <p class="headline">
        ${state(sync.state)} ${sync.overdue && state('overdue')} <span class="soft">${event === null ? requested : html`<a href=${event}>${requested}</a>`}${` ${age(sync.requested_at, now)}`}</span>
      </p>
      <ol class="steps" aria-label="Steps">
        ${stepsOf(sync).map(stepOf)}
      </ol>
      ${sync.reason !== null && html`<p class="reason">${sync.reason}</p>`}
      ${
        problem_count > 0 &&
        html`
          <details>
            <summary>${`${counted(problem_count, 'problem')} in the census`}</summary>
            ${problemTable(problems.slice(0, problemsShown), problem_count)}
          </details>
        `
      }
      ${mayShowResponse && responseOf(sync, response?.id === id ? response : null)}
    </article>
  `;
}

function responseOf({ id, employer_id }: Sync, read: SyncResponse | null): Html {
  if (read === null) {
    const hint = 'It may contain personal data. The read is recorded.';
    return recordedRead(censusPath(employer_id), { response: id }, 'Show the response', hint);
  }
  return read.response
    ? responseOfService(read.response)
    : html`<p class="soft">There is no response to show.</p>`;
}

function stepOf([name, at, tone]: Step): Html {
  return html`
    <li class=${tone}>
      <span class="name">${name}</span>
      <span class="at">${at === null ? STEP_STATES[tone] : instant(at)}</span>
    </li>
  `;
}

function stepsOf(sync: Sync): Step[] {
  const { requested_at, completed_at } = sync;
  const tone = completed_at !== null ? 'done' : sync.state === 'uploaded' ? 'now' : 'open';
  return [['requested', requested_at, 'done'], uploadOf(sync), ['completed', completed_at, tone]];
}

function uploadOf({ state, upload_started_at, uploaded_at, completed_at }: Sync): Step {
  if (state === 'waiting') return ['waiting for a census', null, 'stuck'];
  if (state === 'failed') return ['failed', null, 'stuck'];
  if (uploaded_at !== null) return ['uploaded', uploaded_at, 'done'];
  // Completed without an upload time: the upload's response was lost.
  if (completed_at !== null) return ['upload started', upload_started_at, 'done'];
  return [upload_started_at !== null ? 'upload started' : 'upload', upload_started_at, 'now'];
}

/** Lists problems by row and field, never with values. `all`: how many there are. */
export function problemTable(problems: readonly FieldProblem[], all: number): Html {
  return html`
    ${problems.length > 0 && rowProblems(problems, placeOf)}
    <p class="hint">
      ${'Row 1 is the first employee: '}<code>employees[0]</code>${' in JSON, line 2 in CSV.'}
      ${all > problems.length && ` ${counted(all - problems.length, 'more problem')} not shown: fix these and check the file again.`}
    </p>
  `;
}

/** `employees[17].address.state` as `18` and `address.state`. */
function placeOf(path: string): [row: string, field: string] {
  const [, index, field] = /^employees\[(\d+)\]\.?(.*)$/s.exec(path) ?? [];
  if (index !== undefined) return [count(Number(index) + 1), field || 'whole row'];
  const [, ofOrganization] = /^organization\.?(.*)$/s.exec(path) ?? [];
  return ofOrganization === undefined ? ['file', path || 'all'] : ['organization', ofOrganization || 'all'];
}
