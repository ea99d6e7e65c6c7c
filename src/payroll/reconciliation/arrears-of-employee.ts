import type { Static } from 'typebox';
import { component, text } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { amountOf } from '../../money.ts';
import { openItemsOf } from '../compute/item-pages.ts';

/** The amount of one deduction that payroll did not take in a finalized run, less what later runs collected. */
export const Arrears = component(
  'Arrears',
  {
    employer_id: text('The employer of the run.'),
    id: text('The ID of the open item.'),
    run_id: text('The finalized run from which payroll took a different amount.'),
    deduction_id: text('The deduction.'),
    line_of_coverage: text('The line of coverage.'),
    amount: text('The amount still to be deducted. Negative if too much was taken.'),
    explanation: text('How the amount was computed.'),
  },
  'An amount that payroll did not take and no later run has collected.',
);

/** Returns an employee's arrears of all years, by employer and pay date. `today`: the day that decides what decisions count. */
export async function arrearsOfEmployee(
  db: Db,
  employeeId: string,
  employers: readonly string[],
  today: string,
): Promise<Static<typeof Arrears>[]> {
  const arrears: Static<typeof Arrears>[] = [];
  for (const employer_id of employers) {
    for await (const page of openItemsOf(db, employer_id, today, { only: [employeeId] })) {
      for (const { id, identity, outstanding, line } of page.flatMap(({ items }) => items)) {
        if (identity.kind !== 'arrears' || outstanding.member === 0n) continue;
        arrears.push({
          ...{ id, employer_id, run_id: identity.source },
          deduction_id: identity.deduction_id as string,
          line_of_coverage: identity.line_of_coverage,
          amount: amountOf(outstanding.member),
          explanation: line.explanation,
        });
      }
    }
  }
  return arrears;
}
