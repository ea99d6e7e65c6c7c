/** Pay dates of a year as a proposal, which a person checks and sets. */
import Type, { type Static } from 'typebox';
import { PAY_FREQUENCIES } from '../../contract/employee.ts';
import * as field from '../../contract/fields.ts';
import {
  DATES_MOVE,
  LAG_DAYS_MAX,
  PROPOSED_TAKES,
  proposePayDates,
  STEP_DAYS,
} from '../../formats/pay-date-proposal.ts';
import { operation } from '../operation.ts';
import { invalid } from '../problem.ts';

const Proposal = field.closed({
  year: Type.String({
    pattern: '^\\d{4}$',
    rule: 'must be a year such as 2026',
    description: 'The calendar year of the pay dates.',
  }),
  pay_frequency: field.oneOfDescribed(PAY_FREQUENCIES, 'The pay frequency.'),
  pay_group: Type.Optional({ ...field.identifier, description: 'The pay group.' }),
  from: Type.Optional({
    ...field.day,
    description: 'One pay date of the year. Required for weekly or biweekly pay.',
  }),
  day: Type.Optional(
    Type.Array(Type.String({ pattern: '^([1-9]|[12][0-9]|3[01])$', rule: 'must be a day from 1 to 31' }), {
      description: 'The pay days of each month, 31 for the last one. Repeat it for semimonthly pay.',
    }),
  ),
  lag_days: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: LAG_DAYS_MAX,
      default: 0,
      rule: `must be a whole number from 0 to ${LAG_DAYS_MAX}`,
      description: 'Days from the end of a period to its pay date.',
    }),
  ),
  takes: Type.Optional(
    field.oneOfDescribed(PROPOSED_TAKES, 'The dates that take all deductions. Default: `every`.'),
  ),
});

/** Returns what places the pay dates. Throws INVALID_REQUEST for a parameter that the frequency needs or does not use. */
function ruleOf({ pay_frequency: frequency, from, day }: Static<typeof Proposal>) {
  const refuse = (path: 'from' | 'day', rule: string) =>
    invalid([{ path, rule: `${rule} for ${frequency} pay` }]);
  const every = STEP_DAYS.get(frequency);
  if (every !== undefined) {
    if (from === undefined) throw refuse('from', 'is required');
    if (day !== undefined) throw refuse('day', 'must be omitted');
    return { every, from };
  }
  if (from !== undefined) throw refuse('from', 'must be omitted');
  const isMonthly = frequency === 'monthly';
  if (day?.length === (isMonthly ? 1 : 2)) return { daysOfMonth: day.map(Number) };
  throw refuse('day', `is required ${isMonthly ? 'once' : 'twice'}`);
}

/** Throws INVALID_REQUEST for days of the month that are so near that a weekend, a holiday or a short month joins them. */
function assertApart(dates: readonly { pay_date: string }[]): void {
  const { size } = new Set(dates.map(({ pay_date }) => pay_date));
  const rule = 'must be days further apart: two of them would have the same pay date';
  if (size < dates.length) throw invalid([{ path: 'day', rule }]);
}

export const proposePaySchedules = operation({
  id: 'proposePaySchedules',
  method: 'GET',
  path: '/v1/pay-schedule-proposal',
  scope: 'runs:read',
  employers: 'none',
  isPure: true,
  summary: 'Propose pay dates',
  description: `Returns the pay dates of a year, to check and set. ${DATES_MOVE}`,
  query: Proposal,
  response: {
    200: field.component(
      'ProposedPaySchedules',
      {
        schedules: Type.Array(
          field.closed({
            pay_frequency: Type.String(),
            pay_group: Type.Optional(Type.String()),
            pay_dates: Type.Array(
              field.closed({
                pay_date: field.text('The pay date.'),
                period_start: field.text('The first day of the pay period.'),
                period_end: field.text('The last day of the pay period.'),
                takes: Type.Enum(['all', 'own_period'], { description: 'What the date takes.' }),
              }),
            ),
          }),
          { description: 'The proposal, as a request that sets the pay schedules of the year.' },
        ),
      },
      'Proposed pay dates.',
    ),
  },
  async run({ query }) {
    const { year, pay_frequency, pay_group, lag_days: lagDays = 0, takes = PROPOSED_TAKES[0] } = query;
    const how = { lagDays, frequency: pay_frequency, takes };
    const pay_dates = proposePayDates(Number(year), ruleOf(query), how);
    assertApart(pay_dates);
    return { schedules: [{ pay_frequency, ...(pay_group !== undefined && { pay_group }), pay_dates }] };
  },
});
