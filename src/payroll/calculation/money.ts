/**
 * Amounts as whole numbers of a decimal unit, exact at any length. A share of an amount is a fraction of whole numbers
 * and is rounded once. BigInt accepts no JavaScript number, so no float can touch money.
 */

/** units / 10^decimals dollars. */
export type Decimal = { readonly units: bigint; readonly decimals: number };

const CENT_DECIMALS = 2;
const CENTS_PER_DOLLAR = 100n;

export const ZERO: Decimal = { units: 0n, decimals: CENT_DECIMALS };

/** The number that a contribution's text means: a sign or none, digits, perhaps a point and digits. */
export function decimal(text: string): Decimal {
  const point = text.indexOf('.');
  if (point === -1) return { units: BigInt(text), decimals: 0 };
  return { units: BigInt(text.slice(0, point) + text.slice(point + 1)), decimals: text.length - point - 1 };
}

/** Whether two contributions are the same number, however it is written: `20`, `20.0` and `+20.00`. */
export function isSameNumber(one: string, other: string): boolean {
  const [a, b] = [decimal(one), decimal(other)];
  return a.units * 10n ** BigInt(b.decimals) === b.units * 10n ** BigInt(a.decimals);
}

export function times(value: Decimal, count: number): Decimal {
  return { units: value.units * BigInt(count), decimals: value.decimals };
}

/** What an amount in cents is more than another in cents. */
export function minus(amount: Decimal, other: Decimal): Decimal {
  return { units: amount.units - other.units, decimals: CENT_DECIMALS };
}

/** Returns the fraction value × part / of, rounded to the cent, half away from zero. */
export function rounded(value: Decimal, part: number, of: number): Decimal {
  const { cents, isHalfOrMore, isNegative } = divided(value, part, of);
  const magnitude = isHalfOrMore ? cents + 1n : cents;
  return { units: isNegative ? -magnitude : magnitude, decimals: CENT_DECIMALS };
}

/** Returns value / of, cut to the cent toward zero. */
export function cut(value: Decimal, of: number): Decimal {
  const { cents, isNegative } = divided(value, 1, of);
  return { units: isNegative ? -cents : cents, decimals: CENT_DECIMALS };
}

/** Divides the magnitude into whole cents. Money is divided nowhere else. */
function divided(
  value: Decimal,
  part: number,
  of: number,
): { cents: bigint; isHalfOrMore: boolean; isNegative: boolean } {
  const isNegative = value.units < 0n;
  const dividend = (isNegative ? -value.units : value.units) * CENTS_PER_DOLLAR * BigInt(part);
  const divisor = 10n ** BigInt(value.decimals) * BigInt(of);
  const cents = dividend / divisor;
  return { cents, isHalfOrMore: (dividend - cents * divisor) * 2n >= divisor, isNegative };
}

/** The exact number with two decimals, or more where it has more; never `-0.00`. */
export function print({ units, decimals }: Decimal): string {
  const isNegative = units < 0n;
  const digits = String(isNegative ? -units : units).padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  const fraction = digits.slice(point).padEnd(CENT_DECIMALS, '0');
  return `${isNegative ? '-' : ''}${digits.slice(0, point)}.${fraction.length > CENT_DECIMALS ? trimmed(fraction) : fraction}`;
}

/** A fraction without the zeros at its end that say nothing, but with its cents. */
function trimmed(fraction: string): string {
  let end = fraction.length;
  while (end > CENT_DECIMALS && fraction[end - 1] === '0') end -= 1;
  return fraction.slice(0, end);
}

/** Prints an amount for people, with thousands separators: `1,800.00`. */
export function printReadable(value: Decimal): string {
  const [whole = '', fraction = ''] = print(value).split('.');
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${fraction}`;
}
