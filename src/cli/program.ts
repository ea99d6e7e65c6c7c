/** The command line: reads the arguments, runs one command and returns its exit code. */
import { userInfo } from 'node:os';
import { type Command as Base, CommanderError, Help } from 'commander';
import { systemClock } from '../clock.ts';
import type { Environment } from '../environment.ts';
import { cliActor } from '../security/audit.ts';
import { VERSION } from '../version.ts';
import { type Act, Command, type Context, catchSignals, type Input } from './command.ts';
import { EXIT_CODES, exitCodeOf, printFailure, usageOf, wrongUsage } from './failure.ts';
import { createOutput, type Output, printable, type Stream, WIDTH } from './output.ts';

type AddCommands = (program: Command) => void;

/** A program. `commands` has the first word of each command with the function that adds it, by the headings of the help. */
export type Program = {
  readonly name: string;
  readonly description: string;
  readonly examples: readonly string[];
  readonly commands: Readonly<Record<string, Readonly<Record<string, () => Promise<AddCommands>>>>>;
};

const COMMANDS: Program['commands'] = {
  'Run the sidecar:': {
    serve: async () => (await import('./serve.ts')).addServeCommand,
    doctor: async () => (await import('./doctor/commands.ts')).addDoctorCommand,
    keys: async () => (await import('./keys.ts')).addKeyCommands,
    token: async () => (await import('./token.ts')).addTokenCommands,
    notification: async () => (await import('./notification.ts')).addNotificationCommands,
    session: async () => (await import('./session.ts')).addSessionCommands,
    sending: async () => (await import('./sending.ts')).addSendingCommands,
  },
  'Set up an employer:': {
    import: async () => (await import('./import.ts')).addImportCommands,
    'cut-over': async () => (await import('./cut-over.ts')).addCutOverCommands,
    census: async () => (await import('./census.ts')).addCensusCommands,
    schedule: async () => (await import('./schedule.ts')).addScheduleCommands,
    policy: async () => (await import('./settings.ts')).addPolicyCommands,
    format: async () => (await import('./file-formats.ts')).addFormatCommands,
    codes: async () => (await import('./settings.ts')).addCodeCommands,
    approval: async () => (await import('./approval.ts')).addApprovalCommands,
    'flow-readiness': async () => (await import('./flow-readiness.ts')).addFlowReadinessCommand,
  },
  'Run payroll:': {
    readiness: async () => (await import('./readiness.ts')).addReadinessCommand,
    run: async () => (await import('./run/create.ts')).addRunCommands,
    items: async () => (await import('./items.ts')).addItemCommands,
    deductions: async () => (await import('./deductions.ts')).addDeductionCommands,
    events: async () => (await import('./events.ts')).addEventCommands,
    change: async () => (await import('./change/commands.ts')).addChangeCommands,
  },
  'Audit:': {
    audit: async () => (await import('./audit.ts')).addAuditCommands,
    evidence: async () => (await import('./evidence.ts')).addEvidenceCommands,
    employer: async () => (await import('./employer.ts')).addEmployerCommands,
  },
  'Maintain the database:': {
    migrate: async () => (await import('./database/migrate.ts')).addMigrateCommand,
    backup: async () => (await import('./database/backup.ts')).addBackupCommand,
    restore: async () => (await import('./database/backup.ts')).addRestoreCommand,
    verify: async () => (await import('./database/maintenance.ts')).addVerifyCommand,
    'accept-loss': async () => (await import('./database/maintenance.ts')).addAcceptLossCommand,
    retention: async () => (await import('./database/maintenance.ts')).addRetentionCommand,
    copy: async () => (await import('./database/migrate.ts')).addCopyCommand,
  },
};

export const SIDECAR: Program = {
  name: 'benefits-sidecar',
  description: 'Receives benefit deductions and computes what payroll deducts from each paycheck.',
  examples: ['serve', 'doctor', 'help run'],
  commands: COMMANDS,
};

/** The streams of the process; tests pass their own. */
type ProgramIo = { stdout: Stream; stderr: Stream; stdin?: Input; signal?: AbortSignal };

