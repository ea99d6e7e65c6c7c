/** The parts of the docs that are lists of the code: variables, commands, metrics, columns, scopes, faults and scenarios. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createOutput } from '../src/cli/output.ts';
import { createProgram, SIDECAR } from '../src/cli/program.ts';
import { CSV_COLUMNS } from '../src/payroll/lifecycle/csv.ts';
import { ROLES, SCOPE_MEANINGS } from '../src/security/scopes.ts';
import { FAULTS } from '../src/simulator/faults.ts';
import { SCENARIOS } from '../src/simulator/scenarios.ts';
import { VARIABLES, type Variable } from '../src/variables.ts';
import { referenceDocument } from './reference.ts';
import { code, table, withCode } from './tables.ts';

function readSource(path: string): string {
  return readFileSync(join(fileURLToPath(new URL('..', import.meta.url)), path), 'utf8');
}

export function variables(): string {
  const rows = Object.entries<Variable>(VARIABLES).map(([name, { isSecret, default: usual, meaning }]) => [
    `${code(name)}${isSecret ? ' °' : ''}`,
    withCode(usual),
    withCode(meaning),
  ]);
  return table(['variable', 'default', 'meaning'], rows);
}

/** Returns the commands that run something, with their descriptions. */
export async function commands(): Promise<string> {
  const out = createOutput({ stdout: process.stdout, stderr: process.stderr }, {}, () => {});
  const program = await createProgram(out, () => async () => {}, [], SIDECAR);
  type Tree = (typeof program.commands)[number];
  const leaves = (tree: Tree, path: string): string[][] =>
    tree.commands.length === 0
      ? [[code(path), tree.description()]]
      : tree.commands.flatMap((command) => leaves(command as Tree, `${path} ${command.name()}`));
  const rows = program.commands.flatMap((command) => leaves(command, command.name()));
  return table(
    ['command', 'does'],
    rows.filter(([name]) => name !== code('help')),
  );
}

/** Returns the fields that a log line may have. */
export function logFields(): string {
  const fields = readSource('src/telemetry/log.ts').split('type LogFields')[1]?.split('}>')[0] ?? '';
  return `\n${[...fields.matchAll(/^ {2}(\w+):/gm)].map(([, name = '']) => code(name)).join(', ')}.\n\n`;
}

/** Returns the metrics with their help, from the calls that create them. */
export function metrics(): string {
  const [process = '', stored = ''] = readSource('src/operations/metrics.ts').split('function storedMetrics');
  const rowsOf = (text: string, mark: string) =>
    [...text.matchAll(/\b(counter|gauge|histogram)\(\s*'(\w+)',\s*'([^']*)'/g)].map(
      ([, type, name, help = '']) => [
        `${code(type === 'counter' ? `${name}_total` : `${name}`)}${mark}`,
        type ?? '',
        withCode(help),
      ],
    );
  return table(['metric', 'type', 'meaning'], [...rowsOf(process, ''), ...rowsOf(stored, ' °')]);
}

type Schema = {
  description?: string;
  enum?: (string | null)[];
  required?: string[];
  properties?: Record<string, Schema>;
};

let document: ReturnType<typeof referenceDocument> | undefined;

async function schemas(): Promise<Record<string, Schema>> {
  document ??= referenceDocument();
  return (await document).components.schemas;
}

/** Returns the columns of a file of rows, from the schema of its rows. */
export async function columnsOf(schema: string): Promise<string> {
  const { properties = {}, required = [] } = (await schemas())[schema] ?? {};
  const rows = Object.entries(properties).map(([name, { description, enum: values }]) => [
    code(name),
    required.includes(name) ? 'yes' : 'no',
    description ??
      (values ?? [])
        .filter((value) => value !== null)
        .map((value) => code(`${value}`))
        .join(', '),
  ]);
  return table(['column', 'required', 'meaning'], rows);
}

/** Returns the columns of the lines of a run as CSV, in their order. */
export async function lineColumns(): Promise<string> {
  const { Line, PayrollRun } = await schemas();
  const meaning = (name: string) =>
    Line?.properties?.[name]?.description ?? PayrollRun?.properties?.[name]?.description ?? 'The run.';
  return table(
    ['column', 'meaning'],
    CSV_COLUMNS.map((name) => [code(name), withCode(meaning(name))]),
  );
}

export function scopes(): string {
  return table(
    ['scope', 'may'],
    Object.entries(SCOPE_MEANINGS).map(([scope, may]) => [code(scope), may]),
  );
}

export function roles(): string {
  return table(
    ['role', 'scopes'],
    Object.entries(ROLES).map(([role, list]) => [code(role), list.map(code).join(', ')]),
  );
}

const VALUES = { none: '', duration: 'a time', status: 'a status', number: 'a number' };

export function faults(): string {
  const rows = Object.entries(FAULTS).map(([name, { value, usual, meets, about }]) => {
    const shown = value === 'duration' ? `${Number(usual) / 1_000}s` : usual;
    const usually = value === 'none' || usual === null ? VALUES[value] : `${VALUES[value]}; usual: ${shown}`;
    return [code(name), usually, `a ${meets}`, about];
  });
  return table(['fault', 'value', 'is met by', 'what happens'], rows);
}

export function scenarios(): string {
  const rows = Object.entries(SCENARIOS).map(([name, { about, see }]) => [code(name), about, see]);
  return table(['scenario', 'what happens', 'where to see it'], rows);
}
