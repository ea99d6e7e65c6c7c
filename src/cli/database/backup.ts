/** The command that backs up a database. */
import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { readDatabaseUrl, readEnvironment } from '../../config.ts';
import { engineOfUrl } from '../../database/engine.ts';
import { hasReservedSuffix, SUFFIX } from '../../database/files.ts';
import { sqliteFile, sqlitePath } from '../../database/open.ts';
import { AppError } from '../../errors.ts';
import { backUp } from '../../operations/backup.ts';
import { jsonOption } from '../arguments.ts';
import type { Act, Context } from '../context.ts';
import { ifStopped } from '../failure.ts';
import { megabytes, printPairs, showProgress } from '../output.ts';

export function addBackupCommand(program: Command, act: Act): void {
  program
    .command('backup')
    .description('back up the database to one file while serve runs')
    .argument('<file>', 'the file to make; it appears when it is whole')
    .option('--force', 'replace the file')
    .addOption(jsonOption())
    .action(act(backup));
}

/**
 * Copies the database to one file, also while `serve` runs and without delaying it. The file appears once it is
 * complete and checked. For PostgreSQL it fails and names the tool to use.
 */
export async function backup(
  context: Context,
  file: string,
  { force, json }: { force?: true; json?: true },
): Promise<number> {
  const { out, env, stopped } = context;
  const url = readDatabaseUrl(env);
  const environment = readEnvironment(env);
  if (engineOfUrl(url) === 'postgres') throw new AppError('COMMAND_FAILED', dumpWith(url, file));
  const path = databaseFile(url);
  const target = targetOf(file, path, force === true);
  const progress = await showProgress(out, 'MB', null);
  const began = performance.now();
  const signal = stopped();
  const copied = (bytes: number): void => progress.set(megabytes(bytes));
  const made = await backUp(path, target, { copied, signal, environment })
    .catch(ifStopped(signal, 'stopped before the end: there is no new backup'))
    .finally(progress.end);
  const summary = {
    file: target,
    bytes: made.bytes,
    environment,
    ...made.newest,
    ms: Math.round(performance.now() - began),
  };
  if (json) out.json(summary);
  else {
    printPairs(out, {
      file: target,
      size: `${megabytes(made.bytes)} MB`,
      environment,
      position: summary.position,
      'newest event': summary.event_id,
      'received at': summary.received_at,
      took: `${(summary.ms / 1_000).toFixed(1)} s`,
    });
    out.note('it opens no census and no request without DATA_KEYS: keep them elsewhere');
  }
  return 0;
}

/** Returns the path of the existing database file. Opening a missing file would create it. */
function databaseFile(url: string): string {
  const path = sqliteFile(url);
  if (existsSync(path)) return path;
  throw new AppError('COMMAND_FAILED', `there is no database at ${nameOfDatabase(url)}: check DATABASE_URL`);
}

/** Returns the path of the backup with its folder resolved, so it can be compared with the path of the database. */
function targetOf(file: string, path: string, force: boolean): string {
  const folder = dirname(resolve(file));
  if (!existsSync(folder))
    throw new AppError('COMMAND_FAILED', `the folder ${folder} does not exist: make it first`);
  const target = resolve(realpathSync(folder), basename(file));
  if (target === path || (existsSync(target) && realpathSync(target) === path)) {
    throw new AppError('WRONG_USAGE', `${file} is the database itself: name another file`);
  }
  if (hasReservedSuffix(target)) {
    throw new AppError('WRONG_USAGE', `${file} is named like what lies beside a database: name another file`);
  }
  if (!existsSync(target)) return target;
  if (!force) {
    throw new AppError(
      'COMMAND_FAILED',
      `${file} is there already: name another file, or replace it with --force`,
    );
  }
  // Only a database that is or was served has a lock file.
  if (existsSync(`${realpathSync(target)}${SUFFIX.lock}`)) {
    throw new AppError('COMMAND_FAILED', `${file} is the database of another sidecar: name another file`);
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
  return `For PostgreSQL, use its own tool, which works while sidecars run: ${withPassword('pg_dump', `--format=custom --file=${quoted(file)} --dbname=${quoted(withoutPassword(databaseUrl))}`)}`;
}

/** Returns how to restore such a backup. */
export function restoreWith(databaseUrl: string, file: string): string {
  return `PostgreSQL has a tool of its own for this: stop all sidecars, make an empty database, then: ${withPassword('pg_restore', `--no-owner --exit-on-error --dbname=${quoted(withoutPassword(databaseUrl))} ${quoted(file)}`)}`;
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
