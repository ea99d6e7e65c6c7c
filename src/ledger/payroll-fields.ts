/** The fields that payroll adds to a change or census row. They are kept here and never sent. Pure. */
import Type from 'typebox';
import { didYouMean, isObject } from '../contract/check.ts';
import { day, ID_MAX_CHARACTERS, identifier } from '../contract/fields.ts';
import { isDay } from '../contract/instant.ts';
import { meantDate } from '../contract/meant.ts';
import type { Problem } from '../errors.ts';

export const PAYROLL_FIELDS = {
  effective_on: Type.Optional(
    Type.Unsafe<string>({
      ...day,
      description:
        'The date from which it counts for payroll. Kept here; never sent to the benefits service.',
    }),
  ),
  pay_group: Type.Optional(
    Type.Unsafe<string>({
      ...identifier,
      description: "The employee's pay group. Kept here; never sent to the benefits service.",
    }),
  ),
};
export type PayrollField = keyof typeof PAYROLL_FIELDS;

const RULES: Record<PayrollField, { accepts: (text: string) => boolean; rule: string }> = {
  effective_on: { accepts: isDay, rule: 'must be a real date, YYYY-MM-DD' },
  pay_group: {
    accepts: (text) => text !== '' && [...text].length <= ID_MAX_CHARACTERS,
    rule: `must be a text of 1 to ${ID_MAX_CHARACTERS} characters`,
  },
};

export type ForPayroll = { readonly effectiveOn: string | null; readonly payGroup: string | null };

/** Separates `fields` from the contract's fields, which are `rest`, and checks them. */
export function splitPayrollFields(value: unknown, fields: readonly PayrollField[]) {
  const problems: Problem[] = [];
  if (!isObject(value)) {
    return { rest: value, forPayroll: { effectiveOn: null, payGroup: null }, problems };
  }
  const rest: Record<string, unknown> = { ...value };
  const take = (path: PayrollField): string | null => {
    if (!fields.includes(path) || !(path in rest)) return null;
    const { [path]: stated } = rest;
    delete rest[path];
    const { accepts, rule } = RULES[path];
    if (typeof stated === 'string' && accepts(stated)) return stated;
    const meant = path === 'effective_on' && typeof stated === 'string' ? meantDate(stated) : null;
    problems.push({ path, rule, ...didYouMean(meant) });
    return null;
  };
  const forPayroll: ForPayroll = { payGroup: take('pay_group'), effectiveOn: take('effective_on') };
  return { rest, forPayroll, problems };
}
