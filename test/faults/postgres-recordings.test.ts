import t from 'tap';
import { recordAll } from '../recordings/record.ts';
import { SCENES } from '../recordings/scenes.ts';
import { startPostgres } from '../support/postgres.ts';

const server = await startPostgres();
t.teardown(server.remove);
// The help of the commands opens no database.
const { help: _, ...scenes } = SCENES;
await recordAll(t, () => server.create(), scenes);
