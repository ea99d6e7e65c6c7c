/** The checks of a payroll run, in the order in which they are answered. */

import * as calendarFindings from './calendar-findings.ts';
import { type Check, COMMON_CHECKS, EMPLOYED_TWICE } from './checks.ts';
import * as findings from './run-findings.ts';

export const RUN_CHECKS: readonly Check<findings.RunQuestion>[] = [
  ...COMMON_CHECKS,
  { ...EMPLOYED_TWICE, ask: findings.noted('two_employers', 'fail') },
  {
    id: 'census-completed',
    ask: findings.censusCompleted,
    advice: 'The service may not know who works here: bring a census of this employer, and sync it.',
    passed: `The service took in a census of this employer within the last ${findings.CENSUS_OLD_DAYS} days.`,
  },
  {
    id: 'ledger-empty',
    ask: findings.ledgerEmpty,
    advice:
      'Nobody of this employer ever had a deduction: check the employer id, or import what payroll deducts today.',
    passed: 'There are deductions of this employer’s employees.',
  },
  {
    id: 'employees-without-frequency',
    ask: findings.noted('unknown_frequency', 'fail'),
    advice:
      'They are left out, since the employer has several pay schedules and theirs is not known: bring a census with pay_frequency.',
    passed: 'Every employee has a known pay frequency.',
  },
  {
    id: 'employees-without-pay-group',
    ask: findings.noted('unknown_pay_group', 'warn'),
    advice:
      'They are in no run of a pay group, since theirs is not known; a new hire has none until a census brings it: bring a census with pay_group.',
    passed: 'The run is for all pay groups, or of everybody it is known which is theirs.',
  },
  {
    id: 'employees-not-scheduled',
    ask: findings.notScheduled,
    advice:
      'These employees have deductions in effect, and no pay schedule of the employer has their pay frequency and group: set the missing schedule, or correct their census.',
    passed: 'Every active employee with a deduction is paid on a schedule.',
  },
  {
    id: 'population-narrowed',
    ask: findings.populationNarrowed,
    advice:
      'The run leaves out employees of its own pay frequency and group: remove employee_ids unless this is intended. Their checks count as missed.',
    passed: 'The run includes every employee of its pay frequency and group.',
  },
  {
    id: 'start-moved',
    ask: findings.noted('start_moved', 'fail'),
    advice:
      'A start was moved before it arrived, and the contents changed with it: decide whether the earlier version applies (keep or drop).',
    passed: 'No deduction has a moved start that a person must decide.',
  },
  {
    id: 'start-corrected',
    ask: findings.noted('start_corrected', 'warn'),
    advice: 'A start was moved to a later date before it arrived, so nothing is taken for it in this run.',
    passed: 'No start was moved across this run.',
  },
  {
    id: 'missed-checks',
    ask: findings.noted('missed_check', 'warn'),
    advice:
      'These employees belonged in earlier runs that did not have them: their missed deductions are lines of this run, taken if adjustments are included.',
    passed: 'No employee missed a check.',
  },
  {
    id: 'retro-pre-tax',
    ask: findings.noted('retro_pre_tax', 'warn'),
    advice:
      'Adjustments raise what these employees paid pre-tax for past checks. Section 125 elections are prospective, with few exceptions: confirm them.',
    passed: 'No adjustment raises a pre-tax deduction for a past check.',
  },
  {
    id: 'negative-total',
    ask: findings.noted('negative_total', 'fail'),
    advice:
      'The deductions of these employees sum to less than zero: confirm that payroll pays out the difference, or report the adjustments instead of taking them.',
    passed: 'No employee’s deductions sum to less than zero.',
  },
  {
    id: 'overlap',
    ask: findings.overlaps,
    advice:
      'Two deductions of one employee for one line of coverage are in effect: ask the service which is right. If both are, accept the finding.',
    passed: 'No employee has two deductions for one line of coverage.',
  },
  {
    id: 'periods-overlap',
    ask: findings.periodsOverlap,
    advice: 'Days of this pay period are paid by a finalized run: correct the period, or void that run.',
    passed: 'No finalized run pays days of this pay period.',
  },
  {
    id: 'codes-missing',
    ask: findings.noted('code_missing', 'fail'),
    advice: 'Payroll has no code to take these lines by: put the payroll codes of the employer with them.',
    passed: 'Every line has its payroll code, or the employer has no codes.',
  },
  {
    id: 'calendar-assumed',
    ask: findings.calendarAssumed,
    advice:
      'Bank holidays may move a pay date into another year, and with it every amount: put a pay schedule, or give pay_dates.',
    passed: 'The pay dates of the year were given.',
  },
  {
    id: 'calendar-differs',
    ask: calendarFindings.calendarDiffers,
    advice:
      'The amounts of the year no longer add up, because the pay dates changed after a run was finalized: correct the pay schedule or pay_dates, or void that run.',
    passed: 'The previous run of the year has the same place among the pay dates.',
  },
  {
    id: 'policy-differs',
    ask: calendarFindings.policyDiffers,
    advice: 'Amounts of a year under several policies may not add up: check that the change is intended.',
    passed: 'The previous run of the year has the same scheme and remainder.',
  },
  {
    id: 'pay-date-skipped',
    ask: calendarFindings.payDateSkipped,
    advice: 'Nothing is deducted on these pay dates: finalize their runs first, or correct the pay schedule.',
    passed: 'Every earlier pay date since the first run has a finalized run.',
  },
  {
    id: 'period-differs-from-schedule',
    ask: findings.periodDiffers,
    advice: 'The pay schedule has another pay period for this pay date: correct the run or the schedule.',
    passed: 'The pay period is that of the pay schedule, or no schedule has the pay date.',
  },
  {
    id: 'open-after-termination',
    ask: findings.noted('open_after_termination', 'warn'),
    advice:
      'Their employment has ended and their deductions have not: see whether this is their last check, and ask the service to end them.',
    passed: 'Nobody who left has a deduction that goes on.',
  },
  {
    id: 'coverage-beyond-last-check',
    ask: findings.noted('coverage_beyond_last_check', 'warn'),
    advice:
      'Coverage lasts to the end of the month, after the last regular check: a final check may take the rest.',
    passed: 'No coverage lasts beyond the last check of an employee who left.',
  },
  {
    id: 'termination-contradicted',
    ask: findings.noted('termination_contradicted', 'warn'),
    advice:
      'A census lists these employees after their termination, so they count as employed: correct the census or report the termination again.',
    passed: 'No census contradicts a termination.',
  },
  {
    id: 'absent-from-census',
    ask: findings.noted('absent_from_census', 'warn'),
    advice: 'They have deductions and the newest census lacks them: bring them back, or their termination.',
    passed: 'Everybody with a line is in the newest census.',
  },
  {
    id: 'frequency-mismatch',
    ask: findings.noted('frequency_mismatch', 'warn'),
    advice:
      'Their deductions are for another pay frequency than this run’s: compare the census and the service, one of them is stale.',
    passed: 'Every deduction is monthly or for this run’s pay frequency.',
  },
];
