/** The commands of file formats: how an employer's files are read. */
import type { Readable } from 'node:stream';
import type { TSchema } from 'typebox';
import type { Input, Operation, ResultOf } from '../api/operation.ts';
import {
  convertCensus,
  convertFile,
  getFileFormat,
  proposeFileFormat,
  putFileFormat,
} from '../api/operations/file-formats.ts';
import { describe } from '../contract/check.ts';
import { FILE_KINDS } from '../formats/file-format.ts';
import { writeArchive } from './archive.ts';
import { readJsonFile, streamOf } from './arguments.ts';
import type { Command } from './command.ts';
import { addOperation } from './operation-command.ts';
import type { OperationContext } from './operation-run.ts';
import { counted, type Output, printable, printFirst } from './output.ts';

type KindOption = { readonly kind: string; readonly file: string };

const KIND = {
  without: ['kind'],
  more: (command: Command) =>
    command.option('--kind <kind>', `The kind of file: ${FILE_KINDS.join(', ')}`, FILE_KINDS[0]),
};

export function addFormatCommands(program: Command): void {
  const format = program.subcommand('format', "Manage how an employer's files are read.");
  addOperation(format, 'propose', proposeFileFormat, {
    ...KIND,
    description: 'Recognize the columns of a file, and print a format to check and put.',
    examples: [
      'export.csv --employer maple-bakery > format.json',
      'export.csv --employer maple-bakery --examples',
    ],
    flags: { personal_data: '--examples' },
    personalData: 'Also show three values of each change, which may be personal data',
    more: (command) => KIND.more(command).argument('<file>', 'A .csv or .xlsx file with all of its columns'),
    input: async (_context, named, { file, kind }: KindOption) => ({
      ...named,
      params: { ...named.params, kind },
      body: await streamOf(file),
    }),
    print: printProposal,
    exitCode: ({ valid }) => (valid ? 0 : 1),
  });
  addOperation(format, 'put', putFileFormat, {
    ...KIND,
    description: 'Confirm how files of a kind are read.',
    examples: ['format.json --employer maple-bakery --organization organization.json'],
    isBodyInFile: true,
    more: (command) =>
      KIND.more(command).option('--organization <file>', 'A .json file with the organization of a census'),
    async input(_context, named, { kind, organization }: KindOption & { organization?: string }) {
      const added = organization === undefined ? {} : { organization: await readJsonFile(organization) };
      return { params: { ...named.params, kind }, body: { ...(named.body as object), ...added } };
    },
    print: (out, { kind, version, has_organization }) =>
      out.print(
        `Files of the kind ${kind} are read by version ${version}, ${has_organization ? 'with' : 'without'} an organization.`,
      ),
  });
  addOperation(format, 'show', getFileFormat, {
    ...KIND,
    description: 'Print how files of a kind are read, as a file to change and put.',
    examples: ['--employer maple-bakery > format.json'],
    input: async (_context, named, { kind }: KindOption) => ({ ...named, params: { ...named.params, kind } }),
    print: (out, { format: content }) =>
      content === null
        ? out.note('This employer has no file format of this kind: strict files need none.')
        : out.print(JSON.stringify(content, null, 2)),
  });
  addOperation(format, 'convert', convertFile, {
    ...KIND,
    description: "Write a file as the employer's file format reads it, and store nothing.",
    examples: ['export.csv strict.csv --employer maple-bakery --kind deductions'],
    more: (command) => CONVERTED(KIND.more(command)),
    input: (context, named, { kind, ...files }: Converting & KindOption) =>
      convert(context, convertFile, { ...named, params: { ...named.params, kind } }, files),
  });
}

const CONVERTED = (command: Command) =>
  command.argument('<file>', 'A .csv or .xlsx file').argument('<target>', 'The .csv file to create');

type Converting = { readonly file: string; readonly target: string };

async function convert<P extends TSchema, Q extends TSchema, B extends TSchema>(
  context: OperationContext,
  op: Operation<P, Q, B, Readable>,
  named: Input,
  { file, target }: Converting,
): Promise<null> {
  const body = await streamOf(file);
  await writeArchive(context, target, () => context.perform(op, { ...named, body }));
  return null;
}

/** Adds `census convert`. */
export function addConvertCommand(census: Command): void {
  addOperation(census, 'convert', convertCensus, {
    description: "Write a census as the employer's file format reads it, and store nothing.",
    examples: ['export.csv strict.csv --employer maple-bakery'],
    more: CONVERTED,
    input: (context, named, files: Converting) => convert(context, convertCensus, named, files),
  });
}

type Proposal = ResultOf<typeof proposeFileFormat>;

/** The format is the result, for a file; what it changes is for the person who checks it. */
function printProposal(out: Output, { format, unread, problems, problem_count, repairs }: Proposal): void {
  if (format !== null) out.print(JSON.stringify(format, null, 2));
  printRepairs(out, repairs);
  if (unread.length > 0) out.note(printable(`Not read: ${unread.join(', ')}`));
  if (problem_count === 0) {
    out.note('Check the columns and the changes, then set the format with "format put".');
    return;
  }
  printFirst({ ...out, print: out.note }, problems.map(describe), problem_count);
  out.note(
    `${out.color('red', 'Not ready')}: ${counted(problem_count, 'problem')}. Complete the format, or correct the file.`,
  );
}

/** Prints what reading a file changed, a line for each column and rule. Null: it was read as it is. */
export function printRepairs(out: Output, repairs: Proposal['repairs'] | null): void {
  if (repairs === null) return;
  const { sheet, hidden_rows, rows, left_out, changes } = repairs;
  const left = left_out.filter((entry) => entry.rows > 0);
  const lines = [
    `${counted(rows, 'row')} read${sheet === null ? '' : ` from the sheet ${sheet}`}`,
    ...(hidden_rows > 0 ? [`${counted(hidden_rows, 'hidden row')} read like the others`] : []),
    ...left.map((entry) => `${counted(entry.rows, 'row')} left out: ${entry.reason}`),
    ...changes.flatMap(({ header, field, rule, cells, confirmed, examples }) => [
      `${header} (${field}): ${rule} changes ${counted(cells, 'value')}${confirmed ? '' : ', not confirmed'}`,
      ...(examples ?? []).map(
        ({ line, before, after }) => `  line ${line}: ${before} is read as ${after || 'no value'}`,
      ),
    ]),
  ];
  for (const line of lines) out.note(printable(line));
}
