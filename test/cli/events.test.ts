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

onEitherEngine(
  'the other bodies under an id are counted with the event and printed page by page',
  async (t) => {
    const { env, db } = await withFixtures(t);
    const bodies = Array.from({ length: 22 }, (_, index) => `{"other":${index}}`);
    for (const body of bodies) await receive(db, [{ eventId: QUARANTINED, body: Buffer.from(body) }]);
    const { stdout } = await here(t, env, ['events', 'show', QUARANTINED]);
    t.match(
      stdout,
      /\n20 conflicting bodies with the same id\n2 more received and not stored, the last at 20/,
    );
    const printed = await here(t, env, ['events', 'conflicts', QUARANTINED]);
    t.match(printed.stdout, /^Conflicting body, received .*\n\{\n {2}"other": 0\n\}\n/);
    t.equal(printed.stdout.match(/Conflicting body/g)?.length, 5);
    const [, cursor = ''] = /--cursor (\S+)/.exec(printed.stderr) ?? [];
    const next = await here(t, env, [
      ...['events', 'conflicts', QUARANTINED, '--cursor', cursor, '--limit', '20', '--json'],
    ]);
    const listed = jsonOf(next).data.map(({ body }: { body: string }) => body);
    t.strictSame(listed, bodies.slice(5, 20));
    t.match(jsonOf(next), { has_more: false, next_cursor: null });
    const [none, unknown] = [
      ['events', 'conflicts', 'msg_fixture0000000000003'],
      ['events', 'conflicts', 'msg_x'],
    ];
    t.equal((await here(t, env, none)).stdout, 'No conflicting bodies.\n');
    t.match(await here(t, env, unknown), { code: 1, stdout: '', stderr: /no event msg_x/ });
  },
);

onEitherEngine('dismissing an event makes its check of readiness pass', async (t) => {
  // The time is later than all events, so that none is future-dated.
  const { env } = await withFixtures(t, '2026-07-01T00:00:00.000Z');
  const failing = async () =>
    jsonOf(await here(t, env, ['readiness', '--json']))
      .checks.filter((check: { result: string }) => check.result === 'fail')
      .map((check: { id: string }) => check.id);
  t.same(await failing(), ['events-quarantined', 'ties-changed-content', 'census-syncs']);
  const dismiss = (id: string) =>
    here(t, env, ['events', 'dismiss', id, '--reason', 'sent again', '--yes', '--json']);
  t.match(jsonOf(await dismiss(QUARANTINED)), { id: QUARANTINED, dismissed_reason: 'sent again' });
  t.same(await failing(), ['ties-changed-content', 'census-syncs']);
  t.match(await dismiss('msg_fixture0000000000003'), { code: 1, stderr: /cannot be dismissed/ });
  const readiness = await here(t, env, ['readiness']);
  t.match(readiness, { code: 1, stdout: /FAIL {2}ties-changed-content: 1\n.*Not ready/s });
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
