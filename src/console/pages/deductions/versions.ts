/** A deduction's versions as a table: what each said, when, and what was new in it. */

import { eventLink } from '../../elements/links.ts';
import { toned } from '../../elements/state.ts';
import { type Column, table } from '../../elements/table.ts';
import { narrowInstant } from '../../elements/time.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Before } from './before.ts';
import { datesOf } from './deduction-table.ts';
import { marksOf, type Then, type Version } from './marks.ts';
import { type Change, changesBetween } from './words.ts';

export type VersionRow = {
  readonly version: Version;
  readonly before: Before;
};

/** A description may have 4,000 characters; its event has the whole one. */
const CHANGE_CHARACTERS = 160;
const UNBROKEN_CHARACTERS = 24;

/** `latest`: the number of the version that applies. `mayEvents`: whether events may be read, which then are linked. */
export function versionTable(
  rows: readonly VersionRow[],
  { latest, then, mayEvents }: { latest: number; then: Then | null; mayEvents: boolean },
): Html {
  const columns: Column<VersionRow>[] = [
    { title: 'Version', kind: 'name', cell: ({ version }) => nameOf(version, latest, then) },
    { title: 'Event', kind: 'wide', cell: ({ version }) => eventOf(version, mayEvents) },
    {
      title: 'What changed',
      kind: 'wide',
      cell: ({ version, before }) => whatChanged(version, before, latest),
    },
    { title: 'Employee pays', kind: 'number', cell: ({ version }) => paysOf(version) },
    { title: 'Employer pays', kind: 'number', cell: ({ version }) => version.employer_contribution },
    { title: 'Effective', kind: 'date', cell: ({ version }) => datesOf(version) },
    { title: 'Event time, placed by', kind: 'date', cell: ({ version }) => timeOf(version) },
    { title: 'Recorded, position', kind: 'date', cell: ({ version }) => placeOf(version) },
  ];
  return html`
    <section class="versions">
      <h2>Versions</h2>
      ${table({ stacked: true, caption: 'Versions, the newest first', captionHidden: true, columns, rows })}
      <p class="hint">
        ${'The version with the latest event time applies. Below it stands what placed the version: '}<code>created_at</code>${', the service’s own; '}<code>tie</code>${', the same as another version’s, so the one received later counts; '}<code>receipt</code>${', when it came, because the service named none.'}
      </p>
    </section>
  `;
}

function nameOf(version: Version, latest: number, then: Then | null): Html {
  return html`
    <span class="version" id=${`version-${version.version}`}>
      ${version.version}${marksOf(version, latest, then).map(({ word, tone }) => [' ', toned(word, tone)])}
    </span>
  `;
}

function eventOf({ event_id }: Version, mayEvents: boolean): Html {
  return mayEvents ? eventLink(event_id) : html`<span class="id">${event_id}</span>`;
}

function paysOf({ member_contribution, period }: Version): Html {
  return html`<span>${member_contribution}<span class="soft under">${period}</span></span>`;
}

function timeOf({ event_time, decided_by }: Version): Html {
  return html`<span>${narrowInstant(event_time)}<span class="soft under">${decided_by}</span></span>`;
}

function placeOf({ recorded_at, position }: Version): Html {
  return html`<span>${narrowInstant(recorded_at)}<span class="soft under">${`position ${position}`}</span></span>`;
}

function whatChanged(version: Version, before: Before, latest: number): Content {
  const late = version.late ? `Late: version ${latest} stays the latest. ` : '';
  if (before === 'unknown') return html`<span class="soft">${late}</span>`;
  if (before === null)
    return html`<span class="soft">${late === '' ? 'the first version' : `${late}Nothing known is older.`}</span>`;
  const changes = changesBetween(before, version);
  // Where it is not the one below it in the table, it is named.
  const isNext = before.version === version.version - 1;
  const against = isNext ? '' : `Against version ${before.version}, the one before it in time:`;
  return html`
    <div>
      ${late + against !== '' && html`<span class="soft">${late + against}</span>`}
      ${changes.length === 0 ? html`<span class="soft"> nothing</span>` : html`<ul class="changed">${changes.map(changeOf)}</ul>`}
    </div>
  `;
}

function changeOf({ what, before, after }: Change): Html {
  // Days and amounts stay on one line; only a description is broken.
  const isShort = (before?.length ?? 0) + (after?.length ?? 0) <= UNBROKEN_CHARACTERS;
  return html`
    <li class=${isShort ? 'whole' : undefined}>
      ${`${what}: `}<del>${cut(before)}</del>${' '}<span aria-hidden="true">→</span>${' '}<ins>${cut(after)}</ins>
    </li>
  `;
}

function cut(text: string | null): string {
  if (text === null) return 'none';
  return text.length > CHANGE_CHARACTERS ? `${text.slice(0, CHANGE_CHARACTERS)}…` : text;
}
