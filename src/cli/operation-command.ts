/** Commands made from operations of the API: their options, choices and rules come from the operation's schemas. */
import { Option } from 'commander';
import type { TSchema } from 'typebox';
import type { Input, Operation } from '../api/operation.ts';
import { invalid, PROBLEMS, Refusal } from '../api/problem.ts';
import { compile } from '../contract/check.ts';
import type { Db } from '../database/tables.ts';
import { AppError, isAppError, type Problem } from '../errors.ts';
import type { ListPage } from '../formats/cursor.ts';
import { findRowsFile, ROWS_FILE, readJsonFile } from './arguments.ts';
import { type Command, type Context, withDatabase } from './command.ts';
import { CommandError, failed, wrongUsage } from './failure.ts';
import {
  attributeOf,
  type Field,
  fieldsOf,
  type Named,
  namedBy,
  optionOf,
  type Requirement,
} from './operation-fields.ts';
import { type Column, type Output, printList, printPage, printResult } from './output.ts';
import { type Performers, performIn } from './performing.ts';
import { addressFor, assertLocal, performAt } from './remote.ts';

/** What a command has besides its options: the ways to perform operations, and the database; null at a running sidecar. */
export type OperationContext = Context & { readonly db: Db | null } & Pick<Performers, 'performFiles'> & {
    perform<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
      op: Operation<P, Q, B, R>,
      input: Input,
    ): Promise<R>;
  };

type Options = Readonly<Record<string, unknown>>;
type RowOf<R> = R extends ListPage<infer Row> ? Row : never;

/** What a command adds to its operation. `O` are its options and arguments, `R` is the operation's result. */
export type Words<R, O = Options, Row = RowOf<R>> = {
  /** By default the operation's summary. */
  readonly description?: string;
  readonly examples: readonly string[];
  /** The params that are arguments instead of options. */
  readonly arguments?: readonly string[];
  /** The flags of fields whose own name is not the best one, such as `older_than: '--older-than <days>'`. */
  readonly flags?: Readonly<Record<string, string>>;
  /** The help of fields that the reference describes for programs. */
  readonly help?: Readonly<Record<string, string>>;
  /** Fields of the operation that are no options, because `input` sets them. */
  readonly without?: readonly string[];
  /** What the rows of the command's file are, if the operation's body is one. */
  readonly file?: string;
  /** The command's file has the body, in JSON. Optional: options may have it instead, and replace fields of the file. */
  readonly isBodyInFile?: true | 'optional';
  /** The help of `--personal-data`, or the flag of `personal_data`, with which the command has the scope `pii:read`. */
  readonly personalData?: string;
  /** The command needs the database of its machine. */
  readonly isLocal?: true;
  /** Adds options and arguments that the operation does not have. */
  more?(command: Command): Command;
  /** Returns the result of options that need no database; null for others. Then the params are optional. */
  offline?(context: Context, options: O): Promise<Partial<R> | null>;
  /** Returns the input, by default what the options name. Null: the command is done. */
  input?(context: OperationContext, named: Named, options: O): Promise<Input | null>;
  /** The columns of a list, the rows of a list without pages, and the note that is printed without rows. */
  readonly columns?: readonly Column<Row>[];
  rows?(result: R): readonly Row[];
  readonly none?: string | ((page: R) => string);
  /** Prints a result that is no list. With `isTable`, it prints tables. */
  readonly isTable?: true;
  print?(out: Output, result: R, options: O): void;
  /** Returns the exit code of a result, by default 0. */
  exitCode?(result: R): number;
};

/** Adds the command `name` of an operation to a group. */
export function addOperation<
  P extends TSchema,
  Q extends TSchema,
  B extends TSchema,
  R,
  O = Options,
  Row = RowOf<R>,
