/** Random years of an employer: what happens in each week from July 2025 through June 2026. */
import { PAY_FREQUENCIES, type PayFrequency } from '../../../src/contract/employee.ts';
import type { RunBody } from '../../../src/payroll/records/body.ts';
import { COLLECTIONS } from '../../../src/payroll/settings/policy.ts';
import type { Schedule } from '../../../src/payroll/settings/schedules.ts';
import { dateOf, daysAfter } from '../../support/payroll.ts';
import fc from '../../support/seeded.ts';
import { every } from '../calendars.ts';
import { opening, overriding, recoup, settling } from './model-item-steps.ts';
import type { Correction, Message, RecordedWorld, Report, Rescheduling, ShortPay } from './model-world.ts';

const EMPLOYEES = ['e0', 'e1', 'e2', 'e3', 'e4'] as const;
const DEDUCTIONS = ['d0', 'd1', 'd2', 'd3', 'd4', 'd5', 'd6'] as const;
export const FIRST_MONDAY = '2025-06-30';

const often = <T>(value: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { arbitrary: fc.constant(value), weight: 4 },
    { arbitrary: fc.constantFrom(...others), weight: 1 },
  );

/** Days before or after the Monday of the week. */
const around = (min: number, max: number) => fc.integer({ min, max });
const maybe = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ arbitrary: fc.constant(null), weight: 2 }, { arbitrary: value, weight: 1 });
const seldom = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ arbitrary: fc.constant(null), weight: 3 }, { arbitrary: value, weight: 1 });

/** A deduction belongs to one employee most of the time. */
const message = fc.record({
  deduction: fc.nat({ max: DEDUCTIONS.length - 1 }),
  isMisplaced: often(false, false, false, true),
  line_of_coverage: often<Message['line_of_coverage']>('medical', 'dental', 'healthcare_fsa', 'hsa'),
  member_contribution: fc.constantFrom('150.00', '33.33', '100', '100.0', '0', '-20.00'),
  employer_contribution: fc.constantFrom('0.00', '350'),
  period: often<PayFrequency>('monthly', ...PAY_FREQUENCIES),
  taxability: often<'pre_tax' | 'post_tax'>('pre_tax', 'post_tax'),
  start: fc.option(around(-60, 45), { freq: 5 }),
  end: maybe(around(-20, 200)),
  /** How late it arrives. */
  late: often(0, 3, 20, 70),
  second: fc.nat({ max: 86_399 }),
});

const group = often<string | null>('g', 'h', null);
const frequency = often<PayFrequency | null>('biweekly', 'weekly', null);
const report = fc.record({
  employee: fc.constantFrom(...EMPLOYEES),
  employer: often('acme', 'other'),
  source: fc.constantFrom<Report['fact']['source']>(
    ...(['census', 'census', 'census', 'new-hire', 'termination', 'compensation-change'] as const),
  ),
  hired: often(null, -40, -3, 10),
  ended: around(-30, 30),
  isListedAsEnded: often(false, true),
  pay_frequency: frequency,
  pay_group: group,
  absent: often<0 | 1>(0, 1),
  effective: maybe(around(-20, 40)),
});

const correction: fc.Arbitrary<Correction> = fc.record({
  which: fc.nat({ max: 99 }),
  ahead: fc.integer({ min: -10, max: 30 }),
  later: fc.constantFrom(0, 7, 14, 31, 60),
  changes: fc.constantFrom<Partial<Message>>(
    {},
    {},
    { member_contribution: '60' },
    { taxability: 'post_tax' },
    { line_of_coverage: 'vision' },
    { coverage_type: 'member_family' },
    { end: '2026-03-31' },
  ),
});

const shortPay: fc.Arbitrary<ShortPay> = fc.record({
  line: fc.nat({ max: 99 }),
  part: fc.constantFrom<ShortPay['part']>(-1, 0, 1, 2, 3),
});

