import Type, { type Static } from 'typebox';
import { Address } from './address.ts';
import { compile } from './check.ts';
import { identifier } from './fields.ts';

/** The body that reports a move. */
export const Demographic = Type.Object(
  { employee_id: identifier, address: Address },
  { additionalProperties: false },
);
export type Demographic = Static<typeof Demographic>;

export const demographic = compile(Demographic);
