import { accessSync, constants, existsSync } from 'node:fs';
import { readDatabaseUrl, readEnvironment } from '../../config.ts';
import { engineOfUrl, tableExists } from '../../database/engine.ts';
import { checkSchema } from '../../database/migrate.ts';
import { openDatabase, sqlitePath } from '../../database/open.ts';
import type { Db } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { readCircuitBreaker } from '../../outbox/circuit-breaker.ts';
import { nearestFolder } from '../../telemetry/disk.ts';
import type { Context } from '../context.ts';
import { describeFailure } from '../failure.ts';
import { nameOfDatabase } from '../where.ts';
import { checkDataKeys } from './data-keys.ts';
import { type Finding, fail, findingsOf, pass, warn } from './finding.ts';
import { checkStagedCensuses } from './staged-censuses.ts';
import { checkTail } from './tail.ts';
import { checkTokens } from './tokens.ts';
import { checkWebhooks } from './webhooks.ts';

/** The database, and what only it can tell. Where there is none yet, whether it could be made. */
export async function checkDatabase({ env, now }: Context): Promise<Finding[]> {
  const url = readDatabaseUrl(env);
  const isFile = engineOfUrl(url) === 'sqlite';
  if (isFile && !existsSync(sqlitePath(url))) return [missing(sqlitePath(url))];
  const db = openDatabase(url);
  try {
    const isEmpty = !(await tableExists(db, 'migrations'));
    // That it opened says that its commits are durable: anything else is refused there.
    const findings = [pass('database.opens', `${nameOfDatabase(url)} opens, and its commits are durable`)];
    if (isEmpty && !isFile) return [...findings, empty()];
    findings.push(...(await findingsOf('database.migrated', () => checkMigrated(db, readEnvironment(env)))));
    if (findings.some((finding) => finding.result !== 'pass')) return findings;
    return [
      ...findings,
      await checkWritable(db, now()),
      ...(await findingsOf('tail-lost', () => checkTail(db, now()))),
      ...(await findingsOf('tokens', () => checkTokens(db, env, now()))),
      ...(await findingsOf('gate', () => checkGate(db))),
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
      `there is no database at ${path}, and ${folder} can not be written`,
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
    await transact(db, (trx) => trx.updateTable('instance').set({ probed_at: now.toISOString() }).execute());
    return pass(id, 'it takes a commit');
  } catch (error) {
    return fail(id, describeFailure(error), 'Until this is mended the receiver answers 503.');
  }
}

/** What the serving process last heard from the service; its configuration may not be that of this shell. */
async function checkGate(db: Db): Promise<Finding[]> {
  const { state, reason, since } = await readCircuitBreaker(db);
  if (state === 'active') return [pass('gate', 'nothing keeps requests from the service')];
  return [
    fail(
      'gate',
      `requests wait since ${since}: ${reason}`,
      'Mend the address or the key that serve was started with; one in a variable is read at the next start.',
    ),
  ];
}
