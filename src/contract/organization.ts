import Type, { type Static } from 'typebox';
import { Address } from './address.ts';
import { compile } from './check.ts';
import { Contact } from './contact.ts';
import { oneOf } from './fields.ts';

export const ENTITY_TYPES = ['C-Corp', 'S-Corp', 'B-Corp', 'LLC', 'Non-profit', 'Sole Proprietor'] as const;

/** The employer of a census. */
export const Organization = Type.Object(
  {
    legal_business_name: Type.String(),
    fein: Type.String({ description: 'Federal employer identification number.' }),
    entity_type: Type.Optional(oneOf(ENTITY_TYPES)),
    contact: Contact,
    address: Address,
  },
  { additionalProperties: false },
);
export type Organization = Static<typeof Organization>;

export const organization = compile(Organization);
