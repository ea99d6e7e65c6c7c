/** The roster: what each source reported about an employment, appended on the ledger's positions. */
import { type RawBuilder, sql } from 'kysely';
import Type from 'typebox';
import { employersIn, insertRows, isOneOf, isOneOfOrAny, startsWithOneOf } from '../database/bulk.ts';
import type { Db, Trx } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import { type PageRequest, pagesBy } from '../formats/cursor.ts';
import { contentHash } from '../security/facts.ts';
import { DATED, employersOn, employmentsOf, isRepeated, type RosterFact } from './employment.ts';
import { lockLedger, moveLedger } from './position.ts';

/** Reports per transaction: about 10 of the 50 ms that the API thread may hold the write lock. */
export const FACTS_AT_ONCE = 250;

const ATTRIBUTES = ['hire_date', 'termination_date', ...DATED, 'effective_on'] as const;
type Attribute = (typeof ATTRIBUTES)[number];
const UNSTATED = Object.fromEntries(ATTRIBUTES.map((name) => [name, null])) as Record<Attribute, null>;
const SELECTED = [
  'position',
  'employee_id',
  'employer_id',
  ...ATTRIBUTES,
  'source',
  'source_id',
  'recorded_at',
  'received_on',
] as const;

/** A source's statement about an employment. A missing attribute stays unchanged. */
export type NewFact = Pick<RosterFact, 'employee_id' | 'employer_id'> & Partial<Pick<RosterFact, Attribute>>;

/** The census or employment change that reports. `asOf`: the time of its receipt, if not now. */
export type FactSource = Pick<RosterFact, 'source' | 'source_id'> & { asOf?: string };

/**
 * Appends at most `FACTS_AT_ONCE` facts of one source, in order, and returns how many were stored. Every fact of an
 * employment change is stored. A fact of a census is skipped if it repeats what is known, or if the census has reported the
 * employment before; attributes that a later report states are removed from it.
 */
export async function recordFacts(trx: Trx, facts: readonly NewFact[], source: FactSource, now: string) {
  let position = await lockLedger(trx);
  const recorded_at = source.asOf ?? now;
  const received = { recorded_at, received_on: dayAt(trx, recorded_at) };
  const isCensus = source.source === 'census';
  const ids = isCensus ? facts.map(({ employee_id }) => employee_id) : [];
  const known = Map.groupBy([...(await rosterOf(trx, ids)).values()].flat(), keyOf);
  const stored: RosterFact[] = [];
  for (const fact of facts) {
    const before = known.get(keyOf(fact)) ?? [];
    const report = reportOf(fact, source, position + 1, received);
    const row = isCensus ? newToRoster(before, report) : report;
    if (row === null) continue;
    position += 1;
    stored.push(row);
    known.set(keyOf(fact), [...before, row]);
  }
  await appendReports(trx, stored);
  return stored.length;
}

/** Appends reports that have the next positions of the ledger. Call it only after `lockLedger`. */
export async function appendReports(trx: Trx, stored: readonly RosterFact[]): Promise<void> {
  const last = stored.at(-1);
  if (last === undefined) return;
  const rows = stored.map((fact) => ({ ...fact, content_hash: contentHash([fact]) }));
  await insertRows(trx, 'roster_facts', rows);
  const newest = new Map(
    stored.map(({ employee_id, employer_id, position }) => {
      const row = { employee_id, employer_id, position };
      return [keyOf(row), row];
    }),
  );
  const moved = 'on conflict (employee_id, employer_id) do update set position = excluded.position';
  await insertRows(trx, 'roster', [...newest.values()], moved);
  await moveLedger(trx, last.position);
}

export function reportOf(
  fact: NewFact,
  { source, source_id }: FactSource,
  position: number,
  received: Pick<RosterFact, 'recorded_at' | 'received_on'>,
): RosterFact {
  return { ...UNSTATED, ...fact, source, source_id, position, ...received };
}

function newToRoster(known: readonly RosterFact[], report: RosterFact): RosterFact | null {
  // A repeated update from the same census is no second confirmation.
  if (known.some(({ source_id }) => source_id === report.source_id)) return null;
  const later = known.filter(({ recorded_at }) => recorded_at > report.recorded_at);
  const row = later.length === 0 ? report : withoutLater(report, later);
  return isRepeated(known, row) ? null : row;
}

/** These belong together: a census older than a hire or a termination is wrong about all of them. */
const EMPLOYMENT = ['hire_date', 'termination_date', 'absent'] as const;

