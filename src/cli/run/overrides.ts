/** The commands that override amounts of an open run. */
import { type Cents, dollars } from '../../money.ts';
import {
  dropOverride,
  overrideAmounts,
  type PayrollRunOverride,
  shownOverrides,
  viewOverride,
} from '../../payroll/lifecycle/overrides.ts';
import { amount } from '../arguments.ts';
import { actingIn, type Command } from '../command.ts';
import { failed, impossible, unknownId } from '../failure.ts';
import { type Column, printList, printResult } from '../output.ts';
import { storedRun } from './show.ts';

const RUN = ['<run-id>', 'The id of an open run'] as const;
const EMPLOYEE = ['--employee <id>', 'An employee in the run (required)'] as const;
const DEDUCTION = ['--deduction <id>', 'A deduction of the employee (required)'] as const;

export function addOverrideCommands(run: Command): void {
  run
    .subcommand('override', 'Set the amounts of one deduction on one paycheck of an open run.')
    .examples(
      'run override mb-2026-07 --employee maple-bakery-001 --deduction ded_01J2Q7 --employee-amount 40 --employer-amount 0 --reason "leave of absence"',
    )
    .argument(...RUN)
    .requiredOption(...EMPLOYEE)
    .requiredOption(...DEDUCTION)
    .requiredOption('--employee-amount <amount>', 'The amount to deduct from the paycheck (required)', amount)
    .requiredOption('--employer-amount <amount>', 'The employer amount (required)', amount)
    .reason('Why; stored with the run')
    .json()
    .records('run.override')
    .doesOnDatabase(async (context, runId: string, options: Options) => {
      const { db, out } = context;
      const { employee: employeeId, deduction: deductionId, reason } = options;
      const amounts = { member: options.employeeAmount, employer: options.employerAmount };
      const overridden = { runId, employeeId, deductionId };
      const set = await overrideAmounts(db, overridden, { ...amounts, reason }, actingIn(context));
      if (set.outcome === 'unknown') throw unknownId('run', runId, 'run list');
      if (set.outcome === 'not-open') throw notOpen();
      if (set.outcome === 'refused') throw impossible(set.problems);
      const done = set.outcome === 'same' ? 'Nothing changed: it is overridden' : 'Overrode';
      const override = viewOverride(set.override);
      printResult(out, override, `${done} ${deductionId} of ${employeeId} in ${runId}: ${inWords(override)}`);
    });
  run
    .subcommand('overrides', 'List the overrides of a run.')
    .examples('run overrides mb-2026-07')
    .argument('<run-id>', 'The id of the run')
    .table()
    .records('none')
    .doesOnDatabase(async ({ db, out }, runId: string) => {
      const overrides = await shownOverrides(db, (await storedRun(db, runId)).run_id);
      const list = { columns: COLUMNS, rows: overrides, none: 'No overrides.' };
      printResult(out, { overrides }, () => printList(out, list));
    });
  run
    .subcommand('remove-override', 'Take the regular amounts of a deduction again in an open run.')
    .examples('run remove-override mb-2026-07 --employee maple-bakery-001 --deduction ded_01J2Q7')
    .argument(...RUN)
    .requiredOption(...EMPLOYEE)
    .requiredOption(...DEDUCTION)
    .json()
    .records('run.remove-override')
    .doesOnDatabase(async (context, runId: string, options: DeductionOptions) => {
      const { db, out } = context;
      const { employee: employeeId, deduction: deductionId } = options;
      const outcome = await dropOverride(db, { runId, employeeId, deductionId }, actingIn(context));
      if (outcome === 'unknown') throw unknownId('run', runId, 'run list');
      if (outcome === 'not-open') throw notOpen();
      const named = `${deductionId} of ${employeeId} in ${runId}`;
      if (outcome === 'none')
        throw failed(`${named} is not overridden: list overrides with "benefits-sidecar run overrides"`);
      printResult(out, { removed: true }, `Removed the override of ${named}`);
    });
}

type DeductionOptions = { employee: string; deduction: string };
type Options = DeductionOptions & { employeeAmount: Cents; employerAmount: Cents; reason: string };

function notOpen() {
  return failed('the run is no longer open: void it with "benefits-sidecar run void" and create another run');
}

function inWords({
  member_amount,
  employer_amount,
  regular_member_amount: regular,
}: PayrollRunOverride): string {
  const instead = regular === null ? 'no line' : dollars(regular);
  return `${dollars(member_amount)} instead of ${instead}, employer ${dollars(employer_amount)}`;
}

const COLUMNS: readonly Column<PayrollRunOverride>[] = [
  ['employee', ({ employee_id }) => employee_id],
  ['deduction', ({ deduction_id }) => deduction_id],
  ['employee pays', ({ member_amount }) => dollars(member_amount)],
  ['employer pays', ({ employer_amount }) => dollars(employer_amount)],
  ['regularly', ({ regular_member_amount: regular }) => regular && dollars(regular), 1],
  ['reason', ({ reason }) => reason, 2],
];
