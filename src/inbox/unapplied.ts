/** Changes of amounts that arrived and are not applied, because their event is quarantined. */
import { sql } from 'kysely';
import type { UnappliedChange as Change } from '../checks.ts';
import { component, nullableText, text } from '../contract/fields.ts';
import { toInstant } from '../contract/instant.ts';
import type { Db } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import { eventTime } from '../ledger/fold.ts';
import { type RunVersion, versionsOfEmployees } from '../ledger/history.ts';
import { rosterOf } from '../ledger/roster.ts';
import { latestOf } from '../ledger/state.ts';
import { decimal, isSameNumber, printReadable } from '../money.ts';
import { CHANGE_BYTES_MAX, type NamedChange, type NamedInEvent, namedIn } from './named-in-event.ts';

const contribution = (whose: string, which: string) =>
  nullableText(`The ${whose} contribution ${which}. Null if unknown, or without the scope \`ledger:read\`.`);

export const UnappliedChange = component(
  'UnappliedChange',
  {
    event_id: text('The quarantined event.'),
    received_at: text('The time it was received.'),
    employee_id: text('The employee.'),
    deduction_id: nullableText('The deduction. Null if the event names none that is known.'),
    line_of_coverage: text('The line of coverage.'),
    member_contribution: contribution('employee', 'that arrived'),
    employer_contribution: contribution('employer', 'that arrived'),
    current_member_contribution: contribution('employee', 'in the ledger'),
    current_employer_contribution: contribution('employer', 'in the ledger'),
    message: text('The change in words.'),
  },
  'A change of an amount that is not applied, because its event is quarantined. Dismissed events do not count.',
);

/** Newest quarantined events in which changes are looked for. */
const EVENTS_READ = 1_000;
/** Parsing this many of the largest takes about 10 ms, between which other requests proceed. */
const EVENTS_AT_ONCE = 50;

type QuarantinedEvent = { eventId: string; receivedAt: string; named: NamedInEvent };

/**
 * What is known of a quarantined event: its employee, if the roster or the ledger has it, the line of coverage, and the
 * change, unless a later event was applied. `time` is the event time. `isOutdated`: the later event replaces every day of it.
 */
export type Described = {
  employeeId: string;
  lineOfCoverage: string | null;
  time: string;
  change: Change | null;
  isOutdated: boolean;
};

/** Returns the changes that are not applied, by employee, newest first: of all employees, or of one. */
export async function unappliedChanges(
  db: Db,
  employeeId?: string,
): Promise<ReadonlyMap<string, readonly Change[]>> {
  const all: Described[] = [];
  for await (const events of quarantinedEvents(db)) {
    const wanted = events.filter(({ named }) => employeeId === undefined || named.employeeId === employeeId);
    all.push(...(await describeEvents(db, wanted)).values());
  }
  const newestFirst = all.sort((one, other) => (one.time < other.time ? 1 : -1));
  const changes = newestFirst.flatMap(({ change }) => change ?? []);
  return Map.groupBy(changes, (change) => change.employee_id);
}

/** Returns how many events that name an employee are quarantined. */
export async function countUnapplied(db: Db, employeeId: string): Promise<number> {
  let count = 0;
  for await (const events of quarantinedEvents(db)) {
    count += events.filter(({ named }) => named.employeeId === employeeId).length;
  }
  return count;
}

/** Yields the newest quarantined events that are not dismissed, page by page. */
async function* quarantinedEvents(db: Db): AsyncGenerator<QuarantinedEvent[]> {
  let before = Number.MAX_SAFE_INTEGER;
  for (let read = 0; read < EVENTS_READ; read += EVENTS_AT_ONCE) {
    const rows = await db
      .selectFrom('inbox')
      .select(['seq', 'event_id', 'received_at', 'body'])
      .where('state', '=', sql.lit('quarantined'))
      .where('dismissed_at', 'is', null)
      .where('seq', '<', before)
      .where(sql<number>`length(body)`, '<=', CHANGE_BYTES_MAX)
      .orderBy('seq', 'desc')
      .limit(EVENTS_AT_ONCE)
      .execute();
    yield rows.map(({ event_id, received_at, body }) => {
      return { eventId: event_id, receivedAt: received_at, named: namedIn(body) };
    });
    const last = rows.at(-1);
    if (last === undefined || rows.length < EVENTS_AT_ONCE) return;
    before = last.seq;
    await new Promise(setImmediate);
  }
}

