/** `effective_on`: the date from which a change or census row counts for payroll. It is never sent. Pure. */
import Type from 'typebox';
import { day } from '../contract/fields.ts';
import { isDay } from '../contract/instant.ts';
import type { Problem } from '../errors.ts';

export const EffectiveOn = Type.Optional(
  Type.Unsafe<string>({
    ...day,
    description: 'The date from which it counts for payroll. Kept here; never sent to the benefits service.',
  }),
);

/** Separates `effective_on` from the contract's fields. */
export function splitEffectiveOn(value: unknown) {
  const problems: Problem[] = [];
  if (typeof value !== 'object' || value === null || !('effective_on' in value)) {
    return { rest: value, effectiveOn: null, problems };
  }
  const { effective_on: given, ...rest } = value;
  const effectiveOn = typeof given === 'string' && isDay(given) ? given : null;
  if (effectiveOn === null) problems.push({ path: 'effective_on', rule: 'must be a real date, YYYY-MM-DD' });
  return { rest, effectiveOn, problems };
}
