/** Runs commands of operations: in this process or at a running sidecar. */
import type { TSchema } from 'typebox';
import type { Input, Operation } from '../api/operation.ts';
import { codeOf } from '../errors.ts';
import type { ListPage } from '../formats/cursor.ts';
import { findRowsFile, readJsonFile } from './arguments.ts';
import { type Command, type Context, withDatabase } from './command.ts';
import { wrongUsage } from './failure.ts';
import { NAMES_FLAG, withNames } from './names.ts';
import { assertOptions, failureOf } from './operation-failure.ts';
import { attributeOf, type Field, type Named, namedBy } from './operation-fields.ts';
import { type Column, type Output, printable, printList, printPage, printResult } from './output.ts';
import { type Performers, performIn, performPure } from './performing.ts';
import { printCsv } from './print-file.ts';
import { addressFor, performAt } from './remote.ts';

/** What a command has besides its options: the ways to perform operations, here or at a running sidecar. */
export type OperationContext = Context &
  Pick<Performers, 'performFiles'> & {
    perform<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
      op: Operation<P, Q, B, R>,
      input: Input,
    ): Promise<R>;
    /** Returns the value with the names of employees with `--names`, or else as it is. */
    named<R>(value: R): Promise<R>;
  };

export type Options = Readonly<Record<string, unknown>>;
export type RowOf<R> = R extends ListPage<infer Row> ? Row : never;

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
  /** The fields that options set in each element of a list in the body, such as `decisions[].until`. */
  readonly ofEach?: readonly Field[];
  /** What the rows of the command's file are, if the operation's body is one. */
  readonly file?: string;
  /** The command's file has the body, in JSON. Optional: options may have it instead, and replace fields of the file. */
  readonly isBodyInFile?: true | 'optional';
  /** The help of `--personal-data`, or the flag of `personal_data`, with which the command has the scope `pii:read`. */
  readonly personalData?: string;
  /** The command needs the scope `pii:read` without an option. */
  readonly isOfPersonalData?: true;
  /** Adds options and arguments that the operation does not have. */
  more?(command: Command): void;
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

/** A command: where it is, its operation, its words, and the fields that are its options and arguments. */
export type Spoken<R, O, Row> = {
  readonly group: Command;
  readonly name: string;
  readonly op: Operation<TSchema, TSchema, TSchema, R>;
  readonly words: Words<R, O, Row>;
  readonly fields: readonly Field[];
};

/** Returns the flag with which a command has the scope `pii:read`. */
export function personalFlagOf({ flags = {} }: Pick<Words<never>, 'flags'>): string {
  return flags.personal_data ?? '--personal-data';
}

/** Runs a command where its options and variables say. Returns its exit code. */
export async function runSpoken<R, O, Row>(
  spoken: Spoken<R, O, Row>,
  command: Command,
  context: Context,
  parameters: readonly unknown[],
): Promise<number> {
  const { op, words } = spoken;
  const options = optionsOf<O>(command, parameters);
  const url = addressFor(context.env, options);
  const known = (await words.offline?.(context, options)) ?? null;
  if (known !== null) return ended(spoken, context, known as R, options);
  // The operation knows the defaults too. A default of an option would replace a field of the file.
  const set = spoken.fields.filter(({ attribute }) => command.getOptionValueSource(attribute) !== 'default');
  const runWith = (performers: Performers) =>
    performed(spoken, context, performers, namedBy(set, options), options);
  if (url !== null) {
    if (op.action !== undefined && op.action !== 'none') context.out.note(`At ${printable(url)}:`);
    return runWith(performAt(url, context));
  }
  if (op.isPure) return runWith(performPure(context));
  const seesPersonalData =
    words.isOfPersonalData === true ||
    (words.personalData !== undefined && options[attributeOf(personalFlagOf(words).slice(2))] === true);
  return withDatabase(context, (db) => runWith(performIn({ ...context, db }, seesPersonalData)));
}

