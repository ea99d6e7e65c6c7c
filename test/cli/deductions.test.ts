import type { Test } from 'tap';
import { holdServeLock } from '../../src/database/open.ts';
import { apply, deductionOf, deliver, receive } from '../api/deliver.ts';
import { onEitherEngine } from '../support/engine.ts';
import { employ } from '../support/payroll.ts';
import { here, jsonOf, type Variables, withDatabase, withFixtures } from './harness.ts';
import { filesOf } from './payroll-stage.ts';

const test = onEitherEngine.with(withFixtures);

async function ids(t: Parameters<typeof here>[0], env: Variables, ...filter: string[]): Promise<string[]> {
  const { data } = jsonOf(await here(t, env, ['deductions', 'list', '--json', ...filter]));
  return data.map((deduction: { id: string }) => deduction.id);
}

test('filters narrow the list', async (t, { env }) => {
  t.equal((await ids(t, env)).length, 8);
  t.same(await ids(t, env, '--line-of-coverage', 'dental'), ['ded_fixture_dental', 'ded_fixture_unmatched']);
  t.same(await ids(t, env, '--employee', 'maple-bakery-002'), ['ded_fixture_vision']);
  t.same(await ids(t, env, '--employee', 'maple-bakery-002', '--on', '2026-07-01'), []);
  t.same(await ids(t, env, '--employee', 'maple-bakery-002', '--on', '2026-06-30'), ['ded_fixture_vision']);
  t.same(await ids(t, env, '--known-at', '2026-01-14T23:59:59Z'), []);
  t.same(await ids(t, env, '--matched', 'true'), []);
  t.same(await ids(t, env, '--employer', 'maple-bakery'), []);
  t.equal((await ids(t, env, '--taxability', 'pre_tax', '--matched', 'false')).length > 0, true);
});

const HEAD =
  'id,employee_id,line_of_coverage,member_contribution,employer_contribution,period,taxability,effective_start';
const ROWS = [
  'ded-1,emp-1,medical,150.00,350.00,monthly,pre_tax,2026-01-01',
  'ded-2,emp-2,dental,12.50,0.00,monthly,pre_tax,2026-01-01',
];

/** A migrated database and a file to import. */
async function stage(t: Test, name: string, content: string) {
  const { env, db } = await withDatabase(t);
  const path = filesOf(t)(name, content);
  return { env, db, path, add: (...more: string[]) => here(t, env, ['import', 'deductions', path, ...more]) };
}

onEitherEngine('imported deductions are applied, and the same file again changes nothing', async (t) => {
  const { env, db, add } = await stage(t, 'a.csv', [HEAD, ...ROWS, ''].join('\r\n'));
  await employ(db, 'emp-1');
  t.match(await add(), { code: 0, stdout: '2 rows: 2 imported, 0 already imported\n', stderr: '' });
  const list = ['deductions', 'list', '--json'];
  const first = jsonOf(await here(t, env, list));
  t.match(first.data, [
    { id: 'ded-1', member_contribution: '150.00', version: 1, employer_id: 'acme' },
    { id: 'ded-2', member_contribution: '12.50', version: 1 },
  ]);
  t.match(jsonOf(await add('--json')), { rows: 2, imported: 0, applied: true });
  t.strictSame(jsonOf(await here(t, env, list)), first);
});

onEitherEngine('an import leaves applying to a running serve', async (t) => {
  const { env, add } = await stage(t, 'a.csv', [HEAD, ...ROWS, ''].join('\n'));
  if (env.DATABASE_URL?.startsWith('sqlite:') !== true) return t.pass('sidecars take turns there');
  const release = holdServeLock(env.DATABASE_URL);
  t.match(await add(), { code: 0, stdout: /2 imported/, stderr: /The running sidecar applies them/ });
  t.match(jsonOf(await here(t, env, ['events', 'list', '--state', 'pending', '--json'])).data, [{}, {}]);
  release();
  t.match(await add(), { code: 0, stdout: '2 rows: 0 imported, 2 already imported\n', stderr: '' });
  t.match(jsonOf(await here(t, env, ['events', 'list', '--state', 'pending', '--json'])).data, []);
});

const QUARANTINED = 'msg_fixture0000000000016';

