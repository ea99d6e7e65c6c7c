/** Parses dates and date-times: ISO 8601, in the forms that RFC 3339 allows or tolerates. */
import Format from 'typebox/format';

/** A date-time in nanoseconds has 35. Responses with 1,000 rows must fit in memory. */
export const TIME_MAX_CHARACTERS = 64;

/** Digits of a second's fraction: nanoseconds. */
const FRACTION_DIGITS = 9;

/** Allows a space instead of T, no seconds, and a short or no offset. Refuses hour 24 and second 60. */
const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)[Tt ]((?:[01]\d|2[0-3]):[0-5]\d)(?::([0-5]\d)(?:[.,](\d+))?)?(?:[Zz]|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?$/;

/**
 * Returns a date-time as UTC text of 30 characters, `YYYY-MM-DDTHH:MM:SS.nnnnnnnnnZ`, which sorts as text. Without an
 * offset the time is UTC. Null if the text is not a valid date-time, or is outside the years 0000 to 9999 in UTC.
 */
export function toInstant(text: string): string | null {
  const parts = DATE_TIME.exec(text);
  if (!parts) return null;
  const [, day, hourAndMinute, second = '00', fraction = '', sign, offsetHours, offsetMinutes = '00'] = parts;
  if (!isDay(day!)) return null;
  const nanoseconds = fraction.slice(0, FRACTION_DIGITS).padEnd(FRACTION_DIGITS, '0');
  const local = `${day}T${hourAndMinute}:${second}`;
  if (sign === undefined) return `${local}.${nanoseconds}Z`;
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000;
  const utc = new Date(Date.parse(`${local}Z`) + (sign === '+' ? -offset : offset)).toISOString();
  // Other years have a sign and two more digits.
  return utc.length === 'YYYY-MM-DDTHH:MM:SS.mmmZ'.length ? `${utc.slice(0, 19)}.${nanoseconds}Z` : null;
}

/** Returns whether the text is a calendar date `YYYY-MM-DD`: 2028-02-29 is one, 2026-02-30 is not. */
export const isDay: (text: string) => boolean = Format.IsDate;

/** Returns the date part as written, without time zone conversion; null if the text is not valid. */
export function dayOf(text: string): string | null {
  const day = DATE_TIME.exec(text)?.[1] ?? text;
  return isDay(day) ? day : null;
}

/**
 * Returns whether a date, or UTC text of `toInstant`, is one that somebody set. Programs write an unset time as year 1 (Go,
 * .NET), as 1970 (a zero) or as 1900 (a spreadsheet).
 */
export function isSet(time: string): boolean {
  return time >= '2000';
}

/** Returns the UTC date of a time or of UTC text, such as the text of `toInstant`. */
export function utcDay(time: Date | string): string {
  return (typeof time === 'string' ? time : time.toISOString()).slice(0, 'YYYY-MM-DD'.length);
}
