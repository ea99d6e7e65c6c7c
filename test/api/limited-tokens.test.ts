/** Asks every route with a token limited to one employer: for its own ids, another employer's, and unknown ids. */
import type { Test } from 'tap';
import { allows, SCOPES, type Scope } from '../../src/security/scopes.ts';
import { census, employee, newHire } from '../contract/samples.ts';
import { onEachEngine, onEitherEngine } from '../support/engine.ts';
import { bodyOn, EMPLOYER, employ, LATELY, schedule, setSchedules, sync } from '../support/payroll.ts';
import { deductionOf, deliver } from './deliver.ts';
import { listenerObserving, PAY_DATE, type Payroll, RUNS, startPayroll } from './payroll-stage.ts';
import type { Answer, Request } from './start.ts';

const FOREIGN = 'globex';

/** The ids of a kind of resource: at the token's employer, at another employer, and an unknown id. */
type Ids = Readonly<Record<'own' | 'foreign' | 'unknown', string>>;

type World = Payroll & { ids: Readonly<Record<string, Ids>> };

/** Two employers with an employee, a deduction, runs, a sync and a change each. Every id of the other one has its name. */
async function startWorld(t: Test): Promise<World> {
  const payroll = await startPayroll(t);
  const { db, call, put } = payroll;
  await employ(db, 'globex-emp', { employer_id: FOREIGN });
  const election = { id: 'globex-ded', employee_id: 'globex-emp', line_of_coverage: 'vision' };
  await deliver(db, [deductionOf('globex-evt', election)], LATELY);
  await setSchedules(db, [schedule()], FOREIGN);
  await sync(db, { employer_id: FOREIGN });
  const stage = (employerId: string, employee_id: string) => {
    const body = { ...census, employees: [{ ...employee, employee_id }] };
    return call({ method: 'PUT', url: `/v1/employers/${employerId}/census`, body });
  };
  await stage(EMPLOYER, 'emp-1');
  await stage(FOREIGN, 'globex-emp');
  await put('own-run');
  await put('globex-run', { ...bodyOn(PAY_DATE), employer_id: FOREIGN });
  const change = async (employee_id: string, employer_id: string) => {
    const body = { ...newHire, employee_id, employer_id };
    const { json } = await call({ method: 'POST', url: '/v1/employee-changes/new-hire', body });
    return json.id as string;
  };
  const changes = [await change('emp-1', EMPLOYER), await change('globex-emp', FOREIGN)];
  return {
    ...payroll,
    ids: {
      employer_id: { own: EMPLOYER, foreign: FOREIGN, unknown: 'none' },
      run_id: { own: 'own-run', foreign: 'globex-run', unknown: 'none' },
      employee_id: { own: 'emp-1', foreign: 'globex-emp', unknown: 'none' },
      deduction_id: { own: 'ded-1', foreign: 'globex-ded', unknown: 'none' },
      event_id: { own: 'evt-1', foreign: 'globex-evt', unknown: 'none' },
      sync_id: {
        own: `sync-${EMPLOYER}-completed-${LATELY}`,
        foreign: `sync-${FOREIGN}-completed-${LATELY}`,
        unknown: 'none',
      },
      change_id: { own: changes[0] as string, foreign: changes[1] as string, unknown: 'none' },
      session_id: { own: '0', foreign: '0', unknown: '0' },
      year: { own: '2026', foreign: '2026', unknown: '2026' },
    },
  };
}

const REASON = { reason: 'a test' };

