/** Reads what is kept of releases. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Test } from 'tap';
import { sqlitePath } from '../../src/database/open.ts';
import { engineOf, newDatabaseUrl } from '../support/engine.ts';
import { execute } from '../support/postgres.ts';

export const FOLDER = new URL('./', import.meta.url);
export const NAMES = { sqlite: 'sidecar.db.gz', postgres: 'postgres.sql.gz', openapi: 'openapi.json.gz' };

/** The key of the encrypted values in the databases: that of the tests of sending. */
export const DATA_KEYS = `k1:${Buffer.alloc(32, 7).toString('base64')}`;

/** The releases that are kept, oldest first. */
export const RELEASES = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }));

export function readKept(release: string, name: keyof typeof NAMES): Buffer {
  return gunzipSync(readFileSync(new URL(`${release}/${NAMES[name]}`, FOLDER)));
}

/** Returns the address of a copy of the database of a release, on the engine of the test. */
export async function databaseOf(t: Test, release: string): Promise<string> {
  const url = await newDatabaseUrl(t);
  if (engineOf(t) === 'sqlite') writeFileSync(sqlitePath(url), readKept(release, 'sqlite'), { mode: 0o600 });
  else await execute(url, readKept(release, 'postgres').toString());
  return url;
}