/** Returns the options of a command with its arguments by name. */
function optionsOf<O>(command: Command, parameters: readonly unknown[]): O & Options {
  const args = command.registeredArguments.map((argument, place) => [
    attributeOf(argument.name()),
    parameters[place],
  ]);
  return { ...command.opts(), ...Object.fromEntries(args) } as O & Options;
}

async function performed<R, O, Row>(
  spoken: Spoken<R, O, Row>,
  context: Context,
  performers: Performers,
  named: Named,
  options: O & Options,
): Promise<number> {
  const { op, words, fields } = spoken;
  const isInFile = Boolean(words.isBodyInFile) && options.file !== undefined;
  // Problems of fields that are not in the file name options.
  const ofOptions = fields.filter((field) => !isInFile || field.part !== 'body' || field.name in named.body);
  const shown = [...ofOptions, ...(words.ofEach ?? [])];
  const { csv = false, names = false } = options as { readonly csv?: boolean; readonly names?: boolean };
  const how = { shown, isInFile, areNamed: names };
  const { answer, failing, ...calls } = performing(context, performers, how, listOf(spoken));
  if (isInFile) named.body = withFields(await readJsonFile(String(options.file)), named.body);
  else if (!op.isBodyUnchecked || words.isBodyInFile === 'optional') assertOptions(op, named.body, fields);
  if (op.rows !== undefined) named.body = await findRowsFile(String(options.file));
  if (csv && context.out.asJson) throw wrongUsage('use either --csv or --json');
  if (csv && names) throw wrongUsage(`use either --csv or ${NAMES_FLAG}: files have no names`);
  if (csv) {
    await printCsv(context, await calls.performFiles(op, named, 'csv'));
    return 0;
  }
  const input = words.input ? await words.input(calls, named, options).catch(failing(named)) : named;
  if (input === null) return 0;
  const { result, isUnchanged } = await answer(op, input);
  if (result !== undefined || !context.out.asJson)
    return ended(spoken, context, await calls.named(result), options, isUnchanged);
  context.out.json(input.params ?? {});
  return 0;
}

/** Returns the command that lists the ids of a command's arguments; null if there is none. */
function listOf<R, O, Row>({ group, name, fields }: Spoken<R, O, Row>): string | null {
  const hasIds = name !== 'list' && fields.some(({ flags }) => flags.startsWith('<'));
  return hasIds && group.commands.some((sibling) => sibling.name() === 'list')
    ? `${group.name()} list`
    : null;
}

function ended<R, O, Row>(
  { words }: Spoken<R, O, Row>,
  { out }: Context,
  result: R,
  options: O,
  isUnchanged = false,
): number {
  print(out, words, result, options);
  if (isUnchanged) out.note('Nothing changed.');
  return words.exitCode?.(result) ?? 0;
}

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

/** Returns the context of a command, whose refusals name fields as the command's options. `list` lists its ids. */
function performing(
  context: Context,
  { perform, performFiles }: Performers,
  { shown, isInFile, areNamed }: { shown: readonly Field[]; isInFile: boolean; areNamed: boolean },
  list: string | null,
) {
  // A file of the whole body may have a field by the name of a param.
  const ofFile = isInFile ? shown.filter(({ part }) => part === 'body') : shown;
  const failing =
    ({ params = {}, query, body }: Input) =>
    (error: unknown) => {
      const fields = codeOf(error) === 'INVALID_REQUEST' ? shown : ofFile;
      const { employer_id } = { ...(body as object), ...query, ...params } as { employer_id?: unknown };
      // Only the text of a refusal states what is unknown.
      const isOfEmployer = employer_id !== undefined && /\bemployer\b/.test((error as Error).message);
      const ids = isOfEmployer ? [employer_id] : Object.values(params);
      throw failureOf(error, fields, ids.map(String), isOfEmployer ? null : list);
    };
  const answer: Performers['perform'] = (op, input) => perform(op, input).catch(failing(input));
  const calls: OperationContext = {
    ...context,
    perform: async (op, input) => (await answer(op, input)).result,
    performFiles: (op, input, format) => performFiles(op, input, format).catch(failing(input)),
    named: async (value) => (areNamed ? withNames(answer, value) : value),
  };
  return { ...calls, answer, failing };
}
