/** One search: by name without case and accents, by id in any case, and only what the caller may see. */
import t from 'tap';
import { FOUND_MAX } from '../../src/api/operations/search.ts';
import { transact } from '../../src/database/transaction.ts';
import { folded } from '../../src/names/fold.ts';
import { changedNames, storeNames } from '../../src/names/names.ts';
import { createNameIndex } from '../../src/names/search.ts';
import { census, employee } from '../contract/samples.ts';
import { onEitherEngine } from '../support/engine.ts';
import { deduct, readyEmployer } from '../support/payroll.ts';
import { deductionOf, deliver } from './deliver.ts';
import { type Running, start } from './start.ts';

const test = onEitherEngine.with(start);

type Person = { employee_id: string; first_name: string; last_name: string };
const person = (employee_id: string, name: string): Person => {
  const [first_name = '', last_name = ''] = name.split(' ');
  return { employee_id, first_name, last_name };
};

async function stage(
  { call }: Running,
  employerId: string,
  people: readonly Person[],
  legal = 'Acme Incorporated',
) {
  const organization = { ...census.organization, legal_business_name: legal };
  const body = { organization, employees: people.map((one) => ({ ...employee, ...one })) };
  const { status, text } = await call({ method: 'PUT', url: `/v1/employers/${employerId}/census`, body });
  if (status >= 300) throw new Error(text);
}

async function found({ call }: Running, text: string, token?: string) {
  const { status, json } = await call({
    method: 'POST',
    url: '/v1/search',
    body: { text },
    ...(token && { token }),
  });
  if (status !== 200) throw new Error(`${status}`);
  const ids = (group: string, id = 'id') => json[group].data.map((row: Record<string, string>) => row[id]);
  return {
    employees: ids('employees', 'employee_id'),
    employers: ids('employers', 'employer_id'),
    ...{ deductions: ids('deductions'), runs: ids('runs'), events: ids('events') },
    json,
  };
}

t.test('a name is folded to words without case, accents and marks', async (t) => {
  t.equal(folded('  Zoë O’Brien-ŁUKASZ, Jr. '), 'zoe obrien lukasz jr');
  t.equal(folded('Straße İlker ﬁ 王芳'), 'strasse ilker fi 王芳');
});

test('employees are found by the beginnings of names, and by ids in any case', async (t, running) => {
  await stage(running, 'acme', [
    person('Emp-A1', 'Zoë Łukasz'),
    person('Emp-A2', 'José Müller-Ortiz'),
    person('Emp-A3', 'Jo Long'),
  ]);
  const employees = async (text: string) => (await found(running, text)).employees;
  t.strictSame(await employees('zoe'), ['Emp-A1']);
  t.strictSame(await employees('LUK zo'), ['Emp-A1']);
  t.strictSame(await employees('ortiz'), ['Emp-A2']);
  t.strictSame(await employees('jo'), ['Emp-A3', 'Emp-A2'], 'by last name');
  t.strictSame(await employees('mull x'), []);
  t.strictSame(await employees('emp-a'), ['Emp-A3', 'Emp-A1', 'Emp-A2']);
  t.strictSame(await employees('EMP-A2'), ['Emp-A2']);
  t.strictSame(await employees('%'), []);
});

test('a name that changed is found at once, and whole words come first', async (t, running) => {
  const others = Array.from({ length: 30 }, (_, place) => person(`e${place}`, `Lisbeth Lichen`));
  await stage(running, 'acme', [...others, person('x', 'Li Wu')]);
  const first = await found(running, 'li');
  t.equal(first.employees.length, 8);
  t.ok(first.employees.includes('x'));
  t.equal(first.json.employees.has_more, true);
  t.strictSame((await found(running, 'gao')).employees, []);
  Object.assign(running.parts, { now: () => new Date('2026-12-01T00:00:00.000Z') });
  await stage(running, 'acme', [...others, person('x', 'Li Gao')]);
  t.strictSame((await found(running, 'gao')).employees, ['x']);
});

test('everything else is found by id, and employers by their legal name', async (t, running) => {
  const { db, call } = running;
  await readyEmployer(t, db);
  await stage(running, 'other', [person('ana', 'Ana Ek')], 'Öland Bakery LLC');
  await deduct(db, 'evt-9', { id: 'ded_01J', employee_id: 'emp-1' });
  const run = { employer_id: 'acme', pay_frequency: 'biweekly', pay_date: '2026-07-17' };
  await call({
    method: 'PUT',
    url: '/v1/payroll-runs/Run-7',
    body: { ...run, period_start: '2026-07-01', period_end: '2026-07-14' },
  });
  t.strictSame((await found(running, 'bakery OLAND')).employers, ['other']);
  t.strictSame((await found(running, 'ACM')).employers, ['acme']);
  t.strictSame((await found(running, 'ded_01')).deductions, ['ded_01J']);
  t.strictSame((await found(running, 'Run-')).runs, ['Run-7']);
  t.strictSame((await found(running, '2026-07-17')).runs, ['Run-7']);
  t.strictSame((await found(running, 'EVT-9')).events, ['evt-9']);
  t.strictSame((await found(running, 'EMP-1')).employees, ['emp-1'], 'without a name');
});

