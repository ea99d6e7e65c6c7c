/** Draws a deduction’s versions over their effective dates. The table below has the same data. */
import { counted, MONTHS, money } from '../../elements/format.ts';
import { type Html, html } from '../../html.ts';
import type { Timeline } from './now.ts';
import { type Span, sentence, spanOf } from './terms.ts';
import { marksOf, type Then, type Version, wasKnown } from './versions.ts';

/** Sizes in pixels. */
const ROW = 34;
const BAR = 14;
/** Above the rows: tick labels, and the labels of today and of the day asked about. */
const HEAD = 52;
const FOOT = 8;
const NAMES_WIDTH = 140;
const AMOUNT_CHARACTERS = 10;
/** Length of an arrow's tip. */
const TIP = 7;

type Picture = ReturnType<typeof timelineOf>;
type Axis = Picture['axis'];
type Bar = Picture['bars'][number] & { readonly isNever: boolean };
type Row = { readonly version: Version; readonly bar: Bar; readonly y: number };

/**
 * Draws each version over the days on which it is in effect. `versions`: from top to bottom, at least one. `latest`: the number
 * of the latest version. `inEffect`: the versions that are in effect on some day.
 */
export function timeline(
  versions: readonly Version[],
  { latest, inEffect }: { latest: number; inEffect: Timeline },
  today: string,
  then: Then | null,
): Html {
  const asked = then?.on ?? null;
  const days = new Map(inEffect.map(({ version, in_effect }) => [version, in_effect]));
  const spans = versions.map((version) => days.get(version.version) ?? spanOf(version));
  const { axis, bars } = timelineOf(spans, asked === null ? [today] : [today, asked]);
  const rows = bars.map((bar, index): Row => {
    const version = versions[index] as Version;
    return { version, bar: { ...bar, isNever: !days.has(version.version) }, y: HEAD + index * ROW };
  });
  const high = HEAD + rows.length * ROW + FOOT;
  const applied = versions.find(({ version }) => version === latest);
  const whatApplies = applied === undefined ? '' : ` Version ${latest} applies: ${sentence(applied)}.`;
  const summary = `${counted(versions.length, 'version')} by the dates on which they are in effect.${whatApplies} The table below has the same data.`;
  return html`
    <figure class="timeline card">
      <figcaption><h2>Timeline</h2>${legend(then)}</figcaption>
      <div class="timeline-rows">
        <svg class="names" width=${NAMES_WIDTH} height=${high} aria-hidden="true">
          ${rows.map(({ version, y }) => nameOf(version, y, marksOf(version, latest, then)[0]?.[0]))}
        </svg>
        <div class="timeline-scroll" role="region" aria-label="Timeline" tabindex="0" data-scroll-to=${scrollTo(axis, rows, latest, asked ?? today)}>
          <svg width=${PICTURE_WIDTH} height=${high} role="img" aria-label=${summary}>
            ${axisPicture(axis, high)}
            ${rows.map((row) => rowPicture(row, latest, then))}
            ${dayLine(axis, today, 'today', 'today', high)}
            ${asked !== null && asked !== today && dayLine(axis, asked, asked, 'asked', high)}
          </svg>
        </div>
      </div>
      <p class="hint timeline-hint">The timeline scrolls sideways.</p>
      ${applied === undefined && html`<p class="hint">${`Version ${latest} applies. It is on another page of the list.`}</p>`}
    </figure>
  `;
}

/** Returns where a narrow screen scrolls to: the day, or the nearest part of the version that applies. */
function scrollTo(axis: Axis, rows: readonly Row[], latest: number, day: string): number {
  const x = axis.x(dayNumber(day));
  const applied = rows.find(({ version }) => version.version === latest)?.bar;
  if (applied === undefined) return Math.round(x);
  return Math.round(Math.min(Math.max(x, applied.x), applied.x + applied.width));
}

function legend(then: Then | null): Html {
  const key = (name: string, words: string) =>
    html`<li><svg viewBox="0 0 24 12" aria-hidden="true"><rect class=${name} x="1" y="1" width="22" height="10" rx="2" /></svg>${words}</li>`;
  return html`
    <ul class="legend">
      ${key('bar latest', 'latest')}
      ${key('bar', 'earlier')}
      ${key('bar late', 'late: arrived after a newer version')}
      ${key('bar never', 'replaced: in effect on no date')}
      ${then !== null && key('bar then', 'in effect at the time you chose')}
    </ul>
  `;
}

