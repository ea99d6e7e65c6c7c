/** Searches for secrets and personal data in plain text: in the database's bytes and in all output. */
import { readFileSync } from 'node:fs';
import { engineOfUrl } from '../../src/database/engine.ts';
import { openDatabase, sqlitePath } from '../../src/database/open.ts';

type Place = { name: string; bytes: Buffer };

/** Reports the place and never the secret. */
export async function leaks(databaseUrl: string, secrets: readonly string[], outputs: readonly string[]) {
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

/** Reads the rows, because the server's files are shared and partly compressed. */
async function tablesOf(databaseUrl: string): Promise<Place[]> {
  // It registers tests, and the simulation is none.
  const { bytesByTable } = await import('./engine.ts');
  const db = openDatabase(databaseUrl);
  try {
    const tables = await bytesByTable(db);
    return tables.map(({ name, bytes }) => ({ name: `the table ${name}`, bytes }));
  } finally {
    await db.destroy();
  }
}