test('a token finds what its scopes and employers let it see', async (t, running) => {
  const { db } = running;
  await stage(running, 'acme', [person('ana', 'Ana Ek')]);
  await stage(running, 'globex', [person('anders', 'Anders Ek')]);
  await deliver(
    db,
    [deductionOf('an-event', { id: 'an-ded', employee_id: 'anders' })],
    running.parts.now().toISOString(),
  );
  const scopes = ['ledger:read', 'runs:read', 'events:read'] as const;
  const limited = await running.tokenFor(['acme'], ...scopes, 'names:read');
  t.match(await found(running, 'an', limited), { employees: ['ana'], deductions: [], events: [] });
  t.match(await found(running, 'ek', limited), { employees: ['ana'] });
  t.match(await found(running, 'globex', limited), { employers: [] });
  const nameless = await running.tokenWith(...scopes);
  t.match(await found(running, 'ek', nameless), { employees: [] });
  const byId = await found(running, 'ana', nameless);
  t.match(byId.json.employees.data, [{ employee_id: 'ana', first_name: null, last_name: null }]);
  t.match(byId.json.employers.data, []);
  const none = await running.tokenWith('metrics:read', 'names:read');
  t.match(await found(running, 'an', none), { employees: [], employers: [], deductions: [], events: [] });
});

test('deductions of other employers do not hide the deductions that a token may see', async (t, running) => {
  const { db } = running;
  await stage(running, 'acme', [person('ana', 'Ana Ek')]);
  await stage(running, 'globex', [person('gus', 'Gus Ek')]);
  const of = (employee_id: string, id: string) => deductionOf(`evt-${id}`, { id, employee_id });
  const others = Array.from({ length: FOUND_MAX + 2 }, (_, place) => of('gus', `ded-${place}`));
  await deliver(db, [...others, of('ana', 'ded-z')], running.parts.now().toISOString());
  const limited = await running.tokenFor(['acme'], 'ledger:read');
  t.strictSame((await found(running, 'ded-', limited)).deductions, ['ded-z']);
  const unlimited = await found(running, 'ded-');
  t.equal(unlimited.deductions.length, FOUND_MAX);
  t.equal(unlimited.json.deductions.has_more, true);
});

test('a search leaves one record a day for each employer whose names it showed', async (t, running) => {
  await stage(running, 'acme', [person('ana', 'Ana Ek')]);
  const token = await running.tokenWith('ledger:read', 'names:read');
  for (const text of ['ana', 'ek', 'nobody']) await found(running, text, token);
  const records = await running.db
    .selectFrom('audit_records')
    .selectAll()
    .where('action', '=', 'name.show')
    .execute();
  t.match(records, [{ employer_id: 'acme' }]);
  t.notMatch(JSON.stringify([records, running.logged]), /nobody|ana/i, 'no search term is stored or logged');
});

test('a row has the employer of the name that it shows, not of the name that matched', async (t, running) => {
  const { db, encryptor } = running.parts;
  await stage(running, 'acme', [person('e1', 'Ann Smith')]);
  const hired = [{ ...person('e1', 'Ann Smythe'), employer_id: 'oak' }];
  const names = await changedNames(db, encryptor, hired, '2999-01-01T00:00:00.000Z');
  await transact(db, (trx) => storeNames(trx, names));
  const { json } = await found(running, 'smith');
  t.strictSame(json.employees.data, hired);
});

test('other work runs while the index is built', async (t, running) => {
  const many = Array.from({ length: 3_000 }, (_, place) => person(`e${place}`, `Name${place} Surname`));
  await stage(running, 'acme', many);
  const index = createNameIndex(running.db);
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  t.strictSame(
    (await index.find(running.parts.encryptor, 'name2999', null, 2)).map(({ employee_id }) => employee_id),
    ['e2999'],
  );
  isOver = true;
  t.ok(turns >= many.length / 100, `${turns} turns`);
});

test('the index of names is dropped after 30 minutes', async (t, { db, parts, ...running }) => {
  await stage(running as Running, 'acme', [person('ana', 'Ana Ek')]);
  const planned: { drop: () => void; ms: number }[] = [];
  const index = createNameIndex(db, (drop, ms) => planned.push({ drop, ms }));
  let decrypted = 0;
  const { encryptor } = parts;
  const decrypt: typeof encryptor.decrypt = (...parameters) => {
    decrypted += 1;
    return encryptor.decrypt(...parameters);
  };
  const find = () => index.find({ ...encryptor, decrypt }, 'ana', null, 2);
  for (let search = 0; search < 2; search += 1) t.equal((await find()).length, 1);
  t.equal(decrypted, 1, 'the second search uses the same index');
  t.strictSame(
    planned.map(({ ms }) => ms / 60_000),
    [30],
  );
  planned[0]?.drop();
  t.equal((await find()).length, 1);
  t.equal(decrypted, 2);
  t.equal(planned.length, 2, 'the next index is dropped too');
});
