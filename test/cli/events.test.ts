import { apply, receive } from '../api/deliver.ts';
import { onEitherEngine } from '../support/engine.ts';
import { here, jsonOf, withDatabase, withFixtures } from './harness.ts';

const QUARANTINED = 'msg_fixture0000000000016';

onEitherEngine('filters narrow the list', async (t) => {
  const { env } = await withFixtures(t);
  const count = async (...filter: string[]): Promise<number> =>
    jsonOf(await here(t, env, ['events', 'list', '--json', ...filter])).data.length;
  t.equal(await count('--state', 'quarantined'), 1);
  t.equal(await count('--state', 'ignored'), 1);
  t.equal(await count('--type', 'employee-census.sync-request'), 1);
  t.equal(await count('--from', '2026-01-15T00:00:00Z'), 16);
  t.equal(await count('--from', '2026-01-15T00:00:00.001Z'), 0);
  t.equal(await count('--until', '2026-01-15'), 0);
});

onEitherEngine('the body of an event is shown by show only', async (t) => {
  const { env } = await withFixtures(t);
  for (const format of [[], ['--json']]) {
    t.match((await here(t, env, ['events', 'show', QUARANTINED, ...format])).stdout, /ded_fixture_number/);
    t.notMatch((await here(t, env, ['events', 'list', ...format])).stdout, /ded_fixture_number/);
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

onEitherEngine('events are reprocessed by id, all or none', async (t) => {
  const { env, db } = await withFixtures(t);
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
