/** New databases for the measurements, queried independently of the servers, and removed afterward. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { Client } from 'pg';
import type { PostgresServer } from '../test/support/postgres.ts';

export type Scratch = {
  url: string;
  /** Returns the only number of a statement. */
  number(statement: string): Promise<number>;
  /** Returns the only text of each row. */
  texts(statement: string): Promise<string[]>;
  /** The size on disk. */
  bytes(): Promise<number>;
  remove(): Promise<void>;
};

export async function newSqlite(): Promise<Scratch & { file: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'benefits-sidecar-bench-'));
  const file = join(folder, 'sidecar.db');
  // Opened for each query, so that it never delays a checkpoint.
  const look = <R>(work: (handle: BetterSqlite3.Database) => R): R => {
    const handle = new BetterSqlite3(file, { readonly: true });
    try {
      return work(handle);
    } finally {
      handle.close();
    }
  };
  return {
    url: `sqlite:${file}`,
    file,
    number: async (statement) => look((handle) => handle.prepare(statement).pluck().get() as number),
    texts: async (statement) => look((handle) => handle.prepare(statement).pluck().all() as string[]),
    bytes: async () => statSync(file).size,
    remove: async () => rmSync(folder, { recursive: true }),
  };
}

export async function newPostgres(
  server: PostgresServer,
): Promise<Scratch & { run(statement: string): Promise<void> }> {
  const url = await server.create();
  const client = new Client(url);
  await client.connect();
  const column = async (statement: string): Promise<unknown[]> => {
    const { rows } = await client.query({ text: statement, rowMode: 'array' });
    return (rows as [unknown][]).map(([value]) => value);
  };
  const number = async (statement: string): Promise<number> => Number((await column(statement))[0]);
  return {
    url,
    number,
    texts: (statement) => column(statement) as Promise<string[]>,
    bytes: () => number('select pg_database_size(current_database())'),
    run: async (statement) => void (await client.query(statement)),
    async remove() {
      await client.end();
      const admin = new Client(server.url('postgres'));
      await admin.connect();
      await admin.query(`drop database ${new URL(url).pathname.slice(1)} with (force)`);
      await admin.end();
    },
  };
}
