/** The command line: reads the arguments, runs one command, answers the exit code. */
import { CommanderError } from 'commander';
import { systemClock } from '../clock.ts';
import type { Environment } from '../environment.ts';
import { type Context, catchSignals, type Input } from './context.ts';
import { tellFailure, WrongUsage } from './failure.ts';
import { createOutput, type Stream } from './output.ts';
import { createTree } from './tree.ts';

/** 0: it worked. 1: it did not. 2: it was called wrongly. */
const FAILED = 1;
const USAGE = 2;

/** What tests put in the place of the process's own. */
export type Surroundings = { stdout: Stream; stderr: Stream; stdin?: Input; signal?: AbortSignal };

/** Runs the command that `argv` (without the interpreter and the script) names. Never throws. */
export async function run(
  argv: readonly string[],
  env: Environment,
  { stdout, stderr, stdin, signal }: Surroundings = process,
): Promise<number> {
  const stopping = new AbortController();
  const out = createOutput({ stdout, stderr }, env, () => stopping.abort());
  signal?.addEventListener('abort', () => stopping.abort(), { once: true });
  const stopped = signal === undefined ? catchSignals(stopping) : () => stopping.signal;
  const context: Context = { env, out, now: systemClock, stopped, ...(stdin && { stdin }) };
  let exitCode = 0;
  try {
    const tree = createTree(context, (code) => {
      exitCode = code;
    });
    await tree.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
    tellFailure(out, env, error);
    return error instanceof WrongUsage ? USAGE : FAILED;
  }
}
