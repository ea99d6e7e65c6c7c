/** What each check looks for. A query finds only what is wrong, so that a healthy system answers quickly. */
import { type RawBuilder, sql } from 'kysely';
import type { ReadinessLimits } from '../config.ts';
import type { Db } from '../database/tables.ts';
import { unmatchedEmployees } from '../ledger/employee-sets.ts';
import { activeTwice } from '../ledger/roster.ts';
import { readCircuitBreaker } from '../outbox/circuit-breaker.ts';
import { employeeSubject, idOf } from '../outbox/queue.ts';
import { isKnownEmployer } from '../payroll/runs/known-employer.ts';

export type Question = {
  now: Date;
  employerId?: string | undefined;
  /** Of the employer's employees only these; left out: all. */
  employees?: ReadonlySet<string> | undefined;
} & ReadinessLimits;

/**
 * One finding: its name for people, and how bad it is. `count` if it stands for several. A finding that a person may
 * accept is recognized by its employee and ids: those of events, versions or dates that it rests on.
 */
export type Found = {
  example: string;
  result: 'warn' | 'fail';
  count?: number;
  employeeId?: string | null;
  ids?: readonly string[];
};

/** Findings looked for by one check. Past it the number says "at least", and the first ones need a person anyway. */
export const FOUND_AT_MOST = 1_000;
/** Attempts are at most 15 minutes apart: after an hour it is no hiccup any more. */
export const STUCK_HOURS = 1;
/** A day without an answer will not heal by itself. */
const STUCK_FOR_GOOD_HOURS = 24;

/**
 * A request that is due goes out within a second, or once a slow one has held its slot for 30 s. This is longer, so
 * that a healthy sender passes, and less than a minute.
 */
export const STALLED_SECONDS = 45;

const HOUR_MS = 3_600_000;

export async function gateClosed(db: Db): Promise<Found[]> {
  const gate = await readCircuitBreaker(db);
  return gate.state === 'active' ? [] : [fail(`${gate.reason} (since ${gate.since})`)];
}

/**
 * Finds requests that have been due for too long, or that a sender left behind, while no request at all was finished.
 * It reads the database only, so that any process can detect it. A closed gate has a check of its own.
 */
export async function sendingStalled(db: Db, { now }: Question): Promise<Found[]> {
  const late = ago(now, STALLED_SECONDS * 1_000);
  const requests = await db
    .selectFrom('outbox')
    .select(['request_id', 'kind', 'due_at'])
    .where(sql<boolean>`state = 'pending' and head = 1`)
    .where('due_at', '<=', late)
    .unionAll(
      db
        .selectFrom('outbox')
        .select(['request_id', 'kind', 'due_at'])
        .where(sql<boolean>`state = 'sending'`)
        .where('lease_until', '<=', late),
    )
    .orderBy('due_at')
    .limit(FOUND_AT_MOST)
    .execute();
  if (requests.length === 0 || (await wasFinishedSince(db, late))) return [];
  if ((await readCircuitBreaker(db)).state === 'paused') return [];
  return requests.map(({ request_id, kind, due_at }) => ({
    example: `${kind} ${request_id}: due since ${due_at}`,
    result: 'warn',
  }));
}

async function wasFinishedSince(db: Db, instant: string): Promise<boolean> {
  const finished = await db
    .selectFrom('outbox')
    .select('seq')
    // The conditions of the index `outbox_to_erase`.
    .where(sql<boolean>`finished_at is not null and erased_at is null`)
    .where('finished_at', '>=', instant)
    .limit(1)
    .executeTakeFirst();
  return finished !== undefined;
}

export async function requestsRejected(db: Db, question: Question): Promise<Found[]> {
  const requests = await changesOf(db, question, sql<boolean>`state = 'rejected'`);
  return requests.map(({ request_id, kind, status }) => fail(`${kind} ${request_id}: status ${status}`));
}

/** Warned of after an hour, and a failure after a day. */
export async function requestsStuck(db: Db, question: Question): Promise<Found[]> {
  const [late, forGood] = [STUCK_HOURS, STUCK_FOR_GOOD_HOURS].map((hours) =>
    ago(question.now, hours * HOUR_MS),
  );
  const requests = await changesOf(db, question, sql<boolean>`finished_at is null and created_at < ${late}`);
  return requests.map(({ request_id, kind, created_at }) => ({
    example: `${kind} ${request_id}: since ${created_at}`,
    result: created_at < (forGood as string) ? 'fail' : 'warn',
  }));
}

/** Employment changes in a state that an index stands for, of the employees that are asked about, oldest first. */
async function changesOf(db: Db, { employerId, employees }: Question, isMeant: RawBuilder<boolean>) {
  const changes = await db
    .selectFrom('outbox')
    .select(['request_id', 'subject', 'kind', 'status', 'created_at'])
    .where(isMeant)
    .where('kind', '<>', 'census')
    .$if(employerId !== undefined, (query) =>
      query.where((where) =>
        where.exists(
          where
            .selectFrom('roster')
            .select('roster.employee_id')
            .where('roster.employer_id', '=', employerId as string)
            .where('roster.employee_id', '=', sql<string>`substr(outbox.subject, ${EMPLOYEE_FROM})`),
        ),
      ),
    )
    .orderBy('seq')
    .$if(employees === undefined, (query) => query.limit(FOUND_AT_MOST))
    .execute();
  return changes.filter((change) => employees?.has(idOf(change.subject)) ?? true);
}

/** Where the id begins in the subject of an employee, counted from 1 as SQL does. */
const EMPLOYEE_FROM = sql.lit(employeeSubject('').length + 1);

export async function censusSyncs(db: Db, { now, employerId, overdueMs }: Question): Promise<Found[]> {
  const due = ago(now, overdueMs);
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
  const employees = await activeTwice(db, day, FOUND_AT_MOST);
  if (employerId === undefined || employees.length === 0) return employees.map(fail);
  const ofEmployer = await db
    .selectFrom('roster')
    .select('employee_id')
    .where('employer_id', '=', employerId)
    .where('employee_id', 'in', employees)
    .execute();
  return ofEmployer.map(({ employee_id }) => fail(employee_id));
}

/** A warning only: deductions may arrive before the census that names their employee. An employer sees their number. */
export async function deductionsUnmatched(db: Db, { employerId }: Question): Promise<Found[]> {
  const employees = await unmatchedEmployees(db);
  if (employerId === undefined || employees.length === 0)
    return employees.map((example) => ({ example, result: 'warn' }));
  const count = employees.length;
  return [{ example: `${count} of no known employer`, result: 'warn', count }];
}

export async function employerUnknown(db: Db, { employerId }: Question): Promise<Found[]> {
  if (employerId === undefined || (await isKnownEmployer(db, employerId))) return [];
  return [{ example: employerId, result: 'warn' }];
}

export function fail(example: string): Found {
  return { example, result: 'fail' };
}

/** The instant that lies so long before now, as instants are stored. */
export function ago(now: Date, ms: number): string {
  return new Date(now.getTime() - ms).toISOString();
}
