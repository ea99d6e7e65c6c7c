/**
 * Charts, drawn on the server as SVG. The picture stretches, so labels are HTML around it and stay readable; a table
 * holds the same numbers. Scales are by hand: two lines here, where d3-scale would bring six packages.
 */
import { type Content, type Html, html } from '../html.ts';
import { clock, count } from './format.ts';
import { type Column, table } from './list.ts';

/** Height of the view box. Each value is one unit wide. */
const HIGH = 100;

type Series = { readonly name: string; readonly values: readonly (number | null)[] };

type TimeChart = {
  readonly title: string;
  readonly at: readonly string[];
  readonly kind: 'bars' | 'lines';
  /** At most three: more strokes cannot be distinguished without color. */
  readonly series: readonly Series[];
  /** The chart in one sentence. */
  readonly summary: string;
};

export function timeChart({ title, at, kind, series, summary }: TimeChart): Html {
  const top = roundUp(Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0))));
  return html`
    <figure class="chart">
      <figcaption>
        <strong>${title}</strong>
        ${series.length > 1 && legend(series)}
      </figcaption>
      <div class="plot">
        <div class="y" aria-hidden="true"><span>${count(top)}</span><span>${count(top / 2)}</span><span>0</span></div>
        <svg viewBox=${`0 0 ${at.length} ${HIGH}`} preserveAspectRatio="none" role="img" aria-label=${`${title}. ${summary}`}>
          ${[0, HIGH / 2, HIGH].map((y) => html`<line class="grid" x1="0" x2=${at.length} y1=${y} y2=${y} />`)}
          ${series.map(({ values }, index) => (kind === 'bars' ? bars(values, top) : line(values, top, index)))}
        </svg>
        <div class="x" aria-hidden="true">
          ${[0, Math.floor(at.length / 2), at.length - 1].map((index) => html`<span>${minuteOf(at[index])}</span>`)}
        </div>
      </div>
      <p class="hint">${summary}</p>
      ${asTable(title, at, series)}
    </figure>
  `;
}

function legend(series: readonly Series[]): Html {
  const items = series.map(
    ({ name }, index) =>
      html`<li><svg viewBox="0 0 24 8" aria-hidden="true"><line class=${`line series-${index}`} x1="0" x2="24" y1="4" y2="4" /></svg>${name}</li>`,
  );
  return html`<ul class="legend">${items}</ul>`;
}

function bars(values: readonly (number | null)[], top: number): Html {
  const tall = (value: number | null) => ((value ?? 0) / top) * HIGH;
  const drawn = values.map(
    (value, x) => html`<rect x=${x + 0.1} width="0.8" y=${HIGH - tall(value)} height=${tall(value)} />`,
  );
  return html`<g class="bars">${drawn}</g>`;
}

/** The line has gaps where values are missing; a single value is a point. */
function line(values: readonly (number | null)[], top: number, index: number): Html {
  const path = values.map((value, x) => {
    if (value === null) return '';
    const place = `${x + 0.5} ${HIGH - (value / top) * HIGH}`;
    return (values[x - 1] ?? null) === null ? `M${place}h0` : `L${place}`;
  });
  return html`<path class=${`line series-${index}`} d=${path.join('')} />`;
}

function asTable(title: string, at: readonly string[], series: readonly Series[]): Html {
  const columns = series.map(({ name, values }): Column<number> => {
    return [name, (index) => values[index]?.toLocaleString('en-US') ?? '–', 'number'];
  });
  const newestFirst = [...at.keys()].toReversed();
  const list = table(newestFirst, { caption: title, captionHidden: true }, [
    ['Minute', (index) => minuteOf(at[index]), 'name'],
    ...columns,
  ]);
  return html`
    <details>
      <summary>${'Data'}<span class="hidden-label">${` of ${title}`}</span></summary>
      ${list}
    </details>
  `;
}

/** Rounds up to 1, 2 or 5 times a power of ten, so that the half is readable too. */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const ten = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * ten >= value) ?? 10) * ten;
}

function minuteOf(at: string | undefined): Content {
  return at !== undefined && clock(at);
}
