/** Decides what a token limited to employers sees of employees, and whom it may name ("Limited tokens" in docs/access.md). */

import { isOneOf } from '../database/bulk.ts';
import type { Db, Trx } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import type { Problem } from '../errors.ts';
import { assignedEmployer, assignmentsOf } from './assignments.ts';
import { employersOn, employmentsOf, isActiveFrom, type RosterFact } from './employment.ts';
import type { Version } from './fold.ts';
import { createRosterReader, deductionsKnownAt, type Roster, rosterOf } from './roster.ts';

/** A caller limited to employers. `today` is a day of the time zone. */
export type Viewer = { readonly employers: readonly string[]; readonly today: string };

/** Stands for what another employer has, which the caller may not see. */
export const OF_ANOTHER_EMPLOYER = 'another employer';

/** The problem of a row that names an employee who is active at an employer outside the limit of a token. */
export function elsewhereProblem(path: string): Problem {
  return { path, rule: 'is active at an employer outside the limit of this token' };
}

/** What to do about such rows. */
export const ELSEWHERE_ADVICE =
  'A token that sees both employers, or the command line, must report the employment first.';

/**
 * Returns whether a limited caller may not name an employee as one of an employer: the employee is or will be active at an
 * employer that the caller does not see, and not at this one. Only a caller who sees both lets the two overlap. `claimed`:
 * employers whose newest census names the employee, before the roster does.
 */
export function isElsewhere(
  reports: readonly RosterFact[],
  employerId: string,
  { employers, today }: Viewer,
  claimed: readonly string[] = [],
): boolean {
  const active = employmentsOf(reports)
    .filter((employment) => isActiveFrom(employment, today))
    .map(({ employer_id }) => employer_id)
    .concat(claimed);
  return !active.includes(employerId) && active.some((employer) => !employers.includes(employer));
}

/**
 * Returns whether a limited caller may report changes of an employee: one of its employers employs the employee now or later,
 * or was the last one.
 */
export function belongsTo(reports: readonly RosterFact[], { employers, today }: Viewer): boolean {
  const employments = employmentsOf(reports);
  const active = employments.filter((employment) => isActiveFrom(employment, today));
  const belonging =
    active.length > 0 ? active.map(({ employer_id }) => employer_id) : employersOn(employments, today);
  return belonging.some((employer) => employers.includes(employer));
}

/** What a limited caller sees of an employee: all deductions, or only deductions that are assigned to its employers. */
type Sight = 'all' | 'assigned' | 'none';

function sightOf(reports: readonly RosterFact[], { employers, today }: Viewer): Sight {
  const present = employersOn(employmentsOf(reports), today);
  if (!present.some((employer) => employers.includes(employer))) return 'none';
  return present.every((employer) => employers.includes(employer)) ? 'all' : 'assigned';
}

/** Returns whether a limited caller sees all deductions of an employee, assigned or not. */
export async function seesAllOf(db: Db | Trx, employeeId: string, viewer: Viewer): Promise<boolean> {
  return sightOf((await rosterOf(db, [employeeId])).get(employeeId) ?? [], viewer) === 'all';
}

/**
 * Returns the versions of deductions that a limited caller sees, in the given order. If it sees all present (or last) employers
 * of the employee, these are all versions. If it sees some, these are the deductions that are assigned to its employers.
 */
export async function visibleVersions<V extends Pick<Version, 'deduction_id' | 'employee_id'>>(
  db: Db | Trx,
  versions: readonly V[],
  viewer: Viewer,
  readRoster: (employeeIds: readonly string[]) => Promise<Roster> = (ids) => rosterOf(db, ids),
): Promise<V[]> {
  const employees = [...new Set(versions.map(({ employee_id }) => employee_id))];
  const roster = await readRoster(employees);
  const sights = new Map(employees.map((id) => [id, sightOf(roster.get(id) ?? [], viewer)]));
  const shared = versions.filter(({ employee_id }) => sights.get(employee_id) === 'assigned');
  const assignments = await assignmentsOf(db, [...new Set(shared.map(({ deduction_id }) => deduction_id))]);
  return versions.filter(({ deduction_id, employee_id }) => {
    const sight = sights.get(employee_id);
    if (sight !== 'assigned') return sight === 'all';
    const assigned = assignedEmployer(assignments.get(deduction_id) ?? [], viewer.today);
    return assigned !== null && viewer.employers.includes(assigned);
  });
}

/** Marks the findings about deductions that a caller may not see. `viewer`: null or undefined for a caller without a limit. */
export async function withHidden<F extends { deduction_id: string; employee_id: string }>(
  db: Db,
  findings: readonly F[],
  viewer: Viewer | null | undefined,
): Promise<(F & { isHidden: boolean })[]> {
  const seen = new Set(viewer == null ? findings : await visibleVersions(db, findings, viewer));
  return findings.map((finding) => ({ ...finding, isHidden: !seen.has(finding) }));
}

/** Returns which of these events a limited caller sees as the cause of an amount: by its employers when they were received. */
export async function visibleEvents(
  db: Db,
  eventIds: readonly string[],
  viewer: Viewer,
): Promise<Set<string>> {
  const visible = await visibleWhenReceived(db, 'event_id', eventIds, viewer);
  return new Set(visible.map(({ event_id }) => event_id));
}

/** Returns the versions, of events or of deductions, that a limited caller saw on the day of their receipt. */
async function visibleWhenReceived(
  db: Db,
  column: 'event_id' | 'deduction_id',
  ids: readonly string[],
  { employers }: Viewer,
) {
  if (ids.length === 0) return [];
  const versions = await db
    .selectFrom('deduction_versions')
    .select(['event_id', 'deduction_id', 'employee_id', 'recorded_at'])
    .where(isOneOf(db, column, ids))
    .execute();
  const readRoster = createRosterReader(db);
  const visible: typeof versions = [];
  for (const [today, received] of Map.groupBy(versions, ({ recorded_at }) => dayAt(db, recorded_at)))
    visible.push(...(await visibleVersions(db, received, { employers, today }, readRoster)));
  return visible;
}

/**
 * Returns what `deductionsKnownAt` does. A limited caller knows only the deductions that it sees or saw when they were received,
 * and those that were ever assigned to its employers.
 */
export async function deductionsKnownTo(
  viewer: Viewer | null,
  db: Db,
  employerId: string,
  ids: readonly string[],
): Promise<Map<string, Set<string>>> {
  const known = await deductionsKnownAt(db, employerId, ids);
  if (viewer === null) return known;
  const named = [...known].flatMap(([deduction_id, employees]) =>
    [...employees].map((employee_id) => ({ deduction_id, employee_id })),
  );
  const seen = [
    ...(await visibleVersions(db, named, viewer)),
    ...(await visibleWhenReceived(db, 'deduction_id', [...known.keys()], viewer)),
    ...[...(await assignmentsOf(db, [...known.keys()])).values()]
      .flat()
      .filter(({ employer_id }) => viewer.employers.includes(employer_id)),
  ];
  const ofViewer = new Set(seen.map(({ deduction_id }) => deduction_id));
  return new Map([...known].filter(([id]) => ofViewer.has(id)));
}
