/** The environment of the measurement: machine, disk, versions, and the engines' actual settings. */
import { fdatasyncSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
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
/** Whether Linux divides the CPU equally among sessions (`sched(7)`, autogroup). */
const SHARED_BY_SESSION = '/proc/sys/kernel/sched_autogroup_enabled';
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
  report.line(
    `- The CPU is divided among ${isSharedBySession() ? 'sessions' : 'threads, by their priority'}.`,
  );
  report.line(`- ${await sqliteSettings()}`);
  report.line(`- ${await postgresSettings(postgres)}`);
  // The peers install their own pg, which all of them use.
  const versions = [
    ...['pg-boss', 'graphile-worker', 'pg'].map((name) => `${name} ${version(`bench/node_modules/${name}`)}`),
    ...['fastify', 'svix'].map((name) => `${name} ${version(`node_modules/${name}`)}`),
  ];
  report.line(`- ${versions.join(', ')}.`);
  report.line();
}

/**
 * As root, makes Linux divide the CPU among threads until this process ends, as it does among the services of a machine. If it
 * divides the CPU among sessions, each process of PostgreSQL is one, and gets as much as this process with all sidecars.
 */
export function shareCpuAmongThreads(): void {
  if (!isSharedBySession() || process.getuid?.() !== 0) return;
  const set = (value: '0' | '1'): void => writeFileSync(SHARED_BY_SESSION, value);
  set('0');
  process.on('exit', () => set('1'));
}

function isSharedBySession(): boolean {
  try {
    return readFileSync(SHARED_BY_SESSION, 'utf8').trim() === '1';
  } catch {
    // Another system, or a kernel without this division.
    return false;
  }
}

/**
 * Reads the settings from a handle that the sidecar's code opens, because `synchronous` is a setting of the
 * handle.
 */
async function sqliteSettings(): Promise<string> {
  const database = await newSqlite();
  const handle = openWriter(database.file);
  const setting = (pragma: string) => `${pragma}=${handle.pragma(pragma, { simple: true })}`;
  const text = `SQLite ${handle.prepare('select sqlite_version()').pluck().get()}: ${setting('journal_mode')}, ${setting('synchronous')} (2 is FULL).`;
  handle.close();
  await database.remove();
  return text;
}

async function postgresSettings(postgres: PostgresServer): Promise<string> {
  const client = new Client(postgres.url('postgres'));
  await client.connect();
  const show = async (name: string) => `${(await client.query(`show ${name}`)).rows[0][name]}`;
  const settings: string[] = [];
  for (const name of POSTGRES_SETTINGS) settings.push(`${name}=${await show(name)}`);
  const text = `PostgreSQL ${await show('server_version')}, default settings except shared_buffers: ${settings.join(', ')}.`;
  await client.end();
  return text;
}

function version(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
  return version as string;
}

/** Returns the minimum cost of a durable commit. */
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
