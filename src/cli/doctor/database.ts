/** Checks of the database and its disk. */

import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { stagedTimes, storedOrganizations } from '../../census/staged.ts';
import { ago } from '../../checks.ts';
import {
  readApi,
  readCensus,
  readDatabaseUrl,
  readDataKeys,
  readEnvironment,
  readWebhookSecrets,
} from '../../config.ts';
import { engineOf, engineOfUrl, tableExists } from '../../database/engine.ts';
import { checkSchema } from '../../database/migrate.ts';
import { openDatabase, sqliteFile, sqlitePath } from '../../database/open.ts';
import type { Db } from '../../database/tables.ts';
import { probeCommit } from '../../database/transaction.ts';
import type { Environment } from '../../environment.ts';
import { describeEventAge, readEventAge } from '../../inbox/arrivals.ts';
import { describeLoss, knownLosses } from '../../inbox/data-loss.ts';
import { refusedSince } from '../../inbox/refusals.ts';
import { readCircuitBreaker } from '../../outbox/circuit-breaker.ts';
import { oldestBodies } from '../../outbox/queue.ts';
import { createEncryptor } from '../../security/encryption.ts';
import { storedHashKeys } from '../../security/hashing.ts';
import { listTokens } from '../../security/tokens.ts';
import { diskInWords, judgeDisk, nearestFolder, readDisk } from '../../telemetry/disk.ts';
import type { Context } from '../context.ts';
import { nameOfDatabase } from '../database/backup.ts';
import { describeFailure } from '../failure.ts';
import { type Finding, fail, findingsOf, pass, unknown, warn } from './finding.ts';

/** Checks the database, or whether it could be created. */
export async function checkDatabase({ env, now }: Context): Promise<Finding[]> {
  const url = readDatabaseUrl(env);
  const isFile = engineOfUrl(url) === 'sqlite';
  if (isFile && !existsSync(sqlitePath(url))) return [missing(sqlitePath(url))];
  const db = openDatabase(url);
  try {
    const isEmpty = !(await tableExists(db, 'migrations'));
    // Opening refuses a database whose commits are not durable.
    const findings = [pass('database.opens', `${nameOfDatabase(url)} opens, and its commits are durable`)];
    if (isEmpty && !isFile) return [...findings, empty()];
    findings.push(...(await findingsOf('database.migrated', () => checkMigrated(db, readEnvironment(env)))));
    if (findings.some((finding) => finding.result !== 'pass')) return findings;
    return [
      ...findings,
      await checkWritable(db, now()),
      ...(await findingsOf('data-loss', () => checkLoss(db, now()))),
      ...(await findingsOf('tokens', () => checkTokens(db, env, now()))),
      ...(await findingsOf('circuit-breaker', () => checkCircuitBreaker(db))),
      ...(await findingsOf('webhook-secrets', () => checkWebhooks(db, env, now()))),
      ...(await findingsOf('data-keys', () => checkDataKeys(db, env))),
      ...(await findingsOf('staged-censuses', () => checkStagedCensuses(db, env, now()))),
    ];
  } finally {
    await db.destroy();
  }
}

function missing(path: string): Finding {
  const folder = nearestFolder(path);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch {
    return fail(
      'database.opens',
      `there is no database at ${path}, and ${folder} is not writable`,
      'Set DATABASE_URL to a folder that this user owns, on a local disk.',
    );
  }
  return warn(
    'database.opens',
    `there is no database at ${path} yet`,
    'The first "benefits-sidecar serve" or "benefits-sidecar migrate" makes it.',
  );
}

function empty(): Finding {
  return warn(
    'database.migrated',
    'it has no tables yet',
    'The first "benefits-sidecar serve" or "benefits-sidecar migrate" makes them.',
  );
}

async function checkMigrated(db: Db, environment: 'sandbox' | 'live'): Promise<Finding[]> {
  await checkSchema(db, environment);
  return [pass('database.migrated', `it is of this release and of ${environment}`)];
}

/** Commits a write, as readyz does. */
async function checkWritable(db: Db, now: Date): Promise<Finding> {
  const id = 'database.writable';
  try {
    await probeCommit(db, now.toISOString());
    return pass(id, 'it takes a commit');
  } catch (error) {
    return fail(id, describeFailure(error), 'Until this is fixed, the receiver responds with 503.');
  }
}

