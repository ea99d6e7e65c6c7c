/** The calendar of a run and the place of its check, computed once for all lines. Pure. */
import { Temporal } from 'temporal-polyfill';
import type { PayFrequency } from '../../contract/employee.ts';
import { type Calendar, classOf, type DateShare, evenShare, isEven, type PeriodClass } from './calendar.ts';
import { PERIODS_PER_YEAR } from './pay-dates.ts';

/** The day on which a deduction must be in effect. The first is the default. */
export const APPLIES_ON = ['pay_date', 'period_end', 'next_month'] as const;

export type PlannedRun = {
  kind: 'regular' | 'off_cycle';
  pay_frequency: PayFrequency;
  pay_date: string;
  applies_on: (typeof APPLIES_ON)[number];
};

/** The dates that take deductions of a class. */
export type Cycle = {
  /** How many dates take them; without a list, the periods of a year. */
  N: number;
  /** The place of the check among them, from 1. Null without a list, for an off-cycle run, and if its date takes nothing. */
  k: number | null;
  /** What the check takes; null: nothing. */
  share: DateShare | null;
  /** What the other dates take. */
  others: readonly DateShare[];
  /** The day of each date on which a deduction must be in effect. Empty without a list. */
  days: readonly string[];
};

export type Plan = {
  run: PlannedRun;
  /** Null without a list. */
  calendar: Calendar | null;
  cycleOf: (period: PayFrequency) => Cycle;
};

/** Returns the day on which a deduction must be in effect for a check. */
export function dayOfCheck(
  applies_on: PlannedRun['applies_on'],
  { pay_date, period_end }: { pay_date: string; period_end: string },
): string {
  if (applies_on === 'next_month')
    return Temporal.PlainDate.from(pay_date).add({ months: 1 }).with({ day: 1 }).toString();
  return applies_on === 'pay_date' ? pay_date : period_end;
}

/** Plans a run by the calendar of its year. */
export function planOf(run: PlannedRun, calendar: Calendar | null): Plan {
  const cycles = new Map<PeriodClass, Cycle>();
  return {
    run,
    calendar,
    cycleOf(period) {
      const periods = classOf(period, run.pay_frequency);
      const known = cycles.get(periods);
      if (known !== undefined) return known;
      const cycle = calendar === null ? unlisted(run.pay_frequency) : listed(run, calendar, periods);
      cycles.set(periods, cycle);
      return cycle;
    },
  };
}

function unlisted(frequency: PayFrequency): Cycle {
  return { N: PERIODS_PER_YEAR[frequency], k: null, share: evenShare(frequency), others: [], days: [] };
}

function listed({ kind, pay_date, applies_on }: PlannedRun, calendar: Calendar, periods: PeriodClass): Cycle {
  const taking = calendar.filter((date) => date[periods] !== null);
  const days = taking.map((date) => dayOfCheck(applies_on, date));
  const shares = taking.map((date) => date[periods] as DateShare);
  const N = taking.length;
  if (kind === 'off_cycle') {
    // An off-cycle check is one of N, never the last one.
    const share = shares.every(isEven) ? shares[0] : undefined;
    return { N, k: null, share: N === 0 ? null : (share ?? { share: `1/${N}` }), others: [], days };
  }
  const index = taking.findIndex((date) => date.pay_date === pay_date);
  if (index === -1) return { N, k: null, share: null, others: shares, days };
  return {
    ...{ N, k: index + 1, days },
    share: shares[index] as DateShare,
    others: shares.filter((_, place) => place !== index),
  };
}

/**
 * Reports whether a line is the first or the last one of the year, and its deduction is not in effect on all dates that
 * take it.
 */
export function isPartialCycle({ days, k }: Cycle, isInEffectOn: (day: string) => boolean): boolean {
  if (k === null) return false;
  const isFirst = !days.some((day, index) => index < k - 1 && isInEffectOn(day));
  const isLast = !days.some((day, index) => index >= k && isInEffectOn(day));
  return (isFirst || isLast) && !days.every(isInEffectOn);
}
