/** The readiness checks of events. */
import { sql } from 'kysely';
import { ago, type Check, FOUND_AT_MOST, type Found, type Question } from '../checks.ts';
import { isOneOf, piecesOf } from '../database/bulk.ts';
import { engineOf } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import { counted } from '../errors.ts';
import { isAnyInEffect } from '../ledger/deductions.ts';
import { markedVersions } from '../ledger/history.ts';
import { currentEmployers } from '../ledger/roster.ts';
import { describeEventAge, type EventAge, readEventAge } from './arrivals.ts';
import { openConflicts } from './conflicts.ts';
import { CONTRACT_CHANGED } from './contract-changes.ts';
import { type DataLoss, describeLoss, knownLosses } from './data-loss.ts';
import { type NamedInEvent, namedIn } from './named-in-event.ts';
import { describeCause, refusedSince } from './refusals.ts';
import { describeEvents } from './unapplied.ts';

/** How far back refused deliveries matter: the provider retries an event for about 27 hours. */
const REFUSED_HOURS = 28;
/** Events are applied within a second; one that waits longer than this shows a stopped loop or a locked database. */
const PENDING_MS = 60_000;

/** An event that needs attention. `place`: in the order of its kind. `named`: what each of its bodies names. */
type EventFound<Place = unknown> = {
  place: Place;
  eventId: string;
  named: readonly NamedInEvent[];
  result: Found['result'];
  /** Set for a quarantined event, which has one body. */
  quarantined?: { receivedAt: string; named: NamedInEvent };
};

/** Events read at once. Their bodies are in memory together. */
const EVENTS_AT_ONCE = 250;
/** Events in conflict read at once. Each has up to 21 bodies. */
const CONFLICTED_AT_ONCE = 5;
/** Events looked at for one employer. */
const EVENTS_LOOKED_AT = 10_000;

/** Finds pending events, which fail only when they are late, or quarantined ones that are not dismissed. */
function eventsIn(state: 'pending' | 'quarantined') {
  return inPages(0, async (db, after, { now }) => {
    const late = ago(now, PENDING_MS);
    const rows = await db
      .selectFrom('inbox')
      .select(['seq', 'event_id', 'received_at', 'body'])
      .where('state', '=', sql.lit(state))
      .$if(state === 'quarantined', (query) => query.where('dismissed_at', 'is', null))
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(EVENTS_AT_ONCE)
      .execute();
    return rows.map(({ seq, event_id, received_at, body }) => {
      const result = state === 'pending' && received_at >= late ? 'warn' : 'fail';
      const named = namedIn(body);
      const event = { place: seq, eventId: event_id, named: [named], result } as const;
      return state === 'pending' ? event : { ...event, quarantined: { receivedAt: received_at, named } };
    });
  });
}

/** An event in conflict concerns every employee and employer that any of its stored bodies names. */
const conflictingEvents = inPages('', async (db, after, { employerId }) => {
  const rows = await openConflicts(db)
    .where('event_id', '>', after)
    .orderBy('event_id')
    .limit(EVENTS_AT_ONCE)
    .execute();
  const ids = rows.map(({ event_id }) => event_id);
  // Without an employer, the names are not needed, and the bodies are large.
  const named = employerId === undefined ? new Map() : await namedInConflicts(db, ids);
  return ids.map((eventId) => ({ place: eventId, eventId, named: named.get(eventId) ?? [], result: 'fail' }));
});

async function namedInConflicts(db: Db, eventIds: readonly string[]): Promise<Map<string, NamedInEvent[]>> {
  const named = new Map<string, NamedInEvent[]>();
  for (const ids of piecesOf(eventIds, CONFLICTED_AT_ONCE)) {
    const isOne = isOneOf(db, 'event_id', ids);
    const bodies = await db
      .selectFrom('inbox')
      .select(['event_id', 'body'])
      .where(isOne)
      .unionAll(db.selectFrom('event_conflicts').select(['event_id', 'body']).where(isOne))
      .execute();
    for (const { event_id, body } of bodies)
      named.set(event_id, [...(named.get(event_id) ?? []), namedIn(body)]);
  }
  return named;
}

