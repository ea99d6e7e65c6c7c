/** The open items of employees in a run, and what the run takes of them. */
import type { Db, Trx } from '../../database/tables.ts';
import type { Cents } from '../../money.ts';
import type { Line } from '../calculation/line.ts';
import { frozenLines, storedLines } from '../records/frozen-lines.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { attendedRuns } from './missed-checks.ts';
import { openItems } from './open-items.ts';
import { usualTotals } from './recoup.ts';
import { type Unit, unitsOf } from './takeable.ts';
import { type Taking, takeItems } from './taking.ts';

/** An employee with the lines of this paycheck, and the outstanding items that the run considers. */
export type Begun = { employee: RunEmployee; regular: readonly Line[]; units: readonly Unit[] };

/** Returns the outstanding items of an employee whom a regular run has or an off-cycle run names. */
export function unitsInRun(
  computation: Computation,
  employee: RunEmployee,
  regular: readonly Line[],
): Unit[] {
  const { run, employees } = computation;
  const { employeeId, membership, reopened, openings } = employee;
  if (reopened.length === 0 && openings.length === 0) return [];
  const isConsidered = run.kind === 'off_cycle' ? employees?.has(employeeId) === true : membership.isIn;
  if (!isConsidered) return [];
  const taking = withSharesOf(computation, employee, regular);
  const attended = attendedRuns(computation, employee);
  // An amount that this run takes for a pay period is not missed, so it must not be taken twice.
  if (membership.isIn) attended.push({ terms: computation, lines: regular });
  const items = openItems(computation, taking, attended);
  return unitsOf(computation, employee, items);
}

/** Returns an employee with the shares that the lines of the computed run take, which no earlier run is owed. */
function withSharesOf({ runId }: Computation, employee: RunEmployee, regular: readonly Line[]): RunEmployee {
  const shares = regular.flatMap((line) =>
    (line.shares ?? []).map(({ pay_date }) => ({
      ...{ runId: runId ?? '', isVoided: false, voidedAt: null },
      ...{ deductionId: line.account.deduction_id, payDate: pay_date },
    })),
  );
  return shares.length === 0 ? employee : { ...employee, shares: [...employee.shares, ...shares] };
}

/** Takes the items of a page of employees, in their order. */
export async function takeItemsOf(
  db: Db | Trx,
  computation: Computation,
  begun: readonly Begun[],
): Promise<Taking[]> {
  const totals = await earlierTotals(db, computation, begun);
  return begun.map(({ employee, regular, units }) => {
    const before = totals.get(employee.employeeId);
    const usual = (coverage: string) => usualTotal(regular, coverage) ?? before?.get(coverage) ?? null;
    return takeItems(computation, employee, regular, units, usual);
  });
}

/** Returns the usual amount of a line of coverage if it is above zero, else null. */
function usualTotal(regular: readonly Line[], coverage: string): Cents | null {
  const total = usualTotals(regular).get(coverage) ?? 0n;
  return total > 0n ? total : null;
}

/**
 * Returns, by employee, the total of each line of coverage in the last earlier run where it is above zero. Only employees
 * whose items have a limit and no regular amount in this run are read.
 */
async function earlierTotals(
  db: Db | Trx,
  { run, earlier }: Computation,
  begun: readonly Begun[],
): Promise<Map<string, Map<string, Cents>>> {
  const totals = new Map<string, Map<string, Cents>>();
  if (run.recoup.method !== 'multiple') return totals;
  const lacking = begun.filter(({ regular, units }) =>
    units.some(({ line_of_coverage }) => usualTotal(regular, line_of_coverage) === null),
  );
  if (lacking.length === 0) return totals;
  const before = earlier.filter((other) => !other.isVoided && other.run.pay_date < run.pay_date);
  const rows = await frozenLines(
    db,
    before.map(({ freezeId }) => freezeId),
    lacking.map(({ employee }) => employee.employeeId),
    storedLines,
  );
  for (const [employeeId, ofEmployee] of rows) {
    const known = new Map<string, Cents>();
    for (const { lines } of ofEmployee)
      for (const [coverage, total] of usualTotals(lines)) if (total > 0n) known.set(coverage, total);
    totals.set(employeeId, known);
  }
  return totals;
}
