/** The flags of an employee's last lines, and other doubts of the roster about a deduction. Pure. */
import type { Flag } from '../../formats/flags.ts';
import { printReadable } from '../../money.ts';
import type { Computation, RunEmployee } from './computation.ts';
import type { History } from './history.ts';
import { type CheckAmounts, countOfShares, lastOfMonth, type Remaining, remainingAfter } from './shares.ts';

type LastCheck = { flags: readonly Flag[]; explanation: string };

const NO_FLAGS: LastCheck = { flags: [], explanation: '' };

/** Returns the flags by which the roster questions a deduction of an employee in the run, and their explanation. */
export function lastCheckFlags(
  computation: Computation,
  employee: RunEmployee,
  history: History,
  { state, shares }: CheckAmounts,
): LastCheck {
  const { run, finalChecks } = computation;
  const { termination } = employee;
  if (termination === null || (termination > run.period_end && !finalChecks.has(employee.employeeId)))
    return NO_FLAGS;
  // These are the employee's last lines.
  const isOpen = state.ends_on === null || state.ends_on > lastOfMonth(termination);
  const flags: Flag[] = isOpen ? ['open_after_termination'] : [];
  const remaining = remainingAfter(computation, computation, employee, history, shares);
  if (remaining.count === 0) return { flags, explanation: '' };
  const after = `; ${countOfShares(remaining.count)} after this check: ${sidesInWords(remaining)}`;
  return { flags: [...flags, 'coverage_beyond_last_check'], explanation: after };
}

/** Returns `138.46 plus employer 20.00`, or `138.46` if the employer pays nothing. */
export function sidesInWords({ member, employer }: Omit<Remaining, 'count'>): string {
  return `${printReadable(member)}${employer === 0n ? '' : ` plus employer ${printReadable(employer)}`}`;
}