/** Runs the command in `argv`, which excludes the interpreter and the script. Never throws. */
export async function run(
  argv: readonly string[],
  env: Environment,
  { stdout, stderr, stdin = process.stdin, signal }: ProgramIo = process,
  named: Program = SIDECAR,
): Promise<number> {
  const stopping = new AbortController();
  const out = createOutput({ stdout, stderr }, env, () => stopping.abort());
  signal?.addEventListener('abort', () => stopping.abort(), { once: true });
  const stopped = signal === undefined ? catchSignals(stopping) : () => stopping.signal;
  const actor = cliActor(userName());
  const context: Context = { env, out, now: systemClock, actor, stopped, stdin, yes: false };
  let exitCode = 0;
  try {
    const act: Act =
      (command) =>
      async (...parameters) => {
        // Commander passes the options before the command itself.
        const { wide = false, json = false, yes = false } = parameters.at(-2) as Record<string, boolean>;
        const withOptions = { ...context, yes, out: { ...out, wide, asJson: json } };
        exitCode = (await command(withOptions, ...(parameters as never[]))) ?? 0;
      };
    const program = await createProgram(out, act, argv, named);
    const [first, ...words] = argv;
    if (first === 'help' && words.length > 0) commandNamed(program, words).help();
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : EXIT_CODES.WRONG_USAGE;
    const error = usageOf(thrown);
    printFailure(out, env, error);
    return exitCodeOf(error);
  }
}

/** Returns the name of the operating system's user, or its number if it has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

/**
 * Creates the program with the command that `argv` names, so `serve` loads only what it serves with, or else with
 * all commands, as for the help.
 */
export async function createProgram(
  out: Output,
  act: Act,
  [first = '', second = '']: readonly string[] = [],
  { name, description, examples, commands }: Program = SIDECAR,
): Promise<Command> {
  const program = new Command(name, act)
    .description(description)
    .version(VERSION, '-V, --version', 'Show the version')
    .configureOutput({
      writeOut: (text) => out.print(text.trimEnd()),
      writeErr: (text) => out.note(text.trimEnd()),
      outputError: (text, write) => write(errorLines(text)),
      getOutHelpWidth: () => WIDTH,
      getErrHelpWidth: () => WIDTH,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ subcommandTerm: (command) => HELP.subcommandTerm(command).replace(' [options]', '') })
    .examples(...examples)
    .exitOverride();
  const word = first === 'help' ? second : first;
  const isKnown = Object.values(commands).some((group) => Object.hasOwn(group, word));
  for (const [heading, group] of Object.entries(commands)) {
    program.commandsGroup(heading);
    for (const [noun, load] of Object.entries(group)) if (!isKnown || noun === word) (await load())(program);
  }
  addHelpHints(program, program.name());
  return program;
}

/** Returns the command that `help run create` names. Throws WRONG_USAGE if there is none. */
function commandNamed(program: Base, words: readonly string[]): Base {
  return words.reduce((group: Base, word) => {
    const named = group.commands.find((command) => command.name() === word);
    if (named === undefined) {
      const known = `list the commands with "${program.name()} help"`;
      throw wrongUsage(`there is no command ${words.join(' ')}: ${known}`);
    }
    return named;
  }, program);
}

const HELP = new Help();

/** Adds `help` to each group. After a usage error, names the help of the command that was used wrongly. */
function addHelpHints(command: Base, path: string): void {
  if (command.commands.length > 0) command.helpCommand('help [command]', 'Show the help of a command.');
  command.showHelpAfterError(`Run "${path} --help" for usage.`);
  for (const subcommand of command.commands) addHelpHints(subcommand, `${path} ${subcommand.name()}`);
}

/** An error quotes arguments, which may contain line ends. Only a suggestion is on its own line. */
function errorLines(text: string): string {
  return text
    .trimEnd()
    .split(/\n(?=\(Did you mean [^\n]*\)$)/)
    .map(printable)
    .join('\n');
}