>(group: Command, name: string, op: Operation<P, Q, B, R>, words: Words<R, O, Row>): void {
  const { description = `${op.summary}.`, examples, without = [], help = {}, isBodyInFile = false } = words;
  const path = group.parent === null ? name : `${group.name()} ${name}`;
  const command = group
    .subcommand(name, description)
    .records(op.action ?? 'none')
    .examples(...examples.map((line) => `${path} ${line}`.trim()));
  const fields = fieldsOf(op as Operation, words).filter(
    ({ name, part }) => !without.includes(name) && !(isBodyInFile === true && part === 'body'),
  );
  const requirementOf = ({ part, isRequired }: Field): Requirement => {
    if (!isRequired || (words.offline && part === 'params')) return null;
    return isBodyInFile === 'optional' && part === 'body' ? 'required without a file' : 'required';
  };
  for (const field of fields) {
    const text = (help[field.name] ?? String(field.schema.description)).replace(/\.$/, '');
    if (field.flags.startsWith('<')) command.argument(field.flags, text);
    else command.addOption(optionOf(field, text, requirementOf(field)));
  }
  const { rows } = op;
  if (rows !== undefined) command.argument('<file>', `A ${ROWS_FILE} of ${words.file}`);
  if (isBodyInFile === true) command.argument('<file>', 'A .json file with the request body of the API');
  if (isBodyInFile === 'optional')
    command.argument('[file]', 'A .json file with the request body of the API, instead of options');
  const { personal_data: personalFlag = '--personal-data' } = words.flags ?? {};
  if (words.personalData !== undefined) command.option(personalFlag, words.personalData);
  words.more?.(command);
  if (words.columns !== undefined || words.isTable) command.table();
  else command.json();
  const isRemote = op.stream === undefined && !words.isLocal;
  if (isRemote) command.addOption(URL_OPTION).addOption(LOCAL_OPTION);
  command.does(async (context, ...parameters: unknown[]) => {
    const argumentsGiven = command.registeredArguments.map((argument, place) => [
      attributeOf(argument.name()),
      parameters[place],
    ]);
    const options = { ...command.opts(), ...Object.fromEntries(argumentsGiven) } as O & Options;
    const end = (result: R, isUnchanged = false): number => {
      print(context.out, words, result, options);
      if (isUnchanged) context.out.note('Nothing changed.');
      return words.exitCode?.(result) ?? 0;
    };
    const url = isRemote ? addressFor(context.env, options) : null;
    const known = (await words.offline?.(context, options)) ?? null;
    if (known !== null) return end(known as R);
    if (!isRemote) assertLocal(context.env);
    const hasList =
      name !== 'list' &&
      argumentsGiven.length > 0 &&
      group.commands.some((sibling) => sibling.name() === 'list');
    // The operation knows the defaults too. A default of an option would replace a field of the file.
    const set = fields.filter(({ attribute }) => command.getOptionValueSource(attribute) !== 'default');
    const named = namedBy(set, options);
    const isInFile = isBodyInFile && options.file !== undefined;
    // Problems of fields that are not in the file name options.
    const shown = fields.filter((field) => !isInFile || field.part !== 'body' || field.name in named.body);
    const runWith = async (performers: Performers, db: Db | null): Promise<number> => {
      const list = hasList ? `${group.name()} list` : null;
      const { answer, ...calls } = performing({ ...context, db }, performers, shown, list);
      if (isInFile) named.body = withFields(await readJsonFile(String(options.file)), named.body);
      else if (!op.isBodyUnchecked || isBodyInFile === 'optional')
        assertOptions(op as unknown as Operation, named.body, fields);
      if (rows !== undefined) named.body = await findRowsFile(String(options.file));
      const input = words.input ? await words.input(calls, named, options) : named;
      if (input === null) return 0;
      const { result, isUnchanged } = await answer(op, input);
      if (result !== undefined || !context.out.asJson) return end(result, isUnchanged);
      context.out.json(input.params ?? {});
      return 0;
    };
    if (url !== null) return runWith(performAt(url, context), null);
    const seesPersonalData =
      words.personalData !== undefined && options[attributeOf(personalFlag.slice(2))] === true;
    return withDatabase(context, (db) => runWith(performIn({ ...context, db }, seesPersonalData), db));
  });
}