/**
 * Reports what the serving process last received from the service. Its configuration may differ from this shell's.
 */
async function checkCircuitBreaker(db: Db): Promise<Finding[]> {
  const { state, reason, paused_at } = await readCircuitBreaker(db);
  if (state === 'active') return [pass('circuit-breaker', 'sending is active')];
  return [
    fail(
      'circuit-breaker',
      `requests wait since ${paused_at}: ${reason}`,
      'Correct the address or the key of serve. A variable is read at the next start.',
    ),
  ];
}

/**
 * Checks that DATA_KEYS decrypts samples of the stored values: the hash key, each staged census's organization, and
 * the oldest requests.
 */
export async function checkDataKeys(db: Db, env: Environment): Promise<Finding[]> {
  const id = 'data-keys';
  const encryptor = createEncryptor(readDataKeys(env));
  const samples = [
    ...(await storedHashKeys(db)),
    ...(await storedOrganizations(db)),
    ...(await oldestBodies(db, REQUESTS_OPENED)),
  ];
  for (const { encrypted, place } of samples) {
    try {
      encryptor.decrypt(encrypted, place);
    } catch (error) {
      return [
        fail(
          id,
          describeFailure(error),
          'Add that key to DATA_KEYS after the first one. "benefits-sidecar keys rotate" reports when it is no longer needed.',
        ),
      ];
    }
  }
  const message = samples.length === 0 ? 'nothing is sealed yet' : 'they open what is stored';
  return [pass(id, message)];
}

/** Takes a few milliseconds. A missing key shows among the oldest requests. */
const REQUESTS_OPENED = 1_000;

const LOSS_ID = 'data-loss';

/**
 * Checks whether events were lost: by the losses that a start recorded, and by the high-water mark when nothing
 * serves.
 */
async function checkLoss(db: Db, now: Date): Promise<Finding[]> {
  const losses = await knownLosses(db, now);
  if (losses.length > 0) {
    return [
      fail(
        LOSS_ID,
        losses.map(describeLoss).join('; '),
        'Replay in the provider\'s portal and report again the changes that are missing; when "serve" runs, say so with "benefits-sidecar accept-loss". See "Data-loss detection" in docs/backup.md.',
      ),
    ];
  }
  if (engineOf(db) === 'postgres') {
    return [unknown(LOSS_ID, 'a PostgreSQL server has no high-water mark here: see its own logs')];
  }
  return [pass(LOSS_ID, 'it has all that it is known to have had')];
}

/** Enough time to create a new token and bring it to its user. */
const SOON_DAYS = 14;
/** 32 random hexadecimal digits have fewer than 8 kinds once in millions. */
const KINDS_LEAST = 8;

