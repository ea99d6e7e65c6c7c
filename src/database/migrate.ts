import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { CompiledQuery } from 'kysely';
import { UTC, zoneName } from '../clock.ts';
import { AppError, isAppError } from '../errors.ts';
import { sqlFor, statementsOf } from './dialect.ts';
import { type Engine, engineOf, hasTables, lockNames, lockTables, tableExists } from './engine.ts';
import type { Db, Trx } from './tables.ts';
import { setTimeZone } from './time-zone.ts';
import { transact } from './transaction.ts';

export type BenefitsEnvironment = 'sandbox' | 'live';

type Migration = { number: number; name: string; hash: string; sql: (engine: Engine) => string };

export function schemaRefused(why: string): AppError {
  return new AppError('SCHEMA_REFUSED', why);
}

/** The migrations of this release. Tests pass another folder. */
const FOLDER = new URL('../../db/', import.meta.url);

export const MIGRATIONS_TABLE =
  'CREATE TABLE IF NOT EXISTS migrations (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL, applied_at TEXT NOT NULL)';

/**
 * `migrated` runs in the transaction after migrations were applied to an existing database. `timeZone`: that of a new one,
 * UTC by default; an existing one with another is refused.
 */
type MigrateOptions = {
  folder?: URL;
  migrated?: (trx: Trx, names: string[]) => Promise<unknown>;
  timeZone?: string;
};

/** How often a migration tries again to lock the tables, and the pause between, in which others use them. */
const TRIES = 600;
const AGAIN_AFTER_MS = 500;

/**
 * Applies all due migrations in one transaction and returns their names. Throws as `checkSchema` does, and LOCK_TIMEOUT if
 * the tables are in use for minutes.
 */
export async function migrate(
  db: Db,
  environment: BenefitsEnvironment,
  now: Date,
  options: MigrateOptions = {},
): Promise<string[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await migrateOnce(db, environment, now, options);
    } catch (error) {
      const isInUse = engineOf(db) === 'postgres' && isAppError(error, 'LOCK_TIMEOUT');
      if (!isInUse || tries === TRIES) throw error;
      await delay(AGAIN_AFTER_MS);
    }
  }
}

function migrateOnce(
  db: Db,
  environment: BenefitsEnvironment,
  now: Date,
  { folder = FOLDER, migrated = async () => {}, timeZone }: MigrateOptions,
): Promise<string[]> {
  return transact(
    db,
    async (trx) => {
      await lockNames(trx, ['migrate']);
      await assertOurs(trx);
      await run(trx, MIGRATIONS_TABLE);
      const { applied, due } = await compareMigrations(trx, folder);
      const applied_at = now.toISOString();
      if (applied.length > 0 && due.length > 0) await lockTables(trx);
      for (const { number, name, hash, sql } of due) {
        for (const statement of statementsOf(sql(engineOf(trx)))) await run(trx, statement);
        await trx.insertInto('migrations').values({ number, name, hash, applied_at }).execute();
      }
      await trx
        .insertInto('instance')
        .values({ id: 1, environment, created_at: applied_at, time_zone: timeZone ?? UTC, probed_at: null })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      await assertEnvironment(trx, environment);
      if (timeZone !== undefined) await assertTimeZone(trx, timeZone);
      const names = due.map((migration) => migration.name);
      if (applied.length > 0 && names.length > 0) await migrated(trx, names);
      return names;
    },
    { isTimeLimited: false },
  );
}

/**
 * Throws SCHEMA_REFUSED when this code and configuration do not fit the database: another program made it, migrations are
 * due, it is newer than the code, a migration's text was edited, or it belongs to the other environment.
 */
export async function checkSchema(db: Db, environment: BenefitsEnvironment, folder = FOLDER): Promise<void> {
  await assertOurs(db);
  const exists = await tableExists(db, 'migrations');
  const due = exists ? (await compareMigrations(db, folder)).due : knownMigrations(folder);
  if (due.length > 0) {
    throw schemaRefused(
      `the database lacks ${due.length} migration(s) of this release, from ${due[0]?.name}: make a backup, then run "benefits-sidecar migrate" with DATABASE_URL set to it, or start this release's "serve"; an older release does not start on it after that`,
    );
  }
  await assertEnvironment(db, environment);
}

