import t from 'tap';
import { recordAll } from '../recordings/record.ts';
import { SCENES } from '../recordings/scenes.ts';
import { startPostgres } from '../support/postgres.ts';

t.test('the recordings on SQLite', (t) => recordAll(t, async (folder) => `sqlite:${folder}/sidecar.db`));

t.test('the recordings on PostgreSQL', async (t) => {
  const server = await startPostgres();
  t.teardown(server.remove);
  // The help of the commands opens no database.
  const { help: _, ...scenes } = SCENES;
  await recordAll(t, () => server.create(), scenes);
});
