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

type Split = { rest: unknown; effectiveOn: string | null; problems: Problem[] };

/** Separates `effective_on` from the contract's fields. */
export function splitEffectiveOn(value: unknown): Split {
  if (typeof value !== 'object' || value === null || !('effective_on' in value)) {
    return { rest: value, effectiveOn: null, problems: [] };
  }
  const { effective_on: given, ...rest } = value;
  if (typeof given === 'string' && isDay(given)) return { rest, effectiveOn: given, problems: [] };
  return {
    rest,
    effectiveOn: null,
    problems: [{ path: 'effective_on', rule: 'must be a real date, YYYY-MM-DD' }],
  };
}
