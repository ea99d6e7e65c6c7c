/** The commands of deductions. */
import { LINES_OF_COVERAGE } from '../contract/deduction.ts';
import { type MadeAssignment, madeAssignments, viewAssignment } from '../ledger/assignments.ts';
import { deductionCursor, viewDeduction, viewVersion } from '../ledger/deduction-views.ts';
import {
  type DeductionFilter,
  type DeductionState,
  getDeduction,
  listDeductions,
  versionsOf,
} from '../ledger/deductions.ts';
import { dollars } from '../money.ts';
import { assignDeduction, ELSEWHERE_PROBLEM, NOT_EMPLOYED, takenBy } from '../payroll/lifecycle/assign.ts';
import { assertKnownEmployer, day, employerId, instant, truth } from './arguments.ts';
import { actingIn, type Command, type PageOptions, todayIn } from './command.ts';
import { failed, unknownId, wrongUsage } from './failure.ts';
import { type Column, printList, printPage, printResult, printTable } from './output.ts';

export function addDeductionCommands(program: Command): void {
  const deductions = program.subcommand('deductions', 'Show the ledger of deductions.');
  deductions
    .subcommand('list', 'List deductions by employee: their latest states, or those on a date.')
    .records('none')
    .examples(
      'deductions list --employer maple-bakery',
      'deductions list --employee maple-bakery-001 --on 2026-07-31',
      'deductions list --matched false --wide',
    )
    .option('--employer <id>', 'Only employees of this employer', employerId)
    .option('--employee <id>', 'Only this employee')
    .option('--matched <true|false>', 'Only employees in the roster (true), or not in it (false)', truth)
    .option('--on <date>', 'Only deductions in effect on this date', day)
    .option('--known-at <time>', 'As known at this time, such as 2026-07-01T08:00:00Z', instant)
    .option('--line-of-coverage <line>', 'Only this line of coverage, such as medical', lineOfCoverage)
    .choice('--taxability <taxability>', 'Only this taxability', ['pre_tax', 'post_tax'])
    .page()
    .doesOnDatabase(async (context, options: ListOptions) => {
      const { db, out } = context;
      const { employer, employee, cursor, limit, ...filter } = options;
      await assertKnownEmployer(db, employer);
      const { deductions, next } = await listDeductions(
        db,
        { ...filter, employerId: employer, employeeId: employee },
        { after: deductionCursor.decode(cursor), limit },
        todayIn(context),
      );
      const none = next === null ? 'No matching deductions.' : 'No matching deductions so far.';
      const page = deductionCursor.page(deductions.map(viewDeduction), next);
      printPage(out, page, { columns: COLUMNS, rows: deductions, none });
    });
  deductions
    .subcommand('versions', 'List all versions of a deduction, oldest first.')
    .records('none')
    .examples('deductions versions ded_01J2Q7')
    .argument('<deduction-id>', 'The id of the deduction')
    .table()
    .doesOnDatabase(async (context, deductionId: string) => {
      const { db, out } = context;
      const today = todayIn(context);
      const states: DeductionState[] = [];
      let after: number | null | undefined;
      while (after !== null) {
        const { versions, next } = await versionsOf(db, deductionId, { after, limit: 1_000 }, today);
        states.push(...versions);
        after = next;
      }
      if (states.length === 0) throw unknownId('deduction', deductionId, 'deductions list');
      printResult(out, { data: states.map(viewVersion), has_more: false, next_cursor: null }, () =>
        printTable(out, VERSION_COLUMNS, states),
      );
    });
  deductions
    .subcommand('assignments', 'Show the assignments of a deduction to employers, the newest first.')
    .records('none')
    .examples('deductions assignments ded_01J2Q7')
    .argument('<deduction-id>', 'The id of the deduction')
    .table()
    .doesOnDatabase(async (context, deductionId: string) => {
      const { db, out } = context;
      if ((await getDeduction(db, deductionId, todayIn(context))) === null)
        throw unknownId('deduction', deductionId, 'deductions list');
      const assignments = (await madeAssignments(db, deductionId)).reverse();
      printResult(out, { assignments: assignments.map(viewAssignment) }, () =>
        printList(out, { columns: ASSIGNMENT_COLUMNS, rows: assignments, none: NEVER_ASSIGNED }),
      );
    });
  deductions
    .subcommand('assign', 'Assign a deduction of an employee with two employers to one of them.')
    .records('deduction.assign')
    .examples('deductions assign ded_01J2Q7 --employer maple-bakery --reason "elected in this job"')
    .argument('<deduction-id>', 'The id of the deduction')
    .requiredOption('--employer <id>', 'The employer whose runs take the deduction (required)', employerId)
    .option('--effective-on <date>', 'The first pay period contains this date (default: today, UTC)', day)
    .reason('Why; stored with the assignment')
    .json()
    .doesOnDatabase(async (context, deductionId: string, options: AssignOptions) => {
      const { db, out } = context;
      const { employer, effectiveOn = null, reason } = options;
      const assigning = { deductionId, employerId: employer, effectiveOn, reason };
      const assigned = await assignDeduction(db, assigning, actingIn(context));
      if (assigned.outcome === 'unknown') throw unknownId('deduction', deductionId, 'deductions list');
      if (assigned.outcome === 'not-employed') throw failed(`--employer ${NOT_EMPLOYED}`);
      // The command line is not limited to employers.
      if (assigned.outcome === 'elsewhere') throw failed(ELSEWHERE_PROBLEM.rule);
      if (assigned.outcome === 'taken') throw failed(takenBy(assigned));
      const { assignment } = assigned;
      const done = `Assigned ${deductionId} to ${employer} from the pay period of ${assignment.effective_on}`;
      printResult(out, viewAssignment(assignment), done);
    });
}

