/** Operations: readiness, what is pending, and the last hour as charts. */
import type { ResultOf } from '../../api/operation.ts';
import { getActivity } from '../../api/operations/activity.ts';
import { listCensusSyncs } from '../../api/operations/census-syncs.ts';
import { listCensuses } from '../../api/operations/censuses.ts';
import { getReadiness } from '../../api/operations/readiness.ts';
import type { Scope } from '../../security/scopes.ts';
import { timeChart } from '../elements/chart.ts';
import { checkList, QUARANTINED } from '../elements/checks.ts';
import { live, problemBody, state, type Tone } from '../elements/facts.ts';
import { age, count, counted, instant } from '../elements/format.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Console, Page, Visit } from '../page.ts';
import { type Attempt, attempt } from '../performing.ts';

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
  const [readiness, activity, syncs, staged] = await Promise.all([
    may('ledger:read') ? attempt(api.perform(getReadiness)) : null,
    may('metrics:read') ? attempt(api.perform(getActivity)) : null,
    may('census:read') ? attempt(api.perform(listCensusSyncs, { query: { limit: 1 } })) : null,
    may('census:read') ? attempt(api.perform(listCensuses, { query: { limit: 1 } })) : null,
  ]);
  const hasNoEvents = activity?.data !== undefined && activity.data.events.last_received_at === null;
  const hasCensus = [syncs, staged].some((list) => (list?.data?.data.length ?? 0) > 0);
  const isEmpty = hasNoEvents && !hasCensus && activity.data.position === 0;
  // A hidden part must not look like an empty one.
  const hidden = PARTS.filter(([scope]) => !may(scope)).map(([scope, shows]) => `${shows} (${scope})`);
  const shown = html`
    ${hasNoEvents && firstSteps(isEmpty)}
    ${part('Readiness', readiness, (report) => readinessCard(report, visit, isEmpty))}
    ${part('Activity', activity, (counts) => numbers(counts, visit))}
    ${activity?.data && charts(activity.data)}
    ${may('metrics:read') && html`<p class="links"><a href="/notifications">Notifications of the payroll system</a></p>`}
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
        <li><p><strong>Register the webhook endpoint</strong>${' in the provider’s portal: the public address of this sidecar followed by '}<code>/webhooks</code>${'. Set the signing secret from the portal as '}<code>WEBHOOK_SECRETS</code>${', then send a test event.'}</p></li>
        <li><p><strong>Upload the census of each employer</strong>${isEmpty ? ' on the page ' : '. One has been uploaded or requested: see '}<a href="/census">Census</a>.</p></li>
        <li><p><strong>Create an API token</strong> for each program and person, with the scopes they need.</p></li>
      </ol>
    </section>
  `;
}

/** An installation without data passes every check but is not ready for payroll. */
function readinessCard(readiness: ResultOf<typeof getReadiness>, visit: Visit, isEmpty: boolean): Html {
  const noData = 'No event and no census has arrived, so there is nothing to run payroll from.';
  const [title, explanation, tone] = !readiness.ready
    ? ['Not ready', 'Fix these before you run payroll.', 'bad']
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

/** One figure of the page, with lines below it. Those that are null or false are left out. */
type Card = readonly [title: string, figure: Content, lines: readonly Content[], tone?: Tone | undefined];

function numbers(activity: Activity, visit: Visit): Html {
  const { now, may } = visit;
  const { events, requests } = activity;
  const { last_received_at: last, oldest_pending_at: oldest, pending, quarantined, conflicts } = events;
  const toEvents = (isShown: boolean, path: string, text = 'Show all') =>
    isShown && may('events:read') && html`<a href=${path}>${text}</a>`;
  const oldestOf = (at: string | null) => at !== null && `oldest ${age(at, now)}`;
  const bad = (isBad: boolean) => (isBad ? 'bad' : undefined);
  const cards: Card[] = [
    [
      'Last event',
      last === null ? 'none yet' : age(last, now),
      [last !== null && instant(last), toEvents(true, '/events', 'All events')],
    ],
    [
      'Pending events',
      atLeast(pending),
      [oldestOf(oldest), toEvents(pending > 0, '/events?state=pending')],
      bad(isOlder(oldest, LATE_MS, now)),
    ],
    [
      'Quarantined events',
      atLeast(quarantined),
      [toEvents(quarantined > 0, QUARANTINED)],
      bad(quarantined > 0),
    ],
    [
      'Event conflicts',
      atLeast(conflicts),
      [toEvents(conflicts > 0, '/events?conflict=true')],
      bad(conflicts > 0),
    ],
    [
      'Outbox',
      `${atLeast(requests.pending + requests.sending)} waiting`,
      [
        `${atLeast(requests.held)} held, ${atLeast(requests.rejected)} rejected`,
        oldestOf(requests.oldest_unfinished_at),
        may('changes:read') && html`<a href="/changes">Changes</a>`,
        may('census:read') && html`<a href="/census">Censuses</a>`,
      ],
      bad(requests.held + requests.rejected > 0),
    ],
    ['Sending', ...sending(activity, now)],
    [
      'Ledger',
      `position ${count(activity.position)}`,
      [`Database size ${count(Math.round(activity.database_bytes / MEGABYTE))} MB`],
    ],
  ];
  return html`
    <section aria-labelledby="numbers-title">
      <h2 id="numbers-title" class="hidden-label">Activity</h2>
      <div class="cards numbers">${cards.map(card)}</div>
    </section>
  `;
}

function card([title, figure, lines, tone = 'plain']: Card): Html {
  const shown = lines.filter((line) => line !== null && line !== false);
  return html`
    <div class=${`card ${tone}`}>
      <h3>${title}</h3>
      <p class="figure">${figure}</p>
      ${shown.map((line) => html`<p class="hint">${line}</p>`)}
    </div>
  `;
}

function isOlder(at: string | null, ms: number, now: Date): boolean {
  return at !== null && now.getTime() - Date.parse(at) > ms;
}

/** Shows whether requests reach the service. While it does not respond, sending is active, and they wait. */
function sending(
  { circuit_breaker, sending_off_since: off, requests }: Activity,
  now: Date,
): [Html, Content[], Tone?] {
  if (off !== null) return [state('off'), ['A pilot: nothing is sent.', instant(off)], 'warn'];
  const { state: current, reason, paused_at } = circuit_breaker;
  if (current === 'paused') return [state(current), [reason, paused_at && instant(paused_at)], 'bad'];
  const { oldest_unfinished_at: oldest } = requests;
  if (oldest === null || !isOlder(oldest, DELAYED_MS, now)) return [state(current), []];
  const wait = `A request was queued ${age(oldest, now)} and is not delivered. The benefits service may not be reachable.`;
  return [state('delayed', 'bad'), [wait], 'bad'];
}

function atLeast(number: number): string {
  return number >= COUNTED_AT_MOST ? `${count(COUNTED_AT_MOST)} or more` : count(number);
}

function charts({ minutes, counted_since: since }: Activity): Html {
  const at = minutes.map((minute) => minute.at);
  const acknowledged = minutes.map((minute) => minute.acknowledged);
  // Minutes before the process started have no counts.
  const hasStarted = at[0] !== undefined && since > at[0];
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
