/** Commands made from operations of the API: their options, choices and rules come from the operation's schemas. */
import { Option } from 'commander';
import type { TSchema } from 'typebox';
import type { Input, Operation } from '../api/operation.ts';
import { PROBLEMS, Refusal } from '../api/problem.ts';
import type { ListPage } from '../formats/cursor.ts';
import { findRowsFile, ROWS_FILE } from './arguments.ts';
import type { Command, Context, DatabaseContext } from './command.ts';
import { CommandError, failed, wrongUsage } from './failure.ts';
import { type Column, type Output, printPage, printResult } from './output.ts';
import { type Perform, performIn } from './performing.ts';

/** What a command has besides its options: the way to perform operations. */
export type OperationContext = Context & { readonly perform: Perform };

type Options = Readonly<Record<string, unknown>>;
type RowOf<R> = R extends ListPage<infer Row> ? Row : never;

/** What a command adds to its operation. `O` are its options, `R` is the operation's result. */
export type Words<R, O = Options> = {
  /** By default the operation's summary. */
  readonly description?: string;
  readonly examples: readonly string[];
  /** The flags of fields whose own name is not the best one, such as `older_than: '--older-than <days>'`. */
  readonly flags?: Readonly<Record<string, string>>;
  /** The help of fields that the reference describes for programs. */
  readonly help?: Readonly<Record<string, string>>;
  /** Fields of the operation that are no options, because `input` sets them. */
  readonly without?: readonly string[];
  /** What the rows of the command's file are, if the operation's body is one. */
  readonly file?: string;
  /** Adds options that the operation does not have. */
  more?(command: Command): Command;
  /** Returns the input, by default what the options name. Null: the command is done. */
  input?(context: OperationContext, named: Named, options: O): Promise<Input | null>;
  /** The columns of a list, and the note that is printed without rows. */
  readonly columns?: readonly Column<RowOf<R>>[];
  readonly none?: string | ((page: R) => string);
  /** Prints a result that is no list. */
  print?(out: Output, result: R, options: O): void;
};

/** Adds the command `name` of an operation to a group. */
export function addOperation<P extends TSchema, Q extends TSchema, B extends TSchema, R, O = Options>(
  group: Command,
  name: string,
  op: Operation<P, Q, B, R>,
  words: Words<R, O>,
): void {
  const { description = `${op.summary}.`, examples, without = [], flags = {}, help = {} } = words;
  const command = group
    .subcommand(name, description)
    .records(op.action ?? 'none')
    .examples(...examples.map((line) => `${group.name()} ${name} ${line}`.trim()));
  const fields = fieldsOf(op as Operation, flags).filter((field) => !without.includes(field.name));
  const { rows } = op;
  if (rows !== undefined) command.argument('<file>', `A ${ROWS_FILE} of ${words.file}`);
  for (const field of fields) command.addOption(optionOf(field, help[field.name]));
  words.more?.(command);
  if (words.columns !== undefined) command.table();
  else command.json();
  command.doesOnDatabase(async (context: DatabaseContext, ...parameters: unknown[]) => {
    const options = parameters.at(-2) as O & Options;
    const calls = performing(context, fields);
    const named = namedBy(fields, options);
    if (rows !== undefined) named.body = (await findRowsFile(String(parameters[0]))).open(rows);
    const input = words.input ? await words.input(calls, named, options) : named;
    if (input === null) return;
    const result = await calls.perform(op, input);
    print(context.out, words, result, options);
  });
}

function print<R, O>(out: Output, words: Words<R, O>, result: R, options: O): void {
  const { columns, none = '' } = words;
  if (columns === undefined) {
    printResult(out, result, () => words.print?.(out, result, options));
    return;
  }
  const page = result as ListPage<RowOf<R>>;
  printPage(out, page, { columns, rows: page.data, none: typeof none === 'string' ? none : none(result) });
}

type Field = {
  readonly name: string;
  readonly part: 'params' | 'query' | 'body';
  readonly schema: Readonly<Record<string, unknown>>;
  readonly isRequired: boolean;
  /** `--employer <id>`. */
  readonly flags: string;
  /** `employer`, as Commander names the option's value. */
  readonly attribute: string;
};

/** Returns the fields of an operation that have one value each, in the order of its schemas. */
function fieldsOf(op: Operation, flags: Readonly<Record<string, string>>): Field[] {
  return (['params', 'query', 'body'] as const).flatMap((part) => {
    const { properties = {}, required = [] } = (op[part] ?? {}) as {
      properties?: Record<string, Field['schema']>;
      required?: string[];
    };
    return Object.entries(properties).map(([name, schema]) => {
      const flag = flags[name] ?? flagsOf(name, schema);
      const attribute = new Option(flag).attributeName();
      return { name, part, schema, isRequired: required.includes(name), flags: flag, attribute };
    });
  });
}

function flagsOf(name: string, { type, enum: choices, format }: Field['schema']): string {
  const flag = `--${name.replace(/_id$/, '').replaceAll('_', '-')}`;
  if (type === 'boolean') return flag;
  const value = /_id$/.test(name)
    ? 'id'
    : choices !== undefined
      ? name.split('_').at(-1)
      : type === 'integer'
        ? 'number'
        : format === 'date'
          ? 'date'
          : format === 'instant'
            ? 'time'
            : name;
  return `${flag} <${value}>`;
}

/** The help of an option is the description of its field, without the end of a sentence. */
function optionOf({ flags, schema, isRequired }: Field, help = String(schema.description)): Option {
  const text = help.replace(/\.$/, '');
  const option = new Option(flags, isRequired ? `${text} (required)` : text);
  if (isRequired) option.makeOptionMandatory();
  if (Array.isArray(schema.enum)) option.choices(schema.enum as string[]);
  if (schema.default !== undefined) option.default(schema.default);
  return option;
}

/** The parts of an input that options name. */
type Named = Record<Field['part'], object>;

/** Numbers of a body are texts on a command line. */
function namedBy(fields: readonly Field[], options: Options): Named {
  const input = { params: {}, query: {}, body: {} } as Record<Field['part'], Record<string, unknown>>;
  for (const { name, part, schema, attribute } of fields) {
    const value = options[attribute];
    if (value === undefined) continue;
    const isNumber = part === 'body' && schema.type === 'integer' && /^-?\d{1,15}$/.test(String(value));
    input[part][name] = isNumber ? Number(value) : value;
  }
  return input;
}

/** Returns the context of a command, with a `perform` that names fields as the command's options. */
function performing(context: DatabaseContext, fields: readonly Field[]): OperationContext {
  const perform = performIn(context);
  const named = (error: unknown) => {
    throw failureOf(error, fields);
  };
  return { ...context, perform: (op, input) => perform(op, input).catch(named) };
}

/** Returns the failure of a command for an operation's refusal. Its fields are options here. */
function failureOf(error: unknown, fields: readonly Field[]): unknown {
  if (!(error instanceof Refusal)) return error;
  const { code, message, problems, problemCount } = error;
  const named = problems.map((problem) => {
    const field = fields.find(({ name }) => name === problem.path);
    return field === undefined ? problem : { ...problem, path: field.flags.split(' ')[0] as string };
  });
  if (code === 'INVALID_REQUEST') return wrongUsage('options are missing or wrong', named);
  return problems.length === 0
    ? failed(message)
    : new CommandError('COMMAND_FAILED', PROBLEMS[code].title, { problems: named, problemCount });
}
