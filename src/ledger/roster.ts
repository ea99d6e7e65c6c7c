/** The roster: what each source reported about an employment, appended on the ledger's positions. */
import { type RawBuilder, sql } from 'kysely';
import { insertRows, isOneOf } from '../database/bulk.ts';
import type { Db, RosterFactTable, Trx } from '../database/tables.ts';
import { FOLLOWED_AT_MOST, sharedEmployees } from './employee-sets.ts';
import { DATED, employerOf, employmentsOf, isActive, isRepeated, type RosterFact } from './employment.ts';
import { lockLedger, moveLedger } from './position.ts';

/** Reports per transaction: about 10 of the 50 ms that the API thread may hold the write lock. */
export const FACTS_AT_ONCE = 250;

/** Employees whose reports are read together. */
const EMPLOYEES_AT_ONCE = 200;

export type { RosterFact };

const ATTRIBUTES = ['hire_date', 'termination_date', ...DATED, 'effective_on'] as const;
const SELECTED = ['position', 'employee_id', 'employer_id', ...ATTRIBUTES, 'source', 'recorded_at'] as const;

/** A source's statement about an employment. It leaves a missing attribute unchanged. */
export type NewFact = Pick<RosterFact, 'employee_id' | 'employer_id'> &
  Partial<Pick<RosterFact, (typeof ATTRIBUTES)[number]>>;

/** The census or employment change that reports. `asOf`: the time of its receipt, if not now. */
export type FactSource = Pick<RosterFactTable, 'source' | 'source_id'> & { asOf?: string };

/** A fact and its source. */
export type NewReport = { readonly fact: NewFact; readonly source: FactSource };

/** Records facts of one source as `recordReports` does. */
export function recordFacts(trx: Trx, facts: readonly NewFact[], source: FactSource, now: string) {
  return recordReports(
    trx,
    facts.map((fact) => ({ fact, source })),
    now,
  );
}

/**
 * Appends reports in the order given and returns how many were stored. Every report of an employment change is. One of
 * a census is left out if it repeats what is known or this census has reported it before; attributes that a report
 * received after the census states are left out of it. At most `FACTS_AT_ONCE`.
 */
export async function recordReports(trx: Trx, given: readonly NewReport[], now: string): Promise<number> {
  let position = await lockLedger(trx);
  const known = await knownToCensus(trx, given);
  const stored: RosterFactTable[] = [];
  for (const { fact, source } of given) {
    const key = keyOf(fact);
    const before = known.get(key) ?? [];
    const report = reportOf(fact, source, position + 1, now);
    const row = source.source === 'census' ? newToRoster(before, report) : report;
    if (row === null) continue;
    position += 1;
    stored.push(row);
    known.set(key, [...before, row]);
  }
  if (stored.length === 0) return 0;
  await insertRows(trx, 'roster_facts', stored);
  const newest = new Map(
    stored.map(({ employee_id, employer_id, position }) => {
      const row = { employee_id, employer_id, position };
      return [keyOf(row), row];
    }),
  );
  const moved = 'on conflict (employee_id, employer_id) do update set position = excluded.position';
  await insertRows(trx, 'roster', [...newest.values()], moved);
  await moveLedger(trx, position);
  return stored.length;
}

/** Returns the known reports for each employment in a census. Reports from changes are always stored. */
async function knownToCensus(trx: Trx, given: readonly NewReport[]): Promise<Map<string, RosterFactTable[]>> {
  const ids = given.filter(({ source }) => source.source === 'census').map(({ fact }) => fact.employee_id);
  if (ids.length === 0) return new Map();
  return Map.groupBy(await reports(trx, ids).select('source_id').execute(), keyOf);
}

/** Returns the report of a fact on a position of the ledger. */
export function reportOf(fact: NewFact, source: FactSource, position: number, now: string): RosterFactTable {
  return {
    position,
    employee_id: fact.employee_id,
    employer_id: fact.employer_id,
    hire_date: fact.hire_date ?? null,
    termination_date: fact.termination_date ?? null,
    employment_status: fact.employment_status ?? null,
    pay_frequency: fact.pay_frequency ?? null,
    pay_group: fact.pay_group ?? null,
    absent: fact.absent ?? null,
    effective_on: fact.effective_on ?? null,
    source: source.source,
    source_id: source.source_id,
    recorded_at: source.asOf ?? now,
  };
}

