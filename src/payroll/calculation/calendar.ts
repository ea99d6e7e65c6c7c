/** The pay dates of a year and the share of the year that each takes: "Pay dates" in docs/payroll-settings.md. Pure. */
import Type, { type Static } from 'typebox';
import type { PayFrequency } from '../../contract/employee.ts';
import { closed, day, nullable } from '../../contract/fields.ts';
import {
  type Cents,
  cut,
  type Decimal,
  type Fraction,
  fraction,
  fractionOf,
  less,
  NO_SHARE,
  rounded,
  textOfFraction,
  WHOLE,
} from '../../money.ts';
import { PERIODS_PER_YEAR } from './pay-dates.ts';

/** What a pay date takes: all deductions, only those whose period is the run's frequency, or none. The first is the default. */
export const TAKES = ['all', 'own_period', 'none'] as const;
export type Takes = (typeof TAKES)[number];

/** Deductions whose period is the run's frequency, and all others. Their dates and shares are counted apart. */
export const PERIOD_CLASSES = ['own', 'other'] as const;
export type PeriodClass = (typeof PERIOD_CLASSES)[number];

export function classOf(period: PayFrequency, frequency: PayFrequency): PeriodClass {
  return period === frequency ? 'own' : 'other';
}

/**
 * How the amount of a date follows from a deduction's year: `total` times its rounded amount, `each` times an even part of
 * the year (rounded), and each share in `cuts`, cut to the cent, so many times.
 */
const Terms = closed({
  total: Type.Integer(),
  each: Type.Integer(),
  cuts: Type.Record(Type.String(), Type.Integer()),
});
type Terms = Static<typeof Terms>;

/** The share of the year, such as `1/26`. Without `terms`, the amount is the share, cut to the cent. */
const DateShare = closed({ share: Type.String(), terms: Type.Optional(Terms) });
export type DateShare = Static<typeof DateShare>;

/** A pay date with what it takes of each class; null: nothing. */
const CalendarDate = closed({
  pay_date: day,
  period_end: day,
  takes: Type.Enum([...TAKES]),
  own: nullable(DateShare),
  other: nullable(DateShare),
});
type CalendarDate = Static<typeof CalendarDate>;

/** The pay dates of a year, in order. */
export const Calendar = Type.Array(CalendarDate);
export type Calendar = Static<typeof Calendar>;

/** The pay dates of a year as an employer lists them. */
export type YearList = {
  year_in_fewer_checks: boolean;
  pay_dates: readonly Pick<CalendarDate, 'pay_date' | 'period_end' | 'takes'>[];
};

/** A finalized regular run of the year, not voided, with the calendar that it froze; null: without a list. */
export type RanDate = { pay_date: string; calendar: Calendar | null };

export function takesClass(takes: Takes, periods: PeriodClass): boolean {
  return takes === 'all' || (takes === 'own_period' && periods === 'own');
}

/** Returns the share of a check that takes an even part of the year, each rounded: without a list, or for `own`. */
export function evenShare(frequency: PayFrequency): DateShare {
  return { share: `1/${PERIODS_PER_YEAR[frequency]}`, terms: { total: 0, each: 1, cuts: {} } };
}

export function isEven({ terms }: DateShare): boolean {
  return terms?.each === 1 && terms.total === 0 && Object.keys(terms.cuts).length === 0;
}

/** Divides a year among its pay dates: those of finalized runs keep their shares, and the others take what is left. */
export function calendarOf(list: YearList, frequency: PayFrequency, ran: readonly RanDate[]): Calendar {
  const own = sharesOf(list, frequency, ran, 'own');
  const other = sharesOf(list, frequency, ran, 'other');
  return list.pay_dates.map(({ pay_date, period_end, takes }) => ({
    ...{ pay_date, period_end, takes },
    own: own.get(pay_date) ?? null,
    other: other.get(pay_date) ?? null,
  }));
}

type Entry = { date: string; isFinal: boolean; share: DateShare };

function sharesOf(
  list: YearList,
  frequency: PayFrequency,
  ran: readonly RanDate[],
  periods: PeriodClass,
): Map<string, DateShare> {
  if (isEvenYear(list, frequency, ran, periods)) {
    const taking = list.pay_dates.filter(({ takes }) => takesClass(takes, periods));
    return new Map(taking.map(({ pay_date }) => [pay_date, evenShare(frequency)]));
  }
  return new Map(
    withClosing(entriesOf(list, frequency, ran, periods)).map(({ date, share }) => [date, share]),
  );
}