/** Describes quarantined events that name a known employee, by event id. */
export async function describeEvents(
  db: Db,
  events: readonly QuarantinedEvent[],
): Promise<ReadonlyMap<string, Described>> {
  const employees = [...new Set(events.flatMap(({ named }) => named.employeeId ?? []))];
  if (employees.length === 0) return new Map();
  const histories = await versionsOfEmployees(db, employees);
  const roster = await rosterOf(db, employees);
  return new Map(
    events.flatMap((event) => {
      const { employeeId } = event.named;
      if (employeeId === undefined || !(histories.has(employeeId) || roster.has(employeeId))) return [];
      const latest = (histories.get(employeeId) ?? []).flatMap((versions) => latestOf(versions) ?? []);
      const ofEmployee = latest.filter((version) => version.employee_id === employeeId);
      const receivedOn = dayAt(db, event.receivedAt);
      return [[event.eventId, describedBy(event, employeeId, ofEmployee, receivedOn)] as const];
    }),
  );
}

/** `latest`: the latest versions of the employee's deductions. */
function describedBy(
  { eventId, receivedAt, named }: QuarantinedEvent,
  employeeId: string,
  latest: readonly RunVersion[],
  receivedOn: string,
): Described {
  const { change } = named;
  const sent = change?.createdAt ?? null;
  const createdAt = sent !== null && toInstant(sent) !== null ? sent : null;
  const { time } = eventTime({ createdAt, receivedAt });
  const known = latest.find(({ deduction_id }) => deduction_id === change?.deductionId) ?? null;
  const lineOfCoverage = change?.lineOfCoverage ?? known?.line_of_coverage ?? null;
  const described = { employeeId, lineOfCoverage, time, isOutdated: false };
  if (change === undefined || lineOfCoverage === null) return { ...described, change: null };
  const current = known ?? latestOf(latest.filter((version) => version.line_of_coverage === lineOfCoverage));
  // At the same time, the version that is applied later counts, and this event has not been applied yet.
  if (current !== null && current.event_time > time)
    return { ...described, change: null, isOutdated: known !== null && replaces(known, change) };
  return {
    ...described,
    change: {
      event_id: eventId,
      received_at: receivedAt,
      employee_id: employeeId,
      deduction_id: known?.deduction_id ?? null,
      line_of_coverage: lineOfCoverage,
      member_contribution: change.memberContribution,
      employer_contribution: change.employerContribution,
      current_member_contribution: current?.member_contribution ?? null,
      current_employer_contribution: current?.employer_contribution ?? null,
      message: messageOf(change, current, lineOfCoverage, receivedOn),
    },
  };
}

/** Returns whether a later version is in effect from the first day of a change. A change without a start has begun. */
function replaces({ starts_on }: RunVersion, { startsOn }: NamedChange): boolean {
  return starts_on === null || (startsOn !== null && starts_on <= startsOn);
}

/** `A newer amount for medical arrived on November 23 and is not applied: 479.41 → 486.91`. */
function messageOf(
  change: NamedChange,
  current: RunVersion | null,
  lineOfCoverage: string,
  receivedOn: string,
): string {
  const amounts = amountsOf(change, current);
  const what = amounts.length === 0 ? 'A newer change' : current === null ? 'An amount' : 'A newer amount';
  const day = new Date(receivedOn).toLocaleDateString('en-US', {
    month: 'long',
    day: 'numeric',
    timeZone: 'UTC',
  });
  const lead = `${what} for ${lineOfCoverage.replaceAll('_', ' ')} arrived on ${day} and is not applied`;
  return amounts.length === 0 ? lead : `${lead}: ${amounts.join(', ')}`;
}

/** Returns the amounts that differ from the current ones, or without these, all that can be read. */
function amountsOf(change: NamedChange, current: RunVersion | null): string[] {
  const pairs = [
    ['', change.memberContribution, current?.member_contribution],
    ['employer ', change.employerContribution, current?.employer_contribution],
  ] as const;
  const isOtherPeriod = current !== null && change.period !== current.period;
  const newPeriod = change.period ?? 'with an unknown pay frequency';
  const [per, newPer] = isOtherPeriod ? [` ${current.period}`, ` ${newPeriod}`] : ['', ''];
  return pairs.flatMap(([whose, to, from]) => {
    if (to === null || (from !== undefined && !isOtherPeriod && isSameNumber(from, to))) return [];
    const before = from === undefined ? '' : `${printed(from)}${per} → `;
    return `${whose}${before}${printed(to)}${newPer}`;
  });
}

function printed(contribution: string): string {
  return printReadable(decimal(contribution));
}

/** Returns a change for a caller without `ledger:read`. */
export function withoutAmounts(change: Change): Change {
  return {
    ...change,
    member_contribution: null,
    employer_contribution: null,
    current_member_contribution: null,
    current_employer_contribution: null,
    message: change.message.replace(/: .*$/s, ''),
  };
}