/** The bodies of routes that read one, with ids of the employer. Routes without a body here get `{}`. */
const BODIES: Readonly<Record<string, (id: (name: string) => string) => object>> = {
  'PUT /v1/payroll-runs/:run_id': (id) => ({ ...bodyOn(PAY_DATE), employer_id: id('employer_id') }),
  'POST /v1/payroll-runs/preview': (id) => ({ ...bodyOn(PAY_DATE), employer_id: id('employer_id') }),
  'POST /v1/payroll-runs/:run_id/void': () => REASON,
  'POST /v1/payroll-runs/:run_id/taken': (id) => ({
    lines: [{ employee_id: id('employee_id'), amount: '1.00' }],
  }),
  'POST /v1/payroll-runs/:run_id/audit': (id) => ({
    lines: [{ employee_id: id('employee_id'), member_amount: '1.00' }],
  }),
  'POST /v1/deductions/:deduction_id/start-decision': () => ({ version: 1, decision: 'keep', ...REASON }),
  'PUT /v1/deductions/:deduction_id/employer': (id) => ({ employer_id: id('employer_id'), ...REASON }),
  'POST /v1/employee-changes/:change_id/cancel': () => REASON,
  'POST /v1/census-syncs/:sync_id/dismiss': () => REASON,
  'POST /v1/census-syncs/:sync_id/release': () => REASON,
  'POST /v1/employee-changes/new-hire': (id) => ({ ...newHire, employer_id: id('employer_id') }),
  'POST /v1/employee-changes/termination': (id) => ({
    employee_id: id('employee_id'),
    termination_date: '2026-07-31',
  }),
  'POST /v1/employee-changes/demographic': (id) => ({
    employee_id: id('employee_id'),
    address: newHire.address,
  }),
  'POST /v1/employee-changes/compensation-change': (id) => ({
    employee_id: id('employee_id'),
    employment_status: 'part_time',
  }),
  'POST /v1/employee-changes/batch': (id) => [
    { kind: 'termination', employee_id: id('employee_id'), termination_date: '2026-07-31' },
    { kind: 'new-hire', ...newHire, employer_id: id('employer_id') },
  ],
};

/** Returns the parameter of the query by which a route is asked about one employer, or else one employee. */
function filterOf(app: Payroll['app'], pattern: string, method: string): string | undefined {
  const path = pattern.replace(/:([a-z_]+)/g, '{$1}');
  const { paths } = app.swagger() as { paths: Record<string, Record<string, { parameters?: Parameter[] }>> };
  const names = paths[path]?.[method.toLowerCase()]?.parameters?.filter(
    (parameter) => parameter.in === 'query',
  );
  return ['employer_id', 'employee_id'].find((wanted) => names?.some(({ name }) => name === wanted));
}
type Parameter = { name: string; in: string };

/** Returns a response without what differs between any two. */
function shownOf({ status, headers, text }: Answer): object {
  const { date: _, 'content-length': __, ...others } = headers;
  return { status, headers: others, text };
}

onEitherEngine('a limited token gets the same for an id of another employer as for no id', async (t) => {
  const world = await startWorld(t);
  const { app, call, ids, tokenFor } = world;
  const secrets = Object.values(ids)
    .map(({ foreign }) => foreign)
    .filter((id) => !['0', '2026'].includes(id));
  const routes = app.routeTable.routes.filter(({ scope, hidden }) => scope !== 'public' && !hidden);
  t.ok(routes.length >= 60, 'all routes are in the table');
  const kept = await rowsOfForeign(world);
  for (const scope of SCOPES) {
    const token = await tokenFor([EMPLOYER], scope);
    for (const { methods, url: pattern, scope: needed, employers: rule } of routes) {
      // test/api/auth.test.ts asks routes without their scope.
      if (needed !== 'any' && needed !== 'self' && !allows([scope], needed as Scope)) continue;
      const route = `${methods[0]} ${pattern}`;
      const ask = async (whose: keyof Ids): Promise<Answer> => {
        const id = (name: string): string => ids[name]?.[whose] ?? 'none';
        const path = pattern.replace(/:([a-z_]+)/g, (_, name: string) => encodeURIComponent(id(name)));
        const name = filterOf(app, pattern, methods[0] as string);
        const url = name === undefined ? path : `${path}?${name}=${encodeURIComponent(id(name))}`;
        const method = methods[0] as NonNullable<Request['method']>;
        const body = method === 'GET' || method === 'DELETE' ? {} : { body: BODIES[route]?.(id) ?? {} };
        return call({ method, url, token, ...body });
      };
      const [foreign, unknown] = [await ask('foreign'), await ask('unknown')];
      t.strictSame(shownOf(foreign), shownOf(unknown), `${scope}: ${route}`);
      const isRefused = rule === 'refused';
      t.equal(foreign.status === 403, isRefused, `${scope}: ${route} ${foreign.status}`);
      // The following routes need the rows of the token's employer.
      if (methods[0] === 'DELETE' || (scope === 'all' && methods[0] !== 'GET')) continue;
      const own = await ask('own');
      t.equal(own.status === 403, isRefused, `${scope}: ${route} of its own: ${own.status}`);
      if (!isRefused && methods[0] === 'GET' && pattern.includes(':'))
        t.not(own.status, 404, `${scope}: ${route} shows its own`);
      const shown = secrets.filter((secret) => own.text.includes(secret));
      t.strictSame(shown, [], `${scope}: ${route} hides the other employer`);
    }
  }
  t.strictSame(await rowsOfForeign(world), kept, 'nothing of the other employer changed');
});

