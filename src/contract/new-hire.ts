import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { Employee } from './employee.ts';
import { identifier } from './fields.ts';

/**
 * The body that reports a new employee. One reference asks for the employer's name and another leaves it out:
 * it is passed on when given and never made up.
 */
export const NewHire = Type.Object(
  { ...Employee.properties, employer_id: identifier, employer: Type.Optional(Type.String({ minLength: 1 })) },
  { additionalProperties: false },
);
export type NewHire = Static<typeof NewHire>;

export const newHire = compile(NewHire);
