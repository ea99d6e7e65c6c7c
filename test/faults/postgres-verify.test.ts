/** Repeats the tests of `verify` on PostgreSQL, and tests the checks of its indexes and files. */

import { Client } from 'pg';
import t from 'tap';
import { here, jsonOf, withFixtures } from '../cli/harness.ts';
import { usePostgres } from '../support/engine.ts';

t.setTimeout(600_000);
usePostgres();
await import('./verify-altered.test.ts');

t.test('every index is checked if the extension is installed', async (t) => {
  const { env } = await withFixtures(t);
  const check = async () =>
    jsonOf(await here(t, env, ['verify', '--json'])).engine.find(
      ({ name }: { name: string }) => name === 'amcheck',
    );
  t.match(await check(), { result: 'unasked', says: /CREATE EXTENSION amcheck/ });
  const client = new Client(env.DATABASE_URL as string);
  await client.connect();
  t.teardown(async () => {
    await client.query('drop extension amcheck');
    await client.end();
  });
  await client.query('create extension amcheck');
  t.match(await check(), { result: 'pass', says: /^\d\d indexes are whole$/ });
});
