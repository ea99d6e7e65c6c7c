/** Operations: readiness, what is pending, and the last hour as charts. */
import type { ResultOf } from '../../api/operation.ts';
import { getActivity } from '../../api/operations/activity.ts';
import { getReadiness } from '../../api/operations/readiness.ts';
import type { Scope } from '../../security/scopes.ts';
import { timeChart } from '../elements/chart.ts';
import { checkList, QUARANTINED } from '../elements/checks.ts';
import { facts, live, problemBody, state } from '../elements/facts.ts';
import { age, count, counted, instant, since } from '../elements/format.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Console, Page, Visit } from '../page.ts';
import { type Attempt, attempt } from '../performing.ts';
import { REGISTRATION } from './events/labels.ts';

type Activity = ResultOf<typeof getActivity>;

/** The parts of the page by the scope they need. */
const PARTS: readonly (readonly [Scope, shows: string])[] = [
  ['ledger:read', 'readiness'],
  ['metrics:read', 'activity'],
];
/** The API counts up to this many of anything. */
const COUNTED_AT_MOST = 25_000;
/** Events are applied within a second; readiness fails after this long too. */
const LATE_MS = 60_000;
/** The age of a request from which sending is shown as delayed: several attempts have failed. */
const DELAYED_MS = 5 * 60_000;
const MEGABYTE = 1_000_000;

export function operationPages({ page }: Console): void {
  page('/operations', 'self', operations, 'refused');
}

async function operations(visit: Visit): Promise<Page> {
  const { api, may } = visit;
  const [readiness, activity] = await Promise.all([
    may('ledger:read') ? attempt(api.perform(getReadiness)) : null,
    may('metrics:read') ? attempt(api.perform(getActivity)) : null,
  ]);
  const hasNoEvents = activity?.data !== undefined && activity.data.events.last_received_at === null;
  const isEmpty = hasNoEvents && activity.data.position === 0;
  // A hidden part must not look like an empty one.
  const hidden = PARTS.filter(([scope]) => !may(scope)).map(([scope, shows]) => `${shows} (${scope})`);
  const shown = html`
    ${hasNoEvents && firstSteps(isEmpty)}
    ${part('Readiness', readiness, (report) => readinessCard(report, visit, isEmpty))}
    ${part('Activity', activity, (counts) => activityCard(counts, visit))}
    ${activity?.data && charts(activity.data)}
    ${hidden.length > 0 && html`<p class="hint">${`Hidden, because your token lacks the scope: ${hidden.join(', ')}.`}</p>`}
  `;
  return { title: 'Operations', body: live({ id: 'operations', path: '/operations' }, shown) };
}

/** A part that cannot be read leaves the others visible: people open this page when something is wrong. */
function part<T>(name: string, response: Attempt<T> | null, show: (data: T) => Html): Html | null {
  if (response === null) return null;
  const { data, problem } = response;
  if (problem === undefined) return show(data);
  return html`
    <section class="card bad">
      <h2>${name}</h2>
      <p>${`Unavailable: ${problem.title}.`}</p>
      ${problemBody(problem)}
    </section>
  `;
}

function firstSteps(isEmpty: boolean): Html {
  return html`
    <section class="card empty first-steps" aria-labelledby="first-title">
      <h2 id="first-title">No events received yet</h2>
      <ol>
        <li><p><strong>Receive webhooks.</strong> ${REGISTRATION}</p></li>
        <li><p><strong>Upload the census of each employer</strong>${isEmpty ? ' on the page ' : '. One has been uploaded: see '}<a href="/census">Census</a>.</p></li>
        <li><p><strong>Create an API token</strong> for each program and person, with the scopes they need.</p></li>
      </ol>
    </section>
  `;
}

/** An installation without data passes every check but is not ready for payroll. */
function readinessCard(readiness: ResultOf<typeof getReadiness>, visit: Visit, isEmpty: boolean): Html {
  const noData = 'No event and no census has arrived, so there is nothing to run payroll from.';
  const failed = readiness.checks.filter(({ result }) => result === 'fail').length;
  const [title, explanation, tone] = !readiness.ready
    ? [
        `Not ready: ${counted(failed, 'check fails', 'checks fail')}`,
        'Payroll runs that depend on a failed check cannot be finalized before it is fixed or accepted. Warnings do not stop a run.',
        'bad',
      ]
    : isEmpty
      ? ['No data yet', noData, 'plain']
      : ['Ready', 'Payroll runs can use the ledger.', 'good'];
  return html`
    <section class=${`card readiness ${tone}`} aria-labelledby="readiness-title">
      <h2 id="readiness-title">${title}</h2>
      <p>${explanation}</p>
      ${checkList(readiness, visit)}
    </section>
  `;
}

