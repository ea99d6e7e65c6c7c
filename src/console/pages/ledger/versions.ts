/** A deduction's versions as a table: what each changed, and when it was sent and recorded. */
import type { ResultOf, RowOf } from '../../../api/operation.ts';
import type { getTimelineOfDeduction, listVersionsOfDeduction } from '../../../api/operations/deductions.ts';
import { state, type Tone } from '../../elements/facts.ts';
import { alignedMoney, instant } from '../../elements/format.ts';
import { eventOf } from '../../elements/links.ts';
import { table, withNote } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import { changeList, changesBetween, datesOf, type Span, spanOf, spanWords } from './terms.ts';

/** The versions that are in effect on some day, in the order of their days. */
export type Timeline = ResultOf<typeof getTimelineOfDeduction>['versions'];
export type Version = RowOf<typeof listVersionsOfDeduction>;

/** A time that the user asked about, and the version in effect then; null if none was. */
export type Then = {
  readonly on: string | null;
  /** In milliseconds UTC, like `recorded_at`. */
  readonly knownAt: string | null;
  readonly version: number | null;
};

/** `unknown`: the previous version may be one that was not read. Null: there is none. */
type Previous = Version | 'unknown' | null;
type VersionRow = Version & { readonly previous: Previous };

const ORDERED_BY = { created_at: 'sent', tie: 'tie', receipt: 'received' };

/** Returns the labels of a version, the most important first. */
function marksOf(version: Version, { latest, inEffect, then }: Shown): [word: string, tone: Tone][] {
  const marks: ([string, Tone] | false)[] = [
    version.version === latest && ['latest', 'good'],
    version.version === then?.version && [then.on === null ? 'latest then' : 'in effect then', 'good'],
    then !== null &&
      then.knownAt !== null &&
      version.recorded_at > then.knownAt && ['not known then', 'plain'],
    version.late && ['late', 'warn'],
    daysOf(version, inEffect) === undefined && ['in effect on no date', 'plain'],
  ];
  return marks.filter((mark) => mark !== false);
}

/**
 * Finds the version that a version replaced, in the order of event time and then position. A late version did not
 * replace the version recorded just before it. `older`: the versions recorded earlier, newest first; `isAll`: whether
 * `older` is complete.
 */
export function previousVersion(version: Version, older: readonly Version[], isAll: boolean): Previous {
  const times = older.map(({ event_time }) => event_time).filter((time) => time <= version.event_time);
  const greatest = times.sort().at(-1);
  // A version that is not late replaced the latest one, which is the newest that was not late.
  const replaced = version.late
    ? older.find(({ event_time }) => event_time === greatest)
    : older.find(({ late }) => !late);
  // A late version that was not read may be in between.
  if (!isAll && (version.late || replaced === undefined)) return 'unknown';
  return replaced ?? null;
}

/** `latest`: the number of the version that applies. `inEffect`: the versions that are in effect on some day. */
type Shown = { latest: number; inEffect: Timeline; then: Then | null; may: Visit['may'] };

/** Returns the days on which a version is in effect; undefined if there are none. */
function daysOf({ version }: Version, inEffect: Timeline): Span | undefined {
  return inEffect.find((state) => state.version === version)?.in_effect;
}

export function versionTable(rows: readonly VersionRow[], shown: Shown): Html {
  const member = alignedMoney(rows.map(({ member_contribution }) => member_contribution));
  const employer = alignedMoney(rows.map(({ employer_contribution }) => employer_contribution));
  const list = table(rows, { caption: 'Versions, newest first', captionHidden: true }, [
    ['Version', (row) => nameOf(row, shown), 'name'],
    ['Event', ({ event_id }) => eventOf(event_id, shown), 'wide'],
    ['Changes', (row) => changesOf(row, shown.latest), 'wide'],
    ['Employee contribution', (row) => withNote(member(row.member_contribution), row.period), 'number'],
    ['Employer contribution', ({ employer_contribution }) => employer(employer_contribution), 'number'],
    ['Effective', (row) => effectiveOf(row, shown.inEffect), 'date'],
    ['Event time', timesOf],
  ]);
  return html`
    <section class="versions">
      <h2>Versions</h2>
      ${list}
      <p class="hint">The version with the latest event time applies. Of two versions with the same time (a tie), the one received later applies. If the service sent no time, or one before 2000, the time of receipt counts.</p>
    </section>
  `;
}

/** Shows the dates as received, and the days in effect if another version replaced it on some of them. */
function effectiveOf(version: Version, inEffect: Timeline): Html {
  const days = daysOf(version, inEffect);
  const { from, until } = spanOf(version);
  const isAsReceived = days === undefined || (days.from === from && days.until === until);
  return isAsReceived ? datesOf(version) : withNote(datesOf(version), `in effect ${spanWords(days)}`);
}

function timesOf({ event_time, ordered_by, recorded_at, position }: Version): Html {
  const recorded = html`<span>${'recorded '}${instant(recorded_at)}${`, position ${position}`}</span>`;
  return withNote([instant(event_time), ` ${ORDERED_BY[ordered_by]}`], recorded);
}

function nameOf(version: Version, shown: Shown): Html {
  return html`
    <span class="version" id=${`version-${version.version}`}>
      ${version.version}${marksOf(version, shown).map((mark) => [' ', state(...mark)])}
    </span>
  `;
}

function changesOf(row: VersionRow, latest: number): Html {
  const { previous } = row;
  const late = row.late ? `Late: version ${latest} stays the latest. ` : '';
  if (previous === 'unknown') return html`<span class="soft">${late}</span>`;
  if (previous === null) {
    return html`<span class="soft">${late === '' ? 'first version' : `${late}No version is older.`}</span>`;
  }
  const isNextRow = previous.version === row.version - 1;
  const note = isNextRow ? late : `${late}Compared with version ${previous.version}:`;
  return html`
    ${note !== '' && html`<span class="soft">${note}</span>`}
    ${changeList(changesBetween(previous, row))}
  `;
}
