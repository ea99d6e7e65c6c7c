/** What each check looks for. A query finds only what is wrong, so that a healthy system answers quickly. */
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

/** Findings looked for by one check. Past it the number says "at least", and the first ones need a person anyway. */
export const FOUND_AT_MOST = 1_000;
/** How far back refused deliveries matter: the provider retries an event for some 27 hours. */
export const REFUSED_HOURS = 28;
/** Events are applied within a second; one that waits longer than this shows a stopped loop or a locked database. */
const PENDING_MS = 60_000;

export async function eventsPending(db: Db, { now }: Question): Promise<Found[]> {
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

export async function eventsQuarantined(db: Db): Promise<Found[]> {
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

export async function eventsInConflict(db: Db): Promise<Found[]> {
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
export async function versionsMarked(db: Db, mark: 'tie_changed' | 'ahead'): Promise<Found[]> {
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
export async function signaturesRefused(db: Db, { now }: Question): Promise<Found[]> {
  const counts = await refusedSince(db, new Date(now.getTime() - REFUSED_HOURS * 3_600_000));
  return counts.map(({ cause, refused }) => ({
    example: `${cause}: ${refused}`,
    result: 'warn',
    count: refused,
  }));
}

export async function gateClosed(db: Db): Promise<Found[]> {
  const gate = await readGate(db);
  return gate.state === 'open' ? [] : [fail(`${gate.reason} (since ${gate.since})`)];
}

export async function requestsRejected(db: Db): Promise<Found[]> {
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

export async function censusSyncs(db: Db, { now, employerId, overdueMs }: Question): Promise<Found[]> {
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

export async function employeesWithTwoEmployers(db: Db, { now, employerId }: Question): Promise<Found[]> {
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
export async function deductionsUnmatched(db: Db): Promise<Found[]> {
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

export async function employerUnknown(db: Db, { employerId }: Question): Promise<Found[]> {
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