const rescheduling: fc.Arbitrary<Rescheduling> = fc.record({
  which: fc.nat({ max: 59 }),
  change: fc.constantFrom<Rescheduling['change']>('drop', 'add', 'fewer', 'own_period', 'none', 'all'),
});

const options = fc.record({
  applies_on: fc.constantFrom('pay_date' as const, 'period_end' as const, 'next_month' as const),
  open_items: fc.constantFrom(...COLLECTIONS),
  recoup,
});

const place = fc.nat({ max: 199 });
const week = fc.record({
  messages: fc.array(message, { maxLength: 1 }),
  reports: maybe(report),
  correction: maybe(correction),
  rescheduling: seldom(rescheduling),
  policy: fc.oneof({ arbitrary: fc.constant(null), weight: 9 }, { arbitrary: options, weight: 1 }),
  shortPay: maybe(shortPay),
  place,
  assigned: maybe(fc.constantFrom('acme', 'other')),
  isVoided: often(false, false, true),
  isSkipped: often(false, false, true),
  finalChecks: maybe(fc.subarray([...EMPLOYEES], { minLength: 1, maxLength: 2 })),
  opened: seldom(opening),
  settled: fc.array(settling, { maxLength: 2 }),
  override: seldom(overriding),
  /** An off-cycle run of an employee, on a pay date. */
  extra: often<(typeof EMPLOYEES)[number] | null>(null, null, ...EMPLOYEES),
});
type Week = typeof week extends fc.Arbitrary<infer W> ? W : never;

export const years = fc.record({
  schedules: often(2, 0, 1),
  elections: fc.array(message, { minLength: 4, maxLength: 7 }),
  /** The second one pays on the same dates. */
  employers: often(['acme'], ['acme', 'other']),
  frequencies: often<PayFrequency[]>(['biweekly'], ['biweekly', 'weekly']),
  groups: often<(string | null)[]>([null], ['g', 'h']),
  options,
  weeks: fc.array(week, { minLength: 52, maxLength: 52 }),
});
type Year = typeof years extends fc.Arbitrary<infer Y> ? Y : never;

const listed = (pay_frequency: 'biweekly' | 'weekly', days: number, count: number): Schedule => ({
  ...{ pay_frequency, pay_group: null, year_in_fewer_checks: false },
  pay_dates: every(days, '2025-01-03', count).map((date) => dateOf(date, days, 1)),
});

const SCHEDULES = [listed('biweekly', 14, 52), listed('weekly', 7, 104)];

/** Plays everything that happens in a year. */
export async function play(world: RecordedWorld, { elections, weeks, ...employer }: Year): Promise<void> {
  for (const employer_id of employer.schedules > 0 ? ['acme', 'other'] : [])
    await world.schedule(employer_id, SCHEDULES.slice(0, employer.schedules));
  for (const employer_id of ['acme', 'other'])
    await world.setPolicy(employer_id, employer.options, '2020-01-01');
  for (const [index, employee] of EMPLOYEES.entries()) {
    const pay_frequency = employer.frequencies[index % employer.frequencies.length] as PayFrequency;
    const pay_group = employer.groups[index % employer.groups.length] as string | null;
    const fact = { source: 'census', hire_date: '2020-01-01', pay_frequency, pay_group, absent: 0 } as const;
    await world.learn({ employee, employer: 'acme', fact });
  }
  for (const election of elections) await world.send(messageOf(election, FIRST_MONDAY));
  for (const [index, chosen] of weeks.entries()) await playWeek(world, employer, chosen, index);
}

