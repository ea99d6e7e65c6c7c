/** The people of an employer. Their tokens are limited to it and show no rows of other employers. */
import { openDatabase } from '../../../src/database/open.ts';
import { transact } from '../../../src/database/transaction.ts';
import { cliActor } from '../../../src/security/audit.ts';
import { ROLES } from '../../../src/security/scopes.ts';
import { createToken, revokeToken } from '../../../src/security/tokens.ts';
import { pick } from '../../../src/simulator/random.ts';
import type { Call, Response } from '../machine.ts';
import type { Simulation } from '../simulation.ts';
import { HOUR_MS, MINUTE_MS } from '../time.ts';
import type { Feature } from './features.ts';

/** The share of employers whose people have tokens of their own. The payroll system works for the other employers. */
const WITH_PEOPLE = 0.7;

const PERSONS = {
  specialist: ROLES['payroll-specialist'],
  manager: ROLES['payroll-manager'],
  owner: ROLES['payroll-manager'],
};
export type Person = keyof typeof PERSONS;
const PEOPLE_OF_EMPLOYER = Object.keys(PERSONS) as Person[];

type Token = Awaited<ReturnType<typeof createToken>>;
/** The valid tokens by employer and person, and the revoked ones. */
type Tokens = { valid: Map<string, Token>; revoked: string[] };

const tokens = new WeakMap<Simulation, Tokens>();
const tokensOf = (simulation: Simulation): Tokens => {
  const known = tokens.get(simulation) ?? { valid: new Map(), revoked: [] };
  tokens.set(simulation, known);
  return known;
};

/** Lists, and the ids of an employer's rows. */
const LISTS = {
  'payroll-runs': 'select run_id as id from payroll_runs where employer_id = ?',
  'census-syncs': 'select sync_id as id from census_syncs where employer_id = ?',
};

export const PEOPLE: Feature = {
  plan(simulation) {
    const { time, world, days } = simulation;
    for (const { id } of world.employers) {
      const draw = simulation.random('people', id);
      if (draw() > WITH_PEOPLE) continue;
      time.after(HOUR_MS, 'people', () => admit(simulation, id, PEOPLE_OF_EMPLOYER));
      for (let count = Math.ceil(days / 4); count > 0; count -= 1) {
        const person = pick(draw, PEOPLE_OF_EMPLOYER);
        simulation.schedule(draw(), 'people', () => admit(simulation, id, [person]));
      }
      for (let count = Math.ceil(days); count > 0; count -= 1)
        simulation.schedule(draw(), 'look', () => look(simulation, id, draw));
    }
  },
  rests: {
    async 'a limited token lists all rows of its employer and no others'(simulation) {
      const wrong: string[] = [];
      for (const { id } of simulation.world.employers) {
        if (!hasPeople(simulation, id)) continue;
        for (const [list, sql] of Object.entries(LISTS)) {
          const listed = await allOf(simulation, id, `/v1/${list}?limit=100`);
          const rows = simulation.machine.query<{ id: string | number }>(sql, id);
          const missing = rows.filter((row) => !listed.has(String(row.id)));
          if (missing.length === 0 && listed.size === rows.length) continue;
          wrong.push(`${list} of ${id}: ${listed.size} of ${rows.length} rows, without ${missing[0]?.id}`);
        }
      }
      return wrong;
    },
  },
  situations: {
    'work with a limited token':
      'audit_records join tokens on token_id = actor_id where employers is not null',
    'work after a token was revoked': `tokens as revoked join tokens as valid using (name)
      join audit_records on actor_id = valid.token_id
      where revoked.revoked_at is not null and valid.token_id <> revoked.token_id`,
  },
};

export function hasPeople(simulation: Simulation, employerId: string): boolean {
  return tokensOf(simulation).valid.has(`${employerId} owner`);
}

/**
 * Returns a function for each person of an employer that calls the API with the person's token. Persons without a token call
 * it as the payroll system. The response to a person must name no other employer.
 */
export function peopleOf(simulation: Simulation, employerId: string) {
  const { machine, world, breach } = simulation;
  const others = world.employers.map(({ id }) => id).filter((id) => id !== employerId);
  const as =
    (person: Person) =>
    async (...[method, url, body, headers]: Call): Promise<Response | null> => {
      const token = tokensOf(simulation).valid.get(`${employerId} ${person}`);
      if (token === undefined) return machine.call(method, url, body, headers);
      const authorization = `Bearer ${token.token}`;
      const response = await machine.call(method, url, body, { ...headers, authorization });
      if (response === null) return null;
      // Employees and deductions that moved here keep ids with the name of the other employer.
      const text = foreignIdsOf(simulation, employerId).reduce(
        (shown, id) => shown.replaceAll(id, ''),
        JSON.stringify(response.body),
      );
      const seen = [...others, 'stranger-'].find((id) => text.includes(id));
      if (seen !== undefined) breach(`a token of ${employerId} saw ${seen} in ${method} ${url}: ${text}`);
      return response;
    };
  return { specialist: as('specialist'), manager: as('manager'), owner: as('owner') };
}

/** Returns the ids of an employer's employees, and of their deductions, that were another employer's. */
function foreignIdsOf({ world, machine }: Simulation, employerId: string): string[] {
  const { people } = world.of(employerId);
  const ids = people.map(({ employee }) => employee.employee_id);
  const deductions = machine.query<{ id: string }>(
    `select distinct deduction_id as id from deduction_versions where employee_id in (select value from json_each(?))
      and deduction_id not like ?`,
    JSON.stringify(ids),
    `ded-${employerId}-%`,
  );
  return [...deductions.map(({ id }) => id), ...ids.filter((id) => !id.startsWith(employerId))];
}

