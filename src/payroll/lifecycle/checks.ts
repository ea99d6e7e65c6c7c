/** The readiness checks of a run, in the order in which they are shown. */
import type { Check, Found } from '../../checks.ts';
import type { Db } from '../../database/tables.ts';
import { undeliveredTerminations } from '../../employment/changes.ts';
import { endingAtMidnight } from '../../ledger/history.ts';
import type { Note } from '../compute/note.ts';
import { countOfEmployees } from '../compute/totals.ts';
import {
  calendarDiffers,
  noPaySchedule,
  passedIfRegular,
  passedLikePrevious,
  payDateSkipped,
  payDateTaken,
  periodDiffers,
  periodsOverlap,
  type RunQuestion,
  scheduledDate,
  shortYear,
} from './calendar-checks.ts';
import { isKnownEmployer } from './employers.ts';

/** Employees that one sentence names. */
const NAMED = 5;

/** Returns a function that finds what the computation noted. */
export function noted(note: Note, result: Found['result']) {
  return async (_: Db, question: RunQuestion) => notesOf(question, note, result);
}

function notesOf({ summary }: RunQuestion, note: Note, result: Found['result']): Found[] {
  return (summary.notes.get(note) ?? []).map((noted) => ({ ...noted, result }));
}

/** Counts the employees of the run's own frequency and group that `employee_ids` leaves out. */
async function populationNarrowed(_: Db, { computation, summary }: RunQuestion): Promise<Found[]> {
  const count = summary.notes.get('not_selected')?.length ?? 0;
  if (computation.run.kind === 'off_cycle' || count === 0) return [];
  return [{ example: countOfEmployees(count), result: 'warn', count }];
}

/** Finds deductions that continue, and names terminations that the service lacks: it cannot end a deduction before. */
async function openAfterTermination(db: Db, question: RunQuestion): Promise<Found[]> {
  const findings = notesOf(question, 'open_after_termination', 'warn');
  const employees = findings.flatMap(({ employeeId }) => employeeId ?? []);
  const undelivered = await undeliveredTerminations(db, question.employerId, employees);
  const advice = `The service has not received the termination of ${namesOf([...undelivered])} yet.`;
  return findings.map((finding) =>
    undelivered.has(finding.employeeId ?? '') ? { ...finding, advice } : finding,
  );
}

/** Finds deductions that the run takes on their last day, although the day before may be meant. */
async function endAtMidnight(db: Db, question: RunQuestion): Promise<Found[]> {
  const findings = notesOf(question, 'ends_on_day', 'warn');
  const eventsOf = ({ ids = [] }: Found) => ids;
  const ending = await endingAtMidnight(db, findings.flatMap(eventsOf));
  return findings.filter((finding) => eventsOf(finding).some((id) => ending.has(id)));
}

/** `emp-1, emp-2 and 7 more`. */
function namesOf(employeeIds: readonly string[]): string {
  const more = employeeIds.length - NAMED;
  const names = employeeIds.slice(0, NAMED).join(', ');
  return more > 0 ? `${names} and ${more} more` : names;
}

export const EMPLOYER_UNKNOWN: Check<Db> = {
  id: 'employer-unknown',
  title: 'This employer is unknown',
  ask: async (db, { employerId }) => {
    if (employerId === undefined || (await isKnownEmployer(db, employerId))) return [];
    return [{ example: employerId, result: 'fail' }];
  },
  advice: 'This employer is unknown, so nothing was checked. Check the ID, or stage its census.',
  passed: async (_, { employerId }) =>
    employerId === undefined ? 'The report covers all employers.' : 'The employer is known.',
};