/** Returns what must be stored of a census report, or null. */
function newToRoster(known: readonly RosterFactTable[], report: RosterFactTable): RosterFactTable | null {
  // A repeated update from the same census is no second confirmation.
  if (known.some(({ source_id }) => source_id === report.source_id)) return null;
  const later = known.filter(({ recorded_at }) => recorded_at > report.recorded_at);
  const row = later.length === 0 ? report : withoutLater(report, later);
  return isRepeated(known, row) ? null : row;
}

/** These belong together: a census older than a hire or a termination is wrong about all of them. */
const EMPLOYMENT = ['hire_date', 'termination_date', 'absent'] as const;

/** Removes attributes from a census report that later reports state. */
function withoutLater(report: RosterFactTable, later: readonly RosterFactTable[]): RosterFactTable {
  const row = { ...report };
  for (const attribute of DATED)
    if (later.some((one) => one[attribute] !== null)) Object.assign(row, { [attribute]: null });
  if (later.some((one) => EMPLOYMENT.some((attribute) => one[attribute] !== null)))
    for (const attribute of EMPLOYMENT) row[attribute] = null;
  return row;
}

/** Returns the reports of employees by position; with `knownAt` (an instant), those received by then. */
export async function rosterOf(
  db: Db | Trx,
  employeeIds: readonly string[],
  knownAt?: string,
): Promise<Map<string, RosterFact[]>> {
  if (employeeIds.length === 0) return new Map();
  const rows = await reports(db, employeeIds)
    .$if(knownAt !== undefined, (query) => query.where('recorded_at', '<=', knownAt as string))
    .execute();
  return Map.groupBy(rows, ({ employee_id }) => employee_id);
}

/** Returns every report of each of the employees up to a position of the ledger, in the order of their positions. */
export async function rosterAt(
  db: Db | Trx,
  employeeIds: readonly string[],
  position: number,
): Promise<Map<string, RosterFact[]>> {
  const rows = await reports(db, employeeIds).where('position', '<=', position).execute();
  return Map.groupBy(rows, ({ employee_id }) => employee_id);
}

function reports(db: Db | Trx, employeeIds: readonly string[]) {
  return db
    .selectFrom('roster_facts')
    .select(SELECTED)
    .where(isOneOf(db, 'employee_id', employeeIds))
    .orderBy('position');
}

/** Returns the ids of an employer's employees, past and present, in order: `limit` of them after an id. */
export async function employeesOf(
  db: Db | Trx,
  employerId: string,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('roster')
    .select('employee_id')
    .where('employer_id', '=', employerId)
    .where('employee_id', '>', after)
    .orderBy('employee_id')
    .limit(limit)
    .execute();
  return rows.map(({ employee_id }) => employee_id);
}

/** Returns a condition: the employee of an expression has been an employee of the employer. */
export function isEmployedBy(employerId: string, employeeId: RawBuilder<string>): RawBuilder<boolean> {
  return sql`exists (select 1 from roster
    where roster.employer_id = ${employerId} and roster.employee_id = ${employeeId})`;
}

/** Returns those of the ids that have ever been employees of an employer. */
export async function employeesKnownAt(db: Db | Trx, employerId: string, ids: readonly string[]) {
  if (ids.length === 0) return new Set<string>();
  const rows = await db
    .selectFrom('roster')
    .select('employee_id')
    .where('employer_id', '=', employerId)
    .where(isOneOf(db, 'employee_id', [...new Set(ids)]))
    .execute();
  return new Set(rows.map(({ employee_id }) => employee_id));
}

