import Type, { type Static } from 'typebox';
import { Address } from './address.ts';
import { compile } from './check.ts';
import { day, email, identifier, oneOf } from './fields.ts';
import { PAY_FREQUENCIES, PayRate } from './pay-rate.ts';

// The interface's limits, in characters.
const NAME_MAX_CHARACTERS = 255;
const EMAIL_MAX_CHARACTERS = 254;
const PHONE_NUMBER_MAX_CHARACTERS = 10;

const name = Type.String({ maxLength: NAME_MAX_CHARACTERS });

/** One employee of a census. */
export const Employee = Type.Object(
  {
    employee_id: identifier,
    first_name: name,
    last_name: name,
    dob: day,
    address: Address,
    hire_date: day,
    email: Type.String({
      ...email,
      maxLength: EMAIL_MAX_CHARACTERS,
      description: 'A personal address is better than one at work: benefits can outlast employment.',
    }),
    hours_worked: Type.String({ description: 'Hours per week.' }),
    pay_rate: Type.Array(PayRate),
    employment_status: oneOf(['full_time', 'part_time']),
    ssn: Type.Optional(Type.String()),
    phone_number: Type.Optional(Type.String({ maxLength: PHONE_NUMBER_MAX_CHARACTERS })),
    termination_date: Type.Optional(day),
    biological_sex: Type.Optional(oneOf(['male', 'female'])),
    pay_frequency: Type.Optional(oneOf(PAY_FREQUENCIES)),
    job_title: Type.Optional(name),
  },
  { additionalProperties: false },
);
export type Employee = Static<typeof Employee>;

export const employee = compile(Employee);
