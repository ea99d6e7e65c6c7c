/** Checks of the database. */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { storedOrganizations } from '../../census/staged.ts';
import type { Clock } from '../../clock.ts';
import { readApi, readDatabaseUrl, readDataKeys, readEnvironment, readTimeZone } from '../../config.ts';
import {
  databaseNow,
  engineOf,
  engineOfUrl,
  type SharedNow,
  sharedClock,
  tableExists,
} from '../../database/engine.ts';
import { probeCommit } from '../../database/instance.ts';
import { adoptTimeZone, checkSchema } from '../../database/migrate.ts';
import { databaseExists, openDatabase, sqliteFile, sqlitePath } from '../../database/open.ts';
import { assertSchemaUnaltered } from '../../database/schema-check.ts';
import type { Db } from '../../database/tables.ts';
import type { Environment } from '../../environment.ts';
import { isAppError } from '../../errors.ts';
import { describeLoss, knownLosses } from '../../inbox/data-loss.ts';
import { readClockState } from '../../operations/clock-check.ts';
import { oldestBodies } from '../../outbox/queue.ts';
import { createEncryptor } from '../../security/encryption.ts';
import { storedHashKeys } from '../../security/hashing.ts';
import { listTokens } from '../../security/tokens.ts';
import { nearestFolder } from '../../telemetry/disk.ts';
import type { Context } from '../command.ts';
import { nameOfDatabase } from '../database/migrate.ts';
import { describeFailure } from '../failure.ts';
import { counted } from '../output.ts';
import { type Finding, fail, findingsOf, pass, unknown, type Verdict, warn } from './finding.ts';

/** Checks the database, or whether it could be created. */
export async function checkDatabase({ env, now }: Context): Promise<Finding[]> {
  const url = readDatabaseUrl(env);
  const isFile = engineOfUrl(url) === 'sqlite';
  if (isFile && !databaseExists(sqlitePath(url)))
    return [{ id: 'database.opens', ...missing(sqlitePath(url)) }];
  const db = openDatabase(url);
  try {
    // The first query connects to a server.
    const isEmpty = !(await tableExists(db, 'migrations'));
    // Opening refuses a database whose commits are not durable.
    const opens = { id: 'database.opens', ...pass(`${nameOfDatabase(url)} opens with durable commits`) };
    const migrated = await findingsOf('database.migrated', () =>
      isEmpty && !isFile ? warn('the database has no tables yet', CREATE_TABLES) : checkMigrated(db, env),
    );
    if (migrated.some(({ result }) => result !== 'pass')) return [opens, ...migrated];
    return [
      opens,
      ...migrated,
      ...(await findingsOf('database.schema', () => checkUnaltered(db))),
      // Before a probe is stored with the time of this clock.
      ...(await findingsOf('database.clock', () => checkClock(db, { now, sharedNow: sharedClock(now) }))),
      ...(await findingsOf('database.writable', () => checkWritable(db, now()))),
      ...(await findingsOf('data-loss', () => checkLoss(db, now()))),
      ...(await findingsOf('tokens', async () => checkTokens(db, env, await databaseNow(db, now)))),
      ...(await findingsOf('data-keys', () => checkDataKeys(db, env))),
    ];
  } finally {
    await db.destroy();
  }
}

function missing(path: string): Verdict {
  const folder = nearestFolder(path);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch {
    const advice = 'Set DATABASE_URL to a file in a folder of this user, on a local disk.';
    return fail(`there is no database at ${path}, and ${folder} is not writable`, advice);
  }
  const advice = 'Create it with "benefits-sidecar serve" or "benefits-sidecar migrate".';
  return warn(`there is no database at ${path} yet`, advice);
}

const CREATE_TABLES = 'Create them with "benefits-sidecar serve" or "benefits-sidecar migrate".';

async function checkMigrated(db: Db, env: Environment): Promise<Verdict> {
  const environment = readEnvironment(env);
  await checkSchema(db, environment);
  await adoptTimeZone(db, readTimeZone(env));
  return pass(`the database has every migration of this release and belongs to ${environment}`);
}

/** Checks that nothing was added to the schema, removed from it or altered, as `verify` does. */
async function checkUnaltered(db: Db): Promise<Verdict> {
  try {
    await assertSchemaUnaltered(db);
    return pass('the schema is what the migrations create');
  } catch (error) {
    if (isAppError(error, 'SCHEMA_NOT_COMPARABLE')) return unknown(`not checked: ${error.message}`);
    if (!isAppError(error, 'SCHEMA_REFUSED')) throw error;
    const advice = 'Find out who altered it, and undo that. See docs/operations.md.';
    return fail(describeFailure(error), advice);
  }
}

