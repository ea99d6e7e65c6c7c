/** Sums and differences of amounts that come as texts, with decimals of any length, payroll's own among them. */
import Big from 'big.js';

const CENT_DECIMALS = 2;

/** Strict: a JavaScript number is refused, so that no float can touch money. Sums have no division to round. */
const Exact = Big();
Exact.strict = true;

const NOTHING = new Exact('0');

/** The sum of amounts; `0.00` of none. */
export function total(amounts: Iterable<string>): string {
  let sum = NOTHING;
  for (const amount of amounts) sum = sum.plus(amount);
  return print(sum);
}

/** What an amount is more than another; negative when it is less. */
export function difference(amount: string, other: string): string {
  return print(new Exact(amount).minus(other));
}

/** With two decimals, or more where the exact number has more; big.js writes zero without a sign. */
function print(value: Big): string {
  return value.toFixed(Math.max(CENT_DECIMALS, value.c.length - 1 - value.e));
}
