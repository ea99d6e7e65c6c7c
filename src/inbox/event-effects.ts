/** The meaning of events for payroll: the employee and the amounts that they name, and their effect. */
import type { Static } from 'typebox';
import { completionsOfEvents, syncsOfEvents } from '../census/sync-list.ts';
import { LINES_OF_COVERAGE } from '../contract/deduction.ts';
import { PAY_FREQUENCIES } from '../contract/employee.ts';
import { CENSUS_SYNC_COMPLETE, CENSUS_SYNC_REQUEST } from '../contract/events.ts';
import { component, nullable, nullableText, oneOfDescribed } from '../contract/fields.ts';
import type { Db, Trx } from '../database/tables.ts';
import { isTimeIgnored } from '../ledger/fold.ts';
import { versionsOfEvents } from '../ledger/record.ts';
import { type Days, isNeverInEffect } from '../ledger/state.ts';
import { daysOfVersions } from '../ledger/timeline.ts';
import { firstWithChange } from './contract-changes.ts';
import type { StoredEvent } from './events.ts';
import { CHANGE_BYTES_MAX, namedIn } from './named-in-event.ts';

export const EFFECTS = [
  'pending',
  'applied',
  'replaced',
  'late',
  'no_effect',
  'sync_requested',
  'sync_completed',
  'not_applied',
  'ignored',
] as const;
export type Effect = (typeof EFFECTS)[number];

/**
 * `time-ignored`: `created_at` is before 2000, so the event is ordered by its receipt. `contract-changed`: it was the first with
 * something that the contract does not know.
 */
export const EVENT_FLAGS = ['time-ignored', 'contract-changed'] as const;
type EventFlag = (typeof EVENT_FLAGS)[number];

export const EventSubject = component(
  'EventSubject',
  {
    employee_id: nullableText('The employee.'),
    employer_id: nullableText('The employer, of a census event.'),
    deduction_id: nullableText('The deduction.'),
    line_of_coverage: nullable(oneOfDescribed(LINES_OF_COVERAGE, 'The line of coverage.')),
    member_contribution: nullableText('The employee contribution.'),
    employer_contribution: nullableText('The employer contribution.'),
    period: nullable(oneOfDescribed(PAY_FREQUENCIES, 'The period of the contributions.')),
  },
  'What an event names. A field is null if the event lacks it or it cannot be read.',
);
export type EventSubject = Static<typeof EventSubject>;

/** `days`: the days on which the version of a deduction event is in effect. Null without one, and for other events. */
type Meaning = { effect: Effect; subject: EventSubject; days: Days | null };
/** Its effect, the version that it added to the ledger, and the census sync that it requested. */
export type EventEffect = Meaning & {
  flags: EventFlag[];
  version: AddedVersion | null;
  sync: RequestedSync | null;
};

/** Returns the effects of events by event id. The histories of deductions are read only where a newer version exists. */
export async function effectsOfEvents(
  db: Db | Trx,
  events: readonly StoredEvent[],
): Promise<ReadonlyMap<string, EventEffect>> {
  const ids = events.map(({ event_id }) => event_id);
  const versions = new Map((await versionsOfEvents(db, ids)).map((version) => [version.event_id, version]));
  const replaced = [...versions.values()].filter(({ is_latest }) => !is_latest);
  const days = await daysOfVersions(db, [...new Set(replaced.map(({ deduction_id }) => deduction_id))]);
  const syncs = new Map((await syncsOfEvents(db, ids)).map((sync) => [sync.event_id, sync]));
  const completions = await completionsOfEvents(db, ids);
  const changed = await firstWithChange(db, ids);
  const employers = new Map(
    [...syncs.values(), ...completions].map(({ event_id, employer_id }) => [event_id, employer_id]),
  );
  return new Map(
    events.map((event) => {
      const { event_id } = event;
      const version = versions.get(event_id) ?? null;
      const meaning =
        version === null
          ? { effect: effectOf(event), subject: namedBy(event, employers.get(event_id)), days: null }
          : effectOfVersion(version, days);
      const flags: EventFlag[] = version !== null && isTimeIgnored(version) ? ['time-ignored'] : [];
      if (changed.has(event_id)) flags.push('contract-changed');
      return [event_id, { ...meaning, flags, version, sync: syncs.get(event_id) ?? null }];
    }),
  );
}

export type AddedVersion = Awaited<ReturnType<typeof versionsOfEvents>>[number];
type RequestedSync = Awaited<ReturnType<typeof syncsOfEvents>>[number];

function effectOfVersion(version: AddedVersion, daysOfReplaced: ReadonlyMap<number, Days>): Meaning {
  const { starts_on, ends_on, is_latest, late } = version;
  const statedDays = isNeverInEffect(version) ? null : { from: starts_on, until: ends_on };
  const days = is_latest ? statedDays : (daysOfReplaced.get(version.position) ?? null);
  const subject = {
    employee_id: version.employee_id,
    employer_id: null,
    deduction_id: version.deduction_id,
    line_of_coverage: version.line_of_coverage as EventSubject['line_of_coverage'],
    member_contribution: version.member_contribution,
    employer_contribution: version.employer_contribution,
    period: version.period as EventSubject['period'],
  };
  if (is_latest) return { effect: days === null ? 'no_effect' : 'applied', subject, days };
  return { effect: days === null && late === 1 ? 'late' : 'replaced', subject, days };
}

function effectOf({ state, event_type }: StoredEvent): Effect {
  if (state === 'pending') return 'pending';
  if (state === 'quarantined') return 'not_applied';
  if (state === 'ignored') return 'ignored';
  if (event_type === CENSUS_SYNC_REQUEST) return 'sync_requested';
  return event_type === CENSUS_SYNC_COMPLETE ? 'sync_completed' : 'no_effect';
}

/** Returns what the body of an event without a version names. `employer`: the employer whose sync it requested or completed. */
function namedBy({ body }: StoredEvent, employer: string | undefined): EventSubject {
  const { employeeId, employerId, change } =
    body !== null && body.length <= CHANGE_BYTES_MAX ? namedIn(body) : {};
  return {
    employee_id: employeeId ?? null,
    employer_id: employerId ?? employer ?? null,
    deduction_id: employeeId === undefined ? null : (change?.deductionId ?? null),
    line_of_coverage: change?.lineOfCoverage ?? null,
    member_contribution: change?.memberContribution ?? null,
    employer_contribution: change?.employerContribution ?? null,
    period: change?.period ?? null,
  };
}