test('filters narrow the list', async (t, { env }) => {
  const count = async (...filter: string[]): Promise<number> =>
    jsonOf(await here(t, env, ['events', 'list', '--json', ...filter])).data.length;
  t.equal(await count('--state', 'quarantined'), 1);
  t.equal(await count('--state', 'ignored'), 1);
  t.equal(await count('--type', 'employee-census.sync-request'), 1);
  t.equal(await count('--from', '2026-01-15T00:00:00Z'), 16);
  t.equal(await count('--from', '2026-01-15T00:00:00.001Z'), 0);
  t.equal(await count('--until', '2026-01-15'), 0);
});

test('the body of an event is shown by show only', async (t, { env }) => {
  for (const format of [[], ['--json']]) {
    t.match((await here(t, env, ['events', 'show', QUARANTINED, ...format])).stdout, /Silver PPO 3000/);
    t.notMatch((await here(t, env, ['events', 'list', ...format])).stdout, /Silver PPO 3000/);
  }
  const shown = jsonOf(await here(t, env, ['events', 'show', QUARANTINED, '--json']));
  t.match(shown, {
    id: QUARANTINED,
    state: 'quarantined',
    body: /^\{.*\}$/,
    conflicts: { open: false, stored: 0 },
  });
  t.match(await here(t, env, ['events', 'show', 'msg_x']), { code: 1, stdout: '', stderr: /no event msg_x/ });
});

test('events are reprocessed by id, all or none', async (t, { env, db }) => {
  const pending = async () =>
    jsonOf(await here(t, env, ['events', 'list', '--state', 'pending', '--json'])).data.length;
  const mistyped = await here(t, env, ['events', 'reprocess', QUARANTINED, 'msg_x']);
  t.match(mistyped, { code: 1, stderr: /no event msg_x/ });
  t.equal(await pending(), 0);
  const ran = await here(t, env, ['events', 'reprocess', QUARANTINED, 'msg_fixture0000000000003']);
  t.match(ran, { code: 0, stdout: '2 events set to pending\n' });
  t.equal(await pending(), 2);
  await apply(db);
  t.equal(await pending(), 0);
});

onEitherEngine('events are reprocessed by filter in batches, except dismissed and newer ones', async (t) => {
  const { env, db } = await withDatabase(t);
  const bodies = Array.from({ length: 1_203 }, (_, index) => ({
    eventId: `msg_${index}`,
    body: Buffer.from('?'),
  }));
  await receive(db, bodies);
  await apply(db);
  await here(t, env, ['events', 'dismiss', 'msg_7', '--reason', 'nonsense', '--yes']);
  const ran = await here(t, env, ['events', 'reprocess', '--state', 'quarantined', '--json'], {
    isTTY: true,
  });
  t.same(jsonOf(ran), { reprocessed: 1_202, without_body: 0 });
  t.match(ran.stderr, /events set to pending: 1202/, 'with progress on a terminal');
  const quiet = await here(t, env, ['events', 'reprocess', '--state', 'quarantined', '--json']);
  t.same(jsonOf(quiet), { reprocessed: 0, without_body: 0 });
  t.equal(quiet.stderr, '', 'and without one elsewhere');
});

onEitherEngine('a deduction is assigned to one of the employers of its employee', async (t) => {
  const { env, db } = await withDatabase(t);
  await employ(db, 'emp-1');
  await employ(db, 'emp-1', { employer_id: 'globex' });
  await deliver(db, [deductionOf('e1', { id: 'ded-1', employee_id: 'emp-1' }, '2026-06-01T00:00:00Z')]);
  const assign = (employer: string) =>
    here(t, env, [
      ...['deductions', 'assign', 'ded-1', '--employer', employer, '--effective-on', '2026-07-06'],
      ...['--reason', 'elected in this job'],
    ]);
  const stdout = 'Assigned ded-1 to globex from the pay period of 2026-07-06\n';
  t.match(await assign('globex'), { code: 0, stdout });
  t.match(await assign('nobody'), { code: 1, stderr: /--employer must be an employer with whom the/ });
  const list = (id: string) => here(t, env, ['deductions', 'assignments', id]);
  t.match((await list('ded-1')).stdout, /^globex +2026-07-06 +.+ +elected in this job$/m);
  t.match(await list('ded-9'), { code: 1, stderr: /ded-9/ });
});
