/** Promise 9: a backup taken under load restores, and a database older than its high-water mark is detected. */
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { sqlitePath } from '../../src/database/open.ts';
import { here, jsonOf, type Variables } from '../cli/harness.ts';
import { startLoad } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';
import { setStage } from '../support/stage.ts';

t.test('a backup taken under load restores all events acknowledged before it', async (t) => {
  const stage = await setStage(t);
  const { keys, databaseUrl, folder, variables } = stage;
  const command = (argv: string[], url = databaseUrl) =>
    here(t, { ...variables, DATABASE_URL: url } as Variables, argv);
  const file = join(folder, 'backup.db');
  const load = startLoad({ port: stage.sidecar.port, secret: keys.webhookSecret, series: 'load' });
  await load.reached(500);
  const before = [...load.acknowledged.values()];
  const made = await command(['backup', file, '--json']);
  t.equal(made.code, 0, made.stderr);
  const verifying = command(['verify', '--json']);
  await load.reached(load.acknowledged.size + 200);
  t.match(jsonOf(await verifying), { clean: true }, 'verified under load');
  await load.stop();
  t.equal(load.inDoubt.size, 0, 'no event was rejected');
  await stage.settled();

  const elsewhere = `sqlite:${folder}/elsewhere/sidecar.db`;
  const restored = await command(['restore', file, '--json'], elsewhere);
  t.equal(restored.code, 0, restored.stderr);
  t.equal(jsonOf(restored).restored.event_id, jsonOf(made).event_id);
  t.match(jsonOf(await command(['verify', '--json'], elsewhere)), { clean: true });
  const instance = await stage.another({ DATABASE_URL: elsewhere });
  await instance.start();
  await instance.settled();
  t.equal(await instance.sidecar.end('SIGTERM'), 0);
  t.strictSame(await breaches({ databaseUrl: elsewhere, acknowledged: before }), []);

  await stage.sidecar.end('SIGTERM');
  const path = sqlitePath(databaseUrl);
  copyFileSync(file, path);
  for (const end of ['-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
  await stage.start();
  const lost = { result: 'fail', count: 1, findings: [{ text: /^replay the events from / }] };
  t.match(await stage.api.check('data-loss'), lost);
  const [line] = stage.sidecar.logged().filter(({ level }) => level === 'error');
  t.match(line, { msg: /older than its high-water mark/, reason: /^replay the events from / });
  t.equal((await command(['accept-loss', '--reason', 'replayed', '--yes'])).code, 0);
  t.match(await stage.api.check('data-loss'), { result: 'pass' });
});
