/** The bodies that report employment changes. */
import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { Address, Employee, PAY_FREQUENCIES, PayRate } from './employee.ts';
import { closed, day, identifier, oneOf } from './fields.ts';

/** The service's documents disagree whether `employer`, the employer's name, is required. */
export const NewHire = closed({
  ...Employee.properties,
  employer_id: identifier,
  employer: Type.Optional(Type.String({ minLength: 1 })),
});
export type NewHire = Static<typeof NewHire>;

export const newHire = compile(NewHire);

export const Termination = closed({ employee_id: identifier, termination_date: day });
export type Termination = Static<typeof Termination>;

export const termination = compile(Termination);

export const Demographic = closed({ employee_id: identifier, address: Address });
export type Demographic = Static<typeof Demographic>;

export const demographic = compile(Demographic);

const changes = {
  pay_frequency: Type.Optional(oneOf(PAY_FREQUENCIES)),
  pay_rate: Type.Optional(PayRate),
  employment_status: Type.Optional(oneOf(['full_time', 'part_time', 'variable_hours'])),
};

const isAnyChange = {
  anyOf: Object.keys(changes).map((field) => ({ required: [field] })),
  rule: `must have at least one of ${Object.keys(changes).join(', ')}`,
};

/** Its pay rate is one object; a census has an array. */
export const CompensationChange = Type.Object(
  { employee_id: identifier, ...changes },
  { additionalProperties: false, allOf: [isAnyChange] },
);
export type CompensationChange = Static<typeof CompensationChange>;

export const compensationChange = compile(CompensationChange);
