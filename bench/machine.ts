/** What the figures were measured on: machine, disk, versions, and the engines' settings as read from them. */
import { fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { openWriter } from '../src/database/handle.ts';
import type { PostgresServer } from '../test/support/postgres.ts';
import { newSqlite } from './databases.ts';
import { median, type Report } from './report.ts';
import { ROOT } from './server.ts';

const POSTGRES_SETTINGS = [
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'wal_sync_method',
  'shared_buffers',
];
const SYNCS = 200;
const PAGE_BYTES = 4_096;

export async function reportMachine(report: Report, postgres: PostgresServer): Promise<void> {
  const [cpu] = cpus();
  report.line(`- ${new Date().toISOString().slice(0, 10)}: ${cpus().length} x ${cpu?.model},`);
  report.line(
    `  ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.versions.node}.`,
  );
  report.line(
    `- Writing and syncing 4 KiB takes ${syncMs().toFixed(2)} ms on its disk (median of ${SYNCS}).`,
  );
  report.line(`- ${await sqliteSays()}`);
  report.line(`- ${await postgresSays(postgres)}`);
  // The peers' own dependencies come with a pg beside them, which they all use then.
  const versions = [
    ...['pg-boss', 'graphile-worker', 'pg'].map((name) => `${name} ${version(`bench/node_modules/${name}`)}`),
    ...['fastify', 'svix'].map((name) => `${name} ${version(`node_modules/${name}`)}`),
  ];
  report.line(`- ${versions.join(', ')}.`);
  report.line();
}

/** By a handle that the sidecar's own code opens: `synchronous` is a handle's setting, not the file's. */
async function sqliteSays(): Promise<string> {
  const database = await newSqlite();
  const handle = openWriter(database.file);
  const says = (pragma: string) => `${pragma}=${handle.pragma(pragma, { simple: true })}`;
  const text = `SQLite ${handle.prepare('select sqlite_version()').pluck().get()}: ${says('journal_mode')}, ${says('synchronous')} (2 is FULL).`;
  handle.close();
  await database.remove();
  return text;
}

async function postgresSays(postgres: PostgresServer): Promise<string> {
  const client = new Client(postgres.url('postgres'));
  await client.connect();
  const show = async (name: string) => `${(await client.query(`show ${name}`)).rows[0][name]}`;
  const settings: string[] = [];
  for (const name of POSTGRES_SETTINGS) settings.push(`${name}=${await show(name)}`);
  const text = `PostgreSQL ${await show('server_version')}, as it is installed but for shared_buffers: ${settings.join(', ')}.`;
  await client.end();
  return text;
}

function version(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
  return version as string;
}

/** The least that a durable commit costs. */
function syncMs(): number {
  const path = join(tmpdir(), `benefits-sidecar-bench-sync-${process.pid}`);
  const file = openSync(path, 'w');
  const page = Buffer.alloc(PAGE_BYTES, 1);
  const times = Array.from({ length: SYNCS }, () => {
    const began = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    return performance.now() - began;
  });
  rmSync(path);
  return median(times);
}