/** Checks whether any token is valid, which tokens expire soon, and whether API_TOKEN can be guessed. */
async function checkTokens(db: Db, env: Environment, now: Date): Promise<Finding[]> {
  const { token: first } = readApi(env);
  const at = now.toISOString();
  const valid = (await listTokens(db)).filter(
    ({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt === null || expiresAt > at),
  );
  const soon = new Date(now.getTime() + SOON_DAYS * 86_400_000).toISOString();
  const ending = valid.filter(({ expiresAt }) => expiresAt !== null && expiresAt < soon);
  const message = `${valid.length} valid ${first === null ? 'and no API_TOKEN' : 'beside API_TOKEN'}`;
  const findings = [pass('tokens', message)];
  if (valid.length === 0 && first === null) {
    findings[0] = warn(
      'tokens',
      'no token can call the private listener',
      'Make a token for each program with "benefits-sidecar token create".',
    );
  } else if (ending.length > 0) {
    findings[0] = warn(
      'tokens',
      `${message}; within ${SOON_DAYS} days ends ${ending.map(({ name }) => name).join(', ')}`,
      'Make a new one with "benefits-sidecar token create" and bring it to its user before that.',
    );
  }
  if (first !== null && isMadeUp(first)) {
    findings.push(
      warn(
        'tokens.first',
        'API_TOKEN looks made up: a random one has more kinds of characters',
        'Make it by "openssl rand -base64 32": it may do everything.',
      ),
    );
  }
  return findings;
}

/** Returns whether a token has few kinds of characters or repeats a short pattern. */
export function isMadeUp(token: string): boolean {
  return new Set(token).size < KINDS_LEAST || /^(.{1,16})\1+$/.test(token);
}

/** The provider retries an event for about 27 hours, so events refused since then can still arrive. */
const LATELY_HOURS = 28;

/**
 * Accepted events prove that the secrets are the provider's. Refused ones suggest otherwise, though any sender can
 * cause them.
 */
async function checkWebhooks(db: Db, env: Environment, now: Date): Promise<Finding[]> {
  const id = 'webhook-secrets';
  const { length } = readWebhookSecrets(env);
  const since = new Date(now.getTime() - LATELY_HOURS * 3_600_000);
  const age = await readEventAge(db);
  const counts = await refusedSince(db, since);
  const refused = counts.reduce((sum, { refused }) => sum + refused, 0);
  const message = `${length} configured; ${describeEventAge(age, now)}; ${refused} deliveries refused in the last ${LATELY_HOURS} hours`;
  if (refused > 0) {
    const causes = counts.map(({ cause }) => cause).join(', ');
    return [
      warn(
        id,
        `${message} (${causes})`,
        "If they were the provider's: compare WEBHOOK_SECRETS with its portal and this machine's clock with the time, then have them resent.",
      ),
    ];
  }
  return [age.hasEvents ? pass(id, message) : unknown(id, message)];
}

/** With `push`, payroll must keep a fresh census of each employer staged. Other sources are read when needed. */
async function checkStagedCensuses(db: Db, env: Environment, now: Date): Promise<Finding[]> {
  const { source, maxAgeMs } = readCensus(env);
  if (source.kind !== 'push') return [];
  const id = 'census-source';
  const staged = await stagedTimes(db);
  const oldest = ago(now, maxAgeMs);
  const fresh = staged.filter((stagedAt) => stagedAt >= oldest).length;
  const message = `push: of ${staged.length} employers with a staged census, ${fresh} have a fresh one`;
  if (staged.length > 0 && fresh === staged.length) return [pass(id, message)];
  return [
    warn(
      id,
      message,
      'Have payroll PUT a census, or use "benefits-sidecar census stage": a sync waits until there is a fresh one.',
    ),
  ];
}

const DISK_ID = 'disk-space';

/** Checks the disk of a SQLite database. The disk of a server is its operator's task. */
export async function checkDisk(databaseUrl: string): Promise<Finding[]> {
  if (engineOfUrl(databaseUrl) === 'postgres') {
    return [unknown(DISK_ID, "the disk of a PostgreSQL server can't be seen from here: watch it there")];
  }
  const disk = await readDisk(sqlitePath(databaseUrl));
  const found = judgeDisk(disk);
  const message = diskInWords(disk);
  if (found === 'pass') return [pass(DISK_ID, message)];
  const advice =
    'Make room: a larger volume, or other files away from it; a full disk makes the receiver answer 503. Retention stops the growth; a file that was not begun with it gets smaller by backup and restore only (docs/retention.md).';
  return [found === 'fail' ? fail(DISK_ID, message, advice) : warn(DISK_ID, message, advice)];
}

/** Group and others. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Checks that other users cannot replace the files of a SQLite database. A folder that does not exist yet is created
 * for its owner only. Windows reports no such permission bits.
 */
export function checkDataFolder(databaseUrl: string): Finding[] {
  if (engineOfUrl(databaseUrl) === 'postgres' || process.platform === 'win32') return [];
  const id = 'data-folder';
  const folder = dirname(sqliteFile(databaseUrl));
  if (!existsSync(folder)) return [];
  const mode = statSync(folder).mode & 0o777;
  if ((mode & WRITABLE_BY_OTHERS) === 0) return [pass(id, `only the owner of ${folder} can write to it`)];
  return [
    warn(
      id,
      `other users can write to ${folder} (mode ${mode.toString(8)}) and replace the database`,
      'Run "chmod go-w" on the folder, or move the database into a subfolder: the sidecar creates it with mode 700.',
    ),
  ];
}
