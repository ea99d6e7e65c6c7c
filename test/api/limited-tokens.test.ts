/** Asks every route with a token limited to one employer: for its own ids, another employer's, and unknown ids. */
import type { Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { recordAssignment } from '../../src/ledger/assignments.ts';
import { insertApproval } from '../../src/payroll/records/approvals.ts';
import { allows, SCOPES, type Scope } from '../../src/security/scopes.ts';
import { census, employee, newHire } from '../contract/samples.ts';
import { ACTING } from '../support/audit.ts';
import { onEachEngine, onEitherEngine } from '../support/engine.ts';
import {
  bodyOn,
  EMPLOYER,
  employ,
  finalized,
  LATELY,
  override,
  schedule,
  setCodes,
  setPolicy,
  setSchedules,
  sync,
  taken,
} from '../support/payroll.ts';
import { deductionOf, deliver } from './deliver.ts';
import { listenerObserving, OPENING, PAY_DATE, type Payroll, RUNS, startPayroll } from './payroll-stage.ts';
import type { Answer, Request } from './start.ts';

const FOREIGN = 'globex';
const REASON = { reason: 'a test' };

/** The ids of a kind of resource: at the token's employer, at another employer, and an unknown id. */
type Ids = Readonly<Record<'own' | 'foreign' | 'unknown', string>>;

type World = Payroll & { ids: Readonly<Record<string, Ids>> };

/** Adds what each list of an employer shows: settings, decisions, an assignment, and what people did with its runs. */
async function fillLists(db: Db, employer: string, runs: readonly string[], deduction_id: string) {
  const [employee = '', open = '', final = ''] = runs;
  await setCodes(
    db,
    [{ line_of_coverage: 'medical', taxability: null, side: 'employee', code: 'X1', treatment: null }],
    employer,
  );
  await setPolicy(db, {}, '2020-01-01', employer);
  await override(db, open, employee, deduction_id);
  await finalized(db, final, bodyOn('2026-07-03', { employer_id: employer }));
  await taken(db, final, { employee_id: employee, amount: '0.00' });
  const concerned = { employee, employers: [employer] };
  const assignment = { deduction_id, employer_id: employer, effective_on: '2026-01-01', reason: 'a test' };
  const approval = {
    ...{ runId: open, employerId: employer, action: 'finalize' as const, etag: 'etag' },
    ...{ person: 'ann', checks: [], findings: [], reason: 'reviewed' },
  };
  await transact(db, async (trx) => {
    await recordAssignment(trx, assignment, concerned, ACTING);
    await insertApproval(trx, approval, ACTING);
  });
}

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
  const censuses = [(await stage(EMPLOYER, 'emp-1')).json.id, (await stage(FOREIGN, 'globex-emp')).json.id];
  await put('own-run');
  await put('globex-run', { ...bodyOn(PAY_DATE), employer_id: FOREIGN });
  await fillLists(db, EMPLOYER, ['emp-1', 'own-run', 'own-final'], 'ded-1');
  await fillLists(db, FOREIGN, ['globex-emp', 'globex-run', 'globex-final'], 'globex-ded');
  const openItem = async (employer: string, id: string, employee_id: string) => {
    const of = `/v1/employers/${employer}`;
    const { status, text } = await call({
      method: 'POST',
      url: `${of}/opening-items`,
      body: { items: [{ ...OPENING, id, employee_id }] },
    });
    if (status >= 300) throw new Error(text);
    const decisions = [{ employee_id, action: 'hold' }];
    await call({ method: 'POST', url: `${of}/open-items/decisions`, body: { decisions, ...REASON } });
    const { data } = (await call({ url: `${of}/open-items?kind=opening` })).json;
    return data[0].id as string;
  };
  const items = [
    await openItem(EMPLOYER, 'own-opening', 'emp-1'),
    await openItem(FOREIGN, 'globex-opening', 'globex-emp'),
  ];
  const change = async (employee_id: string, employer_id: string) => {
    const body = { ...newHire, employee_id, employer_id };
    const { json } = await call({ method: 'POST', url: '/v1/employee-changes/new-hire', body });
    return json.id as string;
  };
  const changes = [await change('emp-1', EMPLOYER), await change('globex-emp', FOREIGN)];
  const record = await db
    .selectFrom('audit_records')
    .select('record_id')
    .where('employer_id', '=', FOREIGN)
    .executeTakeFirst();
  return {
    ...payroll,
    ids: {
      employer_id: { own: EMPLOYER, foreign: FOREIGN, unknown: 'none' },
      run_id: { own: 'own-run', foreign: 'globex-run', unknown: 'none' },
      final_run_id: { own: 'own-final', foreign: 'globex-final', unknown: 'none' },
      employee_id: { own: 'emp-1', foreign: 'globex-emp', unknown: 'none' },
      deduction_id: { own: 'ded-1', foreign: 'globex-ded', unknown: 'none' },
      event_id: { own: 'evt-1', foreign: 'globex-evt', unknown: 'none' },
      sync_id: {
        own: `sync-${EMPLOYER}-completed-${LATELY}`,
        foreign: `sync-${FOREIGN}-completed-${LATELY}`,
        unknown: 'none',
      },
      change_id: { own: changes[0] as string, foreign: changes[1] as string, unknown: 'none' },
      opening_id: { own: 'own-opening', foreign: 'globex-opening', unknown: 'none' },
      item_id: { own: items[0] as string, foreign: items[1] as string, unknown: 'none' },
      census_id: { own: censuses[0] as string, foreign: censuses[1] as string, unknown: 'none' },
      resource_id: { own: 'own-run', foreign: 'globex-run', unknown: 'none' },
      record_id: { own: '0', foreign: String(record?.record_id), unknown: '999' },
      report_id: { own: '0', foreign: '0', unknown: '0' },
      actor_id: { own: '0', foreign: '0', unknown: '0' },
      session_id: { own: '0', foreign: '0', unknown: '0' },
      year: { own: '2026', foreign: '2026', unknown: '2026' },
      kind: { own: 'census', foreign: 'census', unknown: 'census' },
      list: { own: 'people', foreign: 'people', unknown: 'people' },
    },
  };
}

