/** The command line: reads the arguments, runs one command and returns its exit code. */
import { Command, CommanderError } from 'commander';
import { systemClock } from '../clock.ts';
import type { Environment } from '../environment.ts';
import { isAppError } from '../errors.ts';
import { releaseYoungGenerations } from '../runtime/young-generation.ts';
import { VERSION } from '../version.ts';
import { type Act, type Context, catchSignals, type Input } from './context.ts';
import { printFailure } from './failure.ts';
import { createOutput, printable, type Stream } from './output.ts';

type AddCommands = (program: Command, act: Act) => void;

/** The first word of each command in the order of the help, with the function that adds it. */
const COMMANDS: Readonly<Record<string, () => Promise<AddCommands>>> = {
  serve: async () => (await import('./serve.ts')).addServeCommand,
  migrate: async () => (await import('./database/migrate.ts')).addMigrateCommand,
  copy: async () => (await import('./database/migrate.ts')).addCopyCommand,
  demo: async () => (await import('./demo/commands.ts')).addDemoCommand,
  simulate: async () => (await import('./simulate.ts')).addSimulateCommand,
  replay: async () => (await import('./replay.ts')).addReplayCommand,
  doctor: async () => (await import('./doctor/commands.ts')).addDoctorCommand,
  readiness: async () => (await import('./readiness.ts')).addReadinessCommand,
  backup: async () => (await import('./database/backup.ts')).addBackupCommand,
  restore: async () => (await import('./database/restore.ts')).addRestoreCommand,
  verify: async () => (await import('./database/maintenance.ts')).addVerifyCommand,
  'accept-loss': async () => (await import('./database/maintenance.ts')).addAcceptLossCommand,
  retention: async () => (await import('./database/maintenance.ts')).addRetentionCommand,
  keys: async () => (await import('./keys.ts')).addKeyCommands,
  token: async () => (await import('./token.ts')).addTokenCommands,
  events: async () => (await import('./events.ts')).addEventCommands,
  deductions: async () => (await import('./deductions.ts')).addDeductionCommands,
  census: async () => (await import('./census.ts')).addCensusCommands,
  change: async () => (await import('./change/commands.ts')).addChangeCommands,
  run: async () => (await import('./run/create.ts')).addRunCommands,
  schedule: async () => (await import('./settings.ts')).addScheduleCommands,
  policy: async () => (await import('./settings.ts')).addPolicyCommands,
  codes: async () => (await import('./settings.ts')).addCodeCommands,
  import: async () => (await import('./import.ts')).addImportCommands,
};

/** Exit codes: 0 is success. */
const FAILED = 1;
const USAGE = 2;

/** The streams of the process; tests pass their own. */
type ProgramIo = { stdout: Stream; stderr: Stream; stdin?: Input; signal?: AbortSignal };

/** Runs the command in `argv`, which excludes the interpreter and the script. Never throws. */
export async function run(
  argv: readonly string[],
  env: Environment,
  { stdout, stderr, stdin, signal }: ProgramIo = process,
): Promise<number> {
  const stopping = new AbortController();
  const out = createOutput({ stdout, stderr }, env, () => stopping.abort());
  signal?.addEventListener('abort', () => stopping.abort(), { once: true });
  const stopped = signal === undefined ? catchSignals(stopping) : () => stopping.signal;
  const context: Context = { env, out, now: systemClock, stopped, ...(stdin && { stdin }) };
  let exitCode = 0;
  try {
    const program = await createProgram(
      context,
      (code) => {
        exitCode = code;
      },
      argv,
    );
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
    printFailure(out, env, error);
    return isAppError(error, 'WRONG_USAGE') ? USAGE : FAILED;
  }
}

/**
 * Creates the program with the commands that `argv` needs: the one that it names, so `serve` loads only what it
 * serves with, or else all of them, as for the help. `ended` receives the exit code of the command that ran.
 */
export async function createProgram(
  context: Context,
  ended: (exitCode: number) => void,
  [first = '', second = '']: readonly string[] = [],
): Promise<Command> {
  const { out } = context;
  const act: Act =
    (command) =>
    async (...given) => {
      releaseYoungGenerations();
      ended(await command(context, ...(given as never[])));
    };
  const program = new Command('benefits-sidecar')
    .description('The payroll side of an embedded-benefits integration.')
    .version(VERSION)
    // `--version` belongs to the root only: `deductions decide` has an option of the same name.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => out.print(text.trimEnd()),
      writeErr: (text) => out.note(text.trimEnd()),
      outputError: (text, write) => write(errorLines(text)),
      getOutHelpWidth: () => out.stdout.columns ?? 100,
      getErrHelpWidth: () => out.stderr.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showHelpAfterError('("benefits-sidecar help COMMAND" tells how)')
    .exitOverride();
  const word = first === 'help' ? second : first;
  const named = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;
  for (const load of named === undefined ? Object.values(COMMANDS) : [named]) (await load())(program, act);
  return program;
}

/** An error quotes arguments, which may contain line ends. Only a suggestion is on its own line. */
function errorLines(text: string): string {
  return text
    .trimEnd()
    .split(/\n(?=\(Did you mean [^\n]*\)$)/)
    .map(printable)
    .join('\n');
}
