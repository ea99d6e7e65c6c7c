/** Pay schedules that end soon: their next dates are missing. */
import { Temporal } from 'temporal-polyfill';
import { dayAt } from '../../database/time-zone.ts';
import type { Computed } from '../../notifications/computed.ts';
import { subjectOf } from '../../notifications/types.ts';
import { schedulesByEmployer } from '../settings/all-employers.ts';
import { readPayrollRevision } from '../settings/lock.ts';
import { acrossYears } from '../settings/schedules.ts';

/** Days before the last pay date of a schedule from which its next dates are missing: time to plan a year. */
const NEXT_DATES_DAYS = 60;

export function endsSoon(lastPayDate: string, today: string): boolean {
  return Temporal.PlainDate.from(today).until(lastPayDate).days <= NEXT_DATES_DAYS;
}

/** Tells which schedules end soon. They are read again on another day, and after a change of payroll data. */
export function endingSchedules(): Computed<'schedule.ending'> {
  let read = '';
  return {
    type: 'schedule.ending',
    async *states(db, now, known) {
      const today = dayAt(db, now);
      const state = `${today} ${await readPayrollRevision(db)}`;
      if (state === read) return;
      const ended = new Set(known.keys());
      for (const [employer_id, schedules] of await schedulesByEmployer(db, null)) {
        for (const { pay_frequency, pay_group, pay_dates } of acrossYears(schedules)) {
          const last_pay_date = pay_dates.at(-1)?.pay_date;
          if (last_pay_date === undefined || !endsSoon(last_pay_date, today)) continue;
          const told = { employer_id, pay_frequency, pay_group, last_pay_date };
          ended.delete(subjectOf('schedule.ending', told));
          yield { told };
        }
      }
      for (const subject of ended) yield { subject, ended: null };
      read = state;
    },
  };
}
