import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { oneOf } from './fields.ts';

/** The 50 states and the District of Columbia, in the interface's order. */
export const US_STATES = [
  ...['AL', 'AK', 'AZ', 'AR', 'CA', 'CO', 'CT', 'DE', 'DC', 'FL', 'GA', 'HI', 'ID', 'IL', 'IN', 'IA', 'KS'],
  ...['KY', 'LA', 'ME', 'MD', 'MA', 'MI', 'MN', 'MS', 'MO', 'MT', 'NE', 'NV', 'NH', 'NJ', 'NM', 'NY', 'NC'],
  ...['ND', 'OH', 'OK', 'OR', 'PA', 'RI', 'SC', 'SD', 'TN', 'TX', 'UT', 'VT', 'VA', 'WA', 'WV', 'WI', 'WY'],
] as const;

/** A postal address in the United States. */
export const Address = Type.Object(
  {
    line1: Type.String(),
    line2: Type.Optional(Type.String()),
    city: Type.String(),
    state: oneOf(US_STATES, 'must be a US state code'),
    zip_code: Type.String(),
  },
  { additionalProperties: false },
);
export type Address = Static<typeof Address>;

export const address = compile(Address);
