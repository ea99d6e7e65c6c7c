/** The commands of deductions. */
import type { ResultOf } from '../api/operation.ts';
import { assignDeduction, getEmployerOfDeduction } from '../api/operations/deduction-assignments.ts';
import { listDeductions, listVersionsOfDeduction } from '../api/operations/deductions.ts';
import { dollars } from '../money.ts';
import type { Command } from './command.ts';
import { addOperation } from './operation-command.ts';
import { type Column, employeeId, printable } from './output.ts';

const DEDUCTION = ['deduction_id'];

export function addDeductionCommands(program: Command): void {
  const deductions = program.subcommand('deductions', 'Show the ledger of deductions.');
  addOperation(deductions, 'list', listDeductions, {
    description: 'List deductions by employee: their latest states, or those on a date.',
    examples: [
      '--employer maple-bakery',
      '--employee maple-bakery-001 --on 2026-07-31',
      '--placeholder open --wide',
    ],
    columns: COLUMNS,
    none: ({ has_more }) => (has_more ? 'No matching deductions so far.' : 'No matching deductions.'),
  });
  addOperation(deductions, 'versions', listVersionsOfDeduction, {
    description: 'List the versions of a deduction, oldest first.',
    examples: ['ded_01J2Q7'],
    arguments: DEDUCTION,
    columns: VERSION_COLUMNS,
  });
  addOperation(deductions, 'assignments', getEmployerOfDeduction, {
    description: 'Show the assignments of a deduction to employers, the newest first.',
    examples: ['ded_01J2Q7'],
    arguments: DEDUCTION,
    columns: ASSIGNMENT_COLUMNS,
    rows: ({ assignments }) => assignments,
    none: 'This deduction was never assigned: its employer is the employer of its employee.',
  });
  addOperation(deductions, 'assign', assignDeduction, {
    description: 'Assign a deduction of an employee with two employers to one of them.',
    examples: ['ded_01J2Q7 --employer maple-bakery --reason "elected in this job"'],
    arguments: DEDUCTION,
    print: (out, { deduction_id, employer_id, effective_on }) =>
      out.print(
        printable(`Assigned ${deduction_id} to ${employer_id} from the pay period of ${effective_on}`),
      ),
  });
}

const COLUMNS: readonly Column<ResultOf<typeof listDeductions>['data'][number]>[] = [
  ['employer', ({ employer_id, matched }) => employer_id ?? (matched ? 'several' : 'unmatched'), 2],
  ['employee', employeeId],
  ['deduction', ({ id }) => id],
  ['coverage', ({ line_of_coverage }) => line_of_coverage],
  ['employee pays', ({ member_contribution, period }) => `${dollars(member_contribution)} ${period}`],
  ['employer pays', ({ employer_contribution }) => dollars(employer_contribution), 1],
  ['taxability', ({ taxability }) => taxability, 6],
  ['from', ({ effective_start: start }) => start?.slice(0, 10), 4],
  ['to', ({ effective_end: end }) => end?.slice(0, 10), 3],
];

const VERSION_COLUMNS: readonly Column<ResultOf<typeof listVersionsOfDeduction>['data'][number]>[] = [
  ['version', ({ version }) => version],
  ['event time', ({ event_time }) => event_time],
  ['ordered by', ({ ordered_by }) => ordered_by, 6],
  ['employee pays', ({ member_contribution }) => dollars(member_contribution)],
  ['employer pays', ({ employer_contribution }) => dollars(employer_contribution)],
  ['from', ({ effective_start: start }) => start?.slice(0, 10), 2],
  ['to', ({ effective_end: end }) => end?.slice(0, 10), 1],
  ['late', ({ late }) => (late ? 'late' : '')],
  ['event', ({ event_id }) => event_id, 5],
];

const ASSIGNMENT_COLUMNS: readonly Column<ResultOf<typeof getEmployerOfDeduction>['assignments'][number]>[] =
  [
    ['employer', ({ employer_id }) => employer_id],
    ['from the pay period of', ({ effective_on }) => effective_on],
    ['assigned by', ({ assigned_by }) => assigned_by.name, 1],
    ['reason', ({ reason }) => reason, 2],
  ];