const PEOPLE = (id: (name: string) => string) => ({ rows: [{ employee_id: id('employee_id') }] });

const DECISION = (id: (name: string) => string) => ({
  decisions: [{ employee_id: id('employee_id'), action: 'hold' }],
  ...REASON,
});
const censusOf = (id: (name: string) => string) => ({
  ...census,
  employees: [{ ...employee, employee_id: id('employee_id') }],
});

/** The bodies of routes that read one, with ids of the employer. Routes without a body here get `{}`. */
const BODIES: Readonly<Record<string, (id: (name: string) => string) => object>> = {
  'DELETE /v1/employers/:employer_id/census': () => REASON,
  'POST /v1/names': (own) => ({ employee_ids: [own('employee_id')] }),
  'POST /v1/search': (own) => ({ text: own('employee_id') }),
  'PUT /v1/payroll-runs/:run_id': (id) => ({ ...bodyOn(PAY_DATE), employer_id: id('employer_id') }),
  'POST /v1/payroll-runs/preview': (id) => ({
    ...bodyOn(PAY_DATE, { kind: 'off_cycle', employee_ids: [id('employee_id')] }),
    employer_id: id('employer_id'),
  }),
  'POST /v1/payroll-runs': (id) => ({
    ...{ employer_id: id('employer_id'), pay_frequency: 'biweekly', pay_date: PAY_DATE },
  }),
  'PUT /v1/payroll-runs/:run_id/overrides/:employee_id/:deduction_id': () => ({
    ...{ member_amount: '1.00', employer_amount: '0.00', ...REASON },
  }),
  'POST /v1/employers/:employer_id/open-items/decisions': DECISION,
  'POST /v1/employers/:employer_id/open-items/decisions/preview': DECISION,
  'POST /v1/employers/:employer_id/opening-items': (id) => ({
    items: [{ ...OPENING, id: 'item', employee_id: id('employee_id') }],
  }),
  'PUT /v1/employers/:employer_id/census': censusOf,
  'POST /v1/employers/:employer_id/census/validate': censusOf,
  'POST /v1/payroll-runs/:run_id/acceptances': () => ({ accept: ['overlap'], ...REASON }),
  'POST /v1/payroll-runs/:run_id/approval': () => ({ action: 'void', ...REASON }),
  'PUT /v1/employers/:employer_id/second-approval': () => ({ required: true, ...REASON }),
  'POST /v1/payroll-runs/:run_id/void': () => REASON,
  'POST /v1/payroll-runs/:run_id/taken': (id) => ({
    lines: [{ employee_id: id('employee_id'), amount: '1.00' }],
  }),
  'POST /v1/payroll-runs/:run_id/audit': (id) => ({
    lines: [{ employee_id: id('employee_id'), member_amount: '1.00' }],
  }),
  'POST /v1/employers/:employer_id/cut-over/:list': PEOPLE,
  'POST /v1/employers/:employer_id/cut-over/:list/sign': PEOPLE,
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

type Schema = { $ref?: string; properties?: Record<string, Schema>; items?: Schema; anyOf?: Schema[] };
type Parameter = { $ref?: string; name: string; in: string; schema?: Schema };
type Content = { content: Record<string, { schema: Schema }> };
type Reference = {
  paths: Record<string, Record<string, { parameters?: Parameter[]; requestBody?: Content }>>;
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
};

/** Returns the parameters of an operation of the reference, and the schema of its body. */
function inputsOf({ app }: World, pattern: string, method: string) {
  const { paths, components } = app.swagger() as unknown as Reference;
  const { parameters = [], requestBody } =
    paths[pattern.replace(/:([a-z_]+)/g, '{$1}')]?.[method.toLowerCase()] ?? {};
  const named = parameters.map((parameter) =>
    parameter.$ref === undefined ? parameter : (components.parameters[last(parameter.$ref)] as Parameter),
  );
  const schemaOf = (schema: Schema): Schema =>
    schema.$ref === undefined ? schema : schemaOf(components.schemas[last(schema.$ref)] as Schema);
  return { parameters: named, body: requestBody?.content['application/json']?.schema, schemaOf };
}

const last = (ref: string): string => ref.split('/').at(-1) as string;

/** A place of an id in an input: `['body', 'lines', '[]', 'employee_id']`. `name`: whose id it is. */
type Place = { path: readonly string[]; name: string };

/** Lists of ids whose names do not end so. */
const LISTS: Readonly<Record<string, string>> = {
  deductions: 'deduction_id',
  same_person: 'employee_id',
  final_checks: 'employee_id',
  items: 'item_id',
};

function placeOf(path: readonly string[], { items }: Schema = {}): Place | null {
  const name = path.at(-1) as string;
  if (/_ids?$/.test(name)) return { path, name: name.replace(/s$/, '') };
  const list = items === undefined || items.properties !== undefined ? undefined : LISTS[name];
  return list === undefined ? null : { path, name: list };
}

/** Returns every place of an id in the path, the query and the body of an operation. */
function placesOf(world: World, pattern: string, method: string): Place[] {
  const { parameters, body, schemaOf } = inputsOf(world, pattern, method);
  const within = (given: Schema, path: readonly string[]): Place[] => {
    const { properties = {}, items, anyOf = [] } = schemaOf(given);
    const place = placeOf(path, items && { items: schemaOf(items) });
    if (place !== null) return [place];
    return [
      ...Object.entries(properties).flatMap(([name, field]) => within(field, [...path, name])),
      ...(items === undefined ? [] : within(items, [...path, '[]'])),
      ...anyOf.flatMap((option) => within(option, path)),
    ];
  };
  const named = parameters
    .filter((parameter) => parameter.in !== 'header')
    .flatMap(({ in: where, name, schema }) => placeOf([where, name], schema) ?? []);
  const found = [...named, ...(body === undefined ? [] : within(body, ['body']))];
  return [...new Map(found.map((place) => [place.path.join('.'), place])).values()];
}

/** Returns the value with an id at a place, in each entry of a list on the way. */
function withId(value: unknown, [step, ...rest]: readonly string[], id: string): unknown {
  if (step === undefined) return id;
  if (step === '[]')
    return (Array.isArray(value) && value.length > 0 ? value : [{}]).map((entry) => withId(entry, rest, id));
  const fields = (value ?? {}) as Record<string, unknown>;
  const isList = rest.length === 0 && (/_ids$/.test(step) || step in LISTS);
  return { ...fields, [step]: isList ? [id] : withId(fields[step], rest, id) };
}

/** What only a final run has. */
const OF_FINAL_RUN = /\/(taken|verify|evidence)$/;

function idOf({ ids }: World, pattern: string, name: string, whose: keyof Ids): string {
  const isFinal = name === 'run_id' && OF_FINAL_RUN.test(pattern);
  return ids[isFinal ? 'final_run_id' : name]?.[whose] ?? 'none';
}

/** Returns the parameter of the query by which a route is asked about one employer, or else one employee. */
function filterOf(world: World, pattern: string, method: string): string | undefined {
  const { parameters } = inputsOf(world, pattern, method);
  const names = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  return ['employer_id', 'employee_id'].find((wanted) => names.includes(wanted));
}

/** Returns a response without what differs between any two. */
function shownOf({ status, headers, text }: Answer): object {
  const { date: _, 'content-length': __, ...others } = headers;
  return { status, headers: others, text };
}

onEitherEngine('a limited token gets the same for an id of another employer as for no id', async (t) => {
  const world = await startWorld(t);
  const { app, call, ids, tokenFor } = world;
  const secrets = Object.values(ids)
    .filter(({ foreign, unknown }) => foreign.length > 4 && foreign !== unknown)
    .map(({ foreign }) => foreign);
  const routes = app.routeTable.routes.filter(({ scope, hidden }) => scope !== 'public' && !hidden);
  t.ok(routes.length >= 60, 'all routes are in the table');
  const kept = await rowsOfForeign(world);
  for (const scope of SCOPES) {
    const token = await tokenFor([EMPLOYER], scope);
    for (const { methods, url: pattern, scope: needed, employers: rule } of routes) {
      // test/api/auth.test.ts asks routes without their scope.
      const isEnough = ([needed].flat() as Scope[]).some((one) => allows([scope], one));
      if (needed !== 'any' && needed !== 'self' && !isEnough) continue;
      const route = `${methods[0]} ${pattern}`;
      const ask = async (whose: keyof Ids): Promise<Answer> => {
        const id = (name: string): string => idOf(world, pattern, name, whose);
        const path = pattern.replace(/:([a-z_]+)/g, (_, name: string) => encodeURIComponent(id(name)));
        const name = filterOf(world, pattern, methods[0] as string);
        const url = name === undefined ? path : `${path}?${name}=${encodeURIComponent(id(name))}`;
        const method = methods[0] as NonNullable<Request['method']>;
        const isBare = method === 'GET' || (method === 'DELETE' && BODIES[route] === undefined);
        const body = isBare ? {} : { body: BODIES[route]?.(id) ?? {} };
        return call({ method, url, token, ...body });
      };
      const [foreign, unknown] = [await ask('foreign'), await ask('unknown')];
      t.strictSame(shownOf(foreign), shownOf(unknown), `${scope}: ${route}`);
      const isRefused = rule === 'refused';
      t.equal(foreign.status === 403, isRefused, `${scope}: ${route} ${foreign.status}`);
      // The following routes need the rows of the token's employer.
      if (methods[0] === 'DELETE' || (scope === 'all' && methods[0] !== 'GET')) continue;
      const own = await ask('own');
      // A person must approve, so a program's token gets another 403.
      const isOfAll = own.status === 403 && /data of all employers/.test(own.text);
      t.equal(isOfAll, isRefused, `${scope}: ${route} of its own: ${own.status}`);
      if (!isRefused && methods[0] === 'GET' && pattern.includes(':'))
        t.not(own.status, 404, `${scope}: ${route} shows its own`);
      const shown = secrets.filter((secret) => own.text.includes(secret));
      t.strictSame(shown, [], `${scope}: ${route} hides the other employer`);
    }
  }
  t.strictSame(await rowsOfForeign(world), kept, 'nothing of the other employer changed');
});

/** The lists that operations are about, by the name of their field. Others are parts of a resource. */
const ROWS = /^(data|findings|overrides|approvals|codes|versions|assignments|schedules)$/;

/** Returns the numbers of rows of the lists in a response. */
function countsIn({ json }: Answer): number[] {
  const lists = Object.entries((json ?? {}) as object).filter(([name]) => ROWS.test(name));
  return lists.map(([, rows]) => rows.length);
}

onEitherEngine('each list of the matrix has a row of the token and a row that it must hide', async (t) => {
  const world = await startWorld(t);
  const { app, call, tokenFor } = world;
  const tokens = { own: await tokenFor([EMPLOYER], 'all'), foreign: await tokenFor([FOREIGN], 'all') };
  let lists = 0;
  for (const { methods, url: pattern, scope, hidden, employers: rule } of app.routeTable.routes) {
    if (methods[0] !== 'GET' || scope === 'public' || hidden || rule === 'refused' || rule === 'none')
      continue;
    for (const whose of ['own', 'foreign'] as const) {
      const id = (name: string): string => encodeURIComponent(idOf(world, pattern, name, whose));
      const name = filterOf(world, pattern, 'GET');
      const path = pattern.replace(/:([a-z_]+)/g, (_, param: string) => id(param));
      const answer = await call({ url: name ? `${path}?${name}=${id(name)}` : path, token: tokens[whose] });
      const counts = countsIn(answer);
      lists += counts.length;
      t.notOk(counts.includes(0), `${whose}: ${pattern} lists nothing: fill the world`);
    }
  }
  t.ok(lists > 30, `${lists} lists`);
});

/** Where a foreign id is refused in another way than an unknown one, and how. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  'PUT /v1/payroll-runs/:run_id path.run_id': /belongs to another employer/,
  'POST /v1/employee-changes/new-hire body.employee_id': /employee-elsewhere/,
  'POST /v1/employee-changes/batch body.[].employee_id': /"elsewhere"/,
  'PUT /v1/employers/:employer_id/census body.employees.[].employee_id': /employee-elsewhere/,
  'POST /v1/employers/:employer_id/census/validate body.employees.[].employee_id': /employee-elsewhere/,
};

onEitherEngine('a foreign id in any place of an input reads and changes nothing', async (t) => {
  const world = await startWorld(t);
  const { app, call, ids, tokenFor } = world;
  const token = await tokenFor([EMPLOYER], 'all');
  const kept = await rowsOfForeign(world);
  const tried = new Set<string>();
  let asked = 0;
  for (const { methods, url: pattern, scope, hidden, employers: rule } of app.routeTable.routes) {
    if (scope === 'public' || hidden || rule === 'refused') continue;
    const method = methods[0] as NonNullable<Request['method']>;
    const route = `${method} ${pattern}`;
    for (const { path, name } of placesOf(world, pattern, method)) {
      const [where, ...within] = path as [string, ...string[]];
      const place = `${route} ${path.join('.')}`;
      const ofName = ids[name];
      if (ofName === undefined) t.fail(`${place}: give the test a foreign ${name}`);
      if (ofName === undefined || ofName.foreign === ofName.unknown) continue;
      const ask = async (id: string): Promise<Answer> => {
        const own = (field: string): string => ids[field]?.own ?? 'none';
        const given = (field: string): string => (where === 'path' && within[0] === field ? id : own(field));
        const url = pattern.replace(/:([a-z_]+)/g, (_, field: string) => encodeURIComponent(given(field)));
        const query = where === 'query' ? { [within[0] as string]: id } : {};
        const filter = filterOf(world, pattern, method);
        const reason = within[0] === 'same_person' ? REASON : {};
        const search = new URLSearchParams({ ...(filter && { [filter]: own(filter) }), ...query, ...reason });
        const body = BODIES[route]?.(own) ?? {};
        const sent = where === 'body' ? withId(body, within, id) : body;
        const isBare = method === 'GET' || (method === 'DELETE' && BODIES[route] === undefined);
        return call({ method, url: `${url}?${search}`, token, ...(isBare ? {} : { body: sent }) });
      };
      // Ids of requests that succeed become known.
      asked += 1;
      const unknownId = `${ofName.unknown}${asked}`;
      const [foreign, unknown] = [await ask(ofName.foreign), await ask(unknownId)];
      const isMalformed = [foreign, unknown].some(({ status }) => status === 400 || status >= 500);
      t.notOk(isMalformed, `${place}: ${foreign.status}, ${foreign.text.slice(0, 300)}`);
      const refusal = REFUSED[place];
      if (refusal !== undefined) t.match(foreign.text, refusal, place);
      else {
        const shown = (answer: Answer, id: string) =>
          JSON.stringify(shownOf(answer))
            .replaceAll(id, 'ID')
            // Ids, and the hash of a comparison.
            .replace(/[0-9a-f-]{36}|\\"etag\\":\\"[\w-]{43}/g, 'ID');
        t.equal(shown(foreign, ofName.foreign), shown(unknown, unknownId), place);
      }
      tried.add(place);
    }
  }
  t.strictSame(
    Object.keys(REFUSED).filter((place) => !tried.has(place)),
    [],
  );
  t.ok(tried.size > 90, `${tried.size} places`);
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
