/**
 * Keeps what later builds are tested with, once a release is final: a small database of each engine with rows in every
 * table, and the OpenAPI document.
 *
 *     npm run keep-release     writes test/releases/VERSION/
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Client } from 'pg';
import { knownMigrations, MIGRATIONS_TABLE, migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';
import { VERSION } from '../../src/version.ts';
import { referenceDocument } from '../../tools/reference.ts';
import { fill } from '../postgres/filled.ts';
import { startPostgres } from '../support/postgres.ts';
import { FOLDER, NAMES } from './kept.ts';

const NOW = new Date('2026-01-31T09:30:00.000Z');
const SIZES = { deductions: 8, people: 3 };
const LEVEL = { level: 9 };

const folder = new URL(`${VERSION}/`, FOLDER);
mkdirSync(folder, { recursive: true });
const write = (name: string, content: string | Buffer): void =>
  writeFileSync(new URL(name, folder), gzipSync(content, LEVEL));

async function fillAt(url: string): Promise<void> {
  const db = openDatabase(url);
  await migrate(db, 'sandbox', NOW);
  await fill(db, SIZES);
  await db.destroy();
}

async function sqliteFile(): Promise<Buffer> {
  const temporary = mkdtempSync(join(tmpdir(), 'release-'));
  const path = join(temporary, 'sidecar.db');
  await fillAt(`sqlite:${path}`);
  const bytes = readFileSync(path);
  rmSync(temporary, { recursive: true });
  return bytes;
}

/** Returns SQL that creates the tables and fills them. The programs for tests have no pg_dump. */
async function postgresText(): Promise<string> {
  const server = await startPostgres();
  const url = await server.create();
  await fillAt(url);
  const client = new Client(url);
  await client.connect();
  const linesOf = async (query: string): Promise<string[]> =>
    (await client.query<{ line: string }>(query)).rows.map(({ line }) => line);
  const tables = await linesOf(
    "select tablename as line from pg_tables where schemaname = 'public' order by 1",
  );
  const rows: string[] = [];
  for (const table of tables)
    rows.push(
      ...(await linesOf(`
        select format('delete from ${table}; insert into ${table} select * from
          json_populate_recordset(null::${table}, %L);', coalesce(json_agg(t), '[]')) as line from ${table} t`)),
    );
  const sequences = await linesOf(`
    select format('select setval(%L, %s);', sequencename, last_value) as line
    from pg_sequences where schemaname = 'public' and last_value is not null`);
  await client.end();
  await server.remove();
  const schema = [`${MIGRATIONS_TABLE};`, ...knownMigrations().map(({ sql }) => sql('postgres'))];
  // A table may be filled before the one that it references, and one that keeps its rows already has some.
  return [...schema, 'set session_replication_role = replica;', ...rows, ...sequences, ''].join('\n');
}

write(NAMES.sqlite, await sqliteFile());
write(NAMES.postgres, await postgresText());
write(NAMES.openapi, JSON.stringify(await referenceDocument()));
console.log(`test/releases/${VERSION}/`);
process.exit();