/** Returns the facts, runs, changes and assignments of the other employer. */
async function rowsOfForeign({ db }: World): Promise<object> {
  const employee = 'globex-emp';
  return {
    facts: await db.selectFrom('roster_facts').selectAll().where('employee_id', '=', employee).execute(),
    runs: await db.selectFrom('payroll_runs').selectAll().where('employer_id', '=', FOREIGN).execute(),
    changes: await db.selectFrom('outbox').selectAll().where('subject_id', '=', employee).execute(),
    assignments: await db
      .selectFrom('deduction_assignments')
      .selectAll()
      .where('deduction_id', '=', 'globex-ded')
      .execute(),
    syncs: await db.selectFrom('census_syncs').selectAll().where('employer_id', '=', FOREIGN).execute(),
  };
}

onEitherEngine("another employer's change takes no more reads than an unknown one", async (t) => {
  const world = await startWorld(t);
  const token = await world.tokenFor([EMPLOYER], 'changes:read');
  let reads = 0;
  const { call } = listenerObserving(t, world, 'outbox', () => {
    reads += 1;
  });
  const readsFor = async (whose: keyof Ids) => {
    reads = 0;
    await call({ url: `/v1/employee-changes/${world.ids.change_id?.[whose]}`, token });
    return reads;
  };
  t.ok((await readsFor('own')) > 0);
  t.equal(await readsFor('foreign'), await readsFor('unknown'));
});

onEachEngine('the id of a deleted run stays with its employer, so no checked id changes hands', async (t) => {
  const { call, put, tokenFor } = await startWorld(t);
  const inUse = await put('globex-run');
  t.match(inUse, { status: 409, json: { detail: /belongs to another employer/ } });
  const token = await tokenFor([FOREIGN], 'runs:write');
  t.equal((await call({ method: 'DELETE', url: `${RUNS}/globex-run`, token })).status, 204);
  const deleted = await put('globex-run');
  t.strictSame(shownOf(deleted), shownOf(inUse), 'a deleted run shows nothing else');
  const again = { ...bodyOn(PAY_DATE), employer_id: FOREIGN };
  t.equal((await call({ method: 'PUT', url: `${RUNS}/globex-run`, body: again, token })).status, 201);

  const payroll = { employer_id: EMPLOYER, pay_frequency: 'biweekly', pay_date: '2026-07-31' };
  const opened = `${EMPLOYER}-biweekly-2026-07-31`;
  await put(opened, { ...bodyOn('2026-07-31'), employer_id: FOREIGN });
  t.equal((await call({ method: 'DELETE', url: `${RUNS}/${opened}` })).status, 204);
  const { status, json } = await call({ method: 'POST', url: RUNS, body: payroll });
  t.strictSame([status, json.id], [201, `${opened}-2`], 'an opened run gets another id');
});
