/** The totals of a run, and their comparison with the previous run, as they are stored and shown. */
import type { Selectable } from 'kysely';
import Type, { type Static } from 'typebox';
import { closed, component, integer, text } from '../../contract/fields.ts';
import type { PayrollRunTable } from '../../database/tables.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { amountField } from '../calculation/line.ts';

const SUM = {
  employees: integer('The number of employees with such a line.'),
  lines: integer('The number of lines.'),
  member_amount: amountField('What the employees pay.'),
  employer_amount: amountField('What the employer pays.'),
};

const Sum = closed(SUM);
export type Sum = Static<typeof Sum>;

export const Totals = component(
  'Totals',
  {
    ...SUM,
    by_line_of_coverage: Type.Array(closed({ line_of_coverage: text('The line of coverage.'), ...SUM }), {
      description: 'The totals by line of coverage.',
    }),
    by_taxability: Type.Array(closed({ taxability: text('The taxability.'), ...SUM }), {
      description: 'The totals by taxability.',
    }),
  },
  'The totals of a run.',
);
export type Totals = Static<typeof Totals>;

const COMPARED = {
  previous_member_amount: amountField('The employees’ amount in the previous run.'),
  member_amount: amountField('Their amount in this run.'),
  member_difference: amountField('This run less the previous one.'),
  previous_employer_amount: amountField('The employer amount in the previous run.'),
  employer_amount: amountField('The employer amount in this run.'),
  employer_difference: amountField('This run less the previous one.'),
};

export const Comparison = component(
  'RunComparison',
  {
    previous_run_id: text('The last finalized regular run before this one.'),
    employees: closed(
      {
        previous: integer('Employees in the previous run.'),
        current: integer('Employees in this run.'),
        joined: integer('In this run, and not in the previous one.'),
        left: integer('In the previous run, and not in this one.'),
      },
      'Numbers of employees.',
    ),
    totals: closed(COMPARED, 'All lines.'),
    by_line_of_coverage: Type.Array(
      closed({ line_of_coverage: text('The line of coverage.'), ...COMPARED }),
      { description: 'The totals by line of coverage.' },
    ),
    largest_movers: Type.Array(
      closed({
        employee_id: text('The employee.'),
        previous_member_amount: COMPARED.previous_member_amount,
        member_amount: COMPARED.member_amount,
        member_difference: COMPARED.member_difference,
      }),
      { description: 'The ten employees whose amounts changed most, the largest change first.' },
    ),
  },
  'A comparison with the previous run of the same employer, pay frequency and pay group. Null if there is none.',
);
export type Comparison = Static<typeof Comparison>;

const readTotals = jsonColumn('payroll_runs', 'totals', Totals);

export function totalsOf({ run_id, totals }: Pick<Selectable<PayrollRunTable>, 'run_id' | 'totals'>): Totals {
  return readTotals(totals, run_id);
}
