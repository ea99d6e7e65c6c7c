/**
 * Date-times and days as the interface writes them: ISO 8601, in the spellings that RFC 3339 allows or tolerates.
 *
 * `toInstant` runs once for every event, so it reads with one regular expression and `Date`.
 */

/**
 * The most characters of a date or date-time that is kept as sent: a fraction may have any number of digits, rows are
 * kept and shown whole, and answers of 1,000 rows must fit in memory. A full one in nanoseconds has 35.
 */
export const TIME_MAX_CHARACTERS = 64;

/** Digits of a second's fraction that an instant keeps; databases and senders go no finer than nanoseconds. */
const FRACTION_DIGITS = 9;

const MILLISECONDS_PER_MINUTE = 60_000;

/** Length of what `Date` writes for the years 0000 to 9999; other years get a sign and two more digits. */
const ISO_LENGTH = 24;

const DAY = /^\d{4}-\d\d-\d\d$/;

/**
 * A space may stand for the T (RFC 3339, 5.6), seconds may be left out, and the offset may be short or absent
 * (ISO 8601). Hour 24 and second 60 name no instant of their own, so they are refused.
 */
const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)[Tt ]((?:[01]\d|2[0-3]):[0-5]\d)(?::([0-5]\d)(?:[.,](\d+))?)?(?:[Zz]|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?$/;

/**
 * The instant that an ISO 8601 date-time names, as fixed-width UTC text of 30 characters,
 * `YYYY-MM-DDTHH:MM:SS.nnnnnnnnnZ`, so that instants order as their texts do.
 * Without an offset the time is taken as UTC. A fraction is padded or cut to nine digits.
 *
 * @returns null when the text is not a real date-time, or its offset leads outside the years 0000 to 9999
 */
export function toInstant(text: string): string | null {
  const parts = DATE_TIME.exec(text);
  if (!parts) return null;
  const [, day, hourAndMinute, second = '00', fraction = '', sign, offsetHours, offsetMinutes = '00'] = parts;
  if (!isDay(day!)) return null;
  const nanoseconds = fraction.slice(0, FRACTION_DIGITS).padEnd(FRACTION_DIGITS, '0');
  const local = `${day}T${hourAndMinute}:${second}`;
  if (sign === undefined) return `${local}.${nanoseconds}Z`;
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * MILLISECONDS_PER_MINUTE;
  const utc = new Date(Date.parse(`${local}Z`) + (sign === '+' ? -offset : offset)).toISOString();
  return utc.length === ISO_LENGTH ? `${utc.slice(0, 19)}.${nanoseconds}Z` : null;
}

/** Whether the text is a day of the calendar, written `YYYY-MM-DD`: 2028-02-29 is one, 2026-02-30 is not. */
export function isDay(text: string): boolean {
  if (!DAY.test(text)) return false;
  const month = Number(text.slice(5, 7));
  const day = Number(text.slice(8));
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(Number(text.slice(0, 4)), month);
}

/**
 * The day that a date or a date-time shows as written, never shifted into UTC or a local zone:
 * the effective dates of a deduction mean their date part, whatever time stands behind it.
 *
 * @returns `YYYY-MM-DD`, or null when the text is neither a real day nor a real day with a time
 */
export function dayOf(text: string): string | null {
  const day = DATE_TIME.exec(text)?.[1] ?? text;
  return isDay(day) ? day : null;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
