import type { Test } from 'tap';
import { storeClockWarning } from '../../src/database/instance.ts';
import { deductionOf, deliver, eventOf } from '../api/deliver.ts';
import { onEitherEngine, onSqlite } from '../support/engine.ts';
import { EMPLOYER } from '../support/payroll.ts';
import { commandsWith, withDatabase } from './harness.ts';
import { payrollStage } from './payroll-stage.ts';

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
const OLD = daysAgo(10);

/** Two old events and a new one, kept for three days. */
async function filled(t: Test) {
  const { env, db } = await withDatabase(t);
  await deliver(db, [deductionOf('old', { id: 'd1' }), eventOf('ignored', 'moon.landed', {})], OLD);
  await deliver(db, [deductionOf('new', { id: 'd2' })], daysAgo(1));
  const bodies = db.selectFrom('inbox').select('event_id').where('body', 'is not', null);
  const kept = async () => (await bodies.execute()).map(({ event_id }) => event_id).join();
  return { db, kept, ...commandsWith(t, { ...env, RETENTION_EVENTS: '3d' }) };
}

const test = onEitherEngine.with(filled);

test('a dry run counts data to drop and drops nothing', async (t, { cli, json, kept }) => {
  const ran = await cli('retention --dry-run');
  t.equal(ran.code, 0);
  t.match(ran.stdout, new RegExp(`event bodies +2 +${OLD.slice(0, 19)}Z +0\\.0 MiB`));
  t.match(ran.stderr, /RETENTION_REQUESTS is not set: request attempts are kept indefinitely/);
  const due = { events: { count: 2, oldest: OLD }, conflicts: { count: 0 }, requests: null };
  t.match(await json('retention --dry-run'), { dry_run: true, due });
  t.equal(await kept(), 'old,ignored,new');
});

onSqlite('retention waits while the sidecar on the file notices a wrong clock', async (t) => {
  const { cli, db, kept } = await filled(t);
  await storeClockWarning(db, 'set forward by 2 hours while the sidecar ran');
  t.match(await cli('retention --yes'), { code: 1, stderr: /may be wrong \(set forward by 2 hours/ });
  t.equal(await kept(), 'old,ignored,new');
});

onEitherEngine('an invalid setting is rejected in one line and nothing is saved', async (t) => {
  const { cli, file } = await payrollStage(t);
  const ran = await cli(`codes put ${file('c.json', '{"codes":[],"colour":1}')} --employer ${EMPLOYER}`);
  t.match(ran, { code: 1, stdout: '', stderr: /The settings are invalid: colour/ });
  t.equal(ran.stderr.trimEnd().split('\n').length, 1);
  const latin = Buffer.from('{"codes":[],"colour":"Pe\xf1a"}', 'latin1');
  const unread = await cli(`codes put ${file('d.json', latin)} --employer ${EMPLOYER}`);
  t.match(unread, { code: 1, stdout: '', stderr: /d\.json must be valid UTF-8: save it as UTF-8/ });
  t.match(await cli(`codes show --employer ${EMPLOYER}`), { stdout: '' });
});