/** Returns those of the ids whose deductions have ever named an employee of an employer. */
export async function deductionsKnownAt(db: Db | Trx, employerId: string, ids: readonly string[]) {
  if (ids.length === 0) return new Set<string>();
  const rows = await deductionsOfEmployer(db, employerId)
    .select('deduction_id')
    .distinct()
    .where(isOneOf(db, 'deduction_id', ids))
    .execute();
  return new Set(rows.map(({ deduction_id }) => deduction_id));
}

/** Reports whether any employee of an employer has ever had a deduction. */
export async function hasDeductions(db: Db | Trx, employerId: string): Promise<boolean> {
  const one = await deductionsOfEmployer(db, employerId).select('deduction_id').limit(1).executeTakeFirst();
  return one !== undefined;
}

function deductionsOfEmployer(db: Db | Trx, employerId: string) {
  return db
    .selectFrom('roster')
    .innerJoin('deduction_employees', 'deduction_employees.employee_id', 'roster.employee_id')
    .where('roster.employer_id', '=', employerId);
}

/** Returns the employees active with two or more employers on a day, in the order of their ids: the first `limit`. */
export async function activeTwice(db: Db, day: string, limit: number): Promise<string[]> {
  const followed = await sharedEmployees(db);
  const found: string[] = [];
  let after = '';
  let next = 0;
  for (;;) {
    const shared =
      followed.length < FOLLOWED_AT_MOST
        ? followed.slice(next, next + EMPLOYEES_AT_ONCE)
        : await sharedAfter(db, after);
    const roster = await rosterOf(db, shared);
    for (const id of shared) {
      const active = employmentsOf(roster.get(id) ?? []).filter((one) => isActive(one, day));
      if (active.length > 1) found.push(id);
    }
    if (found.length >= limit || shared.length < EMPLOYEES_AT_ONCE) return found.slice(0, limit);
    next += EMPLOYEES_AT_ONCE;
    after = shared.at(-1) as string;
    await new Promise(setImmediate);
  }
}

/** Returns employees of several employers, by id, if there are too many to keep. */
async function sharedAfter(db: Db, employeeId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('roster')
    .select('employee_id')
    .where('employee_id', '>', employeeId)
    .groupBy('employee_id')
    .having(sql<boolean>`count(*) > 1`)
    .orderBy('employee_id')
    .limit(EMPLOYEES_AT_ONCE)
    .execute();
  return rows.map(({ employee_id }) => employee_id);
}

/** JSON keeps the two ids separate, whatever characters they contain. */
function keyOf(row: { employee_id: string; employer_id: string }): string {
  return JSON.stringify([row.employee_id, row.employer_id]);
}

/** Returns, by employee, the employers on a day: those where the employee is active, else the one left last. */
export async function currentEmployers(db: Db, employeeIds: readonly string[], day: string) {
  const roster = await rosterOf(db, employeeIds);
  return new Map(
    [...roster].map(([employeeId, reports]) => {
      const employments = employmentsOf(reports);
      const active = employments.filter((employment) => isActive(employment, day));
      const employer = employerOf(employments, day);
      const employers =
        active.length > 0 ? active.map((one) => one.employer_id) : employer === null ? [] : [employer];
      return [employeeId, employers];
    }),
  );
}

/** Returns the newest `limit` facts of an employee, in the order of their positions. */
export async function rosterHistory(db: Db, employeeId: string, limit: number): Promise<RosterFactTable[]> {
  const newest = await db
    .selectFrom('roster_facts')
    .selectAll()
    .where('employee_id', '=', employeeId)
    .orderBy('position', 'desc')
    .limit(limit)
    .execute();
  return newest.reverse();
}

/** Returns a query of the facts that censuses reported. */
export function censusFacts(db: Db) {
  return db.selectFrom('roster_facts').where('roster_facts.source', '=', 'census');
}

/** Returns the sources of the facts after a position up to another, in order. */
export function factSources(db: Db, after: number, until: number, limit: number) {
  return db
    .selectFrom('roster_facts')
    .select(['position', 'employee_id', 'source', 'source_id', 'recorded_at'])
    .where('position', '>', after)
    .where('position', '<=', until)
    .orderBy('position')
    .limit(limit)
    .execute();
}