function markedEvents(mark: 'tie_changed' | 'future_dated') {
  return inPages(0, async (db, after) => {
    const rows = await markedVersions(db, mark)
      .innerJoin('inbox', 'inbox.event_id', 'deduction_versions.event_id')
      .where('inbox.dismissed_at', 'is', null)
      .where('deduction_versions.position', '>', after)
      .orderBy('deduction_versions.position')
      .limit(EVENTS_AT_ONCE)
      .execute();
    return rows.map(({ position, event_id, employee_id }) => {
      return { place: position, eventId: event_id, named: [{ employeeId: employee_id }], result: 'fail' };
    });
  });
}

const EVENT_KINDS = {
  pending: eventsIn('pending'),
  quarantined: eventsIn('quarantined'),
  conflicting: conflictingEvents,
  tied: markedEvents('tie_changed'),
  future_dated: markedEvents('future_dated'),
};

/** Returns a function that yields events page by page, at most `EVENTS_LOOKED_AT`. */
function inPages<Place>(
  first: Place,
  read: (db: Db, after: Place, question: Question) => Promise<EventFound<Place>[]>,
) {
  return async function* pages(db: Db, question: Question): AsyncGenerator<EventFound[]> {
    let after = first;
    for (let looked = 0; looked < EVENTS_LOOKED_AT; looked += EVENTS_AT_ONCE) {
      const events = await read(db, after, question);
      if (events.length > 0) yield events;
      const last = events.at(-1);
      if (last === undefined || events.length < EVENTS_AT_ONCE) return;
      after = last.place;
    }
  };
}

/** Finds events of one kind. With an employer, finds only events that lead to it on today's roster. */
function eventsFound(kind: keyof typeof EVENT_KINDS) {
  return async (db: Db, question: Question): Promise<EventFinding[]> => {
    const { employerId, now } = question;
    const findings: EventFinding[] = [];
    for await (const events of EVENT_KINDS[kind](db, question)) {
      const employers = employerId === undefined ? null : await employersOf(db, events, now);
      const concerned = events.filter((event) => employers?.(event).has(employerId as string) !== false);
      findings.push(...(await findingsOf(db, concerned)));
      if (findings.length >= FOUND_AT_MOST) return findings.slice(0, FOUND_AT_MOST);
    }
    return findings;
  };
}

/** The findings of quarantined events name the employee and the line of coverage, if both are known. */
async function findingsOf(db: Db, events: readonly EventFound[]): Promise<EventFinding[]> {
  const quarantined = events.flatMap(({ eventId, quarantined: event }) =>
    event ? { eventId, ...event } : [],
  );
  const described = await describeEvents(db, quarantined);
  return events.map(({ eventId, result }) => {
    const { employeeId = null, lineOfCoverage = null, change = null } = described.get(eventId) ?? {};
    const named = { employee_id: employeeId, line_of_coverage: lineOfCoverage };
    const deduction_id = change?.deduction_id ?? null;
    return { event_id: eventId, ...named, deduction_id, result, ids: [eventId], unapplied: change };
  });
}

/** Only a quarantined event has an employee and a line of coverage. */
type EventFinding = Found & { event_id: string };

function eventInWords({ event_id, employee_id, line_of_coverage }: EventFinding): string {
  const names = [employee_id, line_of_coverage].filter((name) => name != null);
  return names.length === 0 ? event_id : `${event_id}: ${names.join(', ')}`;
}

async function eventsUnattributed(db: Db, question: Question): Promise<Found[]> {
  if (question.employerId === undefined) return [];
  let count = 0;
  for (const pages of Object.values(EVENT_KINDS)) {
    for await (const events of pages(db, question)) {
      const employers = await employersOf(db, events, question.now);
      count += events.filter((event) => employers(event).size === 0).length;
    }
  }
  return count === 0 ? [] : [{ result: 'warn', count }];
}

