/** Draws a deduction's versions over their effective dates. The table below has the same data. */
import { counted, money } from '../../elements/format.ts';
import { type Html, html } from '../../html.ts';
import { sentence, spanOf } from './terms.ts';
import { type Axis, type Bar, dayNumber, PICTURE_WIDTH, timelineOf } from './time-axis.ts';
import { marksOf, type Then, type Version, wasKnown } from './versions.ts';

/** Pixels. */
const ROW = 34;
const BAR = 14;
/** Above the rows: tick labels, and the labels of today and of the day asked about. */
const HEAD = 52;
const FOOT = 8;
const NAMES_WIDTH = 140;
const AMOUNT_CHARACTERS = 10;
/** Length of an arrow's tip. */
const TIP = 7;

type Row = { readonly version: Version; readonly bar: Bar; readonly y: number };

/** `versions`: from top to bottom, at least one. `latest`: the number of the one that applies. */
export function timeline(
  versions: readonly Version[],
  latest: number,
  today: string,
  then: Then | null,
): Html {
  const asked = then?.on ?? null;
  const { axis, bars } = timelineOf(versions.map(spanOf), asked === null ? [today] : [today, asked]);
  const rows = versions.map((version, index): Row => {
    return { version, bar: bars[index] as Bar, y: HEAD + index * ROW };
  });
  const high = HEAD + rows.length * ROW + FOOT;
  return html`
    <figure class="timeline card">
      <figcaption><h2>Timeline</h2>${legend(then)}</figcaption>
      <div class="timeline-rows">
        <svg class="names" width=${NAMES_WIDTH} height=${high} aria-hidden="true">
          ${rows.map(({ version, y }) => nameOf(version, y, marksOf(version, latest, then)[0]?.word))}
        </svg>
        <div class="timeline-scroll" role="region" aria-label="Timeline" tabindex="0" data-scroll-to=${scrollTo(axis, rows, latest, asked ?? today)}>
          <svg width=${PICTURE_WIDTH} height=${high} role="img" aria-label=${summary(versions, latest)}>
            ${axisPicture(axis, high)}
            ${rows.map((row) => rowPicture(row, latest, then))}
            ${dayLine(axis, today, 'today', 'today', high)}
            ${asked !== null && asked !== today && dayLine(axis, asked, asked, 'asked', high)}
          </svg>
        </div>
      </div>
      <p class="hint timeline-hint">The timeline scrolls sideways.</p>
      ${
        versions.every(({ version }) => version !== latest) &&
        html`<p class="hint">${`Version ${latest} applies. It is on another page of the list.`}</p>`
      }
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

function summary(versions: readonly Version[], latest: number): string {
  const applied = versions.find(({ version }) => version === latest);
  const text = applied === undefined ? '' : ` Version ${latest} applies: ${sentence(applied)}.`;
  return `${counted(versions.length, 'version')} by effective date.${text} The table below has the same data.`;
}

function legend(then: Then | null): Html {
  return html`
    <ul class="legend">
      ${key('bar latest', 'latest')}
      ${key('bar', 'earlier')}
      ${key('bar late', 'late: arrived after a newer version')}
      ${then !== null && key('bar then', 'in effect at the time you chose')}
    </ul>
  `;
}

function key(name: string, words: string): Html {
  return html`<li><svg viewBox="0 0 24 12" aria-hidden="true"><rect class=${name} x="1" y="1" width="22" height="10" rx="2" /></svg>${words}</li>`;
}

function nameOf({ version, member_contribution }: Version, y: number, word: string | undefined): Html {
  const middle = y + ROW / 2;
  const line = word === undefined ? middle + 4 : middle - 2;
  return html`
    <g>
      <text class="number" x="30" y=${line} text-anchor="end">${version}</text>
      <text x="38" y=${line}>${shortened(money(member_contribution))}</text>
      ${word !== undefined && html`<text class="word" x="38" y=${middle + 12}>${word}</text>`}
    </g>
  `;
}

function shortened(amount: string): string {
  return amount.length > AMOUNT_CHARACTERS ? `${amount.slice(0, AMOUNT_CHARACTERS - 1)}…` : amount;
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
  return html`
    <g>
      <title>${`Version ${version.version}: ${sentence(version)}`}</title>
      <line class="row" x1="0" x2=${PICTURE_WIDTH} y1=${y + ROW} y2=${y + ROW} />
      <path class=${names.join(' ')} d=${outline({ x, end, top, isOpenBefore, isOpenAfter })} />
    </g>
  `;
}

/** The outline of a bar; an open end is an arrow. */
function outline(given: {
  x: number;
  end: number;
  top: number;
  isOpenBefore: boolean;
  isOpenAfter: boolean;
}): string {
  const { x, end, top, isOpenBefore, isOpenAfter } = given;
  const [middle, bottom] = [top + BAR / 2, top + BAR];
  const left = isOpenBefore
    ? `${x + TIP} ${bottom}L${x} ${middle}L${x + TIP} ${top}`
    : `${x} ${bottom}L${x} ${top}`;
  const right = isOpenAfter
    ? `${end - TIP} ${top}L${end} ${middle}L${end - TIP} ${bottom}`
    : `${end} ${top}L${end} ${bottom}`;
  return `M${left}L${right}Z`;
}
