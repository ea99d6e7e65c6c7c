/** The base of all commands: their help, and the options that several of them share. */
import { Command as Base, Option } from 'commander';
import { employerId, reasonOf, wholeNumber } from './arguments.ts';
import { type Act, type DatabaseRun, type Run, withDatabase } from './context.ts';
import { WIDTH } from './output.ts';

/** The limits of the API for a page. */
const LIMIT_MAX = 1_000;
const LIMIT_DEFAULT = 100;

export type PageOptions = { limit: number; cursor?: string };

export class Command extends Base {
  readonly #act: Act;
  /** For the help: complete commands without the name of the program. */
  exampleLines: readonly string[] = [];

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

  /** Sets the function that runs the command. */
  does(run: Run): this {
    return this.action(this.#act(run));
  }

  /** Sets the function that runs the command on the configured database. */
  doesOnDatabase(run: DatabaseRun): this {
    return this.does((context, ...given) =>
      withDatabase(context, async (db) => run({ ...context, db }, ...given)),
    );
  }

  examples(...lines: string[]): this {
    this.exampleLines = lines;
    return this;
  }

  /** Adds an option that has one of `values`. */
  choice(flags: string, description: string, values: readonly string[]): this {
    return this.addOption(new Option(flags, description).choices(values));
  }

  json(): this {
    return this.option('--json', 'Print JSON for programs');
  }

  /** Adds the options of commands that print tables. */
  table(): this {
    return this.option('--wide', 'Print all columns, without shortening any').json();
  }

  /** Adds the options of commands that print a page of a list (`PageOptions`). */
  page(): this {
    const limit = new Option('--limit <number>', 'Print at most this many')
      .argParser(wholeNumber(1, LIMIT_MAX))
      .default(LIMIT_DEFAULT);
    return this.addOption(limit)
      .option('--cursor <cursor>', 'Continue after the previous page, which printed this cursor')
      .table();
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
function exampleText({ exampleLines, commands }: Command): string {
  const ofCommands = commands.slice(0, 3).map((one) => (one as Command).exampleLines[0]);
  const lines = exampleLines.length > 0 ? exampleLines : ofCommands;
  return `\nExamples:\n${lines.map((line) => continued(`  benefits-sidecar ${line}`)).join('\n')}`;
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
