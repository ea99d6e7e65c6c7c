/** The checks of a run itself, in the order of its report, and their finders. */
import { CENSUS_COMPLETED } from '../../census/checks.ts';
import type { Check, Found } from '../../checks.ts';
import type { Db } from '../../database/tables.ts';
import { LEDGER_EMPTY } from '../../ledger/checks.ts';
import type { Computation } from '../compute/computation.ts';
import type { EmployeeLines } from '../compute/taking.ts';
import { CHECK_BEYOND_YEAR, CODES_MISSING, OFF_CYCLE_ADDS } from './amounts.ts';
import {
  CALENDAR_DIFFERS,
  NO_PAY_SCHEDULE,
  PAY_DATE_SKIPPED,
  PAY_DATE_TAKEN,
  PERIOD_DIFFERS,
  PERIODS_OVERLAP,
  SHORT_YEAR,
} from './calendar.ts';
import { type Finder, type FoundInRun, NONE, type RunCheck, type RunQuestion, type Seen } from './check.ts';
import {
  EMPLOYED_TWICE_IN_RUN,
  END_AT_MIDNIGHT,
  FIRST_MONTH_AHEAD,
  ONE_DAY_WINDOW,
  OVERLAP,
  RENEWAL_ERASED,
  START_CORRECTED,
  START_MOVED,
} from './elections.ts';
import {
  MISSED_CHECKS,
  NEGATIVE_TOTAL,
  OF_ANOTHER_YEAR,
  REFUND_WAITS,
  RETRO_PRE_TAX,
  RETRO_REFUND,
} from './items.ts';
import { OVERRIDE_OUTDATED } from './overrides.ts';
import {
  ABSENT,
  CONTRADICTED,
  FREQUENCY_MOVED,
  NARROWED,
  NOT_SCHEDULED,
  TRANSFER_UNKNOWN,
  WITHOUT_FREQUENCY,
  WITHOUT_PAY_GROUP,
} from './roster.ts';
import {
  COVERAGE_BEYOND_LAST_CHECK,
  FINAL_CHECK_EMPTY,
  OPEN_AFTER_TERMINATION,
  PAID_AFTER_TERMINATION,
} from './terminations.ts';

const CHECKS: readonly RunCheck[] = [
  EMPLOYED_TWICE_IN_RUN,
  CENSUS_COMPLETED,
  LEDGER_EMPTY,
  WITHOUT_FREQUENCY,
  WITHOUT_PAY_GROUP,
  NOT_SCHEDULED,
  NARROWED,
  START_MOVED,
  RENEWAL_ERASED,
  ONE_DAY_WINDOW,
  END_AT_MIDNIGHT,
  FIRST_MONTH_AHEAD,
  START_CORRECTED,
  MISSED_CHECKS,
  RETRO_PRE_TAX,
  RETRO_REFUND,
  OF_ANOTHER_YEAR,
  NEGATIVE_TOTAL,
  OVERRIDE_OUTDATED,
  OVERLAP,
  PAY_DATE_TAKEN,
  PERIODS_OVERLAP,
  CODES_MISSING,
  NO_PAY_SCHEDULE,
  SHORT_YEAR,
  CALENDAR_DIFFERS,
  PAY_DATE_SKIPPED,
  CHECK_BEYOND_YEAR,
  PERIOD_DIFFERS,
  OPEN_AFTER_TERMINATION,
  PAID_AFTER_TERMINATION,
  COVERAGE_BEYOND_LAST_CHECK,
  FINAL_CHECK_EMPTY,
  CONTRADICTED,
  ABSENT,
  FREQUENCY_MOVED,
  TRANSFER_UNKNOWN,
  OFF_CYCLE_ADDS,
  REFUND_WAITS,
];

/** A check without `find` returns the findings of its `look`. */
export const PAYROLL_CHECKS: readonly Check<Db, RunQuestion>[] = CHECKS.map(({ look: _, ...check }) => ({
  find: async (_db, { found }) => found.get(check.id) ?? NONE,
  ...check,
}));

/** Creates the finders of all checks, which receive one employee at a time. Pure. */
export function createFinders(computation: Computation) {
  const finders = CHECKS.flatMap(
    ({ id, look }): { id: string; finder: Finder<Found>; findings: Found[] }[] =>
      look === undefined ? [] : [{ id, finder: look(computation), findings: [] }],
  );
  return {
    /** `inEffect`: the employee's deductions in effect on the run's day. */
    add(computed: EmployeeLines, inEffect: readonly string[]): void {
      const regular = computed.lines.filter(({ kind }) => kind === 'regular');
      const { employee, lines, taking } = computed;
      const seen: Seen = { employee, lines, taking, regular, inEffect };
      // Not as arguments of one push: an employee with 500 deductions of one line of coverage has 124,750 overlaps.
      for (const { finder, findings } of finders)
        for (const finding of finder.each(seen)) findings.push(finding);
    },
    found(): FoundInRun {
      return new Map(
        finders.map(({ id, finder, findings }) => [id, [...findings, ...(finder.atEnd?.() ?? NONE)]]),
      );
    },
  };
}