/** Divides the year among the dates that take, without the cents that the last of them takes. */
function entriesOf(
  list: YearList,
  frequency: PayFrequency,
  ran: readonly RanDate[],
  periods: PeriodClass,
): Entry[] {
  const taking = list.pay_dates.filter(({ takes }) => takesClass(takes, periods));
  const frozen = new Map(ran.map((run) => [run.pay_date, frozenShare(run, frequency, periods)]));
  const last = ran.reduce<RanDate | null>(
    (latest, run) => (latest === null || run.pay_date > latest.pay_date ? run : latest),
    null,
  );
  const entries = taking.map(({ pay_date: date }): Entry | { date: string; share: null } => {
    const share = frozen.get(date);
    if (share !== undefined) return { date, isFinal: true, share };
    const kept = last !== null && date <= last.pay_date ? shareOn(last.calendar, date, periods) : null;
    return kept === null ? { date, share: null } : { date, isFinal: false, share: { share: kept.share } };
  });
  return withRest(entries);
}

/** Reports whether each date takes an even part of the year, however many there are. */
function isEvenYear(
  { year_in_fewer_checks, pay_dates }: YearList,
  frequency: PayFrequency,
  ran: readonly RanDate[],
  periods: PeriodClass,
): boolean {
  const even = evenShare(frequency).share;
  return (
    periods === 'own' &&
    !year_in_fewer_checks &&
    pay_dates.every(({ takes }) => takesClass(takes, periods)) &&
    ran.every((run) => frozenShare(run, frequency, periods).share === even)
  );
}

/** Returns what a finalized run took on its own date. */
function frozenShare(
  { pay_date, calendar }: RanDate,
  frequency: PayFrequency,
  periods: PeriodClass,
): DateShare {
  if (calendar === null) return evenShare(frequency);
  return shareOn(calendar, pay_date, periods) ?? { share: textOfFraction(NO_SHARE) };
}

/** Returns the share of a date in a calendar; null if it takes nothing or is not in it. */
export function shareOn(calendar: Calendar | null, date: string, periods: PeriodClass): DateShare | null {
  return calendar?.find(({ pay_date }) => pay_date === date)?.[periods] ?? null;
}

/** Returns what is left of the year after these dates, not below zero. */
function restAfter(shares: readonly DateShare[]): Fraction {
  const rest = shares.reduce((left, { share }) => less(left, fractionOf(share)), WHOLE);
  return rest.part < 0n ? NO_SHARE : rest;
}

/** Divides the rest of the year equally among the dates without a share. */
function withRest(entries: readonly (Entry | { date: string; share: null })[]): Entry[] {
  const rest = restAfter(entries.flatMap(({ share }) => share ?? []));
  const open = entries.filter(({ share }) => share === null).length;
  return entries.map((entry) => {
    if (entry.share !== null) return entry as Entry;
    const share = textOfFraction(fraction(rest.part, rest.of * BigInt(open)));
    return { date: entry.date, isFinal: false, share: { share } };
  });
}

/** Lets the last date without a finalized run take what all others leave of the amount of a year, to the cent. */
function withClosing(entries: readonly Entry[]): Entry[] {
  const closing = entries.findLast(({ isFinal }) => !isFinal);
  if (closing === undefined) return [...entries];
  const terms: Terms = { total: 1, each: 0, cuts: {} };
  for (const entry of entries) {
    if (entry === closing) continue;
    const taken = termsOf(entry.share);
    terms.total -= taken.total;
    terms.each -= taken.each;
    for (const [share, count] of Object.entries(taken.cuts)) {
      terms.cuts[share] = (terms.cuts[share] ?? 0) - count;
      if (terms.cuts[share] === 0) delete terms.cuts[share];
    }
  }
  return entries.map((entry) => (entry === closing ? { ...entry, share: { ...entry.share, terms } } : entry));
}

function termsOf({ share, terms }: DateShare): Terms {
  return terms ?? { total: 0, each: 0, cuts: { [share]: 1 } };
}

/** Returns what a date takes of a deduction's exact amount of a year. */
export function amountOn({ share, terms }: DateShare, year: Decimal, frequency: PayFrequency): Cents {
  const total = rounded(year, 1, 1);
  if (terms === undefined) return cut(total, fractionOf(share));
  let amount = BigInt(terms.total) * total;
  if (terms.each !== 0) amount += BigInt(terms.each) * rounded(year, 1, PERIODS_PER_YEAR[frequency]);
  for (const [part, count] of Object.entries(terms.cuts))
    amount += BigInt(count) * cut(total, fractionOf(part));
  return amount;
}

/**
 * Returns the shares of the dates that take, if they leave a part of the year that no date can take; null otherwise, and if each
 * takes an even part. A date can take it if it has no finalized run and is after the first one: an earlier date is never run.
 */
export function sharesLeavingRest(
  list: YearList,
  frequency: PayFrequency,
  ran: readonly RanDate[],
  periods: PeriodClass,
): DateShare[] | null {
  if (isEvenYear(list, frequency, ran, periods)) return null;
  const isPastStart = (date: string) => ran.length === 0 || ran.some(({ pay_date }) => pay_date < date);
  const entries = entriesOf(list, frequency, ran, periods);
  if (entries.some(({ date, isFinal }) => !isFinal && isPastStart(date))) return null;
  const taken = entries.map(({ share }) => share);
  return restAfter(taken).part === 0n ? null : taken;
}
