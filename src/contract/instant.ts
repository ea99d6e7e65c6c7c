/** Parses dates and date-times: ISO 8601, in the forms that RFC 3339 allows or tolerates. */

/** A date-time in nanoseconds has 35. Responses with 1,000 rows must fit in memory. */
export const TIME_MAX_CHARACTERS = 64;

/** Digits of a second's fraction. Databases and senders use at most nanoseconds. */
const FRACTION_DIGITS = 9;

const MILLISECONDS_PER_MINUTE = 60_000;

/** The length of `Date` output for the years 0000 to 9999; other years have a sign and two more digits. */
const ISO_LENGTH = 24;

const DAY = /^\d{4}-\d\d-\d\d$/;

/** Allows a space instead of T, no seconds, and a short or no offset. Refuses hour 24 and second 60. */
const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)[Tt ]((?:[01]\d|2[0-3]):[0-5]\d)(?::([0-5]\d)(?:[.,](\d+))?)?(?:[Zz]|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?$/;

/**
 * Returns an ISO 8601 date-time as fixed-width UTC text of 30 characters, `YYYY-MM-DDTHH:MM:SS.nnnnnnnnnZ`,
 * which sorts as text. Without an offset the time is UTC. A fraction is padded or cut to nine digits.
 *
 * @returns null if the text is not a valid date-time, or is outside the years 0000 to 9999 in UTC
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

/** Returns whether the text is a calendar date `YYYY-MM-DD`: 2028-02-29 is one, 2026-02-30 is not. */
export function isDay(text: string): boolean {
  if (!DAY.test(text)) return false;
  const month = Number(text.slice(5, 7));
  const day = Number(text.slice(8));
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(Number(text.slice(0, 4)), month);
}

/** Returns the date part as written, without time zone conversion; null if the text is not valid. */
export function dayOf(text: string): string | null {
  const day = DATE_TIME.exec(text)?.[1] ?? text;
  return isDay(day) ? day : null;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