export const PAYROLL_CHECKS: readonly Check<Db, RunQuestion>[] = [
  {
    id: 'employees-without-frequency',
    title: 'Employees have no known pay frequency',
    ask: noted('unknown_frequency', 'fail'),
    advice:
      'The run leaves them out, because the employer has several pay schedules and their pay frequency is unknown. Stage a census that has their pay frequency.',
    passed: 'Every employee has a known pay frequency.',
  },
  {
    id: 'employees-without-pay-group',
    title: 'Employees have no known pay group',
    ask: noted('unknown_pay_group', 'warn'),
    advice:
      'They are in no run of a pay group, because their pay group is unknown. A new hire has none until a census reports it. Stage a census that has their pay group.',
    passed: async (_, { computation }) =>
      computation.run.pay_group === null
        ? 'The run covers all pay groups.'
        : 'Every employee has a known pay group.',
  },
  {
    id: 'employees-not-scheduled',
    title: 'Employees with deductions are on no pay schedule',
    ask: async (_, question) =>
      notesOf(question, 'not_scheduled', question.computation.basis.schedules.length === 0 ? 'warn' : 'fail'),
    advice:
      'These employees have deductions in effect, but no pay schedule of the employer has their pay frequency and group. Set the missing schedule, or correct their census.',
    passed: async (_, { computation }) =>
      computation.basis.schedules.length === 0
        ? 'The employer has no pay schedule, and earlier runs had all its employees with a deduction.'
        : 'Every active employee with a deduction is on a pay schedule.',
  },
  {
    id: 'population-narrowed',
    title: 'Employees of this pay frequency are left out',
    ask: populationNarrowed,
    advice:
      'The run leaves out employees of its pay frequency and group. Create the run without a list of employees unless this is intended. Their paychecks count as missed.',
    passed: passedIfRegular(
      'An off-cycle run names its employees.',
      async () => 'The run includes every employee of its pay frequency and group.',
    ),
  },
  {
    id: 'start-moved',
    title: 'Start dates moved together with other terms',
    ask: noted('start_moved', 'warn'),
    advice:
      'A start date was moved before it was reached, and other terms changed with it. The earlier version applies until the later one starts. If it is wrong, ask the service to resend it, or override the line.',
    passed: 'No deduction has a start date that moved together with other terms.',
  },
  {
    id: 'renewal-erased',
    title: 'A renewal was erased by a later change',
    ask: async (_, question) => [
      ...notesOf(question, 'renewal_erased', 'fail'),
      ...notesOf(question, 'renewal_ahead', 'warn'),
    ],
    advice:
      'A renewal was sent, and a later change of the window before it left nothing in effect from its start. Ask the service to resend the renewal. If the coverage really ends, accept the finding.',
    passed: 'No later change erased a renewal.',
  },
  {
    id: 'one-day-window',
    title: 'Deductions are in effect on one day only',
    ask: noted('one_day_window', 'warn'),
    advice:
      'These deductions start and end on the day on which this run takes them. A canceled enrollment often looks like this. Ask the service, or override the line.',
    passed: 'No line takes a deduction that is in effect on one day only.',
  },
  {
    id: 'end-at-midnight',
    title: 'Deductions may have ended the day before',
    ask: endAtMidnight,
    advice:
      'The end of these deductions is midnight of a US time zone, written in UTC, so the day before may be meant. The run takes them, because it reads the day as written. Ask the service, or override the line.',
    passed: 'No line takes a deduction whose end may mean the day before.',
  },
  {
    id: 'first-month-ahead',
    title: 'The first month of coverage is not taken',
    ask: noted('first_month_ahead', 'warn'),
    advice:
      'Premiums are taken a month ahead, and these deductions began before the first month that a run looks at. Collect what is missing in an off-cycle run, or tell the employees.',
    passed: 'No deduction began before the first day that a run looks at.',
  },
  {
    id: 'start-corrected',
    title: 'Start dates moved to a later date',
    ask: noted('start_corrected', 'warn'),
    advice:
      'A start date was moved to a later one before it was reached, so this run deducts nothing for it.',
    passed: 'No start date was moved from this run to a later one.',
  },
  {
    id: 'missed-checks',
    title: 'Employees missed a paycheck',
    command: 'items decide --help',
    ask: noted('missed_check', 'warn'),
    advice:
      'These employees belonged in earlier runs that did not include them. Decide about the open items of their missed deductions: take, hold or write them off.',
    passed: 'No missed paycheck of an employee needs a decision.',
  },
  {
    id: 'retro-pre-tax',
    title: 'Pre-tax deductions rise for past paychecks',
    command: 'items decide --help',
    ask: noted('retro_pre_tax', 'warn'),
    advice:
      'Open items raise pre-tax deductions of these employees for past paychecks. Section 125 elections are prospective, with few exceptions. Decide about the items, or accept the finding.',
    passed: 'No undecided item raises a pre-tax deduction for a past paycheck.',
  },
  {
    id: 'retro-refund',
    title: 'Pre-tax deductions fall for past paychecks',
    command: 'items decide --help',
    ask: noted('retro_refund', 'warn'),
    advice:
      'Open items return pre-tax deductions of these employees for past paychecks. The money may be at a custodian, or the election irrevocable. Decide about the items, or accept the finding.',
    passed: 'No undecided item returns a pre-tax deduction since the run before.',
  },
  {
    id: 'items-of-another-year',
    title: 'Pre-tax items belong to another tax year',
    command: 'items decide --help',
    ask: noted('bound_to_year', 'warn'),
    advice:
      'Pre-tax adjustments are taken in the tax year of their paycheck. Take these items in an off-cycle run with a pay date in that year, such as December 31, or write them off.',
    passed: 'No pre-tax item of another tax year is new since the run before.',
  },
  {
    id: 'negative-total',
    title: 'Deductions total less than zero',
    command: 'items decide --help',
    ask: noted('negative_total', 'fail'),
    advice:
      'The pre-tax or post-tax deductions of these employees sum to less than zero. Confirm that payroll pays out the difference, or hold the open items that return amounts.',
    passed: 'No employee’s deductions sum to less than zero.',
  },
  {
    id: 'override-outdated',
    title: 'Overrides are older than newer facts',
    command: 'run override --help',
    ask: noted('override_outdated', 'warn'),
    advice:
      'These amounts were overridden, and without the override they would be different now. In an open run, override the amount again or remove the override. An amount of a finalized run stays as it was overridden.',
    passed: 'No fact since the run before changes the amount that an override replaced.',
  },
  {
    id: 'overlap',
    title: 'Two deductions for one line of coverage',
    // A failure where one election is the rule, a warning of the first run where several are normal.
    ask: async (_, question) => [
      ...notesOf(question, 'overlap', 'fail'),
      ...notesOf(question, 'overlap_normal', 'warn'),
    ],
    advice:
      'An employee has two deductions in effect for one line of coverage. Ask the service which is correct. If both are, accept the finding.',
    passed: 'No employee has two deductions for one line of coverage that no earlier run reported.',
  },
  {
    id: 'pay-date-taken',
    isBlocking: true,
    title: 'Another run has this pay date',
    ask: payDateTaken,
    advice:
      'Another run of this pay frequency and pay group is final for this pay date, and nobody can accept a second one. Void that run, or delete this one.',
    passed: passedIfRegular(
      'An off-cycle run may share its pay date with other runs.',
      async () => 'No other run is final for this pay date.',
    ),
  },
  {
    id: 'periods-overlap',
    title: 'Another run covers days of this pay period',
    ask: periodsOverlap,
    advice: 'A finalized run already covers days of this pay period. Correct the period, or void that run.',
    passed: passedIfRegular(
      'An off-cycle run may share its pay period with other runs.',
      async () => 'No finalized run covers days of this pay period.',
    ),
  },
  {
    id: 'codes-missing',
    title: 'Lines have no payroll code',
    ask: noted('code_missing', 'fail'),
    advice: 'These lines have no payroll code. Set the payroll codes of the employer.',
    passed: async (_, { computation: { basis } }) =>
      basis.codes.length === 0 ? 'The employer has no payroll codes.' : 'Every line has a payroll code.',
  },
  {
    id: 'no-pay-schedule',
    title: 'No pay schedule has the pay dates of the year',
    ask: noPaySchedule,
    advice:
      'Each paycheck takes an even part of the year for the usual number of paychecks, so a year with more or fewer dates does not add up. Set the pay schedule of the year.',
    passed: async (_, { computation }) =>
      computation.plan().calendar === null
        ? 'No pay schedule has the pay dates of the year, as an earlier run warned.'
        : 'The pay schedule has the pay dates of the year.',
  },
  {
    id: 'short-year',
    title: 'Few paychecks take the amounts of the whole year',
    ask: shortYear,
    advice:
      'The pay schedule says that coverage lasts all year and its checks do not, so each check takes more than a month. Check the example, and accept it once.',
    passed: 'No schedule divides a year among fewer checks.',
  },
  {
    id: 'calendar-differs',
    title: 'The pay dates changed since the previous run',
    ask: calendarDiffers,
    advice:
      'The pay dates changed after a run was finalized, so the remaining checks take what is left of the year. Correct the pay schedule, or accept the new amounts.',
    passed: passedLikePrevious('share of the year'),
  },
  {
    id: 'pay-date-skipped',
    title: 'Earlier pay dates have no finalized run',
    ask: payDateSkipped,
    advice: 'These pay dates have no finalized run. Finalize their runs first, or correct the pay schedule.',
    passed: passedIfRegular(
      'An off-cycle run is not compared with the pay dates of the year.',
      async () => 'Every earlier pay date since the first run has a finalized run.',
    ),
  },
  {
    id: 'check-beyond-year',
    title: 'The year has extra or missing paychecks',
    ask: noted('beyond_year', 'warn'),
    advice:
      'Contributions per paycheck add up to more or less than a year of them, because the year has another number of pay dates. Mark a date in the pay schedule as not taking them if it should not.',
    passed: 'No contribution per paycheck adds up to more or less than a year of them on this check.',
  },
  {
    id: 'period-differs-from-schedule',
    title: 'The pay schedule has a different pay period',
    ask: periodDiffers,
    advice: 'The pay schedule has a different pay period for this pay date. Correct the run or the schedule.',
    passed: passedIfRegular('An off-cycle run has its own pay period.', async (db, question) =>
      (await scheduledDate(db, question)) === undefined
        ? 'No pay schedule has this pay date.'
        : 'The pay period matches the pay schedule.',
    ),
  },
  {
    id: 'open-after-termination',
    title: 'Deductions continue after employment ended',
    ask: openAfterTermination,
    advice:
      'These employees were terminated, but their deductions continue. Check whether this is their last paycheck, and ask the service to end the deductions.',
    passed: 'No terminated employee has a deduction that continues.',
  },
  {
    id: 'paid-after-termination',
    title: 'Deductions were taken after employment ended',
    ask: noted('paid_after_termination', 'warn'),
    advice:
      'Runs after the termination took these deductions, which have no end. Ask the service to end them. An end in the past returns what was taken after it.',
    passed: 'No run after a termination took a deduction without an end.',
  },
  {
    id: 'coverage-beyond-last-check',
    title: 'The rest of the last month is not taken',
    ask: noted('coverage_beyond_last_check', 'warn'),
    advice:
      'Pay dates in the month of the termination remain that no paycheck took. Name these employees in `final_checks` to take the rest of the month, unless another employer takes it after a transfer.',
    passed: 'No share of the last month of a terminated employee is left.',
  },
  {
    id: 'final-check-empty',
    title: 'Final paychecks take nothing',
    ask: noted('final_check_empty', 'warn'),
    advice:
      'No deduction of these employees is in effect on a pay date that remains, so their final paychecks take nothing. Check the dates of their coverage.',
    passed: 'Every final paycheck takes a deduction.',
  },
  {
    id: 'termination-contradicted',
    title: 'A census contradicts a termination',
    ask: noted('termination_contradicted', 'warn'),
    advice:
      'A census lists these employees after their termination, so they count as employed. Correct the census or report the termination again.',
    passed: 'No census contradicts a termination.',
  },
  {
    id: 'absent-from-census',
    title: 'Employees are missing from the newest census',
    ask: noted('absent_from_census', 'warn'),
    advice:
      'These employees have deductions, but the newest census does not list them. Correct the census, or report their termination.',
    passed: 'Every employee with a line is in the newest census.',
  },
  {
    id: 'frequency-moved',
    title: 'Employees changed their pay frequency or employer',
    ask: noted('frequency_moved', 'warn'),
    advice:
      'This is the first paycheck of these employees since the change. Check the amounts of this month: the old and the new paychecks may take more or less than a month.',
    passed: 'No employee changed the pay frequency or the employer since the last run.',
  },
  {
    id: 'transfer-unknown',
    title: 'The last paycheck at another employer is unknown',
    ask: noted('transfer_unknown', 'warn'),
    advice:
      'These employees came from another employer that has neither a pay schedule nor a finalized run for their last day there. If it still takes a deduction, both employers take it: override the lines of this run.',
    passed: 'The last paycheck of every transferred employee at the other employer is known.',
  },
  {
    id: 'off-cycle-adds',
    title: 'An off-cycle run takes amounts beyond the year',
    ask: noted('off_cycle_adds', 'warn'),
    advice:
      'The regular pay dates take a whole year of each deduction. This run takes its amounts in addition to them.',
    passed: 'The run takes no regular amount in addition to the pay dates of the year.',
  },
  {
    id: 'refund-waits',
    title: 'Refunds wait for a decision',
    command: 'items decide --help',
    ask: noted('refund_waits', 'warn'),
    advice:
      'These refunds are more than the deductions of this paycheck, so the run leaves them open. Decide to take them whole, or pay them directly.',
    passed: 'Every refund fits into its paycheck.',
  },
];
