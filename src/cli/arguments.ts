/** What options and arguments may look like. Each parser answers the value or refuses with what it wants. */
import { InvalidArgumentError, Option } from 'commander';
import { isDay, toInstant } from '../contract/instant.ts';
import { FaultRefused, parseFault } from '../simulator/faults.ts';

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 };
/** `2026-11-20T17:00:00.000`: what our own instants have of an instant's digits. */
const MILLISECONDS_LENGTH = 23;

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number, ${least} to ${most}.`);
  };
}

export function day(text: string): string {
  if (isDay(text)) return text;
  throw new InvalidArgumentError('It must be a day, such as 2026-07-01.');
}

/** An instant as the database writes its own: UTC, milliseconds. A day is its first moment. */
export function instant(text: string): string {
  const found = toInstant(isDay(text) ? `${text}T00:00:00Z` : text);
  if (found !== null) return `${found.slice(0, MILLISECONDS_LENGTH)}Z`;
  throw new InvalidArgumentError('It must be a day or a date-time, such as 2026-07-01T08:00:00Z.');
}

/** A time from now, in milliseconds. */
export function period(text: string): number {
  const [, count, unit = ''] = /^(\d{1,4})([hd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? Number.NaN);
  if (ms > 0) return ms;
  throw new InvalidArgumentError('It must be a number of hours or days, such as 12h or 90d.');
}

export function truth(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new InvalidArgumentError('It must be true or false.');
}

export function address(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === '') return text;
  throw new InvalidArgumentError('It must be an http:// or https:// address without a user.');
}

/** What the simulator is to do wrong, as it is written; the simulator reads it. */
export function fault(text: string): string {
  try {
    parseFault(text);
    return text;
  } catch (error) {
    if (error instanceof FaultRefused) throw new InvalidArgumentError(error.message);
    throw error;
  }
}

/** For an option that may be given several times. */
export function several<T>(parse: (text: string) => T): (text: string, before?: T[]) => T[] {
  return (text, before = []) => [...before, parse(text)];
}

/** Every command with a result has it. */
export function jsonOption(): Option {
  return new Option('--json', 'print JSON for programs');
}