/** Returns the employers that an event leads to: the employer that it names, and the employee's employers on today's roster. */
async function employersOf(db: Db, events: readonly EventFound[], now: Date) {
  const employees = new Set(
    events.flatMap(({ named }) => named.flatMap(({ employeeId }) => employeeId ?? [])),
  );
  const today = dayAt(db, now);
  const byEmployee = await currentEmployers(db, [...employees], today);
  return ({ named }: EventFound): ReadonlySet<string> => {
    const employers = new Set<string>();
    for (const { employerId, employeeId } of named) {
      if (employerId !== undefined) employers.add(employerId);
      if (employeeId === undefined) continue;
      for (const employer of byEmployee.get(employeeId) ?? []) employers.add(employer);
    }
    return employers;
  };
}

const DATA_LOSS: Check<Db, Question, Found & { loss: DataLoss }> = {
  id: 'data-loss',
  isGeneral: true,
  title: 'The database lost data',
  severity: 'fail',
  find: async (db, { now }) =>
    (await knownLosses(db, now)).map((loss) => ({ date: loss.found_at.slice(0, 10), loss, result: 'fail' })),
  text: ({ loss }) => describeLoss(loss),
  advice:
    'The database lacks data that it had. Replay events in the provider’s portal from the time shown, report the missing changes again, then accept the loss on the server.',
  passed: async (db) =>
    engineOf(db) === 'sqlite'
      ? 'The database has everything recorded by its high-water mark.'
      : 'The database has everything that running sidecars have seen.',
  fixed: { command: 'accept-loss --reason TEXT', docs: 'backup.md#data-loss-detection' },
};

/** A check of single events. Their employee may become known after a finding was accepted. */
const ofEvents = (
  kind: keyof typeof EVENT_KINDS,
  texts: Pick<Check<Db>, 'id' | 'title' | 'severity' | 'detail' | 'advice' | 'passed' | 'fixed'>,
): Check<Db, Question, EventFinding> => ({
  ...texts,
  isIdentifiedByIds: true,
  find: eventsFound(kind),
  text: eventInWords,
});

const SINGLE_EVENTS: readonly Check<Db, Question, EventFinding>[] = [
  ofEvents('pending', {
    id: 'events-pending',
    title: 'Events are not applied yet',
    severity: 'warn; fail after 60 s',
    advice: 'Wait until the events are applied. If they remain pending, check the log of the sidecar.',
    passed: 'Every event is applied.',
    fixed: { at: 'events', query: { state: 'pending' }, docs: 'operations.md#events-stay-pending' },
  }),
  ofEvents('quarantined', {
    id: 'events-quarantined',
    title: 'Events are quarantined',
    severity: 'fail',
    advice: 'Check the reason of each event. Reprocess it after a fix, or dismiss it with a reason.',
    passed: 'No event is quarantined.',
    fixed: {
      at: 'events',
      query: { state: 'quarantined', dismissed: 'false' },
      docs: 'receiving-events.md#quarantined-events',
    },
  }),
  ofEvents('conflicting', {
    id: 'events-in-conflict',
    title: 'One event ID arrived with two bodies',
    severity: 'fail',
    advice:
      'An event ID was received with two different bodies, and the first one counts. Compare them. If the second one is right, have it resent under a new ID. Then dismiss the conflict.',
    passed: 'No event ID was received with two bodies.',
    fixed: { at: 'events', query: { conflict: 'true' } },
  }),
  ofEvents('tied', {
    id: 'ties-changed-content',
    title: 'Two events with the same time have different contents',
    severity: 'fail',
    advice:
      'Two events have the same time and different contents, and the one received later counts. Check it, then dismiss the tie.',
    passed: 'No two events of a deduction have the same time and different contents.',
    fixed: { at: 'events' },
  }),
  ofEvents('future_dated', {
    id: 'events-future-dated',
    title: 'Events are dated in the future',
    severity: 'fail from 5 minutes ahead',
    advice:
      'An event has a time in the future. Later events of its deduction take no effect until then. Ask the service to correct it, then dismiss it.',
    passed: 'No event is future-dated.',
    fixed: { at: 'events' },
  }),
];