const URL_OPTION = new Option(
  '--url <url>',
  'At a running sidecar, with SIDECAR_TOKEN (default: SIDECAR_URL)',
);
const LOCAL_OPTION = new Option('--local', 'On the configured database, although SIDECAR_URL is set');

function print<R, O, Row>(out: Output, words: Words<R, O, Row>, result: R, options: O): void {
  const { columns, none = '' } = words;
  if (columns === undefined) {
    printResult(out, result, () => words.print?.(out, result, options));
    return;
  }
  const list = { columns, none: typeof none === 'string' ? none : none(result) };
  if (words.rows !== undefined) {
    const rows = words.rows(result);
    printResult(out, result, () => printList(out, { ...list, rows }));
    return;
  }
  const page = result as ListPage<Row>;
  printPage(out, page, { ...list, rows: page.data });
}

function withFields(body: unknown, fields: object): object {
  // Anything else is refused by the operation.
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  return isObject ? { ...body, ...fields } : (body as object);
}

/** Throws WRONG_USAGE for options that the operation's body refuses, before the command reads or asks anything. */
function assertOptions({ body, rows }: Operation, named: object, fields: readonly Field[]): void {
  if (body === undefined || rows !== undefined) return;
  const problems = compile(body)
    .problems(named)
    .filter(({ path }) => fieldAt(path, fields)?.part === 'body');
  if (problems.length > 0) throw failureOf(invalid(problems), fields, '', null);
}

/** Returns the context of a command, whose refusals name fields as the command's options. `list` lists its ids. */
function performing(
  context: Context & { readonly db: Db | null },
  { perform, performFiles }: Performers,
  fields: readonly Field[],
  list: string | null,
) {
  const failing = (input: Input) => (error: unknown) => {
    const { employer_id = [] } = (input.query ?? {}) as { employer_id?: string };
    const ids = [...Object.values(input.params ?? {}), employer_id].flat().join(' ');
    throw failureOf(error, fields, ids, list);
  };
  const answer: Performers['perform'] = (op, input) => perform(op, input).catch(failing(input));
  const calls: OperationContext = {
    ...context,
    perform: async (op, input) => (await answer(op, input)).result,
    performFiles: (op, input, format) => performFiles(op, input, format).catch(failing(input)),
  };
  return { ...calls, answer };
}

/** Returns the failure of a command for an operation's refusal. Its fields are options here, and it names unknown `ids`. */
function failureOf(error: unknown, fields: readonly Field[], ids: string, list: string | null): unknown {
  if (!(error instanceof Refusal) && !isAppError(error)) return error;
  const { code, message, problems, problemCount } = error;
  const named = problems.map((problem) => inOptions(problem, fields));
  if (code === 'NOT_FOUND' && ids !== '') {
    const find = list === null ? '' : ` Find it with "benefits-sidecar ${list}".`;
    return failed(`${ids}: ${message}${find}`);
  }
  if (code === 'INVALID_REQUEST') return wrongUsage('options are missing or wrong', named);
  const [first] = problems;
  if (!(error instanceof Refusal)) {
    if (first === undefined) return error;
    return new AppError(error.code, message, { problems: named, problemCount, cause: error });
  }
  if (first === undefined) return failed(message);
  // A message that only repeats the problems.
  const what = message.includes(first.rule) ? PROBLEMS[error.code].title : message.replace(/\.$/, '');
  return new CommandError('COMMAND_FAILED', what, { problems: named, problemCount });
}

/** Returns a problem with the option of its field, such as `--item[3]` for `items[3]`. */
function inOptions(problem: Problem, fields: readonly Field[]): Problem {
  const { path } = problem;
  const field = fieldAt(path, fields);
  if (field === undefined) return problem;
  return { ...problem, path: `${field.flags.split(' ')[0]}${path.slice(field.name.length)}` };
}

function fieldAt(path: string, fields: readonly Field[]): Field | undefined {
  const [name] = path.split(/[.[]/);
  return fields.find((field) => field.name === name);
}