/** Removes attributes from a census report that later reports state. */
function withoutLater(report: RosterFact, later: readonly RosterFact[]): RosterFact {
  const row = { ...report };
  const isStated = (attribute: keyof RosterFact) => later.some((fact) => fact[attribute] !== null);
  for (const attribute of DATED) if (isStated(attribute)) row[attribute] = null;
  if (EMPLOYMENT.some(isStated)) for (const attribute of EMPLOYMENT) row[attribute] = null;
  return row;
}

/** The reports of employees by position. */
export type Roster = ReadonlyMap<string, RosterFact[]>;

/** Returns the reports of employees. `upTo`: only those up to this position. */
export async function rosterOf(
  db: Db | Trx,
  employeeIds: readonly string[],
  upTo?: number,
): Promise<Map<string, RosterFact[]>> {
  if (employeeIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('roster_facts')
    .select(SELECTED)
    .where(isOneOf(db, 'employee_id', employeeIds))
    .$if(upTo !== undefined, (query) => query.where('position', '<=', upTo as number))
    .orderBy('position')
    .execute();
  return Map.groupBy(rows, ({ employee_id }) => employee_id);
}

export type ReadRoster = (employeeIds: readonly string[]) => Promise<Roster>;

/** Returns a function that reads the reports of each employee once, and returns all that it has read. */
export function createRosterReader(db: Db): ReadRoster {
  const read = new Map<string, RosterFact[]>();
  return async (employeeIds) => {
    const unread = [...new Set(employeeIds)].filter((id) => !read.has(id));
    const roster = await rosterOf(db, unread);
    for (const id of unread) read.set(id, roster.get(id) ?? []);
    return read;
  };
}

/** Returns the subquery of the employees about whom anything was reported after a position. */
export function reportedAfter(db: Db | Trx, position: number): RawBuilder<unknown> {
  const reported = db.selectFrom('roster_facts').select('employee_id').where('position', '>', position);
  return sql`${reported}`;
}

/** Returns the employers that have or had an employee. `employers`: only these; null for all. */
export function employersInRoster(db: Db, employers: readonly string[] | null): Promise<Set<string>> {
  return employersIn(db, 'roster', employers);
}

/** Returns the pay frequencies that were last reported for an employer's employees, past and present, the most common first. */
export async function frequenciesInUse(db: Db, employerId: string): Promise<string[]> {
  const { rows } = await sql<{ pay_frequency: string }>`
    select pay_frequency from (
      select (select pay_frequency from roster_facts
        where roster_facts.employee_id = roster.employee_id and roster_facts.employer_id = roster.employer_id
          and pay_frequency is not null order by roster_facts.position desc limit 1) as pay_frequency
      from roster where employer_id = ${employerId}) as reported
    where pay_frequency is not null group by pay_frequency order by count(*) desc, pay_frequency`.execute(db);
  return rows.map(({ pay_frequency }) => pay_frequency);
}

/** Returns the ids of an employer's employees, past and present, in order. */
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

/** Returns the employees of an employer about whom it was reported after a position. */
export async function employeesReportedAfter(
  db: Db | Trx,
  employerId: string,
  position: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom('roster')
    .select('employee_id')
    .where('employer_id', '=', employerId)
    .where('position', '>', position)
    .execute();
  return rows.map(({ employee_id }) => employee_id);
}

const employmentPage = pagesBy('employees', { employee_id: Type.String(), employer_id: Type.String() });

/** Returns a page of past and present employments by employee id. `employers`: only of these; null for all. */
export function listEmployments(db: Db, employers: readonly string[] | null, page: PageRequest) {
  return employmentPage(employmentsQuery(db, employers), page);
}

/** Returns past and present employees whose ids start with one of the texts. `employers`: only of these; null for all. */
export async function employeesStartingWith(
  db: Db,
  texts: readonly string[],
  employers: readonly string[] | null,
  limit: number,
) {
  return employmentsQuery(db, employers)
    .where(startsWithOneOf('employee_id', texts))
    .orderBy('employee_id')
    .limit(limit)
    .execute();
}

export function isEmployedBy(employerId: string, employeeId: RawBuilder<string>): RawBuilder<boolean> {
  return sql`exists (select 1 from roster
    where roster.employer_id = ${employerId} and roster.employee_id = ${employeeId})`;
}

/** Returns whether one of these employers has ever reported an employee. */
export async function isKnownAt(db: Db, employers: readonly string[], employeeId: string): Promise<boolean> {
  const row = await db
    .selectFrom('roster')
    .select('employee_id')
    .where('employee_id', '=', employeeId)
    .where('employer_id', 'in', employers)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Returns the query of who has ever been an employee of these employers; of all if null. */
export function employmentsQuery(db: Db, employers: readonly string[] | null) {
  return db
    .selectFrom('roster')
    .select(['employee_id', 'employer_id'])
    .where(isOneOfOrAny(db, 'employer_id', employers));
}

/** Returns the ids that have ever been employees of an employer. */
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

/** Returns the reports that ended the employment of these employees with an employer, unless a later hire began it again. */
export async function reportedTerminations(db: Db, employerId: string, ids: readonly string[]) {
  if (ids.length === 0) return [];
  return db
    .selectFrom('roster_facts')
    .select(['employee_id', 'source_id'])
    .where('employer_id', '=', employerId)
    .where(isOneOf(db, 'employee_id', ids))
    .where('source', 'in', ['termination', 'new-hire'])
    .where('termination_date', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('roster_facts as later')
            .select('later.position')
            .whereRef('later.employee_id', '=', 'roster_facts.employee_id')
            .whereRef('later.employer_id', '=', 'roster_facts.employer_id')
            .whereRef('later.position', '>', 'roster_facts.position')
            .where('later.source', '=', 'new-hire')
            .where('later.termination_date', 'is', null),
        ),
      ),
    )
    .execute();
}

