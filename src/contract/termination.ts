import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { day, identifier } from './fields.ts';

/** The body that reports a departing employee. */
export const Termination = Type.Object(
  { employee_id: identifier, termination_date: day },
  { additionalProperties: false },
);
export type Termination = Static<typeof Termination>;

export const termination = compile(Termination);
