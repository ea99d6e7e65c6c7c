/** Census syncs as a timeline: what each has come through, what it waits for, and what was wrong. */
import type { Schemas } from '../../../client.ts';
import { counted } from '../../elements/facts.ts';
import { pathOf } from '../../elements/links.ts';
import { state } from '../../elements/state.ts';
import { age, instant } from '../../elements/time.ts';
import { type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import { employerPath } from './paths.ts';
import { problemTable } from './problems.ts';

type Sync = Schemas['CensusSync'];
type Step = {
  readonly name: string;
  readonly at: string | null;
  readonly tone: 'done' | 'now' | 'stuck' | 'open';
};

/** A sync with the response that the page was asked to show. */
export type Answered = { readonly sync_id: string; readonly answer?: string | null };

/** The syncs given, in their order. `problemsShown`: of each. */
export function timeline(
  syncs: readonly Sync[],
  visit: Visit,
  problemsShown: number,
  answered: Answered | null = null,
): Html {
  return html`
    <ol class="syncs">
      ${syncs.map((sync) => html`<li class=${`sync ${sync.state}`}>${oneSync(sync, visit, problemsShown, answered)}</li>`)}
    </ol>
  `;
}

function oneSync(sync: Sync, { now, may }: Visit, problemsShown: number, answered: Answered | null): Html {
  const { event_id, sync_id } = sync;
  const event = event_id !== null && may('events:read') ? pathOf('/events', event_id) : null;
  const asked = event_id === null ? 'asked for by hand' : 'asked for by the service';
  return html`
    <article>
      <p class="headline">
        ${state(sync.state)} ${sync.overdue && state('overdue')} <span class="soft">${event === null ? asked : html`<a href=${event}>${asked}</a>`}${` ${age(sync.requested_at, now)}`}</span>
      </p>
      <ol class="steps" aria-label="How far it came">
        ${stepsOf(sync).map(stepOf)}
      </ol>
      ${sync.reason !== null && html`<p class="reason">${sync.reason}</p>`}
      ${sync.problem_count > 0 && whatIsWrong(sync, problemsShown)}
      ${sync.state === 'failed' && sync.problem_count === 0 && may('pii:read') && answerOf(sync, answered?.sync_id === sync_id ? answered : null)}
    </article>
  `;
}

/** The response that failed an upload. It may hold personal data and each read is recorded, so it needs a click. */
function answerOf({ sync_id, employer_id }: Sync, answered: Answered | null): Html {
  if (answered === null) {
    return html`
      <form method="get" action=${employerPath(employer_id)}>
        <input type="hidden" name="answer" value=${sync_id} />
        <p>
          <button type="submit" class="quiet">Show the response</button>
          <span class="hint">${' It may contain personal data. The read is recorded.'}</span>
        </p>
      </form>
    `;
  }
  const { answer } = answered;
  return html`
    <div>
      <h3>Response of the service</h3>
      ${answer ? html`<pre tabindex="0"><code>${answer}</code></pre>` : html`<p class="soft">There is no response to show.</p>`}
    </div>
  `;
}

const TOLD = { done: 'done', now: 'by itself', stuck: 'a person acts', open: 'not yet' } as const;

function stepOf({ name, at, tone }: Step): Html {
  return html`
    <li class=${tone}>
      <span class="name">${name}</span>
      <span class="at">${at === null ? TOLD[tone] : instant(at)}</span>
    </li>
  `;
}

/** Requested, uploaded, completed; in between what it is held up by. */
function stepsOf({ state: now, requested_at, upload_started_at, uploaded_at, completed_at }: Sync): Step[] {
  const requested: Step = { name: 'requested', at: requested_at, tone: 'done' };
  const completed: Step = {
    name: 'completed',
    at: completed_at,
    tone: completed_at !== null ? 'done' : now === 'uploaded' ? 'now' : 'open',
  };
  if (now === 'waiting')
    return [requested, { name: 'waits for a census', at: null, tone: 'stuck' }, completed];
  if (now === 'failed') return [requested, { name: 'failed', at: null, tone: 'stuck' }, completed];
  if (uploaded_at !== null)
    return [requested, { name: 'uploaded', at: uploaded_at, tone: 'done' }, completed];
  // Its answer was lost, and the service said all the same that it has processed the census.
  if (completed_at !== null)
    return [requested, { name: 'upload began', at: upload_started_at, tone: 'done' }, completed];
  return [
    requested,
    {
      name: upload_started_at === null ? 'to be uploaded' : 'upload began',
      at: upload_started_at,
      tone: 'now',
    },
    completed,
  ];
}

function whatIsWrong({ problem_count, problems, employer_id }: Sync, shown: number): Html {
  return html`
    <details>
      <summary>${`${counted(problem_count, 'problem')} in the census`}</summary>
      ${problemTable(problems.slice(0, shown), problem_count, employer_id)}
    </details>
  `;
}
