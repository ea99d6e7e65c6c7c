/** Where secrets and personal data lie in plain: in the database's own bytes, and in what was said. */
import { readFileSync } from 'node:fs';
import { engineOfUrl } from '../../src/database/engine.ts';
import { openDatabase, sqlitePath } from '../../src/database/open.ts';
import { bytesByTable } from './engine.ts';

type Place = { name: string; bytes: Buffer };

/** Names the place and never the secret. */
export async function leaks(
  databaseUrl: string,
  secrets: readonly string[],
  outputs: readonly string[],
): Promise<string[]> {
  if (secrets.length === 0) return [];
  const stored =
    engineOfUrl(databaseUrl) === 'sqlite' ? filesOf(sqlitePath(databaseUrl)) : await tablesOf(databaseUrl);
  const said = outputs.map((text, index) => ({ name: `output ${index}`, bytes: Buffer.from(text) }));
  return [...stored, ...said].flatMap(({ name, bytes }) =>
    secrets.flatMap((secret, index) => (bytes.includes(secret) ? [`secret ${index} is in ${name}`] : [])),
  );
}

function filesOf(path: string): Place[] {
  return ['', '-wal', '-shm'].map((suffix) => {
    try {
      return { name: `the database${suffix}`, bytes: readFileSync(path + suffix) };
    } catch {
      return { name: suffix, bytes: Buffer.alloc(0) };
    }
  });
}

/** The files are the server's, and compressed in part: what can be read are the rows. */
async function tablesOf(databaseUrl: string): Promise<Place[]> {
  const db = openDatabase(databaseUrl);
  try {
    const tables = await bytesByTable(db);
    return tables.map(({ name, bytes }) => ({ name: `the table ${name}`, bytes }));
  } finally {
    await db.destroy();
  }
}
