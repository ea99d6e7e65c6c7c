import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { Employee } from './employee.ts';
import { Organization } from './organization.ts';

/** The body of a census upload: an employer and all of its active employees. */
export const Census = Type.Object(
  { organization: Organization, employees: Type.Array(Employee, { minItems: 1 }) },
  { additionalProperties: false },
);
export type Census = Static<typeof Census>;

export const census = compile(Census);
