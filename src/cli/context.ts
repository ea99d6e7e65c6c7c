import { existsSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import { readDatabaseUrl, readEnvironment } from '../config.ts';
import { engineOfUrl } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import type { Environment } from '../environment.ts';
import { failed } from './failure.ts';
import type { Output } from './output.ts';

/** Runs a command with its arguments and options. Returns the exit code; none is success. */
export type Run = (context: Context, ...rest: never[]) => Promise<number> | Promise<void>;

/** The same, on the configured database. */
export type DatabaseRun = (context: DatabaseContext, ...rest: never[]) => ReturnType<Run>;

/** Wraps a command as the action of a Commander command. */
export type Act = (run: Run) => (...given: unknown[]) => Promise<void>;

export type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean };

export type Context = {
  readonly env: Environment;
  readonly out: Output;
  readonly now: Clock;
  readonly stdin: Input;
  /** `--yes`: do not ask for confirmation. */
  readonly yes: boolean;
  /**
   * Returns a signal that aborts at Ctrl-C or SIGTERM, or when the reader of the result is gone. Signals are
   * caught from the first call on, and once: a second signal ends the process.
   */
  readonly stopped: () => AbortSignal;
};

export type DatabaseContext = Context & { readonly db: Db };

export function catchSignals(stopping: AbortController): () => AbortSignal {
  let caught = false;
  return () => {
    if (!caught) {
      caught = true;
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
    }
    return stopping.signal;
  };
}

/** Resolves when the signal aborts, or at once if it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * Opens the configured database for one command and closes it afterward, also while `serve` runs. Throws if there
 * is no database, so a command started in the wrong folder creates none, and throws SCHEMA_REFUSED for a database
 * of another release or environment.
 */
export async function withDatabase<R>({ env }: Context, work: (db: Db) => Promise<R>): Promise<R> {
  const url = readDatabaseUrl(env);
  const environment = readEnvironment(env);
  const [{ openDatabase, sqlitePath }, { checkSchema }] = await Promise.all([
    import('../database/open.ts'),
    import('../database/migrate.ts'),
  ]);
  if (engineOfUrl(url) === 'sqlite' && !existsSync(sqlitePath(url))) {
    throw failed(
      `there is no database at ${sqlitePath(url)}: check DATABASE_URL, or create it with "benefits-sidecar migrate"`,
    );
  }
  const db = openDatabase(url);
  try {
    await checkSchema(db, environment);
    return await work(db);
  } finally {
    await db.destroy();
  }
}
