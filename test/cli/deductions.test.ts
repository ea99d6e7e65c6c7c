import type { Test } from 'tap';
import { holdServeLock } from '../../src/database/open.ts';
import { apply, receive } from '../api/deliver.ts';
import { newHire } from '../contract/samples.ts';
import { onEitherEngine } from '../support/engine.ts';
import { jsonOf, withDatabase, withFixtures } from './harness.ts';
import { filesOf } from './payroll-stage.ts';

const test = onEitherEngine.with(withFixtures);
const onEmpty = onEitherEngine.with(withDatabase);

/** Filters → the deductions listed. */
const LISTED = {
  '--line-of-coverage dental': 'ded_fixture_dental ded_fixture_unmatched',
  '--employee maple-bakery-002': 'ded_fixture_vision',
  '--employee maple-bakery-002 --on 2026-07-01': '',
  '--employee maple-bakery-002 --on 2026-06-30': 'ded_fixture_vision',
  '--known-at 2026-01-14T23:59:59Z': '',
  '--matched true': '',
  '--employer maple-bakery': '',
};
test('filters narrow the list of deductions', async (t, { json }) => {
  const list = async (filter: string) => (await json(`deductions list ${filter}`.trimEnd())).data;
  const ids = async (filter: string) => (await list(filter)).map(({ id }: { id: string }) => id).join(' ');
  for (const [filter, expected] of Object.entries(LISTED)) t.equal(await ids(filter), expected, filter);
  t.equal((await list('')).length, 8);
  t.ok((await list('--taxability pre_tax --matched false')).length > 0);
});

const CSV = `\
id,employee_id,line_of_coverage,member_contribution,employer_contribution,period,taxability,effective_start
ded-1,emp-1,medical,150.00,350.00,monthly,pre_tax,2026-01-01
ded-2,emp-2,dental,12.50,0.00,monthly,pre_tax,2026-01-01
`;

/** A migrated database and how to import two deductions. */
async function importing(t: Test) {
  const world = await withDatabase(t);
  const path = filesOf(t)('a.csv', CSV);
  return { ...world, add: (...more: string[]) => world.cli('import deductions', path, ...more) };
}
const onImport = onEitherEngine.with(importing);

onImport('an import is applied by the command, or by a running serve', async (t, { env, add, json }) => {
  if (env.DATABASE_URL?.startsWith('sqlite:') !== true) return t.pass('sidecars take turns there');
  const pending = async () => (await json('events list --state pending')).data.length;
  const release = holdServeLock(env.DATABASE_URL);
  t.strictSame(await add('--preview'), {
    code: 0,
    stdout: '2 rows: 2 new, 0 already imported\n',
    stderr: 'Nothing changed.\n',
  });
  t.match(await add(), { code: 0, stdout: /2 imported/, stderr: /The running sidecar applies them/ });
  t.equal(await pending(), 2);
  release();
  t.match(await add(), {
    code: 0,
    stdout: '2 rows: 0 imported, 2 already imported\n',
    stderr: 'Nothing changed.\n',
  });
  t.equal(await pending(), 0, 'without one, the command applies them');
});

onImport(
  'an import and a change name the near match of an unknown employee',
  async (t, { cli, add, json }) => {
    const hire = { ...newHire, employee_id: 'EMP-1' };
    await cli('change new-hire', filesOf(t)('hire.json', JSON.stringify(hire)));
    const rule = 'is in no census and no hire. The census has EMP-1';
    const named = await add('--json');
    t.match(jsonOf(named), { warnings: [{ path: 'deductions[0].employee_id', rule }] });
    const left = filesOf(t)('left.csv', 'employee_id,termination_date\r\nemp-1,2026-07-31\r\n');
    t.match(await cli('change termination', left), {
      code: 0,
      stderr: new RegExp(`changes\\[0\\].employee_id: ${rule}`),
    });
    const [change] = (await json('change termination', left)).results;
    t.match(change, { outcome: 'repeated', near_employee_id: 'EMP-1' });
  },
);

const QUARANTINED = 'msg_fixture0000000000016';

/** Filters → the number of events listed. */
const COUNTED = {
  '--state quarantined': 1,
  '--state ignored': 1,
  '--type employee-census.sync-request': 1,
  '--from 2026-01-15T00:00:00Z': 16,
  '--from 2026-01-15T00:00:00.001Z': 0,
  '--until 2026-01-15': 0,
};
test('filters narrow the list of events', async (t, { json }) => {
  for (const [filter, count] of Object.entries(COUNTED))
    t.equal((await json(`events list ${filter}`)).data.length, count, filter);
});

test('the body of an event is shown by show only', async (t, { cli, json }) => {
  for (const format of [[], ['--json']]) {
    t.match((await cli('events show', QUARANTINED, ...format)).stdout, /Silver PPO 3000/);
    t.notMatch((await cli('events list', ...format)).stdout, /Silver PPO 3000/);
  }
  const shown = { id: QUARANTINED, state: 'quarantined', body: /^\{.*\}$/ };
  t.match(await json('events show', QUARANTINED), { ...shown, conflicts: { open: false, stored: 0 } });
  t.match(await cli('events show msg_x'), { code: 1, stdout: '', stderr: /msg_x: There is no event/ });
});

test('events are reprocessed by id, all or none', async (t, { cli, json, db }) => {
  const pending = async () => (await json('events list --state pending')).data.length;
  t.match(await cli(`events reprocess ${QUARANTINED} msg_x`), {
    code: 1,
    stderr: /msg_x: There is no event/,
  });
  t.equal(await pending(), 0);
  const ran = await cli(`events reprocess ${QUARANTINED} msg_fixture0000000000003`);
  t.match(ran, { code: 0, stdout: '2 events set to pending\n' });
  t.equal(await pending(), 2);
  await apply(db);
  t.equal(await pending(), 0);
});

onEmpty('events are reprocessed by filter in batches, except dismissed and newer ones', async (t, world) => {
  const { db, cli } = world;
  const body = Buffer.from('?');
  await receive(
    db,
    Array.from({ length: 1_203 }, (_, index) => ({ eventId: `msg_${index}`, body })),
  );
  await apply(db);
  await cli('events dismiss msg_7 --reason nonsense --yes');
  const command = 'events reprocess --state quarantined --json';
  for (const reprocessed of [1_202, 0]) {
    const ran = await cli(command);
    t.same([jsonOf(ran), ran.stderr], [{ reprocessed, without_body: 0 }, '']);
  }
});