/** What arrives, what waits and what is sent. The readiness above names what to fix. */
function activityCard(activity: Activity, visit: Visit): Html {
  const { now, may } = visit;
  const { events, requests, position, database_bytes, disk_free_bytes } = activity;
  const { last_received_at: last, oldest_pending_at: oldest, pending, quarantined, conflicts } = events;
  const { oldest_unfinished_at: unfinished, held, rejected } = requests;
  const link = (isShown: boolean, path: string, text: string) =>
    isShown && html` <a href=${path}>${text}</a>`;
  const toEvents = (number: number, path: string, text: string) =>
    link(number > 0 && may('events:read'), path, text);
  const oldestOf = (at: string | null) =>
    at !== null && html` <span class="soft">${`oldest ${age(at, now)}`}</span>`;
  return html`
    <section class="card" aria-labelledby="activity-title">
      <h2 id="activity-title">Activity</h2>
      ${facts([
        [
          'Last event',
          [last === null ? 'none yet' : since(last, now), link(may('events:read'), '/events', 'All events')],
        ],
        [
          'Pending events',
          [
            figure(pending, isOlder(oldest, LATE_MS, now)),
            oldestOf(oldest),
            toEvents(pending, '/events?state=pending', 'Show pending events'),
          ],
        ],
        [
          'Quarantined events',
          [figure(quarantined), toEvents(quarantined, QUARANTINED, 'Decide about quarantined events')],
        ],
        [
          'Event conflicts',
          [figure(conflicts), toEvents(conflicts, '/events?conflict=true', 'Compare the bodies')],
        ],
        ['Sending', sending(activity, now)],
        ['Requests waiting', [atLeast(requests.pending + requests.sending), oldestOf(unfinished)]],
        ['Requests held', figure(held)],
        [
          'Requests rejected',
          [
            figure(rejected),
            link(may('changes:read'), '/changes', 'Changes'),
            link(may('census:read'), '/census', 'Censuses'),
          ],
        ],
        ['Notifications', html`<a href="/notifications">Notifications of the payroll system</a>`],
        ['Ledger', `position ${count(position)}`],
        [
          'Database',
          [
            megabytes(database_bytes),
            disk_free_bytes !== null && `, ${megabytes(disk_free_bytes)} free on its disk`,
          ],
        ],
      ])}
    </section>
  `;
}

/** Renders a number, marked if it should be zero. */
function figure(number: number, isBad = number > 0): Content {
  return isBad ? state(atLeast(number), 'bad') : atLeast(number);
}

function megabytes(bytes: number): string {
  return `${count(Math.round(bytes / MEGABYTE))} MB`;
}

function isOlder(at: string | null, ms: number, now: Date): boolean {
  return at !== null && now.getTime() - Date.parse(at) > ms;
}

/** Shows whether requests reach the service. While it does not respond, sending is active, and they wait. */
function sending({ circuit_breaker, sending_off_since: off, requests }: Activity, now: Date): Content {
  if (off !== null)
    return [state('off', 'warn'), ' A pilot: nothing has been sent since ', instant(off), '.'];
  const { state: current, reason, paused_at } = circuit_breaker;
  if (current === 'paused')
    return [state(current), ` ${reason} `, paused_at !== null && since(paused_at, now)];
  const { oldest_unfinished_at: oldest } = requests;
  if (oldest === null || !isOlder(oldest, DELAYED_MS, now)) return state(current);
  const wait = ` A request was queued ${age(oldest, now)} and is not delivered. The benefits service may not be reachable.`;
  return [state('delayed', 'bad'), wait];
}

function atLeast(number: number): string {
  return number >= COUNTED_AT_MOST ? `${count(COUNTED_AT_MOST)} or more` : count(number);
}

function charts({ minutes, counted_since }: Activity): Html {
  const at = minutes.map((minute) => minute.at);
  const acknowledged = minutes.map((minute) => minute.acknowledged);
  // Minutes before the process started have no counts.
  const hasStarted = at[0] !== undefined && counted_since > at[0];
  const period = hasStarted ? 'since the sidecar started' : 'in the last hour';
  const sum = acknowledged.reduce((total, number) => total + number, 0);
  const [slowest] = minutes.toSorted((a, b) => (b.slowest_ms ?? -1) - (a.slowest_ms ?? -1));
  const most = `at most ${count(Math.max(...acknowledged))} per minute`;
  const events = timeChart({
    title: 'Events acknowledged per minute',
    at,
    kind: 'bars',
    series: [{ name: 'Events', values: acknowledged }],
    summary: sum === 0 ? `None ${period}.` : `${counted(sum, 'event')} ${period}; ${most}.`,
  });
  const times = timeChart({
    title: 'Acknowledgment time, milliseconds',
    at,
    kind: 'lines',
    series: [
      { name: 'Median', values: minutes.map(({ p50_ms }) => p50_ms) },
      { name: 'p99', values: minutes.map(({ p99_ms }) => p99_ms) },
      { name: 'Slowest', values: minutes.map(({ slowest_ms }) => slowest_ms) },
    ],
    summary:
      slowest === undefined || slowest.slowest_ms === null
        ? `None ${period}.`
        : `The slowest took ${count(slowest.slowest_ms)} ms. The provider’s timeout is 15 s.`,
  });
  return html`
    <section class="charts" aria-label="Last hour">
      <div class="card">${events}</div>
      <div class="card">${times}</div>
    </section>
  `;
}
