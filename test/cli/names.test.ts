/** `--names`: commands show the names of employees to those who may see them. */
import t, { type Test } from 'tap';
import { withNames } from '../../src/cli/names.ts';
import type { Performers } from '../../src/cli/performing.ts';
import { systemClock } from '../../src/clock.ts';
import { transact } from '../../src/database/transaction.ts';
import { changedNames, storeNames } from '../../src/names/names.ts';
import { VERSION } from '../../src/version.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { FIRST_TOKEN, start } from '../api/start.ts';
import { EMPLOYER, employ, readyEmployer } from '../support/payroll.ts';
import { environment, here, jsonOf } from './harness.ts';
import { filesOf, optionsOn, PAY_DATE } from './payroll-stage.ts';

/** The key of the test's encryptor. */
const DATA_KEYS = `test:${Buffer.alloc(32, 7).toString('base64')}`;

/** A run with emp-1 and emp-2. emp-2 has no name, and emp-3 is hired later. Commands run on the database or at a sidecar. */
async function stage(t: Test) {
  const { DATABASE_URL: _, ...usual } = environment(t);
  const running = await start(t, {
    now: systemClock,
    sharedNow: async () => systemClock(),
    version: VERSION,
  });
  const { db, parts, app } = running;
  const now = systemClock().toISOString();
  await readyEmployer(t, db, now);
  await employ(db, 'emp-3', { hire_date: '2099-01-01' });
  await deliver(db, [deductionOf('e-3', { id: 'ded-3', employee_id: 'emp-3' })], now);
  const ann = { employer_id: EMPLOYER, employee_id: 'emp-1', first_name: 'Ann', last_name: 'Ødegård' };
  const bo = { employer_id: EMPLOYER, employee_id: 'emp-3', first_name: 'Bo', last_name: 'Ek' };
  const changed = await changedNames(db, parts.encryptor, [ann, bo], now);
  await transact(db, (trx) => storeNames(trx, changed));
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const local = { ...usual, DATA_KEYS, DATABASE_URL: running.url };
  const at = (token: string) => ({ ...usual, SIDECAR_URL: url, SIDECAR_TOKEN: token });
  await here(t, local, ['run', 'create', 'r', ...optionsOn(PAY_DATE)]);
  return { ...running, local, at, remote: at(FIRST_TOKEN) };
}

t.test('a name follows the id of its employee, on the database and at a running sidecar', async (t) => {
  const { local, remote } = await stage(t);
  const payroll = filesOf(t)(
    'payroll.csv',
    'employee_id,line_of_coverage,member_amount\nemp-1,vision,1.00\n',
  );
  const shown = {
    'deductions list':
      /\bemployee {2}name +deduction\b[\s\S]*\bemp-1 +Ann Ødegård +ded-1\b[\s\S]*\bemp-2 +- +ded-2\b/,
    'run show r': /\bnot in the run {2}name {3,}reason\nemp-3 +Bo Ek\b/,
    'run lines r': /^emp-1 {2}Ann Ødegård\n {2}medical[\s\S]*^emp-2\n {2}dental/m,
    [`run audit r ${payroll}`]: /\bemployee {2}name\b[\s\S]*\bemp-1 +Ann Ødegård +vision\b/,
  };
  for (const [command, text] of Object.entries(shown)) {
    const argv = [...command.split(' '), '--names'];
    const inPlace = await here(t, local, argv);
    t.match(inPlace.stdout, text, command);
    t.strictSame(await here(t, remote, argv), inPlace, command);
  }
  const without = await here(t, local, ['deductions', 'list']);
  t.notMatch(without.stdout, /name|Ann/, 'no name without the option');
});

t.test('rows of JSON have names, and CSV files do not', async (t) => {
  const { local } = await stage(t);
  const { data } = jsonOf(await here(t, local, ['deductions', 'list', '--names', '--json']));
  const names = data.map((row: { employee_id: string; name: string | null }) => [row.employee_id, row.name]);
  t.strictSame(names.toSorted(), [
    ['emp-1', 'Ann Ødegård'],
    ['emp-2', null],
    ['emp-3', 'Bo Ek'],
  ]);
  const { code, stderr } = await here(t, local, ['run', 'lines', 'r', '--names', '--csv']);
  t.strictSame([code, stderr], [2, 'benefits-sidecar: use either --csv or --names: files have no names\n']);
});

t.test('names that a command shows are recorded once a day', async (t) => {
  const { db, local, remote } = await stage(t);
  for (const env of [local, local, remote]) await here(t, env, ['run', 'lines', 'r', '--names']);
  const records = await db
    .selectFrom('audit_records')
    .select(['actor_kind', 'employer_id'])
    .where('action', '=', 'name.show')
    .execute();
  t.strictSame(records.map(({ actor_kind, employer_id }) => `${actor_kind} ${employer_id}`).toSorted(), [
    `cli ${EMPLOYER}`,
    `token ${EMPLOYER}`,
  ]);
});

t.test('a token that may not see names is refused, and prints nothing', async (t) => {
  const { at, tokenWith } = await stage(t);
  const reader = at(await tokenWith('ledger:read'));
  const refused = await here(t, reader, ['deductions', 'list', '--names']);
  t.match(refused, { code: 1, stdout: '', stderr: /names:read/ });
  t.equal((await here(t, reader, ['deductions', 'list'])).code, 0);
});

t.test('names are looked up 500 at a time, and each name once', async (t) => {
  const counts: number[] = [];
  const perform = async (_op: unknown, { body }: { body: { employee_ids: string[] } }) => {
    counts.push(body.employee_ids.length);
    const employees = body.employee_ids.map((employee_id) => ({
      employee_id,
      first_name: 'A',
      last_name: 'B',
    }));
    return { result: { employees } };
  };
  const ids = Array.from({ length: 501 }, (_, at) => ({
    employee_id: `e-${at}`,
    nested: { employee_id: 'e-0' },
  }));
  const rows = await withNames(perform as never as Performers['perform'], ids);
  t.strictSame(counts, [500, 1]);
  t.strictSame(rows.at(-1), {
    employee_id: 'e-500',
    name: 'A B',
    nested: { employee_id: 'e-0', name: 'A B' },
  });
});
