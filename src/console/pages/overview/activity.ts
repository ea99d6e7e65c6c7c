/** What comes in, what waits, what goes out: numbers, and the last hour as charts. */
import type { Schemas } from '../../../client.ts';
import { COUNTED_AT_MOST } from '../../../operations/activity.ts';
import { timeChart } from '../../elements/chart.ts';
import { count, counted } from '../../elements/facts.ts';
import { address } from '../../elements/pager.ts';
import { state, type Tone, toned } from '../../elements/state.ts';
import { age, instant } from '../../elements/time.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';

type Activity = Schemas['Activity'];

/** Events are applied within a second; from here on a person should look, as readiness does. */
const LATE_MS = 60_000;
const MEGABYTE = 1_000_000;

export function numbers({ events, requests, gate, database_bytes, position }: Activity, visit: Visit): Html {
  const { now, may } = visit;
  const toEvents = (path: string, text: string) => may('events:read') && html`<a href=${path}>${text}</a>`;
  const isLate =
    events.oldest_pending_at !== null && now.getTime() - Date.parse(events.oldest_pending_at) > LATE_MS;
  const quarantined = address('/events', { state: 'quarantined', dismissed: 'false' });
  return html`
    <section aria-labelledby="numbers-title">
      <h2 id="numbers-title" class="hidden-label">What waits</h2>
      <div class="cards numbers">
        ${card(
          'Last event',
          events.last_received_at === null ? 'none yet' : age(events.last_received_at, now),
          [
            events.last_received_at !== null && instant(events.last_received_at),
            toEvents('/events', 'All events'),
          ],
        )}
        ${card(
          'Not applied yet',
          atLeast(events.pending),
          [
            events.oldest_pending_at !== null && `oldest ${age(events.oldest_pending_at, now)}`,
            events.pending > 0 && toEvents('/events?state=pending', 'Look at them'),
          ],
          isLate ? 'bad' : 'plain',
        )}
        ${card(
          'Quarantined',
          atLeast(events.quarantined),
          [events.quarantined > 0 && toEvents(quarantined, 'Look at them')],
          events.quarantined > 0 ? 'bad' : 'plain',
        )}
        ${card(
          'Conflicts',
          atLeast(events.conflicts),
          [events.conflicts > 0 && toEvents('/events?conflict=true', 'Look at them')],
          events.conflicts > 0 ? 'bad' : 'plain',
        )}
        ${outboxCard(requests, now, may)}
        ${
          gate.state === 'closed'
            ? card('Gate', state('closed'), [gate.reason, gate.since !== null && instant(gate.since)], 'bad')
            : card('Gate', toned('open', 'good'), ['Requests go out.'])
        }
        ${card('Ledger', `position ${count(position)}`, [`The database has ${megabytes(database_bytes)} MB.`])}
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

export function charts({ minutes, counted_since }: Activity): Html {
  const at = minutes.map((minute) => minute.at);
  const acknowledged = minutes.map((minute) => minute.acknowledged);
  const during = duringWhat(minutes, counted_since);
  return html`
    <section class="charts" aria-label="The last hour">
      <div class="card">
        ${timeChart({
          title: 'Events acknowledged per minute',
          at,
          kind: 'bars',
          series: [{ name: 'Events', values: acknowledged }],
          summary: eventsInWords(acknowledged, during),
        })}
      </div>
      <div class="card">
        ${timeChart({
          title: 'Acknowledgement time, milliseconds',
          at,
          kind: 'lines',
          series: [
            { name: 'half within', values: minutes.map(({ p50_ms }) => p50_ms) },
            { name: '99 of 100 within', values: minutes.map(({ p99_ms }) => p99_ms) },
            { name: 'slowest', values: minutes.map(({ slowest_ms }) => slowest_ms) },
          ],
          summary: timesInWords(minutes, during),
        })}
      </div>
    </section>
  `;
}

/** The counts are the process's own: one that is younger than they reach back knows nothing of what came before it. */
function duringWhat([first]: Activity['minutes'], since: string): string {
  if (first === undefined || since <= first.at) return 'in the last hour';
  return `since the start at ${since.slice(11, 16)} UTC`;
}

function eventsInWords(perMinute: readonly number[], during: string): string {
  const sum = perMinute.reduce((total, one) => total + one, 0);
  if (sum === 0) return `None ${during}.`;
  return `${counted(sum, 'event')} ${during}, ${count(Math.max(...perMinute))} in the busiest minute.`;
}

function timesInWords(minutes: Activity['minutes'], during: string): string {
  const [slowest] = minutes
    .flatMap(({ at, slowest_ms }) => (slowest_ms === null ? [] : [{ at, ms: slowest_ms }]))
    .sort((one, other) => other.ms - one.ms);
  if (slowest === undefined) return `None ${during}.`;
  return `The slowest took ${count(slowest.ms)} ms, at ${slowest.at.slice(11, 16)} UTC. The provider waits 15 s.`;
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

function megabytes(bytes: number): string {
  return count(Math.round(bytes / MEGABYTE));
}
