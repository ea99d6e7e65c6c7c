/** The body of an employer's pay schedules: the pay dates of each frequency and pay group. Pure. */
import Type, { type Static } from 'typebox';
import { compile, type Problem } from '../../contract/check.ts';
import { PAY_FREQUENCIES } from '../../contract/employee.ts';
import { day, identifier, nullable, oneOf } from '../../contract/fields.ts';
import { listProblem, yearOf } from '../calculation/pay-dates.ts';
import type { PayDate, Schedule } from './schedules.ts';

/** Ten years of weekly dates. The list is put as a whole, and read with every run. */
export const DATES_MAX = 530;
/** More pay groups than payrolls give one employer. */
const SCHEDULES_MAX = 100;

const PayDateBody = Type.Object(
  { pay_date: day, period_start: day, period_end: day },
  { additionalProperties: false },
);

const ScheduleBody = Type.Object(
  {
    pay_frequency: oneOf(PAY_FREQUENCIES),
    pay_group: Type.Optional(nullable(identifier)),
    pay_dates: Type.Array(PayDateBody, {
      minItems: 1,
      maxItems: DATES_MAX,
      rule: `must be a list of at most ${DATES_MAX} pay dates`,
    }),
  },
  { additionalProperties: false },
);

/** All schedules of an employer; an empty list takes them away. */
export const SchedulesBody = Type.Object(
  {
    schedules: Type.Array(ScheduleBody, {
      maxItems: SCHEDULES_MAX,
      rule: `must be a list of at most ${SCHEDULES_MAX} pay schedules`,
    }),
  },
  { additionalProperties: false },
);
export type SchedulesBody = Static<typeof SchedulesBody>;

const schedulesBody = compile(SchedulesBody);

/**
 * The schedules that a body gives, or all that is wrong with it. What a schedule says is taken for the truth by every
 * run, so each year of which it has a date must be covered as a run needs it: docs/payroll.md, "Pay dates".
 */
export function schedulesOf(
  body: unknown,
): { ok: true; schedules: Schedule[] } | { ok: false; problems: Problem[] } {
  if (!schedulesBody.accepts(body)) return { ok: false, problems: schedulesBody.problems(body) };
  const schedules = body.schedules.map((one): Schedule => ({ ...one, pay_group: one.pay_group ?? null }));
  const problems = [
    ...repeated(schedules),
    ...schedules.flatMap((one, index) => problemsOf(one, `schedules[${index}].pay_dates`)),
  ];
  return problems.length === 0 ? { ok: true, schedules } : { ok: false, problems };
}

function repeated(schedules: readonly Schedule[]): Problem[] {
  const seen = new Set<string>();
  return schedules.flatMap(({ pay_frequency, pay_group }, index) => {
    const key = JSON.stringify([pay_frequency, pay_group]);
    const isRepeated = seen.has(key);
    seen.add(key);
    const rule = 'must not have the pay_frequency and pay_group of a schedule before it';
    return isRepeated ? [{ path: `schedules[${index}]`, rule }] : [];
  });
}

function problemsOf({ pay_frequency, pay_dates }: Schedule, path: string): Problem[] {
  const problems = pay_dates.flatMap((date, index) =>
    dateProblems(date, pay_dates[index - 1], `${path}[${index}]`),
  );
  // Dates out of order would be told once more, as years that are not covered.
  return problems.length > 0 ? problems : yearProblems(pay_dates, pay_frequency, path);
}

function dateProblems(date: PayDate, before: PayDate | undefined, path: string): Problem[] {
  const problems: Problem[] = [];
  if (date.period_end < date.period_start)
    problems.push({ path: `${path}.period_end`, rule: 'must not be before period_start' });
  if (before === undefined) return problems;
  if (date.pay_date <= before.pay_date)
    problems.push({ path: `${path}.pay_date`, rule: 'must be later than the pay date before it' });
  if (date.period_start <= before.period_end)
    problems.push({ path: `${path}.period_start`, rule: 'must be after the end of the period before it' });
  return problems;
}

function yearProblems(
  dates: readonly PayDate[],
  frequency: Schedule['pay_frequency'],
  path: string,
): Problem[] {
  const years = Map.groupBy(
    dates.map((date) => date.pay_date),
    yearOf,
  );
  return [...years]
    .map(([year, ofYear]) => listProblem(ofYear, year, frequency, path))
    .filter((problem) => problem !== null)
    .slice(0, 1);
}
