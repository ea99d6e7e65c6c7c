/** Decides what a token limited to employers sees of an employee who moved ("Limited tokens" in docs/access.md). */
import { isOneOf } from '../database/bulk.ts';
import type { Db, Trx } from '../database/tables.ts';
import { effectiveOn, employmentsOf, isActive, leftLast, type RosterFact, receivedOn } from './employment.ts';
import type { Version } from './fold.ts';
import { type Roster, rosterKnownAt } from './roster.ts';
import { dayBefore } from './state.ts';

/**
 * A caller limited to employers. `today` is the UTC date. `versionsNamed` returns the keys of versions that lines of its
 * employers' runs, or open items of its employers, name.
 */
export type Viewer = {
  readonly employers: readonly string[];
  readonly today: string;
  readonly versionsNamed: (employees: readonly string[]) => Promise<ReadonlySet<string>>;
};

/** When something was recorded. Requests have no position in the ledger. */
type RecordedFact = { readonly position?: number; readonly recorded_at: string };

/** The parts of an employee that some employers may see. One of these employers reported the employee. */
export type Sight = {
  /** Whether the employee belongs to one of them now. */
  readonly isCurrent: boolean;
  /** Returns whether the employee had not moved away from them when it was recorded. */
  readonly sees: (recorded: RecordedFact) => boolean;
  /** Returns whether the employee belonged to one of them when it was recorded. */
  readonly belonged: (recorded: RecordedFact) => boolean;
  /** Returns whether a census or change reported an employment with one of them. */
  readonly names: (sourceId: string) => boolean;
  /** Returns whether a census reported an employment, with any employer. */
  readonly isCensus: (sourceId: string) => boolean;
};

/** The most changes of employment that are looked back on. Earlier ones cannot show anything, which bounds the time. */
const LOOKED_BACK = 100;

/**
 * Returns what employers see of an employee, from all reports in the order of their positions; null if none of them
 * reported the employee. A version seen once stays visible, also if a move is reported late.
 */
export function sightOf(
  reports: readonly RosterFact[],
  employers: readonly string[],
  today: string,
): Sight | null {
  if (!reports.some(({ employer_id }) => employers.includes(employer_id))) return null;
  const end = endOfSight(reports, employers, today);
  return {
    isCurrent: end === 'none',
    sees: ({ position, recorded_at }) => {
      if (end === 'none') return true;
      if (end === null || receivedOn({ recorded_at }) > end.day) return false;
      if (end.report === null) return true;
      return position === undefined ? recorded_at < end.report.recorded_at : position < end.report.position;
    },
    belonged: ({ position, recorded_at }) => {
      const known = reports.filter((report) =>
        position === undefined ? report.recorded_at <= recorded_at : report.position <= position,
      );
      return belongs(known, employers, receivedOn({ recorded_at }));
    },
    names: (sourceId) =>
      reports.some((report) => report.source_id === sourceId && employers.includes(report.employer_id)),
    isCensus: (sourceId) =>
      reports.some(({ source, source_id }) => source_id === sourceId && source === 'census'),
  };
}

/** The last day on which the employee belonged to the employers, and the report that ended it, if one did. */
type EndOfSight = { day: string; report: RosterFact | null };

/** Returns `none` for an employee who belongs to one of the employers now, and null for one who never did. */
function endOfSight(
  reports: readonly RosterFact[],
  employers: readonly string[],
  today: string,
): 'none' | EndOfSight | null {
  if (belongs(reports, employers, today)) return 'none';
  const least = Math.max(1, reports.length - LOOKED_BACK);
  for (let count = reports.length; count >= least; count -= 1) {
    const known = reports.slice(0, count);
    const next = reports[count] ?? null;
    const newest = known.at(-1) as RosterFact;
    // Reports of one transaction became known together.
    if (newest.recorded_at === next?.recorded_at) continue;
    const from = receivedOn(newest);
    const until = next === null ? today : receivedOn(next);
    const days = lastDaysOf(known).filter((day) => day >= from && day < until);
    const day = [until, ...days.sort().reverse()].find((last) => belongs(known, employers, last));
    if (day !== undefined) return { day, report: next };
  }
  return null;
}

