import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { identifier, oneOf } from './fields.ts';
import { PAY_FREQUENCIES, PayRate } from './pay-rate.ts';

const changes = {
  pay_frequency: Type.Optional(oneOf(PAY_FREQUENCIES)),
  pay_rate: Type.Optional(PayRate),
  employment_status: Type.Optional(oneOf(['full_time', 'part_time', 'variable_hours'])),
};

/** The body that reports a change of pay or status; its pay rate is one object where a census has an array. */
export const CompensationChange = Type.Object(
  { employee_id: identifier, ...changes },
  {
    additionalProperties: false,
    allOf: [
      {
        anyOf: Object.keys(changes).map((field) => ({ required: [field] })),
        rule: `must have at least one of ${Object.keys(changes).join(', ')}`,
      },
    ],
  },
);
export type CompensationChange = Static<typeof CompensationChange>;

export const compensationChange = compile(CompensationChange);
