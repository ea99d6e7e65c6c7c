/**
 * Money. `Cents` holds every rounded amount; a contribution stays an exact `Decimal` until a share of it is rounded to the
 * cent, once. BigInt accepts no JavaScript number with a fraction, so no float can touch money.
 */

export type Cents = bigint;

/** units / 10^decimals dollars, exact at any length. */
export type Decimal = { readonly units: bigint; readonly decimals: number };

const CENT_DECIMALS = 2;
const CENTS_PER_DOLLAR = 100n;

/** Parses a contribution: an optional sign, digits, and perhaps a point and more digits. */
export function decimal(text: string): Decimal {
  const point = text.indexOf('.');
  if (point === -1) return { units: BigInt(text), decimals: 0 };
  return { units: BigInt(text.slice(0, point) + text.slice(point + 1)), decimals: text.length - point - 1 };
}

/** Reports whether two contributions are the same number, such as `20`, `20.0` and `+20.00`. */
export function isSameNumber(one: string, other: string): boolean {
  if (one === other) return true;
  const [a, b] = [decimal(one), decimal(other)];
  return a.units * 10n ** BigInt(b.decimals) === b.units * 10n ** BigInt(a.decimals);
}

export function isZero(contribution: string): boolean {
  return !/[1-9]/.test(contribution);
}

export function times(value: Decimal, count: number): Decimal {
  return { units: value.units * BigInt(count), decimals: value.decimals };
}

/** An exact part of a whole, in lowest terms, such as 1/26. */
export type Fraction = { readonly part: bigint; readonly of: bigint };

export const WHOLE: Fraction = { part: 1n, of: 1n };
export const NO_SHARE: Fraction = { part: 0n, of: 1n };

/** Returns a fraction in lowest terms. `of` is above zero. */
export function fraction(part: bigint, of: bigint): Fraction {
  let [divisor, next] = [of, part < 0n ? -part : part];
  while (next !== 0n) [divisor, next] = [next, divisor % next];
  return { part: part / divisor, of: of / divisor };
}

export function less(value: Fraction, subtracted: Fraction): Fraction {
  return fraction(value.part * subtracted.of - subtracted.part * value.of, value.of * subtracted.of);
}

/** Returns `1/26`, which `fractionOf` reads. */
export function textOfFraction({ part, of }: Fraction): string {
  return `${part}/${of}`;
}

export function fractionOf(text: string): Fraction {
  const [part, of] = text.split('/');
  return { part: BigInt(part as string), of: BigInt(of as string) };
}

/** Returns a share of an amount, cut toward zero to the cent. */
export function cut(amount: Cents, { part, of }: Fraction): Cents {
  // Division of bigints cuts toward zero.
  return (amount * part) / of;
}

/** Returns value × part / of, rounded to the cent, half away from zero. Exact amounts are divided nowhere else. */
export function rounded(value: Decimal | Cents, part: number, of: number): Cents {
  const { units, decimals } = exact(value);
  const magnitude = (units < 0n ? -units : units) * CENTS_PER_DOLLAR * BigInt(part);
  const divisor = 10n ** BigInt(decimals) * BigInt(of);
  const cut = magnitude / divisor;
  const cents = (magnitude - cut * divisor) * 2n >= divisor ? cut + 1n : cut;
  return units < 0n ? -cents : cents;
}

function exact(value: Decimal | Cents): Decimal {
  return typeof value === 'bigint' ? { units: value, decimals: CENT_DECIMALS } : value;
}

/** Returns an amount as lines and totals store it, with two decimals; never `-0.00`. */
export function amountOf(cents: Cents): string {
  const isNegative = cents < 0n;
  const digits = String(isNegative ? -cents : cents).padStart(CENT_DECIMALS + 1, '0');
  return `${isNegative ? '-' : ''}${digits.slice(0, -CENT_DECIMALS)}.${digits.slice(-CENT_DECIMALS)}`;
}

/** Returns the cents of an amount that `amountOf` made. Use `parseAmount` for received text. */
export function centsOf(amount: string): Cents {
  return BigInt(amount.replace('.', ''));
}

export function amountOrNull(cents: Cents | null): string | null {
  return cents === null ? null : amountOf(cents);
}

export function centsOrNull(amount: string | null): Cents | null {
  return amount === null ? null : centsOf(amount);
}

/** A contribution has at most 40 digits before its point (contract/deduction.ts), and a year of it two more. */
const DIGITS_MAX = 42;
export const AMOUNT_PATTERN = `^-?[0-9]{1,${DIGITS_MAX}}(?:\\.[0-9]{1,${CENT_DECIMALS}})?$`;
const AMOUNT = new RegExp(AMOUNT_PATTERN);

export const AMOUNT_RULE = 'must be an amount such as 12.34 or -5: at most 2 decimals, no other signs';

/** Parses an amount from one of payroll's files; null if it breaks `AMOUNT_RULE`. */
export function parseAmount(text: string): Cents | null {
  if (!AMOUNT.test(text)) return null;
  const { units, decimals } = decimal(text);
  return units * 10n ** BigInt(CENT_DECIMALS - decimals);
}

/** Prints an amount for people: thousands separators, two decimals, and more if the exact number has more. */
export function printReadable(value: Decimal | Cents): string {
  const { units, decimals } = exact(value);
  const isNegative = units < 0n;
  const digits = String(isNegative ? -units : units).padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  const whole = grouped(digits.slice(0, point));
  const fraction = digits
    .slice(point)
    .replace(/(?<!0)0+$/, '')
    .padEnd(CENT_DECIMALS, '0');
  return `${isNegative ? '-' : ''}${whole}.${fraction}`;
}

/** Separates thousands. An expression that looks ahead to the end would take quadratic time. */
function grouped(digits: string): string {
  const first = digits.length % 3;
  const thousands = digits.slice(first).match(/\d{3}/g) ?? [];
  return [digits.slice(0, first), ...thousands].filter((group) => group !== '').join(',');
}

/**
 * Formats a decimal amount for people: `1205.27` as `$1,205.27`, `-3` as `-$3.00`. Works on the text, so no digit is lost;
 * more than two decimals stay. A text that is no plain decimal is returned unchanged.
 */
export function dollars(amount: string): string {
  const [, sign, whole = '', decimals = ''] = /^([+-]?)0*(0|[1-9]\d*)(?:\.(\d+))?$/.exec(amount) ?? [];
  if (sign === undefined) return amount;
  return `${sign === '-' ? '-' : ''}$${grouped(whole)}.${decimals.padEnd(2, '0')}`;
}
