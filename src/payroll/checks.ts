/** The questions that readiness asks. Each looks at what is found only, so that a healthy system answers quickly. */
import { sql } from 'kysely';
import type { Db } from '../database/tables.ts';
import { refusedSince } from '../inbound/refusals.ts';
import { activeTwice } from '../ledger/roster.ts';
import { readGate } from '../outbound/gate.ts';

export type Question = {
  now: Date;
  employerId?: string | undefined;
  /** A sync that is not completed this long after its request is overdue. */
  overdueMs: number;
};

/** One finding: something to name, and how bad it is. `count` where one finding stands for several. */
export type Found = { example: string; result: 'warn' | 'fail'; count?: number };

type Check = {
  id: string;
  ask: (db: Db, question: Question) => Promise<Found[]>;
  /** What to do when something is found, and what it means when nothing is. */
  advice: string;
  passed: string;
};

/** Findings looked for by one check. Past it the number says "at least", and the first ones need a person anyway. */
export const FOUND_AT_MOST = 1_000;
/** Events are applied within a second; one that waits longer than this shows a stopped loop or a locked database. */
const PENDING_MS = 60_000;
/** How far back refused deliveries matter: the provider retries an event for some 27 hours. */
const REFUSED_HOURS = 28;

export const QUESTIONS: readonly Check[] = [
  {
    id: 'events-pending',
    ask: eventsPending,
    advice: 'Wait until the events are applied; if they stay, look at the log of the process that serves.',
    passed: 'Every event that came in is applied.',
  },
  {
    id: 'events-quarantined',
    ask: eventsQuarantined,
    advice: 'Look at each event and its reason: reprocess it after a fix, or dismiss it with a reason.',
    passed: 'Every event was understood.',
  },
  {
    id: 'events-in-conflict',
    ask: eventsInConflict,
    advice:
      'An event id came twice with different bodies and the first stands: compare them, then dismiss it.',
    passed: 'No event id came with two bodies.',
  },
  {
    id: 'ties-changed-content',
    ask: (db) => versionsMarked(db, 'tie_changed'),
    advice:
      'Two events of one instant say different things and the later received stands: check it, then dismiss it.',
    passed: 'The order of all events is certain.',
  },
  {
    id: 'event-times-ahead',
    ask: (db) => versionsMarked(db, 'ahead'),
    advice:
      'A later event of the same deduction is kept but not shown until that time: ask the service to correct it, then dismiss this.',
    passed: 'No event came from the future.',
  },
  {
    id: 'signatures-refused',
    ask: signaturesRefused,
    advice:
      'If these came from the provider, WEBHOOK_SECRETS or the clock is wrong: run doctor, then have them resent.',
    passed: `No delivery was refused in the last ${REFUSED_HOURS} hours.`,
  },
  {
    id: 'gate-closed',
    ask: gateClosed,
    advice:
      'The service refuses the address or the key: mend BENEFITS_BASE_URL or BENEFITS_API_KEY and start again; a key in a file is taken up within a minute.',
    passed: 'No answer said that the address or the key is wrong.',
  },
  {
    id: 'requests-rejected',
    ask: requestsRejected,
    advice: 'The service refused these employment changes: read its answer, then retry or release them.',
    passed: 'The service refused no employment change.',
  },
  {
    id: 'census-syncs',
    ask: censusSyncs,
    advice:
      'Waiting: put a fresh census. Failed: mend the rows named. Overdue: see whether the service completed it.',
    passed: 'No census sync is waiting, failed or overdue.',
  },
  {
    id: 'employees-with-two-employers',
    ask: employeesWithTwoEmployers,
    advice: 'Whose deductions these are is not guessed: end the employment that is over, in its census.',
    passed: 'Every employee is active with one employer at most.',
  },
  {
    id: 'deductions-unmatched',
    ask: deductionsUnmatched,
    advice:
      'These employees are in no census yet, so their deductions are in no list of an employer: bring the census.',
    passed: 'Every deduction is of an employee in the roster.',
  },
  {
    id: 'employer-unknown',
    ask: employerUnknown,
    advice: 'Nothing is known of this employer, so nothing was looked at: check the id, or bring its census.',
    passed: 'The employer is known, or all were asked about.',
  },
];

async function eventsPending(db: Db, { now }: Question): Promise<Found[]> {
  const late = new Date(now.getTime() - PENDING_MS).toISOString();
  const events = await db
    .selectFrom('inbox')
    .select(['event_id', 'received_at'])
    .where('state', '=', sql.lit('pending'))
    .orderBy('seq')
    .limit(FOUND_AT_MOST)
    .execute();
  return events.map(({ event_id, received_at }) => ({
    example: event_id,
    result: received_at < late ? 'fail' : 'warn',
  }));
}

