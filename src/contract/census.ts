import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { Address, Employee } from './employee.ts';
import { closed, component, email, oneOf } from './fields.ts';

export const Contact = component('Contact', { first_name: Type.String(), last_name: Type.String(), email });

export const ENTITY_TYPES = ['C-Corp', 'S-Corp', 'B-Corp', 'LLC', 'Non-profit', 'Sole Proprietor'] as const;

export const Organization = component('Organization', {
  legal_business_name: Type.String(),
  fein: Type.String({ description: 'Federal employer identification number.' }),
  entity_type: Type.Optional(oneOf(ENTITY_TYPES)),
  contact: Contact,
  address: Address,
});
export type Organization = Static<typeof Organization>;

export const organization = compile(Organization);

export const Census = closed({
  organization: Organization,
  employees: Type.Array(Employee, { minItems: 1 }),
});
export type Census = Static<typeof Census>;

export const census = compile(Census);
