/**
 * The SQLite handles of the simulated processes. Each statement passes here, so that a fault can happen before or after it: a
 * crash, a busy database, a full disk. After a crash, every handle on the old file throws.
 */
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { SUFFIX } from '../../src/database/files.ts';

type Database = BetterSqlite3.Database;
type Statement = BetterSqlite3.Statement & { database: Database };

/** Called around statements of the sidecar. `isDone`: the statement has run. It may throw. */
type Watch = (sql: string, isDone: boolean, handle: Database) => void;

const ours = new WeakSet<Database>();
const open = new Map<string, Set<Database>>();
const gone = new Set<string>();
let watch: Watch = () => {};

const WATCHED = /^(begin|commit|rollback|create|insert|update|delete|select)/i;

const { prototype } = BetterSqlite3;
const { prepare, pragma } = prototype;
const sample = new BetterSqlite3(':memory:');
const statement = Object.getPrototypeOf(sample.prepare('select 1')) as Record<string, unknown>;
sample.close();

for (const name of ['run', 'get', 'all'] as const) {
  const original = statement[name] as (...given: unknown[]) => unknown;
  statement[name] = function (this: Statement, ...given: unknown[]): unknown {
    if (ours.has(this.database)) return original.apply(this, given);
    assertThere(this.database);
    const isWatched = WATCHED.test(this.source);
    if (isWatched) watch(this.source, false, this.database);
    const result = original.apply(this, given);
    if (isWatched) watch(this.source, true, this.database);
    return result;
  };
}
prototype.prepare = function (this: Database, source: string) {
  note(this);
  return prepare.call(this, source);
} as typeof prepare;
prototype.pragma = function (this: Database, ...given: Parameters<typeof pragma>) {
  note(this);
  return pragma.apply(this, given);
} as typeof pragma;

function note(handle: Database): void {
  if (ours.has(handle)) return;
  assertThere(handle);
  const handles = open.get(handle.name) ?? new Set();
  open.set(handle.name, handles.add(handle));
}

/** A fatal error: the code of a process that ended stops instead of trying again. */
function assertThere({ name }: Database): void {
  if (gone.has(name)) throw new BetterSqlite3.SqliteError('the machine crashed', 'SQLITE_IOERR');
}

export function watchStatements(watching: Watch): void {
  watch = watching;
}

/** Opens a handle of the simulation itself, which no fault meets. */
export function openUnwatched(path: string, options: BetterSqlite3.Options = {}): Database {
  const handle = new BetterSqlite3(path, options);
  ours.add(handle);
  return handle;
}

/** Copies what a crash leaves on the disk to another folder, and makes the handles on the old files throw. */
export function crashFiles(path: string, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const copy = join(folder, basename(path));
  for (const end of ['', SUFFIX.log, SUFFIX.highWaterMark]) {
    if (existsSync(path + end)) copyFileSync(path + end, copy + end);
  }
  gone.add(path);
  return copy;
}

/** Closes the handles of processes that ended. */
export function closeHandles(path: string): void {
  for (const handle of open.get(path) ?? []) handle.close();
  open.delete(path);
}

/** Lets the file have at most this many pages, as a full disk does; null: any number. */
export function limitPages(path: string, pages: number | null): void {
  for (const handle of open.get(path) ?? []) {
    if (handle.open && !handle.readonly) pragma.call(handle, `max_page_count = ${pages ?? 1_073_741_823}`);
  }
}

export function pagesOf(path: string): number {
  const handle = openUnwatched(path, { readonly: true });
  const pages = handle.pragma('page_count', { simple: true }) as number;
  handle.close();
  return pages;
}
