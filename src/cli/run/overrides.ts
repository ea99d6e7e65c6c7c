/** The commands that override amounts of an open run. */
import type { ResultOf } from '../../api/operation.ts';
import {
  listPayrollRunOverrides,
  overridePayrollRunLine,
  removePayrollRunOverride,
} from '../../api/operations/payroll-run-overrides.ts';
import { dollars } from '../../money.ts';
import type { Command } from '../command.ts';
import { addOperation } from '../operation-command.ts';
import { type Column, employeeId, printable } from '../output.ts';

type Override = ResultOf<typeof overridePayrollRunLine>;
type Options = { runId: string; employee: string; deduction: string };

export function addOverrideCommands(run: Command): void {
  addOperation(run, 'override', overridePayrollRunLine, {
    description: 'Set the amounts of one deduction on one paycheck of an open run.',
    examples: [
      'mb-2026-07 --employee maple-bakery-001 --deduction ded_01J2Q7 --employee-amount 40.00 --employer-amount 0.00 --reason "leave of absence"',
    ],
    arguments: ['run_id'],
    flags: { member_amount: '--employee-amount <amount>', employer_amount: '--employer-amount <amount>' },
    print: (out, override, options: Options) =>
      out.print(printable(`Overrode ${named(options)}: ${inWords(override)}`)),
  });
  addOperation(run, 'overrides', listPayrollRunOverrides, {
    examples: ['mb-2026-07'],
    arguments: ['run_id'],
    columns: COLUMNS,
    rows: ({ overrides }) => overrides,
    none: 'No overrides.',
  });
  addOperation(run, 'remove-override', removePayrollRunOverride, {
    description: 'Take the regular amounts of a deduction again in an open run.',
    examples: ['mb-2026-07 --employee maple-bakery-001 --deduction ded_01J2Q7'],
    arguments: ['run_id'],
    print: (out, _, options: Options) => out.print(printable(`Removed the override of ${named(options)}`)),
  });
}

function named({ runId, employee, deduction }: Options): string {
  return `${deduction} of ${employee} in ${runId}`;
}

function inWords({ member_amount, employer_amount, regular_member_amount: regular }: Override): string {
  const instead = regular === null ? 'no line' : dollars(regular);
  return `${dollars(member_amount)} instead of ${instead}, employer ${dollars(employer_amount)}`;
}

const COLUMNS: readonly Column<Override>[] = [
  ['employee', employeeId],
  ['deduction', ({ deduction_id }) => deduction_id],
  ['employee pays', ({ member_amount }) => dollars(member_amount)],
  ['employer pays', ({ employer_amount }) => dollars(employer_amount)],
  ['regularly', ({ regular_member_amount: regular }) => regular && dollars(regular), 1],
  ['reason', ({ reason }) => reason, 2],
];