/** Returns the days on which an employment may end. */
function lastDaysOf(reports: readonly RosterFact[]): string[] {
  const days = reports.flatMap((report) => {
    const starts = [report.hire_date, report.absent === null ? null : effectiveOn(report)];
    return [report.termination_date, ...starts.map((day) => day && dayBefore(day))];
  });
  return [...new Set(days)].filter((day) => day !== null);
}

/** An employee belongs to the employers where they work or will work, else to the employer that they left last. */
function belongs(reports: readonly RosterFact[], employers: readonly string[], day: string): boolean {
  const employments = employmentsOf(reports);
  const current = employments.filter(
    (employment) =>
      isActive(employment, day) ||
      employment.spells.some(({ hire_date }) => hire_date !== null && hire_date > day),
  );
  const last = leftLast(employments, day);
  const belonging = current.length > 0 || last === undefined ? current : [last];
  return belonging.some(({ employer_id }) => employers.includes(employer_id));
}

/** Returns what the employers see of each of these employees whom one of them reported. */
export async function sightsOf(
  db: Db | Trx,
  employees: readonly string[],
  viewer: Pick<Viewer, 'employers' | 'today'>,
): Promise<Map<string, Sight>> {
  return sightsIn(await rosterKnownAt(db, [...new Set(employees)], viewer.employers), viewer);
}

/** Returns what the employers see of each employee of a roster whom one of them reported. */
export function sightsIn(
  roster: Roster,
  { employers, today }: Pick<Viewer, 'employers' | 'today'>,
): Map<string, Sight> {
  return new Map(
    [...roster].flatMap(([employeeId, reports]) => {
      const sight = sightOf(reports, employers, today);
      return sight === null ? [] : [[employeeId, sight]];
    }),
  );
}

/**
 * Returns whether a census names one of the employers, or an employment change names one or was reported while its employee
 * belonged to one.
 */
export function seesReport(sight: Sight | undefined, sourceId: string, recordedAt: string): boolean {
  if (sight === undefined) return false;
  return sight.names(sourceId) || (!sight.isCensus(sourceId) && sight.belonged({ recorded_at: recordedAt }));
}

export function versionKey({ deduction_id, version }: Pick<Version, 'deduction_id' | 'version'>): string {
  return JSON.stringify([deduction_id, version]);
}

/** Returns the keys of the versions that lines name. */
export function versionsIn(lines: Iterable<{ deduction_id: string; version: number | null }>): Set<string> {
  const named = new Set<string>();
  for (const { deduction_id, version } of lines)
    if (version !== null) named.add(versionKey({ deduction_id, version }));
  return named;
}

/** Returns the versions that a limited caller may see, in the given order. */
export async function visibleVersions<V extends Version>(
  versions: readonly V[],
  viewer: Viewer,
  sights: ReadonlyMap<string, Sight>,
): Promise<V[]> {
  const known = versions.filter(({ employee_id }) => sights.has(employee_id));
  const moved = known.filter((version) => sights.get(version.employee_id)?.isCurrent === false);
  const employees = [...new Set(moved.map(({ employee_id }) => employee_id))];
  const named = employees.length === 0 ? new Set<string>() : await viewer.versionsNamed(employees);
  return known.filter(
    (version) => sights.get(version.employee_id)?.sees(version) || named.has(versionKey(version)),
  );
}

/** Returns which of these events recorded a version that a limited caller may see. */
export async function visibleEvents(
  db: Db,
  eventIds: readonly string[],
  viewer: Viewer,
): Promise<Set<string>> {
  if (eventIds.length === 0) return new Set();
  const versions = await db
    .selectFrom('deduction_versions')
    .selectAll()
    .where(isOneOf(db, 'event_id', eventIds))
    .execute();
  const employees = versions.map(({ employee_id }) => employee_id);
  const visible = await visibleVersions(versions, viewer, await sightsOf(db, employees, viewer));
  return new Set(visible.map(({ event_id }) => event_id));
}