async function eventsQuarantined(db: Db): Promise<Found[]> {
  const events = await db
    .selectFrom('inbox')
    .select('event_id')
    .where('state', '=', sql.lit('quarantined'))
    .where('dismissed_at', 'is', null)
    .orderBy('seq')
    .limit(FOUND_AT_MOST)
    .execute();
  return events.map((event) => fail(event.event_id));
}

async function eventsInConflict(db: Db): Promise<Found[]> {
  const conflicts = await db
    .selectFrom('conflicts')
    .select('event_id')
    .distinct()
    .where('dismissed_at', 'is', null)
    .orderBy('event_id')
    .limit(FOUND_AT_MOST)
    .execute();
  return conflicts.map((conflict) => fail(conflict.event_id));
}

/** Versions with a mark that asks for a person; not those whose event was dismissed. */
async function versionsMarked(db: Db, mark: 'tie_changed' | 'ahead'): Promise<Found[]> {
  const versions = await db
    .selectFrom('versions')
    .innerJoin('inbox', 'inbox.event_id', 'versions.event_id')
    .select('versions.event_id')
    .where(`versions.${mark}`, '=', sql.lit(1 as const))
    .where('inbox.dismissed_at', 'is', null)
    .orderBy('versions.position')
    .limit(FOUND_AT_MOST)
    .execute();
  return versions.map((version) => fail(version.event_id));
}

/** Never fails: anybody can post to a public address, and nobody shall stop a payroll by it. */
async function signaturesRefused(db: Db, { now }: Question): Promise<Found[]> {
  const counts = await refusedSince(db, new Date(now.getTime() - REFUSED_HOURS * 3_600_000));
  return counts.map(({ cause, refused }) => ({
    example: `${cause}: ${refused}`,
    result: 'warn',
    count: refused,
  }));
}

async function gateClosed(db: Db): Promise<Found[]> {
  const gate = await readGate(db);
  return gate.state === 'open' ? [] : [fail(`${gate.reason} (since ${gate.since})`)];
}

async function requestsRejected(db: Db): Promise<Found[]> {
  const requests = await db
    .selectFrom('outbox')
    .select(['request_id', 'kind', 'status'])
    .where('state', '=', sql.lit('rejected'))
    .where('kind', '<>', 'census')
    .orderBy('seq')
    .limit(FOUND_AT_MOST)
    .execute();
  return requests.map(({ request_id, kind, status }) => fail(`${kind} ${request_id}: status ${status}`));
}

async function censusSyncs(db: Db, { now, employerId, overdueMs }: Question): Promise<Found[]> {
  const due = new Date(now.getTime() - overdueMs).toISOString();
  const syncs = await db
    .selectFrom('census_syncs')
    .select(['employer_id', 'state', 'requested_at'])
    .where('state', '<>', sql.lit('completed'))
    .where((where) =>
      where.or([where('state', 'in', ['waiting', 'failed']), where('requested_at', '<', due)]),
    )
    .$if(employerId !== undefined, (query) => query.where('employer_id', '=', employerId as string))
    .orderBy('requested_at')
    .limit(FOUND_AT_MOST)
    .execute();
  return syncs.map(({ employer_id, state, requested_at }) => {
    const stands = state === 'waiting' || state === 'failed' ? state : 'overdue';
    return fail(`${employer_id}: ${stands}, requested ${requested_at}`);
  });
}

async function employeesWithTwoEmployers(db: Db, { now, employerId }: Question): Promise<Found[]> {
  const day = now.toISOString().slice(0, 10);
  const twice = await activeTwice(db, day, { after: '', limit: FOUND_AT_MOST });
  if (employerId === undefined || twice.length === 0)
    return twice.map(({ employee_id }) => fail(employee_id));
  const employees = twice.map(({ employee_id }) => employee_id);
  const ofEmployer = await db
    .selectFrom('roster')
    .select('employee_id')
    .where('employer_id', '=', employerId)
    .where('employee_id', 'in', employees)
    .execute();
  return ofEmployer.map(({ employee_id }) => fail(employee_id));
}

/** A warning only: deductions may come before the census that names their employee. */
async function deductionsUnmatched(db: Db): Promise<Found[]> {
  const employees = await db
    .selectFrom('deduction_employees')
    .select('employee_id')
    .distinct()
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('roster')
            .select('roster.employee_id')
            .whereRef('roster.employee_id', '=', 'deduction_employees.employee_id'),
        ),
      ),
    )
    .orderBy('employee_id')
    .limit(FOUND_AT_MOST)
    .execute();
  return employees.map(({ employee_id }) => ({ example: employee_id, result: 'warn' }));
}

async function employerUnknown(db: Db, { employerId }: Question): Promise<Found[]> {
  if (employerId === undefined) return [];
  for (const table of ['roster', 'census_syncs'] as const) {
    const row = await db
      .selectFrom(table)
      .select('employer_id')
      .where('employer_id', '=', employerId)
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) return [];
  }
  return [{ example: employerId, result: 'warn' }];
}

function fail(example: string): Found {
  return { example, result: 'fail' };
}
