/** Names of employees: kept from censuses and hires, shown to those who may see them, recorded once a day. */
import { countDue, dropDue } from '../../src/operations/retention.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { census, employee, newHire } from '../contract/samples.ts';
import { onEitherEngine } from '../support/engine.ts';
import { employ, finalizedOn, readyEmployer } from '../support/payroll.ts';
import { type Running, start } from './start.ts';

const test = onEitherEngine.with(start);

const DAY_MS = 86_400_000;
type Person = { employee_id: string; first_name?: string; last_name?: string };

async function stage({ call }: Pick<Running, 'call'>, employerId: string, people: readonly Person[]) {
  const body = { ...census, employees: people.map((person) => ({ ...employee, ...person })) };
  const { status, text } = await call({ method: 'PUT', url: `/v1/employers/${employerId}/census`, body });
  if (status >= 300) throw new Error(text);
}

async function hire({ call }: Running, employerId: string, person: Person) {
  const body = { ...newHire, employer_id: employerId, ...person };
  const { status, text } = await call({ method: 'POST', url: '/v1/employee-changes/new-hire', body });
  if (status >= 300) throw new Error(text);
}

async function namesOf({ call }: Running, employee_ids: readonly string[], token?: string) {
  const body = { employee_ids, employer_ids: ['acme', 'globex'] };
  const answer = await call({ method: 'POST', url: '/v1/names', body, ...(token && { token }) });
  return answer.status === 200
    ? {
        employees: Object.fromEntries(
          answer.json.employees.map((one: Person) => [one.employee_id, `${one.first_name} ${one.last_name}`]),
        ),
        employers: answer.json.employers.map(({ employer_id }: { employer_id: string }) => employer_id),
      }
    : answer.status;
}

test('the newest census or hire gives the name, also of who left the census', async (t, running) => {
  const later = (days: number) => {
    const now = new Date(Date.parse('2026-02-01T12:00:00.000Z') + days * DAY_MS);
    Object.assign(running.parts, { now: () => now });
  };
  await stage(running, 'acme', [{ employee_id: 'ana' }, { employee_id: 'ben', last_name: 'Left' }]);
  later(1);
  await stage(running, 'acme', [{ employee_id: 'ana', last_name: 'Married' }]);
  later(2);
  await hire(running, 'globex', { employee_id: 'cleo', first_name: 'Cleo', last_name: 'Ñ' });
  const { employees, employers } = (await namesOf(running, ['ana', 'ben', 'cleo', 'nobody'])) as never;
  t.strictSame(employees, { ana: 'Grace Married', ben: 'Grace Left', cleo: 'Cleo Ñ' });
  t.strictSame(employers, ['acme'], 'the legal name is that of the staged census');
});

test('a limited token sees the names that its employers reported', async (t, running) => {
  await stage(running, 'acme', [{ employee_id: 'ana' }]);
  await stage(running, 'globex', [{ employee_id: 'gus' }]);
  const limited = await running.tokenFor(['acme'], 'names:read');
  t.strictSame(await namesOf(running, ['ana', 'gus'], limited), {
    employees: { ana: 'Grace Murray' },
    employers: ['acme'],
  });
});

test('names need names:read, which pii:read includes', async (t, running) => {
  await stage(running, 'acme', [{ employee_id: 'ana' }]);
  t.equal(await namesOf(running, ['ana'], await running.tokenWith('ledger:read', 'runs:read')), 403);
  t.match(await namesOf(running, ['ana'], await running.tokenWith('pii:read')), { employees: { ana: /./ } });
});

test('one record a day says to whom names of an employer were shown', async (t, running) => {
  await stage(running, 'acme', [{ employee_id: 'ana' }, { employee_id: 'ben' }]);
  const one = await running.tokenWith('names:read');
  await Promise.all([namesOf(running, ['ana'], one), namesOf(running, ['ben'], one)]);
  await namesOf(running, ['ana'], await running.tokenWith('names:read'));
  const tomorrow = new Date(running.parts.now().getTime() + DAY_MS);
  Object.assign(running.parts, { now: () => tomorrow });
  await namesOf(running, ['ana'], one);
  await namesOf(running, ['nobody'], one);
  const records = await running.db
    .selectFrom('audit_records')
    .select(['employer_id', 'actor_name'])
    .where('action', '=', 'name.show')
    .execute();
  t.strictSame(records.map(({ actor_name }) => actor_name).sort(), ['token 1', 'token 1', 'token 2']);
  t.ok(records.every(({ employer_id }) => employer_id === 'acme'));
});

test('names are encrypted, and one whose key is missing is left out', async (t, running) => {
  await stage(running, 'acme', [{ employee_id: 'ana', last_name: 'Secretive' }]);
  const [row] = await running.db.selectFrom('employee_names').selectAll().execute();
  t.notMatch(row?.ciphertext.toString('latin1') ?? '', 'Secretive');
  Object.assign(running.parts, { encryptor: createEncryptor([{ id: 'other', key: Buffer.alloc(32, 8) }]) });
  t.strictSame(await namesOf(running, ['ana']), { employees: {}, employers: [] });
});

test('a name is kept while employed, and through the year after the last paycheck', async (t, running) => {
  const { db, parts } = running;
  Object.assign(parts, { now: () => new Date('2024-03-01T12:00:00.000Z') });
  const ids = ['emp-1', 'emp-2', 'never-paid'];
  await stage(
    running,
    'acme',
    ids.map((employee_id) => ({ employee_id })),
  );
  await readyEmployer(t, db);
  await finalizedOn(db, '2026-07-17');
  for (const id of ['emp-1', 'never-paid'])
    await employ(db, id, { hire_date: employee.hire_date, termination_date: '2026-08-01' });
  const kept = async (day: string) => {
    const retention = { eventsMs: null, requestsMs: null };
    const sharedNow = async () => new Date(`${day}T12:00:00.000Z`);
    const due = { db, databaseUrl: running.url, retention, sharedNow, clockWarning: async () => null };
    const { names } = await dropDue(
      { ...due, actor: SYSTEM },
      await countDue(due),
      new AbortController().signal,
    );
    const rows = await db.selectFrom('employee_names').select('employee_id').orderBy('employee_id').execute();
    return { names, kept: rows.map(({ employee_id }) => employee_id) };
  };
  t.strictSame(await kept('2026-12-31'), { names: 1, kept: ['emp-1', 'emp-2'] });
  t.strictSame(await kept('2027-12-31'), { names: 0, kept: ['emp-1', 'emp-2'] });
  t.strictSame(await kept('2028-01-02'), { names: 1, kept: ['emp-2'] });
});