const ASSIGNMENT_COLUMNS: readonly Column<MadeAssignment>[] = [
  ['employer', ({ employer_id }) => employer_id],
  ['from the pay period of', ({ effective_on }) => effective_on],
  ['assigned by', ({ assigned_by }) => assigned_by.name, 1],
  ['reason', ({ reason }) => reason, 2],
];
const NEVER_ASSIGNED = 'This deduction was never assigned: its employer is the employer of its employee.';

function lineOfCoverage(text: string): string {
  if ((LINES_OF_COVERAGE as readonly string[]).includes(text)) return text;
  throw wrongUsage(`--line-of-coverage must be one of ${LINES_OF_COVERAGE.join(', ')}`);
}

type ListOptions = Omit<DeductionFilter, 'employerId' | 'employeeId'> &
  PageOptions & { employer?: string; employee?: string };

const COLUMNS: readonly Column<DeductionState>[] = [
  ['employer', ({ employerId, matched }) => employerId ?? (matched ? 'several' : 'unmatched'), 2],
  ['employee', ({ version }) => version.employee_id],
  ['deduction', ({ version }) => version.deduction_id],
  ['coverage', ({ version }) => version.line_of_coverage],
  ['employee pays', ({ version }) => `${dollars(version.member_contribution)} ${version.period}`],
  ['employer pays', ({ version }) => dollars(version.employer_contribution), 1],
  ['taxability', ({ version }) => version.taxability, 6],
  ['from', ({ version }) => version.starts_on, 4],
  ['to', ({ version }) => version.ends_on, 3],
];

const VERSION_COLUMNS: readonly Column<DeductionState>[] = [
  ['version', ({ version }) => version.version],
  ['event time', ({ version }) => version.event_time],
  ['ordered by', ({ version }) => version.ordered_by, 6],
  ['employee pays', ({ version }) => dollars(version.member_contribution)],
  ['employer pays', ({ version }) => dollars(version.employer_contribution)],
  ['from', ({ version }) => version.starts_on, 2],
  ['to', ({ version }) => version.ends_on, 1],
  ['late', ({ version }) => (version.late === 1 ? 'late' : '')],
  ['event', ({ version }) => version.event_id, 5],
];

type AssignOptions = { employer: string; effectiveOn?: string; reason: string };
