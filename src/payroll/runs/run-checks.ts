/** The checks of a payroll run, in the order in which they are answered. */
import { type Check, COMMON_CHECKS, EMPLOYED_TWICE } from '../checks.ts';
import * as calendarFindings from './calendar-findings.ts';
import * as findings from './run-findings.ts';

export const RUN_CHECKS: readonly Check<findings.RunQuestion>[] = [
  ...COMMON_CHECKS,
  { ...EMPLOYED_TWICE, ask: findings.noted('ambiguous', 'fail') },
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
    ask: findings.noted('frequency-unknown', 'fail'),
    advice:
      'They are left out, since the employer has several pay schedules and theirs is not known: bring a census with pay_frequency.',
    passed: 'Of everybody it is known which pay frequency is theirs.',
  },
  {
    id: 'employees-without-pay-group',
    ask: findings.noted('group-unknown', 'warn'),
    advice:
      'They are in no run of a pay group, since theirs is not known; a new hire has none until a census brings it: bring a census with pay_group.',
    passed: 'The run is for all pay groups, or of everybody it is known which is theirs.',
  },
  {
    id: 'overlap',
    ask: findings.overlaps,
    advice:
      'Two deductions of one employee for one line of coverage are in effect: ask the service which is right. If both are, finalize with the reason.',
    passed: 'No employee has two deductions for one line of coverage.',
  },
  {
    id: 'periods-overlap',
    ask: findings.periodsOverlap,
    advice: 'Days of this pay period are paid by a finalized run: correct the period, or void that run.',
    passed: 'No finalized run pays days of this pay period.',
  },
  {
    id: 'settled-of-voided',
    ask: findings.settledOfVoided,
    advice:
      'Differences or arrears of a run that was voided later were taken, and nothing gives them back: void the run that took them too and put it again, or settle them in payroll.',
    passed: 'No finalized run has settled something of a run that was voided.',
  },
  {
    id: 'codes-missing',
    ask: findings.noted('code-missing', 'fail'),
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
    id: 'population-narrowed',
    ask: findings.populationNarrowed,
    advice:
      'The run has the only paycheck of this pay date, and employee_ids leaves out employees of its frequency and group: remove employee_ids, or use an off-cycle run.',
    passed: 'No employee of the run’s frequency and group is left out.',
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
