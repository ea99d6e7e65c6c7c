/** A deduction's versions as a table: what each changed, and when it was sent and recorded. */
import type { Schemas } from '../../../client.ts';
import { state, type Tone } from '../../elements/facts.ts';
import type { Choice } from '../../elements/fields.ts';
import { money, narrowInstant } from '../../elements/format.ts';
import { address, eventLink, idLink, pathOf } from '../../elements/links.ts';
import { table } from '../../elements/list.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import { changeList, changesBetween, datesOf } from './terms.ts';

export type Version = Schemas['DeductionVersion'];

/** A time that the user asked about, and the version in effect then; null: none was. */
export type Then = {
  readonly on: string | null;
  /** In milliseconds UTC, like `recorded_at`. */
  readonly knownAt: string | null;
  readonly version: number | null;
};

/** `unknown`: the previous version may be one that was not read. Null: there is none. */
type Previous = Version | 'unknown' | null;
export type VersionRow = { readonly version: Version; readonly previous: Previous };

/** The source of an event time. */
const ORDERED_BY: Readonly<Record<Version['ordered_by'], string>> = {
  created_at: 'sent',
  tie: 'tie',
  receipt: 'received',
};

/** The decisions on a version whose start was moved before it began. */
export const START_DECISIONS: readonly Choice[] = [
  { value: 'keep', label: 'It applies', hint: 'Payroll deducts its amounts until the newer version starts.' },
  {
    value: 'drop',
    label: 'It never applies',
    hint: 'Payroll ignores it and uses the version before it until the newer version starts.',
  },
];

type Mark = { readonly word: string; readonly tone: Tone };

/** Returns whether the ledger knew the version at the time asked about. */
export function wasKnown({ recorded_at }: Version, { knownAt }: Then): boolean {
  return knownAt === null || recorded_at <= knownAt;
}

/** Returns the labels of a version, the most important first. `latest` is the number of the version that applies. */
export function marksOf(version: Version, latest: number, then: Then | null): Mark[] {
  const marks: (Mark | false)[] = [
    version.version === latest && { word: 'latest', tone: 'good' },
    then !== null &&
      version.version === then.version && {
        word: then.on === null ? 'latest then' : 'in effect then',
        tone: 'good',
      },
    then !== null && !wasKnown(version, then) && { word: 'not known then', tone: 'plain' },
    version.late && { word: 'late', tone: 'warn' },
  ];
  return marks.filter((mark) => mark !== false);
}

/**
 * Finds the version that a version replaced: the one before it by event time, then position, which is not always the one
 * recorded before it. `older`: the versions recorded before it, newest first; `isAll`: whether those are all.
 */
export function previousVersion(version: Version, older: readonly Version[], isAll: boolean): Previous {
  // A version that is not late replaced the latest one, which is the newest that was not late.
  const [found] = version.late
    ? older
        .filter(({ event_time }) => event_time <= version.event_time)
        .toSorted((one, other) =>
          one.event_time > other.event_time ? -1 : one.event_time < other.event_time ? 1 : 0,
        )
    : older.filter(({ late }) => !late);
  // A late version that was not read may be in between.
  if (!isAll && (version.late || found === undefined)) return 'unknown';
  return found ?? null;
}

type Shown = { latest: number; then: Then | null; may: Visit['may'] };

export function versionTable(rows: readonly VersionRow[], shown: Shown): Html {
  const mayEvents = shown.may('events:read');
  return html`
    <section class="versions">
      <h2>Versions</h2>
      ${table(rows, { stacked: true, caption: 'Versions, newest first', captionHidden: true }, [
        ['Version', ({ version }) => nameOf(version, shown), 'name'],
        [
          'Event',
          ({ version: { event_id } }) => (mayEvents ? eventLink(event_id) : idLink(null, event_id)),
          'wide',
        ],
        ['Changes', (row) => changesOf(row, shown.latest), 'wide'],
        [
          'Employee amount',
          ({ version }) => withNote(money(version.member_contribution), version.period),
          'number',
        ],
        ['Employer amount', ({ version }) => money(version.employer_contribution), 'number'],
        ['Effective', ({ version }) => datesOf(version), 'date'],
        [
          'Event time',
          ({ version }) => withNote(narrowInstant(version.event_time), ORDERED_BY[version.ordered_by]),
          'date',
        ],
        [
          'Recorded',
          ({ version }) => withNote(narrowInstant(version.recorded_at), `position ${version.position}`),
          'date',
        ],
      ])}
      <p class="hint">The version with the latest event time applies. Of two versions with the same time (a tie), the one received later applies. If the service sent no time, the time of receipt counts.</p>
    </section>
  `;
}

function nameOf(version: Version, { latest, then, may }: Shown): Html {
  return html`
    <span class="version" id=${`version-${version.version}`}>
      ${version.version}${marksOf(version, latest, then).map(({ word, tone }) => [' ', state(word, tone)])}
      ${version.start_decision !== null && decisionOf(version.start_decision, may('runs:write'))}
    </span>
  `;
}

function decisionOf(
  { deduction_id, version, decision, reason, decided_by }: Schemas['StartDecision'],
  mayChange: boolean,
): Html {
  const choice = START_DECISIONS.find(({ value }) => value === decision)?.label;
  const path = pathOf('/deductions', deduction_id) ?? '';
  return html`
    <span class="soft under">
      ${`Moved start: ${choice?.toLowerCase()}. Decided by ${decided_by}: ${reason} `}
      ${mayChange && html`<a href=${address(path, { decide: String(version) })}>Change the decision</a>`}
    </span>
  `;
}

function withNote(content: Content, note: string): Html {
  return html`<span>${content}<span class="soft under">${note}</span></span>`;
}

function changesOf({ version, previous }: VersionRow, latest: number): Content {
  const late = version.late ? `Late: version ${latest} stays the latest. ` : '';
  if (previous === 'unknown') return html`<span class="soft">${late}</span>`;
  if (previous === null)
    return html`<span class="soft">${late === '' ? 'first version' : `${late}No version is older.`}</span>`;
  const changes = changesBetween(previous, version);
  const isNextRow = previous.version === version.version - 1;
  const comparedWith = isNextRow ? '' : `Compared with version ${previous.version}:`;
  return html`
    ${late + comparedWith !== '' && html`<span class="soft">${late + comparedWith}</span>`}
    ${changeList(changes)}
  `;
}