/** Returns how many migrations a database lacks. Throws SCHEMA_REFUSED if it is not a database of this program. */
export async function countDue(db: Db, environment: BenefitsEnvironment): Promise<number> {
  if (!(await isOurs(db))) throw schemaRefused('it is not a benefits-sidecar database: check the path');
  const { due } = await compareMigrations(db, FOLDER);
  await assertEnvironment(db, environment);
  return due.length;
}

/** Throws SCHEMA_REFUSED if another program made the tables. Ours would be mixed with them, or have the same names. */
async function assertOurs(db: Db | Trx): Promise<void> {
  if ((await isOurs(db)) || !(await hasTables(db))) return;
  throw schemaRefused(
    'the database has tables of another program: check DATABASE_URL, or give the sidecar an empty database',
  );
}

/** Other programs name a table `migrations` too. */
async function isOurs(db: Db | Trx): Promise<boolean> {
  return (await tableExists(db, 'migrations')) && (await tableExists(db, 'instance'));
}

/** Returns the migrations that a database has and those it lacks. Throws SCHEMA_REFUSED as `checkSchema` does. */
export async function compareMigrations(db: Db | Trx, folder = FOLDER) {
  const known = knownMigrations(folder);
  const applied = await db.selectFrom('migrations').selectAll().orderBy('number').execute();
  for (const { number, name, hash } of applied) {
    const migration = known[number - 1];
    if (migration === undefined) {
      throw schemaRefused(
        `the database has migration ${name}, which this release does not know: start the newer release that applied it`,
      );
    }
    if (migration.hash !== hash) {
      throw schemaRefused(
        `migration ${migration.name} differs from the file that was applied here: restore the released file`,
      );
    }
  }
  return { applied: known.slice(0, applied.length), due: known.slice(applied.length) };
}

async function assertEnvironment(db: Db | Trx, environment: BenefitsEnvironment): Promise<void> {
  const instance = await db.selectFrom('instance').select('environment').executeTakeFirstOrThrow();
  if (instance.environment !== environment) {
    throw schemaRefused(
      `the database belongs to ${instance.environment}, but BENEFITS_ENVIRONMENT is ${environment}: give each environment a database of its own`,
    );
  }
}

/** Makes a handle count days in the time zone of its database. Throws SCHEMA_REFUSED if the configured one differs. */
export async function adoptTimeZone(db: Db, configured: string): Promise<void> {
  await assertTimeZone(db, configured);
  setTimeZone(db, configured);
}

async function assertTimeZone(db: Db | Trx, configured: string): Promise<void> {
  const { time_zone } = await db.selectFrom('instance').select('time_zone').executeTakeFirstOrThrow();
  // A later release of Node may have another name for the same zone.
  if (zoneName(time_zone) !== configured) {
    throw schemaRefused(
      `the database counts days in ${time_zone}, but TIME_ZONE is ${configured}: set TIME_ZONE to ${time_zone}, or stop every sidecar and run "benefits-sidecar migrate --time-zone ${configured}"`,
    );
  }
}

/** Changes the time zone for later facts, and returns the one before. Facts keep their dates of receipt. */
export async function changeTimeZone(trx: Trx, time_zone: string): Promise<string> {
  const before = await trx.selectFrom('instance').select('time_zone').executeTakeFirstOrThrow();
  await trx.updateTable('instance').set({ time_zone }).execute();
  return before.time_zone;
}

/** Returns the migrations of a folder in order. The hash is that of the file, not of the SQL that an engine gets from it. */
export function knownMigrations(folder = FOLDER): Migration[] {
  const files = readdirSync(folder).filter((name) => /^\d{4}_.*\.sql$/.test(name));
  return files.sort().map((file, index) => {
    const text = readFileSync(new URL(file, folder), 'utf8');
    const number = Number(file.slice(0, 4));
    if (number !== index + 1) throw new Error(`db: migration ${file} is not number ${index + 1}`);
    const hash = createHash('sha256').update(text).digest('hex');
    return { number, name: file.slice(0, -4), hash, sql: (engine) => sqlFor(engine, file, text) };
  });
}

function run(trx: Trx, text: string) {
  return trx.executeQuery(CompiledQuery.raw(text));
}
