/** The readiness checks of a run: its computation, and the settings of its employer. */
import type { Check, Found, Question } from '../../checks.ts';
import type { Db } from '../../database/tables.ts';
import { CALENDAR_CHECKS, PERIODS_OVERLAP, type RunQuestion } from './calendar-checks.ts';
import { isKnownEmployer } from './known-ids.ts';
import type { Note } from './summary.ts';

/** Finds what the computation noted. */
export function noted(note: Note, result: Found['result']) {
  return async (_: Db, { summary }: RunQuestion): Promise<Found[]> =>
    (summary.notes.get(note) ?? []).map(({ example, employeeId, ids }) => ({
      example,
      result,
      employeeId,
      ids,
    }));
}

/**
 * Finds several elections of one line of coverage: a failure where one is the rule, a warning where several are
 * normal (payroll.md).
 */
async function overlaps(db: Db, question: RunQuestion): Promise<Found[]> {
  const looks = [noted('overlap', 'fail'), noted('overlap_normal', 'warn')];
  return (await Promise.all(looks.map((look) => look(db, question)))).flat();
}

/** Finds active employees with deductions whom no pay schedule pays. Without any schedule that cannot be known. */
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
  advice: 'Nothing is known of this employer, so nothing was looked at: check the id, or bring its census.',
  passed: 'The employer is known, or all were asked about.',
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
      'They are left out, since the employer has several pay schedules and theirs is not known: bring a census with pay_frequency.',
    passed: 'Every employee has a known pay frequency.',
  },
  {
    id: 'employees-without-pay-group',
    ask: noted('unknown_pay_group', 'warn'),
    advice:
      'They are in no run of a pay group, since theirs is not known; a new hire has none until a census brings it: bring a census with pay_group.',
    passed: 'The run is for all pay groups, or of everybody it is known which is theirs.',
  },
  {
    id: 'employees-not-scheduled',
    ask: notScheduled,
    advice:
      'These employees have deductions in effect, and no pay schedule of the employer has their pay frequency and group: set the missing schedule, or correct their census.',
    passed: 'Every active employee with a deduction is paid on a schedule.',
  },
  {
    id: 'population-narrowed',
    ask: populationNarrowed,
    advice:
      'The run leaves out employees of its own pay frequency and group: remove employee_ids unless this is intended. Their checks count as missed.',
    passed: 'The run includes every employee of its pay frequency and group.',
  },
  {
    id: 'start-moved',
    ask: noted('start_moved', 'fail'),
    advice:
      'A start was moved before it arrived, and the contents changed with it: decide whether the earlier version applies (keep or drop).',
    passed: 'No deduction has a moved start that a person must decide.',
  },
  {
    id: 'start-corrected',
    ask: noted('start_corrected', 'warn'),
    advice: 'A start was moved to a later date before it arrived, so nothing is taken for it in this run.',
    passed: 'No start was moved across this run.',
  },
  {
    id: 'missed-checks',
    ask: noted('missed_check', 'warn'),
    advice:
      'These employees belonged in earlier runs that did not have them: their missed deductions are lines of this run, taken if adjustments are included.',
    passed: 'No employee missed a check.',
  },
  {
    id: 'retro-pre-tax',
    ask: noted('retro_pre_tax', 'warn'),
    advice:
      'Adjustments raise what these employees paid pre-tax for past checks. Section 125 elections are prospective, with few exceptions: confirm them.',
    passed: 'No adjustment raises a pre-tax deduction for a past check.',
  },
  {
    id: 'negative-total',
    ask: noted('negative_total', 'fail'),
    advice:
      'The deductions of these employees sum to less than zero: confirm that payroll pays out the difference, or report the adjustments instead of taking them.',
    passed: 'No employee’s deductions sum to less than zero.',
  },
  {
    id: 'overlap',
    ask: overlaps,
    advice:
      'Two deductions of one employee for one line of coverage are in effect: ask the service which is right. If both are, accept the finding.',
    passed: 'No employee has two deductions for one line of coverage.',
  },
  PERIODS_OVERLAP,
  {
    id: 'codes-missing',
    ask: noted('code_missing', 'fail'),
    advice: 'Payroll has no code to take these lines by: put the payroll codes of the employer with them.',
    passed: 'Every line has its payroll code, or the employer has no codes.',
  },
  ...CALENDAR_CHECKS,
  {
    id: 'open-after-termination',
    ask: noted('open_after_termination', 'warn'),
    advice:
      'Their employment has ended and their deductions have not: see whether this is their last check, and ask the service to end them.',
    passed: 'Nobody who left has a deduction that goes on.',
  },
  {
    id: 'coverage-beyond-last-check',
    ask: noted('coverage_beyond_last_check', 'warn'),
    advice:
      'Coverage lasts to the end of the month, after the last regular check: a final check may take the rest.',
    passed: 'No coverage lasts beyond the last check of an employee who left.',
  },
  {
    id: 'termination-contradicted',
    ask: noted('termination_contradicted', 'warn'),
    advice:
      'A census lists these employees after their termination, so they count as employed: correct the census or report the termination again.',
    passed: 'No census contradicts a termination.',
  },
  {
    id: 'absent-from-census',
    ask: noted('absent_from_census', 'warn'),
    advice: 'They have deductions and the newest census lacks them: bring them back, or their termination.',
    passed: 'Everybody with a line is in the newest census.',
  },
  {
    id: 'frequency-mismatch',
    ask: noted('frequency_mismatch', 'warn'),
    advice:
      'Their deductions are for another pay frequency than this run’s: compare the census and the service, one of them is stale.',
    passed: 'Every deduction is monthly or for this run’s pay frequency.',
  },
];
