/** A running sidecar, and commands that reach its database or itself. */
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import type { Test } from 'tap';
import { createOutput } from '../../src/cli/output.ts';
import { createProgram } from '../../src/cli/program.ts';
import { systemClock } from '../../src/clock.ts';
import type { Db } from '../../src/database/tables.ts';
import { VERSION } from '../../src/version.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { FIRST_TOKEN, start } from '../api/start.ts';
import { EMPLOYER, readyEmployer } from '../support/payroll.ts';
import { environment, type Variables } from './harness.ts';

const out = createOutput({ stdout: new PassThrough(), stderr: new PassThrough() }, {}, () => {});

function commandsOf(command: Command): Command[] {
  return [command, ...command.commands.flatMap(commandsOf)];
}

/** Returns the commands that take `--url`, each with its examples in words. */
export async function remoteCommands(): Promise<{ command: Command; examples: string[][] }[]> {
  const commands = commandsOf(await createProgram(out, () => async () => {}));
  const remote = commands.filter(({ options }) => options.some(({ long }) => long === '--url'));
  return remote.map((command) => ({
    command,
    examples: (command as Command & { exampleLines: string[] }).exampleLines.map((line) =>
      [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? ''),
    ),
  }));
}

/** Replaces the ids of examples by those of the stage. */
export const known = (word: string) =>
  word.replace('maple-bakery-001', 'emp-1').replace('maple-bakery', EMPLOYER);

/** A running sidecar with an employer, and the variables with which commands reach its database or itself. */
export async function stage(
  t: Test,
): Promise<{ db: Db; url: string; local: Variables & { DATABASE_URL: string }; remote: Variables }> {
  const { DATABASE_URL: _, ...usual } = environment(t);
  const clocks = { now: systemClock, sharedNow: async () => systemClock() };
  const running = await start(t, { ...clocks, version: VERSION });
  const now = systemClock().toISOString();
  await readyEmployer(t, running.db, now);
  await deliver(running.db, [deductionOf('e-1', {})], now);
  const url = await running.app.listen({ host: '127.0.0.1', port: 0 });
  const local = { ...usual, DATABASE_URL: running.url };
  const remote = { ...usual, SIDECAR_URL: url, SIDECAR_TOKEN: FIRST_TOKEN };
  return { db: running.db, url, local, remote };
}
