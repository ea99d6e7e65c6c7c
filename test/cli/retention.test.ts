import type { Test } from 'tap';
import { storeClockWarning } from '../../src/database/instance.ts';
import type { Db } from '../../src/database/tables.ts';
import { deductionOf, deliver, eventOf } from '../api/deliver.ts';
import { onEitherEngine, onSqlite } from '../support/engine.ts';
import { schedule } from '../support/payroll.ts';
import { here, jsonOf, type Variables, withDatabase } from './harness.ts';
import { payrollStage } from './payroll-stage.ts';

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
const OLD = daysAgo(10);

/** Two old events and a new one, kept for three days. */
async function filled(t: Test): Promise<{ env: Variables; db: Db }> {
  const { env, db } = await withDatabase(t);
  await deliver(db, [deductionOf('old', { id: 'd1' }), eventOf('ignored', 'moon.landed', {})], OLD);
  await deliver(db, [deductionOf('new', { id: 'd2' })], daysAgo(1));
  return { env: { ...env, RETENTION_EVENTS: '3d' }, db };
}

const kept = async (db: Db) =>
  (await db.selectFrom('inbox').select('event_id').where('body', 'is not', null).execute()).map(
    ({ event_id }) => event_id,
  );

onEitherEngine('a dry run counts data to drop and drops nothing', async (t) => {
  const { env, db } = await filled(t);
  const ran = await here(t, env, ['retention', '--dry-run']);
  t.equal(ran.code, 0);
  t.match(ran.stdout, new RegExp(`event bodies +2 +${OLD.slice(0, 19)}Z +0\\.0 MiB`));
  t.match(ran.stderr, /RETENTION_REQUESTS is not set: request attempts are kept indefinitely/);
  const { due, dry_run } = jsonOf(await here(t, env, ['retention', '--dry-run', '--json']));
  t.equal(dry_run, true);
  t.match(due, { events: { count: 2, oldest: OLD }, conflicts: { count: 0 }, requests: null });
  t.equal((await kept(db)).length, 3);
});

onEitherEngine('retention drops bodies, and commands that need one report it', async (t) => {
  const { env, db } = await filled(t);
  const stdout = 'Deleted 2 event bodies and the attempts of 0 requests\n';
  t.match(await here(t, env, ['retention', '--yes']), { code: 0, stdout });
  t.strictSame(await kept(db), ['new']);
  t.match((await here(t, env, ['events', 'show', 'old'])).stdout, /^Deleted .*SHA-256 was [0-9a-f]{64}\.$/m);
  const again = await here(t, env, ['events', 'reprocess', 'new', 'old']);
  t.match(again, { code: 1, stderr: /old: The body of this event was deleted after RETENTION_EVENTS/ });
  const all = await here(t, env, ['events', 'reprocess', '--from', OLD]);
  t.match(all, { stdout: /^1 event set to pending/, stderr: /2 events skipped: the body was deleted/ });
});

onSqlite('retention waits while the sidecar on the file notices a wrong clock', async (t) => {
  const { env, db } = await filled(t);
  await storeClockWarning(db, 'set forward by 2 hours while the sidecar ran');
  const refused = { code: 1, stderr: /may be wrong \(set forward by 2 hours/ };
  t.match(await here(t, env, ['retention', '--yes']), refused);
  t.equal((await kept(db)).length, 3);
  t.match(await here(t, env, ['retention', '--dry-run']), { code: 0, stdout: /event bodies +2/ });
});

onEitherEngine('a pay schedule is set from a file and shown as it was set', async (t) => {
  const { env, file } = await payrollStage(t);
  const body = { schedules: [schedule({ pay_group: 'north' })] };
  const options = ['--employer', 'e', '--year', '2026'];
  const put = await here(t, env, ['schedule', 'put', file('s.json', JSON.stringify(body)), ...options]);
  t.equal(put.code, 0);
  t.match(put.stdout, /^biweekly +north +2026-07-17 +2026-06-29 +2026-07-12$/m);
  t.strictSame(jsonOf(await here(t, env, ['schedule', 'show', '--employer', 'e', '--json'])), {
    years: [{ year: '2026', ...body }],
  });
  const none = await here(t, env, ['codes', 'show', '--employer', 'e']);
  t.match(none, { code: 0, stdout: '', stderr: 'This employer has no payroll codes.\n' });
});

for (const [what, argv, content, line] of [
  ['an unknown field', 'codes', '{"codes":[],"colour":1}', /payroll codes is refused.*colour/],
  ['no JSON', 'codes', 'code', /c\.json is not valid JSON/],
] as const) {
  onEitherEngine(`an invalid setting is rejected in one line and nothing is saved: ${what}`, async (t) => {
    const { env, file } = await payrollStage(t);
    const ran = await here(t, env, [argv, 'put', file('c.json', content), '--employer', 'e']);
    t.match(ran, { code: 1, stdout: '', stderr: line });
    t.equal(ran.stderr.trimEnd().split('\n').length, 1);
    t.match(await here(t, env, [argv, 'show', '--employer', 'e']), { stdout: '' });
  });
}
