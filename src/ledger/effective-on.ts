/**
 * `effective_on`, the date from which an employment change or a census row counts for payroll. It is ours: a caller
 * adds it next to the fields of the interface, and it never reaches the benefits service. Pure.
 */
import Type from 'typebox';
import type { Problem } from '../contract/check.ts';
import { day } from '../contract/fields.ts';
import { isDay } from '../contract/instant.ts';

export const EffectiveOn = Type.Optional(
  Type.Unsafe<string>({
    ...day,
    description: 'The date from which it counts for payroll. Kept here; never sent to the benefits service.',
  }),
);

export type Split = { rest: unknown; effectiveOn: string | null; problems: Problem[] };

/** Takes `effective_on` out of a value that a caller gave. What is left has the fields of the interface. */
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
