/** The command that backs up a database. */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { readDatabaseUrl, readEnvironment } from '../../config.ts';
import { engineOfUrl } from '../../database/engine.ts';
import { hasReservedSuffix, SUFFIX } from '../../database/files.ts';
import { sqliteFile, sqlitePath } from '../../database/open.ts';
import { backUp } from '../../operations/backup.ts';
import { type Command, type Context, confirm } from '../command.ts';
import { failed, ifStopped, wrongUsage } from '../failure.ts';
import { megabytes, printPairs, printResult, withProgress } from '../output.ts';

export function addBackupCommand(program: Command): void {
  program
    .subcommand('backup', 'Back up a SQLite database to one file, also while the sidecar runs.')
    .examples('backup /backups/sidecar.db', 'backup /backups/latest.db --yes')
    .argument('<file>', 'The file to create; it appears when it is complete')
    .confirmed()
    .json()
    .does(backup);
}

/** Does not delay a running `serve`. The file appears once it is complete and checked. */
async function backup(context: Context, file: string): Promise<void> {
  const { out, env, stopped } = context;
  const url = readDatabaseUrl(env);
  const environment = readEnvironment(env);
  if (engineOfUrl(url) === 'postgres') throw failed(dumpWith(url, file));
  const path = databaseFile(url);
  const target = targetOf(file, path);
  if (existsSync(target)) {
    const effect = `${file} exists, last changed ${statSync(target).mtime.toISOString()}.`;
    await confirm(context, [effect], 'Replace it?');
  }
  const began = performance.now();
  const signal = stopped();
  const { bytes, newest } = await withProgress(out, 'MB', null, ({ set }) =>
    backUp(path, target, { copied: (bytes) => set(megabytes(bytes)), signal, environment }),
  ).catch(ifStopped(signal, 'stopped before the end: no backup was created'));
  const ms = Math.round(performance.now() - began);
  printResult(out, { file: target, bytes, environment, ...newest, ms }, () => {
    printPairs(out, {
      file: target,
      size: `${megabytes(bytes)} MB`,
      environment,
      position: newest.position,
      'newest event': newest.event_id,
      received: newest.received_at,
      duration: `${(ms / 1_000).toFixed(1)} s`,
    });
    out.note('Censuses and requests in it cannot be read without DATA_KEYS: store those elsewhere.');
  });
}

/** Returns the path of the existing database file. Opening a missing file would create it. */
function databaseFile(url: string): string {
  const path = sqliteFile(url);
  if (existsSync(path)) return path;
  throw failed(`there is no database at ${nameOfDatabase(url)}: check DATABASE_URL`);
}

/** Returns the path of the backup with its folder resolved, so it can be compared with the path of the database. */
function targetOf(file: string, path: string): string {
  const folder = dirname(resolve(file));
  if (!existsSync(folder)) throw failed(`the folder ${folder} does not exist: create it`);
  const target = resolve(realpathSync(folder), basename(file));
  if (target === path || (existsSync(target) && realpathSync(target) === path)) {
    throw wrongUsage(`${file} is the database itself: choose another file`);
  }
  if (hasReservedSuffix(target)) {
    throw wrongUsage(`${file} has the name of an auxiliary file of a database: choose another file`);
  }
  if (!existsSync(target)) return target;
  // Only a database that is or was served has a lock file.
  if (existsSync(`${realpathSync(target)}${SUFFIX.lock}`)) {
    throw failed(`${file} is the database of another sidecar: choose another file`);
  }
  return target;
}

/** Returns the name of a database without user and password. */
export function nameOfDatabase(databaseUrl: string): string {
  if (engineOfUrl(databaseUrl) === 'sqlite') return sqlitePath(databaseUrl);
  const { host, pathname } = new URL(databaseUrl);
  return `${decodeURIComponent(pathname.slice(1)) || 'the default database'} at ${host || 'this machine'}`;
}

/** Returns how to back up a PostgreSQL database with its own tool, without the password. */
function dumpWith(databaseUrl: string, file: string): string {
  return `use PostgreSQL's own tool, which also works while sidecars run: ${withPassword('pg_dump', `--format=custom --file=${quoted(file)} --dbname=${quoted(withoutPassword(databaseUrl))}`)}`;
}

/** Returns how to restore such a backup. */
export function restoreWith(databaseUrl: string, file: string): string {
  return `use PostgreSQL's own tool. Stop all sidecars, create an empty database, then run ${withPassword('pg_restore', `--no-owner --exit-on-error --dbname=${quoted(withoutPassword(databaseUrl))} ${quoted(file)}`)}`;
}

function withPassword(tool: string, rest: string): string {
  return `PGPASSWORD=… ${tool} ${rest}`;
}

function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.password = '';
  return url.href;
}

/** Quotes text for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