/** Compares this machine's clock with the database, and reports what the serving process noticed of its own. */
async function checkClock(db: Db, clocks: { now: Clock; sharedNow: SharedNow }): Promise<Verdict> {
  const warning = await readClockState(db, clocks);
  if (warning === null) return pass('the clock is right, as far as the database shows');
  const advice = 'Synchronize it with a time server. If it is right now, restart the sidecar.';
  return warn(`the clock may be wrong: ${warning}`, advice);
}

async function checkWritable(db: Db, now: Date): Promise<Verdict> {
  try {
    await probeCommit(db, now.toISOString());
    return pass('a commit succeeded');
  } catch (error) {
    return fail(describeFailure(error), 'Until this is fixed, the receiver responds with 503.');
  }
}

/**
 * Checks that DATA_KEYS decrypts samples of the stored values: the hash key, each staged census's organization, and
 * the oldest requests.
 */
export async function checkDataKeys(db: Db, env: Environment): Promise<Verdict> {
  const encryptor = createEncryptor(readDataKeys(env));
  const samples = [
    ...(await storedHashKeys(db)),
    ...(await storedOrganizations(db)),
    // Takes a few milliseconds. A missing key shows among the oldest requests.
    ...(await oldestBodies(db, 1_000)),
  ];
  for (const { encrypted, place } of samples) {
    try {
      encryptor.decrypt(encrypted, place);
    } catch (error) {
      return fail(
        describeFailure(error),
        'Add that key to DATA_KEYS after the first one. "benefits-sidecar keys rotate" reports when it is no longer needed.',
      );
    }
  }
  return pass(samples.length === 0 ? 'nothing is encrypted yet' : 'they decrypt the stored data');
}

/** Checks the losses that were recorded and, when nothing serves a SQLite file, its high-water mark. */
async function checkLoss(db: Db, now: Date): Promise<Verdict> {
  const losses = await knownLosses(db, now);
  if (losses.length > 0) {
    return fail(
      losses.map(describeLoss).join('; '),
      'Replay in the provider\'s portal and report again the changes that are missing. Then, while "serve" is running, record that with "benefits-sidecar accept-loss". See "Data-loss detection" in docs/backup.md.',
    );
  }
  if (engineOf(db) === 'sqlite') return pass('no data is missing');
  return pass('no running sidecar has found that data is missing');
}

/** A token that expires within these days is reported, so that its user can get a new one in time. */
const SOON_DAYS = 14;

/** Checks whether any token is valid, and which tokens expire soon. */
async function checkTokens(db: Db, env: Environment, now: Date): Promise<Verdict> {
  const { token: first } = readApi(env);
  const at = now.toISOString();
  const valid = (await listTokens(db)).filter(
    ({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt === null || expiresAt > at),
  );
  if (valid.length === 0 && first === null) {
    const advice = 'Create a token for each program with "benefits-sidecar token create".';
    return warn('no token permits access to the API', advice);
  }
  const message = `${counted(valid.length, 'valid token')}${first === null ? '' : ' and API_TOKEN'}`;
  const soon = new Date(now.getTime() + SOON_DAYS * 86_400_000).toISOString();
  const ending = valid.filter(({ expiresAt }) => expiresAt !== null && expiresAt < soon);
  if (ending.length === 0) return pass(message);
  const names = ending.map(({ name }) => name).join(', ');
  return warn(
    `${message}; these expire within ${SOON_DAYS} days: ${names}`,
    'Replace each in time with "benefits-sidecar token create".',
  );
}

/**
 * Checks that other users cannot replace the files of a SQLite database. A folder that does not exist yet is created
 * for its owner only. Windows reports no such permission bits.
 */
export function checkDataFolder(databaseUrl: string): Verdict | null {
  if (engineOfUrl(databaseUrl) === 'postgres' || process.platform === 'win32') return null;
  const folder = dirname(sqliteFile(databaseUrl));
  if (!existsSync(folder)) return null;
  const mode = statSync(folder).mode & 0o777;
  if ((mode & 0o022) === 0) return pass(`only the owner of ${folder} can write to it`);
  return warn(
    `other users can write to ${folder} (mode ${mode.toString(8)}) and replace the database`,
    'Run "chmod go-w" on the folder, or move the database to a folder of its own.',
  );
}
