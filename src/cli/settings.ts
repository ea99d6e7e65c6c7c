/** The settings of an employer that are set as a whole: the payroll policy and payroll codes. */

import { transact } from '../database/transaction.ts';
import { recoupText } from '../formats/recoup.ts';
import { CODES, type PayrollCode } from '../payroll/settings/codes.ts';
import { POLICY, type ShownVersion } from '../payroll/settings/policy.ts';
import type { Setting } from '../payroll/settings/setting.ts';
import type { Action } from '../security/audit.ts';
import { instant, readJsonFile } from './arguments.ts';
import { actingIn, type Command, type DatabaseContext } from './command.ts';
import { inputRefused } from './failure.ts';
import { type Column, printList, printResult } from './output.ts';

/** The commands of a setting, and its table. */
type Commands<View, Row> = {
  name: string;
  action: Action;
  description: string;
  put: string;
  show: string;
  /** The name of the file in the examples. */
  file: string;
  /** The contents of the file, as an error names them. */
  what: string;
  rows(view: View): readonly Row[];
  columns: readonly Column<Row>[];
  /** Printed if there are no rows. */
  none: string;
};

export type Options = { employer: string; knownAt?: string };

export const addPolicyCommands = (program: Command) => addSetting(program, POLICY, POLICY_COMMANDS);
export const addCodeCommands = (program: Command) => addSetting(program, CODES, CODE_COMMANDS);

function addSetting<Value, View, Row>(
  program: Command,
  setting: Setting<Value, View>,
  { name, action, description, put, show, file, what, rows, columns, none }: Commands<View, Row>,
): void {
  const noun = program.subcommand(name, description);
  const print = async ({ db, out }: DatabaseContext, { employer, knownAt }: Options): Promise<void> => {
    const view = await setting.view(db, employer, knownAt);
    printResult(out, view, () => printList(out, { columns, rows: rows(view), none }));
  };
  noun
    .subcommand('put', put)
    .records(action)
    .examples(`${name} put ${file} --employer maple-bakery`)
    .argument('<file>', 'A .json file with the request body of the API')
    .employer()
    .table()
    .doesOnDatabase(async (context: DatabaseContext, path: string, { employer }: Options) => {
      const checked = setting.check(await readJsonFile(path));
      if (!checked.ok) throw inputRefused(what, checked);
      await transact(context.db, (trx) => setting.put(trx, employer, checked.value, actingIn(context)));
      await print(context, { employer });
    });
  addShowCommand(noun, name, show, print);
}

/** Adds the command that shows a setting as it is, or as it was set by a time. */
export function addShowCommand(
  noun: Command,
  name: string,
  description: string,
  print: (context: DatabaseContext, options: Options) => Promise<void>,
): void {
  noun
    .subcommand('show', description)
    .records('none')
    .examples(`${name} show --employer maple-bakery`)
    .employer()
    .option('--known-at <time>', 'As set by this time, such as 2026-07-01T08:00:00Z', instant)
    .table()
    .doesOnDatabase(async (context: DatabaseContext, options: Options) => {
      await print(context, options);
    });
}

const POLICY_COMMANDS: Commands<{ versions: ShownVersion[] }, ShownVersion> = {
  name: 'policy',
  action: 'policy.put',
  description: "Manage an employer's payroll policy: the options of its runs.",
  put: "Add a version to an employer's payroll policy.",
  show: "Show all versions of an employer's payroll policy, newest first.",
  file: 'policy.json',
  what: 'the payroll policy',
  rows: ({ versions }) => versions,
  columns: [
    ['from', (version) => version.effective_from],
    ['applies on', (version) => version.applies_on, 1],
    ['open items', (version) => version.open_items],
    ['recoup', (version) => recoupText(version.recoup)],
    ['created', (version) => version.created_at, 4],
    ['created by', (version) => version.created_by.name, 3],
  ],
  none: 'This employer has no payroll policy: its runs use the defaults.',
};

const CODE_COMMANDS: Commands<{ codes: PayrollCode[] }, PayrollCode> = {
  name: 'codes',
  action: 'codes.put',
  description: "Manage the payroll codes of an employer's deductions.",
  put: 'Replace the payroll codes of an employer.',
  show: 'Show the payroll codes of an employer.',
  file: 'codes.json',
  what: 'the list of payroll codes',
  rows: ({ codes }) => codes,
  columns: [
    ['line of coverage', (code) => code.line_of_coverage],
    ['taxability', (code) => code.taxability ?? 'any'],
    ['coverage type', (code) => code.coverage_type ?? 'any'],
    ['side', (code) => code.side],
    ['code', (code) => code.code],
    ['treatment', (code) => code.treatment, 1],
  ],
  none: 'This employer has no payroll codes.',
};