async function playWeek(
  world: RecordedWorld,
  { employers, frequencies, groups }: Omit<Year, 'elections' | 'weeks'>,
  { messages, place: which, ...chosen }: Week,
  index: number,
): Promise<void> {
  const monday = daysAfter(FIRST_MONDAY, 7 * index);
  world.today = monday;
  for (const one of messages) await world.send(messageOf(one, monday));
  if (chosen.reports !== null) await world.learn(reportOf(chosen.reports, monday));
  if (chosen.correction !== null) await world.correct(chosen.correction);
  if (chosen.rescheduling !== null)
    await world.reschedule(employers[which % employers.length] as string, chosen.rescheduling);
  if (chosen.policy !== null) await world.setPolicy('acme', chosen.policy, daysAfter(monday, which % 60));
  if (chosen.assigned !== null) await world.assign(which, chosen.assigned, chosen.isVoided ? monday : null);
  if (chosen.isVoided) await world.void(which);
  if (chosen.shortPay !== null) await world.take(which, chosen.shortPay);
  if (chosen.opened !== null) await world.open(chosen.opened);
  for (const settling of chosen.settled) await world.settle(settling);

  const candidates = chosen.finalChecks ?? [];
  for (const employer_id of employers)
    for (const pay_frequency of frequencies)
      for (const pay_group of groups)
        for (const date of datesIn(world, employer_id, pay_frequency, monday)) {
          const final_checks = candidates.filter((employee) => world.hasEnded(employer_id, employee));
          const fields: RunBody = {
            ...{ employer_id, pay_frequency, ...date },
            ...(pay_group !== null && { pay_group }),
            ...(final_checks.length > 0 && { final_checks }),
          };
          if (!chosen.isSkipped) await world.run(fields, chosen.override);
          const isFirst = pay_frequency === frequencies[0] && pay_group === groups[0];
          if (chosen.extra === null || !isFirst || employer_id !== 'acme') continue;
          const named = { employee_ids: [chosen.extra], deductions: ['d0', 'd1', 'd2'] };
          await world.run({ ...fields, kind: 'off_cycle', ...named });
        }
}

/** Returns the pay dates of a week: the list's, or every one or two weeks. */
function datesIn(world: RecordedWorld, employerId: string, frequency: PayFrequency, monday: string) {
  const list =
    world.schedulesOf(employerId).find(({ pay_frequency }) => pay_frequency === frequency) ??
    SCHEDULES.find(({ pay_frequency }) => pay_frequency === frequency);
  return (list?.pay_dates ?? [])
    .filter(({ pay_date }) => monday <= pay_date && pay_date < daysAfter(monday, 7))
    .map(({ takes: _, ...date }) => date);
}

function messageOf(
  {
    deduction,
    isMisplaced,
    start,
    end,
    late,
    second,
    ...content
  }: typeof message extends fc.Arbitrary<infer M> ? M : never,
  monday: string,
): Message {
  const employee = EMPLOYEES[(deduction + (isMisplaced ? 1 : 0)) % EMPLOYEES.length] as string;
  const time = Date.parse(`${daysAfter(monday, -late)}T00:00:00Z`) - second * 1000;
  return {
    ...content,
    ...{ deduction: DEDUCTIONS[deduction] as string, employee, coverage_type: null },
    start: start === null ? null : daysAfter(monday, start),
    end: end === null ? null : daysAfter(monday, end),
    sent: new Date(time).toISOString(),
  };
}

function reportOf(
  { employee, employer, source, ...stated }: typeof report extends fc.Arbitrary<infer R> ? R : never,
  monday: string,
): Report {
  const hire_date = stated.hired === null ? '2020-01-01' : daysAfter(monday, stated.hired);
  const ended = daysAfter(monday, stated.ended);
  const pay = { pay_frequency: stated.pay_frequency, pay_group: stated.pay_group };
  const effective_on = stated.effective === null ? null : daysAfter(monday, stated.effective);
  const fact = {
    // A census says nothing more of somebody whom it lacks.
    census: {
      ...(stated.absent === 1 ? {} : { hire_date, ...pay, effective_on }),
      termination_date: stated.isListedAsEnded && stated.absent === 0 ? ended : null,
      absent: stated.absent,
    },
    'new-hire': { hire_date, ...pay, absent: 0 as const },
    termination: { termination_date: ended },
    'compensation-change': { ...pay, effective_on },
  }[source];
  return { employee, employer, fact: { source, ...fact } as Report['fact'] };
}
