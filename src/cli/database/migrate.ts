/** The commands that migrate a database and copy it to another engine. */
import { zoneName } from '../../clock.ts';
import {
  isDatabaseUrl,
  readDatabaseUrl,
  readEnvironment,
  readTimeZone,
  TIME_ZONE_RULE,
} from '../../config.ts';
import { engineOfUrl } from '../../database/engine.ts';
import { adoptTimeZone, changeTimeZone, checkSchema, migrate } from '../../database/migrate.ts';
import { databaseExists, holdServeLock, openDatabase, sqlitePath } from '../../database/open.ts';
import type { Db } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { isAppError } from '../../errors.ts';
import { assertEmpty, copyDatabase, rowsToCopy } from '../../operations/copy.ts';
import { type Acting, migrationRecord, record } from '../../security/audit.ts';
import { actingIn, type Command } from '../command.ts';
import { failed, wrongUsage } from '../failure.ts';
import { printable, printResult, withProgress } from '../output.ts';

export function addMigrateCommand(program: Command): void {
  program
    .subcommand('migrate', 'Create the database, or migrate it to this release.')
    .records('database.migrate')
    .examples('migrate')
    .option('--time-zone <zone>', 'Count days in this zone from now on; stop every sidecar before')
    .json()
    .doesOnMachine(async (context, { timeZone: zone }: { timeZone?: string }) => {
      const { env, out, now } = context;
      const url = readDatabaseUrl(env);
      const environment = readEnvironment(env);
      const changed = zone === undefined ? null : zoneName(zone);
      if (changed === null && zone !== undefined) throw wrongUsage(`--time-zone ${TIME_ZONE_RULE}`);
      const configured = changed ?? readTimeZone(env);
      // A sidecar that runs would count days in the zone before.
      const release = changed === null ? () => {} : holdServeLock(url);
      const db = openDatabase(url);
      try {
        const acting = actingIn(context);
        const migrated = migrationRecord(acting);
        const zones = changed === null ? { timeZone: configured } : {};
        const applied = await migrate(db, environment, now(), { migrated, ...zones });
        if (changed !== null) await storeTimeZone(db, changed, acting);
        await adoptTimeZone(db, configured);
        printResult(out, { environment, applied }, () => {
          if (applied.length === 0) out.note(`The ${environment} database is up to date.`);
          else out.print(applied.join('\n'));
          if (changed !== null) out.note(`Days are counted in ${changed}. Set TIME_ZONE to it.`);
        });
      } finally {
        await db.destroy();
        release();
      }
    });
}

async function storeTimeZone(db: Db, time_zone: string, acting: Acting): Promise<void> {
  await transact(db, async (trx) => {
    const previous_time_zone = await changeTimeZone(trx, time_zone);
    if (previous_time_zone === time_zone) return;
    const details = { time_zone, previous_time_zone };
    await record(trx, acting, { action: 'database.migrate', resource: null, details });
  });
}

export function addCopyCommand(program: Command): void {
  program
    .subcommand('copy', 'Copy a SQLite database to an empty PostgreSQL database.')
    .records('database.copy')
    .examples('copy --from sqlite:./data/sidecar.db')
    .requiredOption('--from <url>', 'The SQLite database, such as sqlite:./data/sidecar.db (required)')
    .option('--to <url>', 'The PostgreSQL database (default: DATABASE_URL, which hides its password)')
    .json()
    .does(async (context, { from, to }: { from: string; to?: string }) => {
      const { env, out, now } = context;
      // Copies while neither database is served, and compares counts and contents before the commit.
      const environment = readEnvironment(env);
      const target = to ?? readDatabaseUrl(env);
      const path = sourceFile(from);
      if (!isDatabaseUrl(target) || engineOfUrl(target) !== 'postgres') {
        throw wrongUsage('--to (or DATABASE_URL) must be postgres://user:password@host:5432/database');
      }
      const name = nameOfDatabase(target);
      // The lock keeps a `serve` from storing events that the copy would lack.
      const release = holdServeLock(from);
      const opened: Db[] = [];
      const open = (url: string): Db => {
        const db = openDatabase(url);
        opened.push(db);
        return db;
      };
      try {
        const [source, destination] = [open(from), open(target)];
        await naming('the database of --from', checkSchema(source, environment));
        // Checked before the migration: a target given by mistake may be the database of an older release.
        await assertEmpty(destination);
        await naming('the target', migrate(destination, environment, now()));
        const copied = await withProgress(out, 'rows', await rowsToCopy(source), ({ set }) =>
          copyDatabase(source, destination, actingIn(context), set),
        );
        const kept = `Keep ${printable(path)} until you have a backup.`;
        printResult(out, { from: path, to: name, ...copied }, () => {
          const what = `${copied.rows} rows of ${copied.tables} tables`;
          out.print(printable(`Copied ${what} to ${name} and compared them`));
          out.note(`Set DATABASE_URL to the new database and start the sidecar. ${kept}`);
        });
      } finally {
        await Promise.all(opened.map((db) => db.destroy()));
        release();
      }
    });
}

/** Names which of the two databases was refused. */
async function naming<R>(which: string, checked: Promise<R>): Promise<R> {
  try {
    return await checked;
  } catch (error) {
    if (!isAppError(error, 'SCHEMA_REFUSED')) throw error;
    throw failed(`${which}: ${error.message}`, { cause: error });
  }
}

/** Returns the path of an existing file. Opening a missing file would create it. */
function sourceFile(from: string): string {
  if (!isDatabaseUrl(from) || engineOfUrl(from) !== 'sqlite') {
    throw wrongUsage('--from must be sqlite: and the path of a file, such as sqlite:./data/sidecar.db');
  }
  const path = sqlitePath(from);
  if (!databaseExists(path)) throw wrongUsage(`--from: there is no database at ${path}`);
  return path;
}

/** Returns the name of a database without user and password. */
export function nameOfDatabase(databaseUrl: string): string {
  if (engineOfUrl(databaseUrl) === 'sqlite') return sqlitePath(databaseUrl);
  const { host, pathname, searchParams } = new URL(databaseUrl);
  const place = searchParams.get('host') ?? (host || 'this machine');
  return `${decodeURIComponent(pathname.slice(1)) || 'the default database'} at ${place}`;
}
