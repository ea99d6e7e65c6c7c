import closeWithGrace from 'close-with-grace';
import type { Command } from 'commander';
import { readConfig } from '../config.ts';
import {
  boundHeaps,
  holdYoungGenerations,
  releaseBoundYoungGenerations,
} from '../runtime/young-generation.ts';
import { createLog } from '../telemetry/log.ts';
import type { Act, Context } from './context.ts';
import { printFailure } from './failure.ts';

/** Adds `serve`. */
export function addServeCommand(program: Command, act: Act): void {
  program
    .command('serve')
    .description('receive webhooks, keep the ledger, send what is owed; until SIGTERM')
    .option('--no-migrate', 'refuse a database that lacks migrations instead of migrating it')
    .action(act(serve));
}

/** What the promise of a stop within 10 s allows; after it the process is ended as it is, and loses nothing. */
const STOPS_WITHIN_MS = 10_000;
const LATE = `not everything stopped within ${STOPS_WITHIN_MS / 1_000} s: what was under way is taken up at the next start`;

/**
 * Runs the sidecar until SIGTERM or SIGINT, which end it in order and with exit code 0, or until it can't go on,
 * which ends it in order and with 1. Either way the process is ended from here. Throws when it can't start.
 */
async function serve({ env, out }: Context, { migrate }: { migrate: boolean }): Promise<number> {
  const config = readConfig(env);
  const log = createLog(config.logLevel, out.stdout.isTTY === true);
  const say = (failure: unknown): void => printFailure(out, env, failure);
  holdYoungGenerations();
  boundHeaps();
  const { createSidecar } = await import('../runtime/sidecar.ts');
  // Also before the start is done: a signal then waits for it, and stops what was started.
  const starting = createSidecar(config, { log, migrate });
  let failure: Error | null = null;
  const tellLate = (): void => {
    say(new Error(LATE));
    // Last, because it has the advice.
    if (failure !== null) say(failure);
  };
  const closer = closeWithGrace(
    { delay: STOPS_WITHIN_MS, logger: { error: say }, onTimeout: tellLate },
    async ({ err, signal }) => {
      if (err !== undefined) say(err);
      log.info({ reason: signal ?? 'failure' }, 'stopping');
      await (await starting).stop();
      log.info({}, 'stopped');
      // Its only way to end with exit code 1; the reason was told when it failed.
      if (failure !== null) throw failure;
    },
  );
  try {
    const sidecar = await starting;
    releaseBoundYoungGenerations();
    failure = await sidecar.failed;
  } catch (error) {
    closer.uninstall();
    throw error;
  }
  closer.close();
  return new Promise(() => {});
}
