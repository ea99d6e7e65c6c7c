/** The readiness checks of a run: its computation, and the settings of its employer. */
import type { Check, Found, Question } from '../../checks.ts';
import type { Db } from '../../database/tables.ts';
import { isKnownEmployer } from './begin.ts';
import { CALENDAR_CHECKS, PERIODS_OVERLAP, type RunQuestion } from './calendar-checks.ts';
import type { Note } from './summary.ts';

/** Finds what the computation noted. */
export function noted(note: Note, result: Found['result']) {
  return async (_: Db, { summary }: RunQuestion): Promise<Found[]> =>
    (summary.notes.get(note) ?? []).map((noted) => ({ ...noted, result }));
}

/**
 * Finds several elections of one line of coverage: a failure where one is the rule, a warning where several are
 * normal (docs/amounts.md).
 */
async function overlaps(db: Db, question: RunQuestion): Promise<Found[]> {
  const looks = [noted('overlap', 'fail'), noted('overlap_normal', 'warn')];
  return (await Promise.all(looks.map((look) => look(db, question)))).flat();
}

/** Finds active employees with deductions but without a pay schedule. Passes if the employer has no schedules. */
async function notScheduled(db: Db, question: RunQuestion): Promise<Found[]> {
  const { basis } = question;
  if (basis.run.kind === 'off_cycle') return [];
  return noted('not_scheduled', basis.schedules.length === 0 ? 'warn' : 'fail')(db, question);
}

/** Counts the employees of the run's own frequency and group that `employee_ids` leaves out. */
async function populationNarrowed(_: Db, { basis, summary }: RunQuestion): Promise<Found[]> {
  const count = summary.notes.get('not_selected')?.length ?? 0;
  if (basis.run.kind === 'off_cycle' || count === 0) return [];
  return [{ example: count === 1 ? '1 employee' : `${count} employees`, result: 'warn', count }];
}

export const EMPLOYER_UNKNOWN: Check<Db> = {
  id: 'employer-unknown',
  ask: employerUnknown,
  advice: 'This employer is unknown, so nothing was checked. Check the ID, or stage its census.',
  passed: 'The employer is known, or the report covers all employers.',
};

async function employerUnknown(db: Db, { employerId }: Question): Promise<Found[]> {
  if (employerId === undefined || (await isKnownEmployer(db, employerId))) return [];
  return [{ example: employerId, result: 'warn' }];
}

export const PAYROLL_CHECKS: readonly Check<Db, RunQuestion>[] = [
  {
    id: 'employees-without-frequency',
    ask: noted('unknown_frequency', 'fail'),
    advice:
      'The run leaves them out, because the employer has several pay schedules and their pay frequency is unknown. Stage a census that has their pay frequency.',
    passed: 'Every employee has a known pay frequency.',
  },
  {
    id: 'employees-without-pay-group',
    ask: noted('unknown_pay_group', 'warn'),
    advice:
      'They are in no run of a pay group, because their pay group is unknown. A new hire has none until a census reports it. Stage a census that has their pay group.',
    passed: 'The run covers all pay groups, or every employee has a known pay group.',
  },
  {
    id: 'employees-not-scheduled',
    ask: notScheduled,
    advice:
      'These employees have deductions in effect, but no pay schedule of the employer has their pay frequency and group. Set the missing schedule, or correct their census.',
    passed: 'Every active employee with a deduction is on a pay schedule.',
  },
  {
    id: 'population-narrowed',
    ask: populationNarrowed,
    advice:
      'The run leaves out employees of its pay frequency and group. Create the run without a list of employees unless this is intended. Their paychecks count as missed.',
    passed: 'The run includes every employee of its pay frequency and group.',
  },
  {
    id: 'start-moved',
    ask: noted('start_moved', 'fail'),
    advice:
      'A start date was moved before it was reached, and other terms changed with it. Decide whether the earlier version applies.',
    passed: 'No deduction has a moved start date that needs a decision.',
  },
  {
    id: 'start-corrected',
    ask: noted('start_corrected', 'warn'),
    advice:
      'A start date was moved to a later one before it was reached, so this run deducts nothing for it.',
    passed: 'No start date was moved from this run to a later one.',
  },
  {
    id: 'missed-checks',
    ask: noted('missed_check', 'warn'),
    advice:
      'These employees belonged in earlier runs that did not include them. Their missed deductions are lines of this run and are taken if adjustments are included.',
    passed: 'No employee missed a paycheck.',
  },
  {
    id: 'retro-pre-tax',
    ask: noted('retro_pre_tax', 'warn'),
    advice:
      'Adjustments raise pre-tax deductions of these employees for past paychecks. Section 125 elections are prospective, with few exceptions. Confirm the adjustments.',
    passed: 'No adjustment raises a pre-tax deduction for a past paycheck.',
  },
  {
    id: 'negative-total',
    ask: noted('negative_total', 'fail'),
    advice:
      'The deductions of these employees sum to less than zero. Confirm that payroll pays out the difference, or create the run so that it only shows the adjustments.',
    passed: 'No employee’s deductions sum to less than zero.',
  },
  {
    id: 'overlap',
    ask: overlaps,
    advice:
      'An employee has two deductions in effect for one line of coverage. Ask the service which is correct. If both are, accept the finding.',
    passed: 'No employee has two deductions for one line of coverage.',
  },
  PERIODS_OVERLAP,
  {
    id: 'codes-missing',
    ask: noted('code_missing', 'fail'),
    advice: 'These lines have no payroll code. Set the payroll codes of the employer.',
    passed: 'Every line has a payroll code, or the employer has no codes.',
  },
  ...CALENDAR_CHECKS,
  {
    id: 'open-after-termination',
    ask: noted('open_after_termination', 'warn'),
    advice:
      'These employees were terminated, but their deductions continue. Check whether this is their last paycheck, and ask the service to end the deductions.',
    passed: 'No terminated employee has a deduction that continues.',
  },
  {
    id: 'coverage-beyond-last-check',
    ask: noted('coverage_beyond_last_check', 'warn'),
    advice:
      'Coverage lasts beyond the last regular paycheck, to the end of the month. A final paycheck may take the rest.',
    passed: 'No coverage lasts beyond the last paycheck of a terminated employee.',
  },
  {
    id: 'termination-contradicted',
    ask: noted('termination_contradicted', 'warn'),
    advice:
      'A census lists these employees after their termination, so they count as employed. Correct the census or report the termination again.',
    passed: 'No census contradicts a termination.',
  },
  {
    id: 'absent-from-census',
    ask: noted('absent_from_census', 'warn'),
    advice:
      'These employees have deductions, but the newest census does not list them. Correct the census, or report their termination.',
    passed: 'Every employee with a line is in the newest census.',
  },
  {
    id: 'frequency-mismatch',
    ask: noted('frequency_mismatch', 'warn'),
    advice:
      'The contributions of these employees are for a different pay frequency than this run’s. Compare the census with the service: one of them is outdated.',
    passed: 'Every deduction is monthly or for this run’s pay frequency.',
  },
];
