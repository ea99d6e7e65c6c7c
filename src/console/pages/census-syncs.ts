/** The syncs of censuses, each with its steps, its problems and its response. */
import type { RowOf } from '../../api/operation.ts';
import type { listCensusSyncs } from '../../api/operations/census-syncs.ts';
import { recordedRead, responseOfService, state } from '../elements/facts.ts';
import { foldedDecision } from '../elements/fields.ts';
import { rowProblems } from '../elements/file.ts';
import { age, count, counted, instant, lacksScope, resultText } from '../elements/format.ts';
import { censusPath, employeeOf, fitsPath, pathOf } from '../elements/links.ts';
import { type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';

type Sync = RowOf<typeof listCensusSyncs>;
type Hold = Sync['held_for'][number];
type SyncResponse = { readonly id: string; readonly response?: string | null };
type Step = readonly [name: string, at: string | null, tone: keyof typeof STEP_STATES];

const HELD_LISTED = 200;
const STEP_STATES = { done: 'done', now: 'in progress', stuck: 'action needed', open: 'not yet' } as const;

/** Reports whether a sync needs a person. */
export function isStalled({ state, overdue }: Sync): boolean {
  return ['waiting', 'held', 'failed'].includes(state) || overdue;
}

export function timeline(
  syncs: readonly Sync[],
  visit: Visit,
  response: SyncResponse | null,
  isOff: boolean,
): Html {
  const items = syncs.map((sync) => {
    const read = response?.id === sync.id ? response : null;
    return html`<li class=${`sync ${sync.state}`}>${oneSync(sync, visit, read, isOff)}</li>`;
  });
  return html`<ol class="syncs">${items}</ol>`;
}

function oneSync(sync: Sync, { now, may }: Visit, read: SyncResponse | null, isOff: boolean): Html {
  const { event_id, problem_count, problems, held_for, reason, dismissed_at, dismissed_reason } = sync;
  const event = event_id !== null && may('events:read') ? pathOf('/events', event_id) : null;
  const requested = event_id === null ? 'requested manually' : 'requested by the service';
  const mayShowResponse = sync.state === 'failed' && problem_count === 0 && may('pii:read');
  const path = fitsPath(sync.employer_id) && pathOf(`${censusPath(sync.employer_id)}/syncs`, sync.id);
  const problemList = html`
    <details>
      <summary>${`${counted(problem_count, 'problem')} in the census`}</summary>
      ${rowProblems(problems, problem_count)}
    </details>
  `;
  const steps = stepsOf(sync).map(([name, at, tone]) => {
    const when = at === null ? STEP_STATES[tone] : instant(at);
    return html`<li class=${tone}><span class="name">${name}</span><span class="at">${when}</span></li>`;
  });
  return html`
    <article>
      <p class="headline">
        ${state(sync.state)} ${sync.overdue && state('overdue')} <span class="soft">${event === null ? requested : html`<a href=${event}>${requested}</a>`}${` ${age(sync.requested_at, now)}`}</span>
      </p>
      <ol class="steps" aria-label="Steps">${steps}</ol>
      ${reason !== null && html`<p class="reason">${reasonText(reason)}</p>`}
      ${dismissed_at !== null && html`<p class="reason">${'Dismissed '}${instant(dismissed_at)}${`: ${dismissed_reason}`}</p>`}
      ${problem_count > 0 && problemList}
      ${held_for.map((hold) => heldFor(hold, may))}
      ${mayShowResponse && responseOf(sync, read)}
      ${path && sync.state === 'held' && (may('runs:approve') ? release(path, sync, isOff) : html`<p class="soft">${lacksScope('To release the census', 'runs:approve')}</p>`)}
      ${path && isStalled(sync) && may('census:write') && foldedDecision('Dismiss …', `${path}/dismiss`, DISMISSAL)}
    </article>
  `;
}

const DISMISSAL = {
  button: 'Dismiss',
  hint: 'Readiness no longer fails for this sync, and a new census does not continue it. It stays in the list with your reason.',
  reason: 'Reason for dismissing',
};

const HELD: Readonly<Record<Hold['cause'], { who: string; effect: string }>> = {
  'employees-missing': {
    who: 'Missing employees',
    effect: 'The service may treat employees missing from the census as terminated.',
  },
  'employees-elsewhere': {
    who: 'Employees of another employer',
    effect:
      'The employees of another employer then count as employees of this employer too. Only a user who sees both employers can release the census.',
  },
};

/** Renders the form that releases a held census, with the census that the user sees. */
function release(path: string, { held_for, held_census_id }: Sync, isOff: boolean): Html {
  const effects = held_for.map(({ cause }) => HELD[cause].effect).join(' ');
  const sent = isOff
    ? 'While sending is off, the census is not uploaded.'
    : 'The census is uploaded as it is, for all syncs that wait for it.';
  return foldedDecision('Release …', `${path}/release`, {
    button: 'Release this census',
    hint: `${sent} ${effects}`,
    reason: 'Reason for the release',
    hidden: { census_id: held_census_id ?? '' },
  });
}

function heldFor({ cause, count: all, employee_ids }: Hold, may: Visit['may']): Html {
  const ids = employee_ids.slice(0, HELD_LISTED);
  return html`
    <details>
      <summary>${HELD[cause].who} ${`(${count(all)})`}</summary>
      <ul class="ids">${ids.map((id) => html`<li>${employeeOf(id, { may })}</li>`)}</ul>
      ${all > ids.length && html`<p class="hint">${`The first ${ids.length} are shown.`}</p>`}
    </details>
  `;
}

/** Explains the reason of a sync in the words of this page, without the command that shows the response. */
export function reasonText(reason: string): string {
  const [result, next] = reason.split(/; (?=read its response)/);
  const text = resultText(result ?? reason, 'census');
  if (next !== undefined)
    return `${text}. Show its response, correct the census, and upload it above. Then press Sync now.`;
  const isUnreachable = reason.startsWith('no response was received');
  return isUnreachable ? `${text}. If this lasts, ask an operator to check the connection.` : text;
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

function stepsOf(sync: Sync): Step[] {
  const { requested_at, completed_at } = sync;
  const tone = completed_at !== null ? 'done' : sync.state === 'uploaded' ? 'now' : 'open';
  return [['requested', requested_at, 'done'], uploadOf(sync), ['completed', completed_at, tone]];
}

function uploadOf({ state, upload_started_at, uploaded_at, completed_at }: Sync): Step {
  if (state === 'waiting') return ['waiting for a census', null, 'stuck'];
  if (state === 'held') return ['held', null, 'stuck'];
  if (state === 'failed') return ['failed', null, 'stuck'];
  if (state === 'dismissed' && uploaded_at === null) return ['upload', upload_started_at, 'open'];
  if (uploaded_at !== null) return ['uploaded', uploaded_at, 'done'];
  // Completed without an upload time: the upload's response was lost.
  if (completed_at !== null) return ['upload started', upload_started_at, 'done'];
  return [upload_started_at !== null ? 'upload started' : 'upload', upload_started_at, 'now'];
}
