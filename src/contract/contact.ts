import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { email } from './fields.ts';

/** The person at the employer whom the service may write to. */
export const Contact = Type.Object(
  { first_name: Type.String(), last_name: Type.String(), email },
  { additionalProperties: false },
);
export type Contact = Static<typeof Contact>;

export const contact = compile(Contact);
