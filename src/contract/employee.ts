import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { component, day, email, identifier, oneOf } from './fields.ts';
import type { Meaning } from './meant.ts';

/** The 50 states and the District of Columbia, in the contract's order. */
export const US_STATES = [
  ...['AL', 'AK', 'AZ', 'AR', 'CA', 'CO', 'CT', 'DE', 'DC', 'FL', 'GA', 'HI', 'ID', 'IL', 'IN', 'IA', 'KS'],
  ...['KY', 'LA', 'ME', 'MD', 'MA', 'MI', 'MN', 'MS', 'MO', 'MT', 'NE', 'NV', 'NH', 'NJ', 'NM', 'NY', 'NC'],
  ...['ND', 'OH', 'OK', 'OR', 'PA', 'RI', 'SC', 'SD', 'TN', 'TX', 'UT', 'VT', 'VA', 'WA', 'WV', 'WI', 'WY'],
] as const;

export const Address = component('Address', {
  line1: Type.String(),
  line2: Type.Optional(Type.String()),
  city: Type.String(),
  state: oneOf(US_STATES, 'must be the code of one of the 50 states or DC: the service accepts no others'),
  zip_code: Type.String({ meant: 'zip' satisfies Meaning }),
});
export type Address = Static<typeof Address>;

/** The pay frequencies of employees, and the periods of contributions to a deduction. */
export const PAY_FREQUENCIES = ['weekly', 'biweekly', 'semimonthly', 'monthly'] as const;
export type PayFrequency = (typeof PAY_FREQUENCIES)[number];

/** Earlier dates of an employment are mistakes. */
export const FIRST_HIRE = '1940-01-01';

/** Digits before the decimal point: more than any pay, and few enough for exact sums in any decimal type. */
const AMOUNT_DIGITS_MAX = 15;

export const PayRate = component('PayRate', {
  amount: Type.String({
    pattern: `^[0-9]{1,${AMOUNT_DIGITS_MAX}}(\\.[0-9]{1,2})?$`,
    rule: 'must be an amount of 0 or more with at most 2 decimals, as a string',
    meant: 'pay-rate' satisfies Meaning,
  }),
  period: oneOf(['annually', 'hourly']),
  effective_start: day,
});
export type PayRate = Static<typeof PayRate>;

const name = Type.String({ maxLength: 255 });

export const Employee = component('CensusEmployee', {
  employee_id: identifier,
  first_name: name,
  last_name: name,
  dob: { ...day, meant: 'birth' satisfies Meaning },
  address: Address,
  hire_date: day,
  email: Type.String({
    ...email,
    maxLength: 254,
    description: 'A personal address is better than one at work: benefits can outlast employment.',
  }),
  hours_worked: Type.String({ description: 'Hours per week.' }),
  pay_rate: Type.Array(PayRate),
  employment_status: oneOf(['full_time', 'part_time']),
  ssn: Type.Optional(Type.String({ meant: 'ssn' satisfies Meaning })),
  phone_number: Type.Optional(Type.String({ maxLength: 10, meant: 'phone' satisfies Meaning })),
  termination_date: Type.Optional(day),
  biological_sex: Type.Optional(oneOf(['male', 'female'])),
  pay_frequency: Type.Optional(oneOf(PAY_FREQUENCIES)),
  job_title: Type.Optional(name),
});
export type Employee = Static<typeof Employee>;

export const employee = compile(Employee);

/** Nine digits in the usual forms: `123-45-6789`, `123 45 6789`, `123456789`. */
const SSN = /(?<!\d)(?:\d{9}|\d{3}([- ])\d{2}\1\d{4})(?!\d)/g;

/** Returns the nine digits of an SSN with the zeros that a spreadsheet removed; null for zeros and words instead of one. */
export function ssnDigits(ssn: string): string | null {
  const digits = ssn.replace(/[\s-]/g, '');
  return /^\d{7,9}$/.test(digits) && !/^(\d)\1+$/.test(digits) ? digits.padStart(9, '0') : null;
}

/** Returns `***-**-6789`, whatever the form. Shows no digits if four would be all of them. */
export function maskSsn(ssn: string): string {
  const digits = ssn.replace(/\D/g, '');
  return `***-**-${digits.length > 4 ? digits.slice(-4) : '****'}`;
}

/** Masks every SSN in a text: everything in one of the usual forms, and `known` as written. */
export function maskSsnsIn(text: string, known?: unknown): string {
  const masked = text.replace(SSN, (ssn) => maskSsn(ssn));
  return typeof known === 'string' && known !== '' ? masked.replaceAll(known, maskSsn(known)) : masked;
}
