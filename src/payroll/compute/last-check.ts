/** The flags of an employee's last lines, and other doubts of the roster about a deduction. Pure. */
import { Temporal } from 'temporal-polyfill';
import { type Employment, isAbsentNow, spellOn } from '../../ledger/employment.ts';
import type { RunVersion } from '../../ledger/history.ts';
import type { Flag } from '../calculation/line.ts';
import type { Computation } from './computation.ts';

/** Returns the flags by which the roster questions a deduction of an employee in the run. */
export function lastCheckFlags(
  { run }: Computation,
  employment: Employment,
  { ends_on }: RunVersion,
): Flag[] {
  const termination = spellOn(employment, run.period_end)?.termination_date ?? null;
  if (termination === null || termination > run.period_end)
    return termination === null && isAbsentNow(employment) ? ['absent_from_census'] : [];
  // These are the employee's last lines.
  if (ends_on === null || ends_on > lastOfMonth(termination)) return ['open_after_termination'];
  return ends_on > run.period_end ? ['coverage_beyond_last_check'] : [];
}

function lastOfMonth(day: string): string {
  const date = Temporal.PlainDate.from(day);
  return date.with({ day: date.daysInMonth }).toString();
}
