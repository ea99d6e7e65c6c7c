/**
 * Federal bank holidays of the United States. The days are those of 5 U.S.C. 6103(a). The Federal Reserve Banks close on the
 * Monday after a holiday on a Sunday, and stay open on the Friday before one on a Saturday.
 */
import { Temporal } from 'temporal-polyfill';

const [MONDAY, THURSDAY, FRIDAY, SUNDAY] = [1, 4, 5, 7] as const;
const LAST = -1;

/** A day of a month; or a weekday, and its place in the month. */
type Holiday =
  | readonly [month: number, day: number]
  | readonly [month: number, weekday: number, place: number];
const HOLIDAYS: readonly Holiday[] = [
  [1, 1],
  [1, MONDAY, 3],
  [2, MONDAY, 3],
  [5, MONDAY, LAST],
  [6, 19],
  [7, 4],
  [9, MONDAY, 1],
  [10, MONDAY, 2],
  [11, 11],
  [11, THURSDAY, 4],
  [12, 25],
];

/** Returns the day itself or, if banks are closed on it, the last business day before it. */
export function businessDay(day: Temporal.PlainDate): Temporal.PlainDate {
  let date = day;
  while (date.dayOfWeek > FRIDAY || isHoliday(date)) date = date.subtract({ days: 1 });
  return date;
}

function isHoliday(date: Temporal.PlainDate): boolean {
  return HOLIDAYS.some((holiday) => observedIn(date.year, holiday).equals(date));
}

function observedIn(year: number, [month, day, place]: Holiday): Temporal.PlainDate {
  const first = new Temporal.PlainDate(year, month, 1);
  if (place === undefined) {
    const date = first.with({ day });
    return date.dayOfWeek === SUNDAY ? date.add({ days: 1 }) : date;
  }
  const begun = first.add({ days: (day - first.dayOfWeek + 7) % 7 });
  if (place !== LAST) return begun.add({ weeks: place - 1 });
  const fifth = begun.add({ weeks: 4 });
  return fifth.month === month ? fifth : begun.add({ weeks: 3 });
}