function nameOf({ version, member_contribution }: Version, y: number, word: string | undefined): Html {
  const middle = y + ROW / 2;
  const line = word === undefined ? middle + 4 : middle - 2;
  const amount = money(member_contribution);
  const isLong = amount.length > AMOUNT_CHARACTERS;
  return html`
    <g>
      <text class="number" x="30" y=${line} text-anchor="end">${version}</text>
      <text x="38" y=${line}>${isLong ? `${amount.slice(0, AMOUNT_CHARACTERS - 1)}…` : amount}</text>
      ${word !== undefined && html`<text class="word" x="38" y=${middle + 12}>${word}</text>`}
    </g>
  `;
}

function axisPicture({ ticks, breaks }: Axis, high: number): Html {
  return html`
    <g class="axis">
      ${breaks.map(({ from, to }) => html`<rect class="break" x=${from} y=${HEAD - 10} width=${to - from} height=${high - HEAD + 10} />`)}
      ${ticks.map(({ x, label }) => html`<g><line x1=${x} x2=${x} y1="20" y2=${high} /><text x=${x + 3} y="14">${label}</text></g>`)}
      ${breaks.map(({ from, to }) => html`<text class="cut" x=${(from + to) / 2} y=${HEAD - 14} text-anchor="middle">⁄⁄</text>`)}
    </g>
  `;
}

function dayLine(axis: Axis, day: string, label: string, name: string, high: number): Html {
  const x = axis.x(dayNumber(day));
  return html`
    <g class=${`day ${name}`}>
      <line x1=${x} x2=${x} y1="24" y2=${high} />
      <text x=${x + 4} y=${name === 'today' ? 32 : 46}>${label}</text>
    </g>
  `;
}

function rowPicture({ version, bar, y }: Row, latest: number, then: Then | null): Html {
  const { x, width, isOpenBefore, isOpenAfter, isNever } = bar;
  const names = [
    'bar',
    version.version === latest && 'latest',
    version.late && 'late',
    isNever && 'never',
    then !== null && version.version === then.version && 'then',
    then !== null && !wasKnown(version, then) && 'unknown',
  ].filter((name) => name !== false);
  const [top, end] = [y + (ROW - BAR) / 2, x + width];
  const [middle, bottom] = [top + BAR / 2, top + BAR];
  // An open end is an arrow.
  const left = x + (isOpenBefore ? TIP : 0);
  const right = end - (isOpenAfter ? TIP : 0);
  const outline = `M${left} ${bottom}L${x} ${middle}L${left} ${top}L${right} ${top}L${end} ${middle}L${right} ${bottom}Z`;
  return html`
    <g>
      <title>${`Version ${version.version}: ${sentence(version)}`}</title>
      <line class="row" x1="0" x2=${PICTURE_WIDTH} y1=${y + ROW} y2=${y + ROW} />
      <path class=${names.join(' ')} d=${outline} />
    </g>
  `;
}

const MS_PER_DAY = 86_400_000;
/** A longer gap becomes a break. */
const BREAK_DAYS = 5 * 366;
const BREAK_WIDTH = 48;
/** The largest share of the axis for all breaks together. */
const BREAKS_SHARE = 0.5;
const MONTH_DAYS = 30.4;
/** Months between ticks. */
const STEPS = [1, 3, 6, 12, 24, 60, 120, 600, 1_200];
/** For millennia without a break. */
const STEP_MAX = 12_000;
const STEP_WIDTH_MIN = 44;
const CHARACTER_WIDTH = 6.5;
const LABEL_MARGIN = 8;

/** `isBreak`: the gap before it is a break. */
type Stop = { readonly day: number; readonly x: number; readonly isBreak: boolean };

/** Returns the days since 1970-01-01 of `YYYY-MM-DD`. */
export function dayNumber(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) / MS_PER_DAY;
}

/** Builds an axis from `left` to `right` (pixels) for at least one day. */
export function axisOf(named: readonly number[], left: number, right: number) {
  const days = [...new Set(named)].toSorted((a, b) => a - b);
  const gaps = days.map((day, index) => day - (days[index - 1] ?? day));
  const short = gaps.filter((gap) => gap <= BREAK_DAYS);
  const scaled = short.reduce((sum, gap) => sum + gap, 0);
  const count = gaps.length - short.length;
  const all = right - left;
  const breakWidth =
    scaled === 0 ? all / Math.max(1, count) : Math.min(BREAK_WIDTH, (all * BREAKS_SHARE) / count);
  const perDay = scaled === 0 ? 0 : (all - count * breakWidth) / scaled;
  let x = left;
  const stops = days.map((day, index): Stop => {
    const gap = gaps[index] as number;
    const isBreak = gap > BREAK_DAYS;
    x += isBreak ? breakWidth : gap * perDay;
    // Rounding must not lead outside the picture.
    return { day, x: Math.min(x, right), isBreak };
  });
  const breaks = stops.flatMap(({ x, isBreak }, index) =>
    isBreak ? [{ from: (stops[index - 1] as Stop).x, to: x }] : [],
  );
  return { x: (day: number) => between(stops, day), ticks: ticksOf(stops, perDay), breaks };
}

