/** The censuses that payroll gave to the sidecar. The service may receive only these, whole, in time, and with their employees. */
import type { GivenCensus } from '../../src/census/source.ts';
import { between } from '../../src/simulator/random.ts';
import { giveName } from './given-names.ts';
import type { Applied } from './service.ts';
import type { Simulation } from './simulation.ts';
import { areClocksOff, DAY_MS, MINUTE_MS } from './time.ts';

/** The default of CENSUS_MAX_AGE, and the time that staging and an attempt take. */
const MAX_AGE_MS = DAY_MS + 30 * MINUTE_MS;
/** A fetched census may arrive in parts. The sidecar waits ten minutes for it. */
const SLOW_SHARE = 0.4;
const PARTS = 4;
/** A census that lacks so many employees, and more than a tenth, is held. Smaller employers may lose all of them. */
const MISSING_MIN = 3;

/** By simulation, when each text was last given to the sidecar. */
const givenIn = new WeakMap<Simulation, Map<string, number>>();

/** Returns the census of an employer as payroll knows it now, which the sidecar may upload from now on. */
export function giveCensus(simulation: Simulation, employerId: string): GivenCensus {
  const { world, time } = simulation;
  const census = world.census(employerId, time.now());
  const given = givenIn.get(simulation) ?? new Map<string, number>();
  givenIn.set(simulation, given.set(textOf(census), time.now()));
  for (const employee of census.employees) giveName(simulation, employerId, employee);
  return census;
}

/** Returns the census for the function source, sometimes in parts over minutes, during which `meanwhile` runs. */
export function fetchCensus(simulation: Simulation, employerId: string, meanwhile: () => void) {
  const { time } = simulation;
  const draw = simulation.random('fetch', employerId, time.now());
  const census = giveCensus(simulation, employerId);
  if (draw() > SLOW_SHARE) return census;
  const partMs = between(draw, 1, 2 * MINUTE_MS);
  time.after(draw() * PARTS * partMs, 'meanwhile', meanwhile);
  return inParts(Buffer.from(JSON.stringify(census)), () => time.pass(partMs));
}

async function* inParts(bytes: Buffer, wait: () => Promise<void>): AsyncGenerator<Uint8Array> {
  const size = Math.ceil(bytes.length / PARTS);
  for (let at = 0; at < bytes.length; at += size) {
    await wait();
    yield bytes.subarray(at, at + size);
  }
}

/** Returns what is wrong with an upload that the service applied, or null. */
export function wrongUpload(simulation: Simulation, { key, subject, body, at }: Applied): string | null {
  const census = JSON.parse(body) as GivenCensus;
  const givenAt = givenIn.get(simulation)?.get(textOf(census));
  if (givenAt === undefined) return 'is not a census that payroll gave';
  if (at - givenAt > MAX_AGE_MS && !areClocksOff(simulation)) return 'is older than CENSUS_MAX_AGE';
  if (!isShrunk(simulation, subject, key, census)) return null;
  const [, censusId] = key.split(':');
  const released = simulation.machine.query(
    "select 1 from audit_records where action = 'census-sync.release' and details like ?",
    `%"${censusId}"%`,
  );
  return released.length > 0 ? null : 'lacks many employees, and nobody released it';
}

/** Whether it lacks many employees of the last two uploads whose responses arrived. The sidecar compares with one of them. */
function isShrunk(simulation: Simulation, employerId: string, key: string, census: GivenCensus): boolean {
  const { service, world } = simulation;
  const earlier = [...service.applied.values()]
    .filter(
      ({ path, subject, ...upload }) =>
        path.endsWith('/census') && subject === employerId && upload.key !== key,
    )
    .filter(({ isAcknowledged }) => isAcknowledged)
    .slice(-2);
  if (earlier.length < 2) return false;
  const { people } = world.of(employerId);
  const staying = new Set(
    people.filter(({ terminated }) => terminated === null).map(({ employee }) => employee.employee_id),
  );
  const present = new Set(census.employees.map(({ employee_id }) => employee_id));
  return earlier.every(({ body }) => {
    const { employees } = JSON.parse(body) as GivenCensus;
    const expected = employees.filter(({ employee_id }) => staying.has(employee_id));
    const missing = expected.filter(({ employee_id }) => !present.has(employee_id));
    return missing.length >= MISSING_MIN && missing.length * 10 > expected.length;
  });
}

function textOf({ organization, employees }: GivenCensus): string {
  return JSON.stringify({ organization, employees });
}