const EVENTS_UNATTRIBUTED: Check<Db> = {
  id: 'events-unattributed',
  isGeneral: true,
  title: 'Events belong to no known employer',
  severity: 'warn',
  detail: 'Only the report of one employer has these findings.',
  find: eventsUnattributed,
  text: ({ count = 0 }) => counted(count, 'event'),
  advice:
    'These events cannot be attributed to an employer and may concern this one. See the readiness report of all employers.',
  passed: 'Every event that needs attention belongs to an employer.',
  fixed: { at: 'operations', query: {} },
};

const NOTHING_RECEIVED: Check<Db, Question, Found & { age: EventAge; now: Date }> = {
  id: 'nothing-received',
  isGeneral: true,
  title: 'No event of the service has ever arrived',
  severity: 'warn',
  async find(db, { now }) {
    const age = await readEventAge(db);
    return age.hasEvents ? [] : [{ age, now, result: 'warn' }];
  },
  text: ({ age, now }) => describeEventAge(age, now),
  advice:
    'Nothing shows yet that deliveries reach this sidecar. Add the endpoint in the provider’s portal, and send its test event. Imports do not count.',
  passed: 'Events of the service have arrived.',
  fixed: { command: 'doctor', docs: 'operations.md#no-events-arrive' },
};

export const EVENTS_STALE: Check<Db, Question, Found & { age: EventAge; now: Date }> = {
  id: 'events-stale',
  isGeneral: true,
  title: 'No events received for longer than EVENTS_SILENT_AFTER',
  severity: 'warn',
  async find(db, { now, silentAfterMs }) {
    if (silentAfterMs === null) return [];
    const age = await readEventAge(db);
    if (now.getTime() - Date.parse(age.since) <= silentAfterMs) return [];
    return (await isAnyInEffect(db, dayAt(db, now))) ? [{ age, now, result: 'warn' }] : [];
  },
  text: ({ age, now }) => describeEventAge(age, now),
  advice:
    'No event was received for longer than EVENTS_SILENT_AFTER, so changes may be missing. Check the endpoint in the provider’s portal and send a test event.',
  passed: async (db, { now }) => {
    const text = describeEventAge(await readEventAge(db), now);
    return `${text[0]?.toUpperCase()}${text.slice(1)}.`;
  },
  fixed: { at: 'events', query: {}, command: 'doctor', docs: 'operations.md#no-events-arrive' },
};

const SIGNATURES_REFUSED: Check<Db, Question, Found & { cause: string }> = {
  id: 'signatures-refused',
  isGeneral: true,
  title: 'Webhook deliveries were rejected',
  // Any client can post to a public address, and must not be able to stop a payroll by it.
  severity: 'warn',
  async find(db, { now }) {
    const counts = await refusedSince(db, new Date(now.getTime() - REFUSED_HOURS * 3_600_000));
    return counts.map(({ cause, refused }) => ({ cause, count: refused, result: 'warn' }));
  },
  text: ({ cause, count = 0 }) => `${counted(count, 'delivery', 'deliveries')} ${describeCause(cause)}`,
  advice:
    'If the provider sent these deliveries, correct what the causes name: WEBHOOK_SECRETS, the clock, the address in the provider’s portal, or a proxy. Then have them resent.',
  passed: `No delivery was refused in the last ${REFUSED_HOURS} hours.`,
  fixed: { command: 'doctor', docs: 'operations.md#deliveries-fail' },
};

export const EVENT_CHECKS: readonly Check<Db>[] = [
  DATA_LOSS,
  ...SINGLE_EVENTS,
  EVENTS_UNATTRIBUTED,
  NOTHING_RECEIVED,
  EVENTS_STALE,
  SIGNATURES_REFUSED,
  CONTRACT_CHANGED,
];
