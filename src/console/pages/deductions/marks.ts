/** What is to be said of a version beside its content: which one applies, and what was known at some time. Pure. */
import type { Schemas } from '../../../client.ts';
import type { Tone } from '../../elements/state.ts';

export type Version = Schemas['Version'];

/** A day and a time of knowledge that somebody asked for, and which version answers it; null: none does. */
export type Then = {
  readonly on: string | null;
  /** In milliseconds UTC, as `recorded_at` is written. */
  readonly knownAt: string | null;
  readonly version: number | null;
};

type Mark = { readonly word: string; readonly tone: Tone };

const LATEST: Mark = { word: 'latest', tone: 'good' };
const LATE: Mark = { word: 'late', tone: 'warn' };
const THEN: Mark = { word: 'in effect then', tone: 'good' };
const KNOWN_LATEST: Mark = { word: 'latest then', tone: 'good' };
const UNKNOWN: Mark = { word: 'not known then', tone: 'plain' };

/** Whether the ledger had the version by the time that was asked for. */
export function wasKnown({ recorded_at }: Version, { knownAt }: Then): boolean {
  return knownAt === null || recorded_at <= knownAt;
}

/** The words for a version, the most telling first. `latest`: the number of the version that applies. */
export function marksOf(version: Version, latest: number, then: Then | null): Mark[] {
  return [
    ...(version.version === latest ? [LATEST] : []),
    ...(then !== null && version.version === then.version ? [then.on === null ? KNOWN_LATEST : THEN] : []),
    ...(then !== null && !wasKnown(version, then) ? [UNKNOWN] : []),
    ...(version.late ? [LATE] : []),
  ];
}
