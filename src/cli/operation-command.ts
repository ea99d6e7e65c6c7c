/** Commands made from operations of the API: their options, choices and rules come from the operation's schemas. */
import { Option } from 'commander';
import type { TSchema } from 'typebox';
import type { Operation } from '../api/operation.ts';
import { ROWS_FILE } from './arguments.ts';
import type { Command } from './command.ts';
import { NAMES_FLAG, showsEmployees } from './names.ts';
import { type Field, fieldsOf, optionOf, type Requirement } from './operation-fields.ts';
import {
  type Options,
  personalFlagOf,
  type RowOf,
  runSpoken,
  type Spoken,
  type Words,
} from './operation-run.ts';

/** Adds the command `name` of an operation to a group. */
export function addOperation<
  P extends TSchema,
  Q extends TSchema,
  B extends TSchema,
  R,
  O = Options,
  Row = RowOf<R>,
>(group: Command, name: string, op: Operation<P, Q, B, R>, words: Words<R, O, Row>): void {
  const { without = [], isBodyInFile = false } = words;
  const fields = fieldsOf(op as unknown as Operation, words).filter(
    (field) => !without.includes(field.name) && !(isBodyInFile === true && field.part === 'body'),
  );
  const spoken = { group, name, op: op as unknown as Spoken<R, O, Row>['op'], words, fields };
  const command = declared(spoken);
  command.does((context, ...parameters: unknown[]) => runSpoken(spoken, command, context, parameters));
}

/** Adds a field as an argument or an option. `help` replaces the description of its schema. */
export function addField(command: Command, field: Field, requirement: Requirement, help?: string): void {
  const text = (help ?? String(field.schema.description)).replace(/\.$/, '');
  if (field.flags.startsWith('<')) command.argument(field.flags, text);
  else command.addOption(optionOf(field, text, requirement));
}

/** Adds the arguments and options of a command. */
function declared<R, O, Row>({ group, name, op, words, fields }: Spoken<R, O, Row>): Command {
  const { description = `${op.summary}.`, examples, help = {}, isBodyInFile = false } = words;
  const path = group.parent === null ? name : `${group.name()} ${name}`;
  const command = group
    .subcommand(name, description)
    .records(op.action ?? 'none')
    .examples(...examples.map((line) => `${path} ${line}`.trim()));
  for (const field of fields) {
    addField(command, field, requirementOf(field, words), help[field.name]);
  }
  if (op.rows !== undefined) command.argument('<file>', `A ${ROWS_FILE} of ${words.file}`);
  if (isBodyInFile === true) command.argument('<file>', 'A .json file with the request body of the API');
  if (isBodyInFile === 'optional')
    command.argument('[file]', 'A .json file with the request body of the API, instead of options');
  if (words.personalData !== undefined) command.option(personalFlagOf(words), words.personalData);
  words.more?.(command);
  if (op.files !== undefined) command.option('--csv', 'Print all rows as CSV with a header');
  if (showsEmployees(op, words))
    command.option(NAMES_FLAG, 'Also show the names of employees, which is recorded once a day');
  if (words.columns !== undefined || words.isTable) command.table();
  else command.json();
  return command.addOption(URL_OPTION).addOption(LOCAL_OPTION);
}

type Asking = { readonly offline?: unknown; readonly isBodyInFile?: unknown };

function requirementOf({ part, isRequired }: Field, { offline, isBodyInFile }: Asking): Requirement {
  if (!isRequired || (offline !== undefined && part === 'params')) return null;
  return isBodyInFile === 'optional' && part === 'body' ? 'required without a file' : 'required';
}

const URL_OPTION = new Option(
  '--url <url>',
  'At a running sidecar, with SIDECAR_TOKEN (default: SIDECAR_URL)',
);
const LOCAL_OPTION = new Option('--local', 'On the configured database, although SIDECAR_URL is set');
