/** The base of all commands: what they run with, their help, and the options that several of them share. */
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { Command as Base } from 'commander';
import { type Clock, dayIn } from '../clock.ts';
import { isDatabaseSet, readDatabaseUrl, readEnvironment, readTimeZone } from '../config.ts';
import { engineOfUrl } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { type Environment, given } from '../environment.ts';
import type { Acting, Action, Actor } from '../security/audit.ts';
import { employerId, reasonOf } from './arguments.ts';
import { failed, wrongUsage } from './failure.ts';
import { type Output, printable, WIDTH } from './output.ts';

/** Runs a command with its arguments and options. Returns the exit code; none is success. */
type RunCommand = (context: Context, ...rest: never[]) => Promise<number> | Promise<void>;

/** Wraps a command as the action of a Commander command. */
export type Act = (run: RunCommand) => (...parameters: unknown[]) => Promise<void>;

export type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean };

export type Context = {
  readonly env: Environment;
  readonly out: Output;
  readonly now: Clock;
  /** For audit records: the user of the operating system. */
  readonly actor: Actor;
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

/** Returns who acts, and when, for the audit record of a command. */
export function actingIn({ actor, now }: Context, at = now()): Acting {
  return { actor, now: at.toISOString() };
}

/** Returns the date of this machine's clock in the configured time zone. */
export function todayIn({ env, now }: Pick<Context, 'env' | 'now'>): string {
  return dayIn(readTimeZone(env), now());
}

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
 * that belongs to a different release or environment.
 */
export async function withDatabase<R>({ env }: Context, work: (db: Db) => Promise<R>): Promise<R> {
  const url = readDatabaseUrl(env);
  const environment = readEnvironment(env);
  const timeZone = readTimeZone(env);
  const [{ databaseExists, openDatabase, sqlitePath }, { adoptTimeZone, checkSchema }] = await Promise.all([
    import('../database/open.ts'),
    import('../database/migrate.ts'),
  ]);
  if (engineOfUrl(url) === 'sqlite' && !databaseExists(sqlitePath(url))) {
    throw failed(
      `there is no database at ${sqlitePath(url)}: check DATABASE_URL, or create it with "benefits-sidecar migrate"`,
    );
  }
  const db = openDatabase(url);
  try {
    await checkSchema(db, environment);
    await adoptTimeZone(db, timeZone);
    return await work(db);
  } finally {
    await db.destroy();
  }
}

/**
 * Throws if SIDECAR_URL says that the commands of this shell are meant for a running sidecar, and DATABASE_URL names no database:
 * the command would run on the default one.
 */
function assertMachine(env: Environment): void {
  if (given(env, 'SIDECAR_URL') === undefined || isDatabaseSet(env)) return;
  throw wrongUsage('this command needs the database of its machine: set DATABASE_URL, or unset SIDECAR_URL');
}

/**
 * Prints the effects on stderr and asks for a yes, unless `--yes` is given. Throws COMMAND_FAILED without one,
 * and WRONG_USAGE without a terminal.
 */
export async function confirm(context: Context, effects: readonly string[], question: string): Promise<void> {
  if (context.yes) return;
  for (const effect of effects) context.out.note(printable(effect));
  if (!isTerminal(context)) {
    throw wrongUsage('this needs a confirmation, and there is no terminal to ask on: add --yes');
  }
  if (!(await isAgreed(context, question))) throw failed('canceled: nothing changed');
}

export function isTerminal({ stdin, out: { stderr } }: Context): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/** Asks on stderr. Ctrl-C and Ctrl-D mean no. */
export async function isAgreed({ stdin, out, stopped }: Context, question: string): Promise<boolean> {
  const asking = createInterface({ input: stdin, output: out.stderr });
  const ended = once(asking, 'close').then(() => null);
  const answered = asking.question(`\n${question} [yes/no] `, { signal: stopped() }).catch(() => null);
  try {
    const answer = await Promise.race([answered, ended]);
    return /^\s*y(es)?\s*$/i.test(answer ?? '');
  } finally {
    asking.close();
  }
}

export class Command extends Base {
  readonly #act: Act;
  /** For the help: complete commands without the name of the program. */
  exampleLines: readonly string[] = [];
  /** The action that the command records. Null for a group of commands. */
  recorded: Action | 'none' | null = null;

  constructor(name: string, act: Act) {
    super(name);
    this.#act = act;
    this.helpOption('-h, --help', 'Show this help');
    this.addHelpText('after', () => exampleText(this));
  }

  override createCommand(name = ''): Command {
    return new Command(name, this.#act);
  }

  /** Adds a command to this group. */
  subcommand(name: string, description: string): Command {
    return this.command(name).description(description) as Command;
  }

  /** Declares the action that the command records; `none` if it changes nothing. Call it before `does`. */
  records(action: Action | 'none'): this {
    this.recorded = action;
    return this;
  }

  /** Sets the function that runs the command. Throws if the command declares no action, which stops every start. */
  does(run: RunCommand): this {
    if (this.recorded === null) {
      throw new Error(`the command ${this.name()} declares no action: say what it records with records()`);
    }
    return this.action(this.#act(run));
  }

  /** Sets the function that runs the command, which needs the database of its machine. */
  doesOnMachine(run: RunCommand): this {
    return this.does((context, ...parameters) => {
      assertMachine(context.env);
      return run(context, ...parameters);
    });
  }

  /** Sets the function that runs the command on the configured database. */
  doesOnDatabase(run: (context: DatabaseContext, ...rest: never[]) => ReturnType<RunCommand>): this {
    return this.doesOnMachine((context, ...parameters) =>
      withDatabase(context, async (db) => run({ ...context, db }, ...parameters)),
    );
  }

  examples(...lines: string[]): this {
    this.exampleLines = lines;
    return this;
  }

  json(): this {
    return this.option('--json', 'Print JSON for programs');
  }

  wide(): this {
    return this.option('--wide', 'Print all columns in full, as without a terminal');
  }

  /** Adds the options of commands that print tables. */
  table(): this {
    return this.wide().json();
  }

  /** Adds the option of commands that print checks. */
  checks(): this {
    return this.option('--all', 'Also print the checks that passed');
  }

  employer(): this {
    return this.requiredOption('--employer <id>', 'The employer (required)', employerId);
  }

  reason(description: string): this {
    return this.requiredOption('--reason <text>', `${description} (required)`, reasonOf);
  }

  /** Adds the option that replaces the confirmation on a terminal. */
  confirmed(): this {
    return this.option('--yes', 'Do not ask for confirmation');
  }
}

/** A group shows examples of its first commands. */
function exampleText(command: Command): string {
  const { exampleLines, commands } = command;
  const ofCommands = commands.slice(0, 3).map((subcommand) => (subcommand as Command).exampleLines[0]);
  const lines = exampleLines.length > 0 ? exampleLines : ofCommands;
  return `\nExamples:\n${lines.map((line) => continued(`  ${programOf(command)} ${line}`)).join('\n')}`;
}

function programOf(command: Base): string {
  return command.parent === null ? command.name() : programOf(command.parent);
}

/** The width of an example's line, without the backslash that continues it. */
const EXAMPLE_WIDTH = WIDTH - ' \\'.length;

/** Continues a command that is too long on the next lines, which begin with an option. */
function continued(command: string): string {
  const lines: string[] = [];
  for (const part of command.split(/ (?=--)/)) {
    const line = `${lines.at(-1)} ${part}`;
    if (lines.length > 0 && line.length <= EXAMPLE_WIDTH) lines[lines.length - 1] = line;
    else lines.push(lines.length === 0 ? part : `    ${part}`);
  }
  return lines.join(' \\\n');
}