/** Returns the pixel of a day; a day outside the stops is placed at the nearest one. */
function between(stops: readonly Stop[], day: number): number {
  const next = stops.findIndex((stop) => stop.day >= day);
  const [before, after] = [stops[next - 1], stops[next]];
  if (after === undefined) return (stops.at(-1) as Stop).x;
  if (before === undefined) return after.x;
  return before.x + ((day - before.day) / (after.day - before.day)) * (after.x - before.x);
}

/** Labels each stretch between breaks; its first tick includes the year. A label that does not fit is empty. */
function ticksOf(stops: readonly Stop[], perDay: number): { x: number; label: string }[] {
  const starts = stops.flatMap(({ isBreak }, index) => (index === 0 || isBreak ? [index] : []));
  const step = STEPS.find((months) => months * MONTH_DAYS * perDay >= STEP_WIDTH_MIN) ?? STEP_MAX;
  let free = Number.NEGATIVE_INFINITY;
  return starts.flatMap((from, index) => {
    const stretch = stops.slice(from, starts[index + 1]);
    const [first, last] = [stretch[0] as Stop, stretch.at(-1) as Stop];
    const months = monthsIn(first.day, last.day, step);
    const days = months.length === 0 ? [first.day] : months.map(firstOfMonth);
    return days.map((day, index) => {
      const x = between(stretch, day);
      const label = labelOf(day, index === 0);
      const fits = x >= free;
      if (fits) free = x + label.length * CHARACTER_WIDTH + LABEL_MARGIN;
      return { x, label: fits ? label : '' };
    });
  });
}

/** Returns the months (counted from year 0) that are multiples of `step` and start between two days. */
function monthsIn(from: number, to: number, step: number): number[] {
  const month = monthOf(from);
  const first = Math.ceil((firstOfMonth(month) < from ? month + 1 : month) / step) * step;
  const months: number[] = [];
  for (let at = first; firstOfMonth(at) <= to; at += step) months.push(at);
  return months;
}

function monthOf(day: number): number {
  const date = new Date(day * MS_PER_DAY);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

function firstOfMonth(month: number): number {
  // `Date.UTC` maps years below 100 to the 20th century.
  return new Date(0).setUTCFullYear(Math.floor(month / 12), month % 12, 1) / MS_PER_DAY;
}

function labelOf(day: number, isFirst: boolean): string {
  const month = monthOf(day);
  const year = `${Math.floor(month / 12)}`.padStart(4, '0');
  if (month % 12 === 0) return year;
  return isFirst ? `${MONTHS[month % 12]} ${year}` : (MONTHS[month % 12] as string);
}

export const PICTURE_WIDTH = 980;
/** Space for an open start. */
const LEFT = 28;
/** Leaves space for an open end and the last label. */
const RIGHT = PICTURE_WIDTH - 72;
/** Distance of an open end from the edge. */
const EDGE = 6;
const BAR_WIDTH_MIN = 4;

/** Places one bar per span. The axis also covers `days` and the whole year of the first one. */
export function timelineOf(spans: readonly Span[], days: readonly [string, ...string[]]) {
  const year = days[0].slice(0, 4);
  const ends = spans.flatMap(({ from, until }) => [from, until]).filter((day) => day !== null);
  const named = [...ends, ...days, `${year}-01-01`, `${year}-12-31`];
  const axis = axisOf(named.map(dayNumber), LEFT, RIGHT);
  const bars = spans.map(({ from, until }) => {
    const start = from === null ? EDGE : axis.x(dayNumber(from));
    const end = until === null ? PICTURE_WIDTH - EDGE : axis.x(dayNumber(until));
    const x = Math.min(start, end);
    const width = Math.max(BAR_WIDTH_MIN, Math.max(start, end) - x);
    // A span that ends before it starts covers the days between.
    return { x, width, isOpenBefore: from === null, isOpenAfter: until === null };
  });
  return { axis, bars };
}
