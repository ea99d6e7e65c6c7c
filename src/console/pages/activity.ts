/** Activity on the overview: events, requests, sending, and the last hour as charts. */
import type { Schemas } from '../../client.ts';
import { timeChart } from '../elements/chart.ts';
import { state, type Tone } from '../elements/facts.ts';
import { age, count, counted, instant } from '../elements/format.ts';
import { address } from '../elements/links.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';

type Activity = Schemas['Activity'];

/** The API counts up to this many of anything. */
const COUNTED_AT_MOST = 25_000;
/** Events are applied within a second; readiness fails after this long too. */
const LATE_MS = 60_000;
const MEGABYTE = 1_000_000;
const QUARANTINED = address('/events', { state: 'quarantined', dismissed: 'false' });

export function numbers(
  { events, requests, circuit_breaker, database_bytes, position }: Activity,
  visit: Visit,
): Html {
  const { now, may } = visit;
  const { last_received_at, oldest_pending_at, pending, quarantined, conflicts } = events;
  const toEvents = (path: string, text: string) => may('events:read') && html`<a href=${path}>${text}</a>`;
  const showAll = (path: string, number: number) => number > 0 && toEvents(path, 'Show all');
  const { reason, paused_at } = circuit_breaker;
  const isPaused = circuit_breaker.state === 'paused';
  const isLate = oldest_pending_at !== null && now.getTime() - Date.parse(oldest_pending_at) > LATE_MS;
  return html`
    <section aria-labelledby="numbers-title">
      <h2 id="numbers-title" class="hidden-label">Activity</h2>
      <div class="cards numbers">
        ${card('Last event', last_received_at === null ? 'none yet' : age(last_received_at, now), [last_received_at !== null && instant(last_received_at), toEvents('/events', 'All events')])}
        ${card('Pending events', atLeast(pending), [oldest_pending_at !== null && `oldest ${age(oldest_pending_at, now)}`, showAll('/events?state=pending', pending)], isLate ? 'bad' : 'plain')}
        ${card('Quarantined events', atLeast(quarantined), [showAll(QUARANTINED, quarantined)], quarantined > 0 ? 'bad' : 'plain')}
        ${card('Event conflicts', atLeast(conflicts), [showAll('/events?conflict=true', conflicts)], conflicts > 0 ? 'bad' : 'plain')}
        ${outboxCard(requests, now, may)}
        ${card('Sending', state(circuit_breaker.state), isPaused ? [reason, paused_at && instant(paused_at)] : [], isPaused ? 'bad' : 'plain')}
        ${card('Ledger', `position ${count(position)}`, [`Database size ${count(Math.round(database_bytes / MEGABYTE))} MB`])}
      </div>
    </section>
  `;
}

function outboxCard(
  { pending, sending, rejected, oldest_unfinished_at }: Activity['requests'],
  now: Date,
  may: Visit['may'],
): Html {
  const links = [
    may('changes:read') && html`<a href="/changes">Changes</a>`,
    may('census:read') && html`<a href="/census">Censuses</a>`,
  ];
  return html`
    <div class=${`card ${rejected > 0 ? 'bad' : 'plain'}`}>
      <h3>Outbox</h3>
      <ul class="states">
        <li><strong>${atLeast(pending)}</strong> pending</li>
        <li><strong>${atLeast(sending)}</strong> sending</li>
        <li><strong>${atLeast(rejected)}</strong> rejected</li>
      </ul>
      ${oldest_unfinished_at !== null && html`<p class="hint">${`oldest ${age(oldest_unfinished_at, now)}`}</p>`}
      <p class="hint links">${links}</p>
    </div>
  `;
}

function card(title: string, figure: Content, more: readonly Content[], tone: Tone = 'plain'): Html {
  const lines = more.filter((one) => one !== null && one !== false);
  return html`
    <div class=${`card ${tone}`}>
      <h3>${title}</h3>
      <p class="figure">${figure}</p>
      ${lines.map((line) => html`<p class="hint">${line}</p>`)}
    </div>
  `;
}

function atLeast(number: number): string {
  return number >= COUNTED_AT_MOST ? `${count(COUNTED_AT_MOST)} or more` : count(number);
}

export function charts({ minutes, counted_since }: Activity): Html {
  const at = minutes.map((minute) => minute.at);
  const acknowledged = minutes.map((minute) => minute.acknowledged);
  const period = periodOf(minutes, counted_since);
  return html`
    <section class="charts" aria-label="Last hour">
      <div class="card">
        ${timeChart({
          title: 'Events acknowledged per minute',
          at,
          kind: 'bars',
          series: [{ name: 'Events', values: acknowledged }],
          summary: eventSummary(acknowledged, period),
        })}
      </div>
      <div class="card">
        ${timeChart({
          title: 'Acknowledgment time, milliseconds',
          at,
          kind: 'lines',
          series: [
            { name: 'Median', values: minutes.map(({ p50_ms }) => p50_ms) },
            { name: 'p99', values: minutes.map(({ p99_ms }) => p99_ms) },
            { name: 'Slowest', values: minutes.map(({ slowest_ms }) => slowest_ms) },
          ],
          summary: timeSummary(minutes, period),
        })}
      </div>
    </section>
  `;
}

/** Minutes before the process started have no counts. */
function periodOf([first]: Activity['minutes'], since: string): string {
  if (first === undefined || since <= first.at) return 'in the last hour';
  return `since the sidecar started at ${since.slice(11, 16)} UTC`;
}

function eventSummary(perMinute: readonly number[], period: string): string {
  const sum = perMinute.reduce((total, one) => total + one, 0);
  if (sum === 0) return `None ${period}.`;
  return `${counted(sum, 'event')} ${period}; at most ${count(Math.max(...perMinute))} per minute.`;
}

function timeSummary(minutes: Activity['minutes'], period: string): string {
  const [slowest] = minutes
    .flatMap(({ at, slowest_ms }) => (slowest_ms === null ? [] : [{ at, ms: slowest_ms }]))
    .sort((one, other) => other.ms - one.ms);
  if (slowest === undefined) return `None ${period}.`;
  return `The slowest took ${count(slowest.ms)} ms, at ${slowest.at.slice(11, 16)} UTC. The provider’s timeout is 15 s.`;
}
