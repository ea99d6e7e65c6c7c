import { existsSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import { readDatabaseUrl, readEnvironment } from '../config.ts';
import { engineOfUrl } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import type { Environment } from '../environment.ts';
import { CommandFailed } from './failure.ts';
import type { Output } from './output.ts';

/** Makes a command the action of a Commander command. The command returns its exit code, 0 only on success. */
export type Act = (
  command: (context: Context, ...rest: never[]) => Promise<number>,
) => (...given: unknown[]) => Promise<void>;

export type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** What every command gets. */
export type Context = {
  readonly env: Environment;
  readonly out: Output;
  readonly now: Clock;
  /** Where a person's answers come from; without it, the process's own. */
  readonly stdin?: Input;
  /**
   * Aborts at Ctrl-C or SIGTERM, and when nobody reads the result any more. Signals are caught from the first call
   * on, once: a second one ends the process at once, and commands that never ask are ended by the first.
   */
  readonly stopped: () => AbortSignal;
};

/** Catches the signals that ask a process to stop. */
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

/**
 * Opens the configured database for one command, also beside a running `serve`, and closes it again. Throws when
 * there is none, so that a command started in the wrong folder leaves no empty one behind, and `SchemaRefused`
 * when it is not the one that this release and configuration expect.
 */
export async function withDatabase<R>({ env }: Context, work: (db: Db) => Promise<R>): Promise<R> {
  const url = readDatabaseUrl(env);
  const environment = readEnvironment(env);
  const [{ openDatabase, sqlitePath }, { checkSchema }] = await Promise.all([
    import('../database/open.ts'),
    import('../database/migrate.ts'),
  ]);
  if (engineOfUrl(url) === 'sqlite' && !existsSync(sqlitePath(url))) {
    throw new CommandFailed(
      `there is no database at ${sqlitePath(url)}: check DATABASE_URL, or run "benefits-sidecar migrate" to make it`,
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
