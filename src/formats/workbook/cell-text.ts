/** The text that a cell of a workbook shows: without the rounding, signs and separators of its format. Pure. */

/** The formats by number that show a date or a time. */
const DATE_FORMATS: ReadonlySet<number> = new Set([
  ...[14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 46, 47],
  ...[27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 50, 51, 52, 53, 54, 55, 56, 57, 58],
]);

/** How a style shows numbers. `zeros`: the number of digits, with hyphens between them (`000-00-0000`). */
export type NumberStyle = { readonly isDate: boolean; readonly zeros: string | null };

const PLAIN: NumberStyle = { isDate: false, zeros: null };

/** Returns the style of a number format. `code` is null for those that have only a number. */
export function numberStyle(id: number, code: string | null): NumberStyle {
  if (code === null) return DATE_FORMATS.has(id) ? { isDate: true, zeros: null } : PLAIN;
  const [shown = ''] = code.replace(/\\(.)|"([^"]*)"/g, '$1$2').split(';');
  if (/^0[-0]+$/.test(shown)) return { isDate: false, zeros: shown };
  // Without texts, colors, locales and conditions.
  const [tokens = ''] = code
    .replace(/\\.|"[^"]*"|[_*].|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, '')
    .replace(/s\.0+/gi, 's')
    .split(';');
  const isDate = /[dmyhs]/i.test(tokens) && !/[0#?]/.test(tokens);
  return { isDate, zeros: null };
}

/** Excel keeps 15 digits and writes 17, so 1008.07 is 1008.0700000000001 in the file. */
const DIGITS = 15;
/** From here on, digits may have been lost. */
const EXACT_BELOW = 10 ** DIGITS;

/** Returns a number without an exponent, unless its last digits may be lost; null if it is none. */
export function numberText(
  written: string,
  { isDate, zeros }: NumberStyle = PLAIN,
  is1904 = false,
): string | null {
  const number = Number(written);
  if (!/^[-+]?(?:\d|\.\d)/.test(written) || !Number.isFinite(number)) return null;
  if (isDate) return dateText(number, is1904);
  const text = /^-?\d{1,15}$/.test(written) ? written : decimal(number);
  return zeros !== null && /^\d+$/.test(text) ? withZeros(text, zeros) : text;
}

/** Writes no exponent and no zeros at the end. */
const DECIMAL = new Intl.NumberFormat('en-US', { useGrouping: false, maximumFractionDigits: 20 });

function decimal(number: number): string {
  if (Math.abs(number) >= EXACT_BELOW) return number.toExponential().toUpperCase();
  const rounded = Number(number.toPrecision(DIGITS));
  const text = String(rounded);
  return text.includes('e') ? DECIMAL.format(rounded) : text;
}

/** Fills the zeros of a format: 12345678 is 012-34-5678. Digits beyond them come first. */
function withZeros(digits: string, zeros: string): string {
  const count = zeros.replaceAll('-', '').length;
  const filled = digits.padStart(count, '0');
  const beyond = filled.length - count;
  let at = beyond;
  return filled.slice(0, beyond) + zeros.replaceAll('0', () => filled.charAt(at++));
}

const DAY_SECONDS = 86_400;
const DAY_MS = DAY_SECONDS * 1_000;
/** Serial numbers count days from here. */
const DAY_0_OF_1904 = Date.UTC(1904, 0, 1);
const DAY_0_OF_1900 = Date.UTC(1899, 11, 30);
/** The last day of the year 9999. */
const SERIAL_MAX = 2_958_465;

/** The days from the first of one system to that of the other. */
export const DAYS_BETWEEN_SYSTEMS = (DAY_0_OF_1904 - DAY_0_OF_1900) / DAY_MS;

/** Returns the date, time, or date and time of a serial number. What is none stays a number, which no date field accepts. */
function dateText(serial: number, is1904: boolean): string {
  if (serial < 0 || serial > SERIAL_MAX) return decimal(serial);
  const seconds = Math.round(serial * DAY_SECONDS);
  const day = Math.floor(seconds / DAY_SECONDS);
  const ofDay = seconds % DAY_SECONDS;
  const time = ofDay === 0 ? '' : new Date(ofDay * 1_000).toISOString().slice(11, 19);
  if (day === 0 && time !== '') return time;
  const date = is1904 ? isoDay(DAY_0_OF_1904 + day * DAY_MS) : dayOf1900(day);
  return time === '' ? date : `${date} ${time}`;
}

/** Excel counts a February 29, 1900, and a day 0. No date field accepts them. */
function dayOf1900(day: number): string {
  if (day === 0) return '1900-01-00';
  if (day === 60) return '1900-02-29';
  return isoDay(DAY_0_OF_1900 + (day < 60 ? day + 1 : day) * DAY_MS);
}

function isoDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Returns the text of a date that a cell has as ISO 8601, as other programs write it. */
export function isoText(written: string): string {
  return written
    .replace(/Z$/, '')
    .replace(/T00:00(?::00(?:\.0+)?)?$/, '')
    .replace('T', ' ');
}

/** Returns the index of a column, counting from 0: `AB12` is 27. -1 if it is none. */
export function columnOf(reference: string): number {
  let column = 0;
  for (let at = 0; at < reference.length; at += 1) {
    const letter = reference.charCodeAt(at) - 64;
    if (letter < 1 || letter > 26) break;
    column = column * 26 + letter;
  }
  return column - 1;
}

/** Returns the letters of a column. */
export function columnName(index: number): string {
  let name = '';
  for (let rest = index; rest >= 0; rest = Math.floor(rest / 26) - 1)
    name = String.fromCharCode(65 + (rest % 26)) + name;
  return name;
}

/** Returns a text with the characters that a workbook writes as `_x000D_`. */
export function unescaped(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([0-9A-F]{4})_/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}
