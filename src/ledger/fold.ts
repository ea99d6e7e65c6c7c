/** The rules for a deduction's versions: which one is the latest, late, a tie or future-dated. Pure. */
import type { Insertable, Selectable } from 'kysely';
import type { Deduction } from '../contract/deduction.ts';
import { dayOf, isSet, toInstant } from '../contract/instant.ts';
import type { Tables, VersionTable } from '../database/tables.ts';

/** How far a sender's clock may be ahead of ours (docs/internals/provider.md). A later event would hide real ones. */
const CLOCKS_DIFFER_MS = 5 * 60_000;

export type Version = Selectable<VersionTable>;
export type LatestState = Selectable<Tables['deductions']>;

/** A deduction event that is not in the ledger yet. `receivedAt` is our clock's, `createdAt` is as sent. */
export type IncomingDeduction = {
  eventId: string;
  receivedAt: string;
  createdAt: string | null;
  deduction: Deduction;
};

/** The part of a version that the sender chose. */
export type VersionContent = Pick<Version, keyof ReturnType<typeof contentOf>>;

/**
 * Returns the event time as text that sorts, and whether the service sent it: `created_at`, else the time of receipt
 * (docs/internals/provider.md). A `created_at` that was never set counts as absent.
 */
export function eventTime({ createdAt, receivedAt }: Pick<IncomingDeduction, 'createdAt' | 'receivedAt'>): {
  time: string;
  isSent: boolean;
} {
  const created = createdAt === null ? null : toInstant(createdAt);
  const isSent = created !== null && isSet(created);
  const time = isSent ? created : toInstant(receivedAt);
  if (time === null || (createdAt !== null && created === null))
    throw new Error('an event without an instant reached the ledger');
  return { time, isSent };
}

/** Returns whether a version is ordered by its receipt although its event has a time. */
export function isTimeIgnored({
  created_at,
  ordered_by,
}: Pick<Version, 'created_at' | 'ordered_by'>): boolean {
  return created_at !== null && ordered_by === 'receipt';
}

function isAhead(time: string, receivedAt: string): boolean {
  // Most event times are in the past, and text comparison is fast.
  if (time < receivedAt.slice(0, -1)) return false;
  const latest = new Date(Date.parse(receivedAt) + CLOCKS_DIFFER_MS).toISOString();
  // Event times have six digits more than ours; texts of equal width sort as times do.
  return time > latest.replace('Z', '000000Z');
}

export function tieKey(deductionId: string, time: string): string {
  return `${time} ${deductionId}`;
}

/**
 * Folds events, in the order given, into the ledger, and returns the new versions and the states that changed. `states`
 * are the latest states of the deductions named; `tied` is the content with the greatest position for each tie key. The
 * greater (event time, position) is later, so of a tie the later received wins.
 */
export function foldVersions(
  incoming: readonly IncomingDeduction[],
  states: ReadonlyMap<string, LatestState>,
  tied: ReadonlyMap<string, VersionContent>,
  position: number,
  recordedAt: string,
) {
  const changed = new Map<string, LatestState>();
  const seen = new Map(tied);
  const versions = incoming.map((event, index): Insertable<VersionTable> => {
    const content = contentOf(event.deduction);
    const { time, isSent } = eventTime(event);
    const key = tieKey(content.deduction_id, time);
    const rival = seen.get(key);
    seen.set(key, content);
    const latest = changed.get(content.deduction_id) ?? states.get(content.deduction_id);
    const at = position + index + 1;
    const late = latest !== undefined && time < latest.event_time;
    const version = (latest?.version_count ?? 0) + 1;
    const { deduction_id, employee_id } = content;
    const state = late ? latest : { deduction_id, position: at, event_time: time, employee_id };
    changed.set(deduction_id, { ...state, version_count: version, last_received_position: at });
    const tie = isSent && rival !== undefined;
    return {
      ...content,
      position: at,
      version,
      previous_position: latest?.last_received_position ?? null,
      event_id: event.eventId,
      created_at: event.createdAt,
      event_time: time,
      ordered_by: !isSent ? 'receipt' : tie ? 'tie' : 'created_at',
      late: late ? 1 : 0,
      tie_changed: tie && !sameContent(content, rival) ? 1 : 0,
      future_dated: isSent && isAhead(time, event.receivedAt) ? 1 : 0,
      moved: latest !== undefined && latest.employee_id !== employee_id ? 1 : 0,
      recorded_at: recordedAt,
    };
  });
  return { versions, states: changed };
}

/** Returns a deduction as stored: texts as sent, plus the date parts. */
function contentOf(deduction: Deduction) {
  const { effective_start = null, effective_end = null } = deduction;
  return {
    deduction_id: deduction.id,
    employee_id: deduction.employee_id,
    line_of_coverage: deduction.line_of_coverage,
    member_contribution: deduction.member_contribution,
    employer_contribution: deduction.employer_contribution,
    period: deduction.period,
    taxability: deduction.taxability,
    coverage_type: deduction.coverage_type ?? null,
    description: deduction.description ?? null,
    effective_start,
    effective_end,
    starts_on: effective_start === null ? null : dayOf(effective_start),
    ends_on: effective_end === null ? null : dayOf(effective_end),
  };
}

function sameContent(one: VersionContent, other: VersionContent): boolean {
  return (Object.keys(one) as (keyof VersionContent)[]).every((column) => one[column] === other[column]);
}
