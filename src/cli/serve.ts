import closeWithGrace from 'close-with-grace';
import { readConfig } from '../config.ts';
import { createLog, flushLog } from '../telemetry/log.ts';
import type { Command, Context } from './command.ts';
import { printFailure } from './failure.ts';

export function addServeCommand(program: Command): void {
  program
    .subcommand('serve', 'Run the sidecar until SIGTERM: webhook receiver, private API and sender.')
    .records('none')
    .examples('serve', 'serve --no-migrate')
    .option('--no-migrate', 'Fail if the database lacks migrations, instead of applying them')
    .doesOnMachine(serve);
}

/** The promised limit. Ending the process later loses nothing. */
const STOPS_WITHIN_MS = 10_000;
const LATE = `the sidecar did not stop within ${STOPS_WITHIN_MS / 1_000} s: the next start continues unfinished work`;

/**
 * Runs the sidecar until SIGTERM or SIGINT, which stop it with exit code 0, or until it fails, which stops it with
 * 1. The process ends here either way. Throws if it can't start.
 */
async function serve({ env, out }: Context, { migrate }: { migrate: boolean }): Promise<number> {
  const config = readConfig(env);
  const log = createLog(config.logLevel, out.stdout.isTTY === true);
  const report = (failure: unknown): void => printFailure(out, env, failure);

  const { createSidecar } = await import('../runtime/sidecar.ts');
  // A signal during the start waits for it and then stops what was started.
  const starting = createSidecar(config, { log, migrate });

  let failure: Error | null = null;
  const reportTimeout = (): void => {
    report(new Error(LATE));
    // Printed last, because it states the next step.
    if (failure !== null) report(failure);
  };

  const closer = closeWithGrace(
    { delay: STOPS_WITHIN_MS, logger: { error: report }, onTimeout: reportTimeout },
    async ({ err, signal }) => {
      if (err !== undefined) report(err);
      log.info({ reason: signal ?? 'failure' }, 'stopping');
      await (await starting).stop();
      log.info({}, 'stopped');
      await flushLog();
      // Throwing is the only way to end with exit code 1. The reason was printed when it failed.
      if (failure !== null) throw failure;
    },
  );

  try {
    const sidecar = await starting;
    failure = await sidecar.failed;
  } catch (error) {
    closer.uninstall();
    throw error;
  }
  closer.close();
  return new Promise(() => {});
}