/** Gives persons new tokens instead of their old ones. A crash may end it, so it tries again until they have new ones. */
export function admit(simulation: Simulation, employerId: string, persons: readonly Person[]): void {
  const { valid } = tokensOf(simulation);
  const before = new Map(persons.map((person) => [person, valid.get(`${employerId} ${person}`)]));
  void replaceTokens(simulation, employerId, before).catch(() => {});
  simulation.time.after(20 * MINUTE_MS, 'people', () => {
    const left = persons.filter((person) => valid.get(`${employerId} ${person}`) === before.get(person));
    if (left.length > 0) admit(simulation, employerId, left);
  });
}

/** Creates tokens and revokes the old ones, as `benefits-sidecar token` does in a process of its own. */
async function replaceTokens(
  simulation: Simulation,
  employerId: string,
  before: ReadonlyMap<Person, Token | undefined>,
): Promise<void> {
  const { machine, time, confirm } = simulation;
  const { valid, revoked } = tokensOf(simulation);
  if (!machine.isUp()) return;
  const db = openDatabase(machine.databaseUrl);
  const actor = cliActor('operator');
  try {
    for (const [person, old] of before) {
      const now = new Date(time.now() + machine.skewMs);
      const name = `${person} of ${employerId}`;
      const holder = {
        name,
        scopes: PERSONS[person],
        person: name,
        employers: [employerId],
        expiresAt: null,
      };
      const created = await transact(db, async (trx) => {
        if (old !== undefined) await revokeToken(trx, old.tokenId, { actor, now: now.toISOString() });
        return createToken(trx, { ...holder, now, actor });
      });
      confirm('select token_id as id from tokens', created.tokenId);
      valid.set(`${employerId} ${person}`, created);
      if (old === undefined) continue;
      confirm('select token_id as id from tokens where revoked_at is not null', old.tokenId);
      revoked.push(old.token);
    }
  } finally {
    await db.destroy();
  }
}

/** Reads and writes with a revoked token, which is refused as an unknown one is. */
async function tryRevoked({ machine, breach, count }: Simulation, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const responses = [
    await machine.call('GET', '/v1/payroll-runs', undefined, headers),
    await machine.call('PUT', '/v1/payroll-runs/by-a-revoked-token', {}, headers),
  ];
  for (const response of responses) {
    count('requests with a revoked token');
    // An address with many failed attempts has to wait.
    if (response !== null && ![401, 429, 503].includes(response.status))
      breach(`a revoked token was accepted: ${response.status} ${JSON.stringify(response.body)}`);
  }
}

/** Reads a list, and requests an id that belongs to another employer and must look unknown. */
async function look(simulation: Simulation, employerId: string, draw: () => number): Promise<void> {
  if (!hasPeople(simulation, employerId)) return;
  const { revoked } = tokensOf(simulation);
  if (draw() < 0.3 && revoked.length > 0) await tryRevoked(simulation, pick(draw, revoked));
  const { manager } = peopleOf(simulation, employerId);
  const get = (url: string) => manager('GET', url);
  const lists = ['deductions', 'employee-changes', 'payroll-runs', 'census-syncs', 'censuses', 'audit'];
  await get(`/v1/${pick(draw, [...lists, `readiness?employer_id=${employerId}`])}`);
  const [sql, path] = pick(draw, OTHERS);
  const others = () =>
    simulation.machine.query<{ id: string }>(sql, `${employerId}-%`, employerId).map((row) => row.id);
  const rows = others();
  const id = rows[Math.floor(draw() * rows.length)];
  if (id === undefined) return;
  const [other, unknown] = [await get(path + id), await get(`${path}unknown-1`)];
  // The employee may have moved here in the meantime.
  if (!simulation.machine.isUp() || !others().includes(id)) return;
  if (other === null || unknown === null || other.status === 503 || unknown.status === 503) return;
  if (other.status !== 404 || contentOf(other) !== contentOf(unknown))
    simulation.breach(`a token of ${employerId} can tell ${path}${id} from an unknown id`);
}

/** Whether an employee was never with an employer. */
const ELSEWHERE = `employee_id not like ? and employee_id not in (
  select employee_id from roster_facts where employer_id = ?)`;

/** The ids of other employers, and the path that shows one. */
const OTHERS = [
  ['select run_id as id from payroll_runs where run_id not like ? and employer_id <> ?', '/v1/payroll-runs/'],
  [`select distinct employee_id as id from roster_facts where ${ELSEWHERE}`, '/v1/employees/'],
  [
    `select deduction_id as id from deduction_versions group by deduction_id having min(${ELSEWHERE})`,
    '/v1/deductions/',
  ],
] as const;

function contentOf({ body }: Response): string {
  const { title, detail, type } = body as Record<string, unknown>;
  return JSON.stringify([title, detail, type]);
}

async function allOf(simulation: Simulation, employerId: string, url: string): Promise<Set<string>> {
  type Page = { data: { id: string }[]; next_cursor: string | null };
  const ids = new Set<string>();
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const response = await peopleOf(simulation, employerId).manager('GET', `${url}${page}`);
    if (response?.status !== 200) throw new Error(`${url} responded ${response?.status}`);
    const { data, next_cursor } = response.body as Page;
    for (const { id } of data) ids.add(String(id));
    cursor = next_cursor;
  }
  return ids;
}
