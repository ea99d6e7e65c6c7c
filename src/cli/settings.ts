/** The commands of an employer's payroll policy and payroll codes. */

import type { ResultOf } from '../api/operation.ts';
import {
  getPayrollCodes,
  getPayrollPolicy,
  putPayrollCodes,
  putPayrollPolicy,
} from '../api/operations/payroll-settings.ts';
import { recoupText } from '../formats/recoup.ts';
import type { Command } from './command.ts';
import { addOperation } from './operation-command.ts';
import type { Words } from './operation-run.ts';

const EMPLOYER = '--employer maple-bakery';

export function addPolicyCommands(program: Command): void {
  const policy = program.subcommand(
    'policy',
    "Manage an employer's payroll policy: the options of its runs.",
  );
  addOperation(policy, 'put', putPayrollPolicy, {
    ...POLICY_TABLE,
    description: "Add a version to an employer's payroll policy.",
    examples: [`policy.json ${EMPLOYER}`],
    isBodyInFile: true,
  });
  addOperation(policy, 'show', getPayrollPolicy, {
    ...POLICY_TABLE,
    description: "Show all versions of an employer's payroll policy, newest first.",
    examples: [EMPLOYER],
  });
}

export function addCodeCommands(program: Command): void {
  const codes = program.subcommand('codes', "Manage the payroll codes of an employer's deductions.");
  addOperation(codes, 'put', putPayrollCodes, {
    ...CODE_TABLE,
    description: 'Replace the payroll codes of an employer.',
    examples: [`codes.json ${EMPLOYER}`],
    isBodyInFile: true,
  });
  addOperation(codes, 'show', getPayrollCodes, {
    ...CODE_TABLE,
    description: 'Show the payroll codes of an employer.',
    examples: [EMPLOYER],
  });
}

/** What the commands that set and show a setting print. */
type Table<View, Row> = Pick<Words<View, object, Row>, 'rows' | 'columns' | 'none'>;

type Policy = ResultOf<typeof getPayrollPolicy>;
type Codes = ResultOf<typeof getPayrollCodes>;

const POLICY_TABLE: Table<Policy, Policy['versions'][number]> = {
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

const CODE_TABLE: Table<Codes, Codes['codes'][number]> = {
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
