/** Amounts as payroll's own files write them, in cents. Pure. */
import { CONTRIBUTION_DIGITS_MAX } from '../../contract/deduction.ts';
import { decimal, print } from './money.ts';

const CENT_DECIMALS = 2;

/** The most digits that an amount of a line can have: those of a contribution, a year's worth of it. */
const DIGITS_MAX = CONTRIBUTION_DIGITS_MAX + 2;
const AMOUNT = new RegExp(`^-?[0-9]{1,${DIGITS_MAX}}(?:\\.[0-9]{1,${CENT_DECIMALS}})?$`);

export const AMOUNT_RULE = 'must be an amount such as 12.34 or -5: at most 2 decimals, no other signs';

/** Null when the text is no amount. */
export function centsOf(text: string): bigint | null {
  if (!AMOUNT.test(text)) return null;
  const { units, decimals } = decimal(text);
  return units * 10n ** BigInt(CENT_DECIMALS - decimals);
}

/** With two decimals, as lines have them. */
export function amountOf(cents: bigint): string {
  return print({ units: cents, decimals: CENT_DECIMALS });
}
