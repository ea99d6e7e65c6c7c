/**
 * Placeholders: deductions that a file named without the service's id ("Placeholders" in docs/pilot.md). The first
 * deduction of the service for the same employee, line of coverage and taxability replaces one from its start. That follows
 * from the versions alone, whatever the order of their arrival.
 */
import type { Db, Trx } from '../database/tables.ts';
import type { Version } from './fold.ts';
import { type RunVersion, versionsOfEmployees } from './history.ts';
import { dayBefore, knownAt, statesInOrder, timelineOf } from './state.ts';

const PREFIX = 'placeholder:';
/** The ids of placeholders in the order of ids: from the first, up to and without the second. */
export const PLACEHOLDER_IDS = [PREFIX, 'placeholder;'] as const;

/** What a placeholder stands for. An employee id is unique across employers. */
export type Account = Pick<Version, 'employee_id' | 'line_of_coverage' | 'taxability'>;
type Identified = Account & Pick<Version, 'deduction_id'>;

/** The deduction that replaces a placeholder, and its first day; null: it has no start. */
export type Replacement = { deduction_id: string; from: string | null };

export function placeholderId({ employee_id, line_of_coverage, taxability }: Account): string {
  return `${PREFIX}${employee_id}:${line_of_coverage}:${taxability}`;
}

/** Returns whether an id may be a placeholder's. */
export function isPlaceholderId(deductionId: string): boolean {
  return deductionId.startsWith(PREFIX);
}

export function isPlaceholder(version: Identified): boolean {
  return isPlaceholderId(version.deduction_id) && version.deduction_id === placeholderId(version);
}

/**
 * Returns the histories of the service's deductions that may replace a placeholder: those with a version of its account.
 * `histories`: of all deductions that ever named its employee.
 */
export function successorsOf<History extends readonly Identified[]>(
  account: Account,
  histories: readonly History[],
): History[] {
  return histories.filter((versions) =>
    versions.some((version) => isSameAccount(version, account) && !isPlaceholder(version)),
  );
}

/**
 * Returns what replaces a placeholder, or null: of the successors, the one that starts first. A deduction whose taxability or
 * line of coverage was corrected still replaces it; one that proved to be another employee's does not.
 */
export function replacementOf(
  account: Account,
  successors: readonly (readonly RunVersion[])[],
): Replacement | null {
  if (successors.length === 0) return null;
  const replacements = successors.flatMap((versions): Replacement[] => {
    const states = statesInOrder(timelineOf(versions).counting).filter(
      ({ employee_id }) => employee_id === account.employee_id,
    );
    const first = states.find((state) => isSameAccount(state, account)) ?? states[0];
    return first === undefined ? [] : [{ deduction_id: first.deduction_id, from: first.starts_on }];
  });
  return replacements.sort(byStart)[0] ?? null;
}

/** Returns the counting versions of a placeholder as they apply beside its replacement: they end on the day before. */
export function endedBy<V extends Pick<Version, 'ends_on'>>(
  counting: readonly V[],
  replacement: Replacement | null,
): readonly V[] {
  if (replacement === null) return counting;
  const { from } = replacement;
  if (from === null) return [];
  const last = dayBefore(from);
  return counting.map((version) =>
    version.ends_on !== null && version.ends_on <= last ? version : { ...version, ends_on: last },
  );
}

/** Returns the versions of a deduction that count. `histories`: of all deductions that ever named its employee. */
export function countingOf(
  versions: readonly [RunVersion, ...RunVersion[]],
  histories: readonly (readonly RunVersion[])[],
): readonly RunVersion[] {
  const { counting } = timelineOf(versions);
  const [first] = versions;
  if (!isPlaceholder(first)) return counting;
  return endedBy(counting, replacementOf(first, successorsOf(first, histories)));
}

/** Returns the replacement of each placeholder among the versions, by deduction id, from what was known at an instant. */
export async function replacementsOf(
  db: Db | Trx,
  versions: readonly Identified[],
  instant?: string,
): Promise<ReadonlyMap<string, Replacement | null>> {
  const placeholders = new Map(
    versions.filter(isPlaceholder).map((version) => [version.deduction_id, version]),
  );
  // Nearly all deductions have an id of the service.
  if (placeholders.size === 0) return new Map();
  const employees = [...placeholders.values()].map(({ employee_id }) => employee_id);
  const histories = await versionsOfEmployees(db, [...new Set(employees)]);
  return new Map(
    [...placeholders].map(([id, version]) => {
      const known = (histories.get(version.employee_id) ?? []).map((all) => knownAt(all, instant));
      return [id, replacementOf(version, successorsOf(version, known))];
    }),
  );
}

function isSameAccount(one: Account, other: Account): boolean {
  return (
    one.employee_id === other.employee_id &&
    one.line_of_coverage === other.line_of_coverage &&
    one.taxability === other.taxability
  );
}

function byStart(one: Replacement, other: Replacement): number {
  const [start, otherStart] = [one.from ?? '', other.from ?? ''];
  if (start !== otherStart) return start < otherStart ? -1 : 1;
  return one.deduction_id < other.deduction_id ? -1 : 1;
}
