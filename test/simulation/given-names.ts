/** The names that payroll gave to the sidecar, by employer and employee. It may show only these, and of each employee only the newest. */
import type { Name } from '../../src/names/names.ts';
import type { Simulation } from './simulation.ts';
import { areClocksOff, DAY_MS, MINUTE_MS } from './time.ts';

type Given = { name: string; at: number };
export type ShownName = Name & { readonly employee_id: string; readonly employer_id: string };

/** A census arrives for ten minutes at most, and is staged afterward. */
const STAGING_MS = 15 * MINUTE_MS;
/** The longest time for which faults delay the storage of a name. */
const STORED_MS = 2 * DAY_MS;

/** By simulation, employer and employee: the names in the order in which they were given. */
const givenIn = new WeakMap<Simulation, Map<string, Map<string, Given[]>>>();

function givenBy(simulation: Simulation, employerId: string): Map<string, Given[]> {
  const given = givenIn.get(simulation) ?? new Map<string, Map<string, Given[]>>();
  givenIn.set(simulation, given);
  const names = given.get(employerId) ?? new Map<string, Given[]>();
  given.set(employerId, names);
  return names;
}

export function textOf({ first_name, last_name }: Name): string {
  return `${first_name} ${last_name}`;
}

type Named = Name & { readonly employee_id: string };
export type Hire = Named & { readonly employer_id: string };

/** Notes the name of an employee as given now. Returns it. */
export function giveName(simulation: Simulation, employerId: string, employee: Named): Given {
  const names = givenBy(simulation, employerId);
  const given = { name: textOf(employee), at: simulation.time.now() };
  names.set(employee.employee_id, [...(names.get(employee.employee_id) ?? []), given]);
  return given;
}

/** Notes the name of a hire. Returns a function to call when a response confirms that the name is stored. */
export function giveHire(simulation: Simulation, hire: Hire): () => void {
  const given = giveName(simulation, hire.employer_id, hire);
  given.at = Number.POSITIVE_INFINITY;
  return () => {
    given.at = simulation.time.now();
  };
}

/** Returns what is wrong with a name that was shown, or null. */
export function wrongName(simulation: Simulation, shown: ShownName): string | null {
  const { employer_id, employee_id } = shown;
  const given = givenBy(simulation, employer_id).get(employee_id) ?? [];
  const text = textOf(shown);
  if (!given.some(({ name }) => name === text)) return 'was not given by this employer';
  const since = stagedSince(simulation, employer_id);
  const recent = given.filter(({ at }) => at > since);
  // An employee who left is in no recent census.
  if (recent.length === 0 || recent.some(({ name }) => name === text)) return null;
  return `is older than ${recent.map(({ name }) => name).join(', ')}`;
}

/** Returns the time before which every name that an employer gave is stored, or replaced by a later name. */
function stagedSince(simulation: Simulation, employerId: string): number {
  const { machine, world } = simulation;
  // A census with almost nobody replaces no names.
  if (areClocksOff(simulation) || world.wereShrunk.has(employerId)) return Number.NEGATIVE_INFINITY;
  const [staged] = machine.query<{ at: string | null }>(
    'select max(staged_at) as at from staged_censuses where employer_id = ? and roster_updated_at is not null',
    employerId,
  );
  return staged?.at == null ? Number.NEGATIVE_INFINITY : Date.parse(staged.at) - STAGING_MS;
}

/** Returns the latest name that each employer gave for an employee, and since when it gave this name. */
function lastNames(simulation: Simulation, employeeId: string): (Given & { employerId: string })[] {
  return [...(givenIn.get(simulation) ?? [])].flatMap(([employerId, names]) => {
    const given = names.get(employeeId) ?? [];
    const last = given.at(-1);
    if (last === undefined) return [];
    const before = given.findLastIndex(({ name }) => name !== last.name);
    return [{ employerId, name: last.name, at: given[before + 1]!.at }];
  });
}

/** Returns what is wrong with a name that was shown when all names from payroll are stored, or null. */
export function wrongAtRest(simulation: Simulation, shown: ShownName, limit: string | null): string | null {
  const last = lastNames(simulation, shown.employee_id).filter(
    ({ employerId }) => limit === null || employerId === limit,
  );
  const latest = last.find(({ employerId }) => employerId === shown.employer_id);
  if (latest?.name !== textOf(shown)) return `is not the latest name, ${latest?.name}`;
  const newer = last.find(({ at }) => at > latest.at + STORED_MS);
  return newer === undefined ? null : `is older than ${newer.name} of ${newer.employerId}`;
}