/** Returns the employees of an employer whom another employer has reported too, in the order of their ids. */
export async function employeesOfSeveral(db: Db | Trx, employerId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('roster')
    .select('employee_id')
    .where('employer_id', '=', employerId)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('roster as elsewhere')
          .select('elsewhere.employee_id')
          .whereRef('elsewhere.employee_id', '=', 'roster.employee_id')
          .where('elsewhere.employer_id', '<>', employerId),
      ),
    )
    .orderBy('employee_id')
    .execute();
  return rows.map(({ employee_id }) => employee_id);
}

/** Returns the deductions that have ever named an employee of an employer, each with these employees. */
export async function deductionsKnownAt(
  db: Db | Trx,
  employerId: string,
  ids: readonly string[],
): Promise<Map<string, Set<string>>> {
  const employeesOf = new Map<string, Set<string>>();
  if (ids.length === 0) return employeesOf;
  const rows = await db
    .selectFrom('roster')
    .innerJoin('deduction_versions', 'deduction_versions.employee_id', 'roster.employee_id')
    .select(['deduction_id', 'roster.employee_id'])
    .distinct()
    .where('roster.employer_id', '=', employerId)
    .where(isOneOf(db, 'deduction_id', ids))
    .execute();
  for (const { deduction_id, employee_id } of rows) {
    const employees = employeesOf.get(deduction_id) ?? new Set();
    employeesOf.set(deduction_id, employees.add(employee_id));
  }
  return employeesOf;
}

/** Reports whether a deduction has ever named an employee of an employer. With a join, PostgreSQL may read all deductions. */
export async function hasDeductions(db: Db | Trx, employerId: string): Promise<boolean> {
  const employee = await db
    .selectFrom('roster')
    .select('employee_id')
    .where('employer_id', '=', employerId)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('deduction_versions')
          .select('deduction_versions.employee_id')
          .whereRef('deduction_versions.employee_id', '=', 'roster.employee_id'),
      ),
    )
    .limit(1)
    .executeTakeFirst();
  return employee !== undefined;
}

/** JSON keeps the two ids separate, whatever characters they contain. */
function keyOf(row: { employee_id: string; employer_id: string }): string {
  return JSON.stringify([row.employee_id, row.employer_id]);
}

/** Returns, by employee, the employers on a day: those where the employee is active, else the one left last. */
export async function currentEmployers(db: Db, employeeIds: readonly string[], day: string) {
  const roster = await rosterOf(db, employeeIds);
  return new Map(
    [...roster].map(([employeeId, reports]) => [employeeId, employersOn(employmentsOf(reports), day)]),
  );
}

/** Returns stored reports with the hashes of their contents. */
export function hashedReports(db: Db, after: number, until: number, limit: number) {
  return db
    .selectFrom('roster_facts')
    .select([...SELECTED, 'content_hash'])
    .where('position', '>', after)
    .where('position', '<=', until)
    .orderBy('position')
    .limit(limit)
    .execute();
}
