/** An employer's pay schedules: the pay dates of each frequency and pay group. Set by year, stored and read as a whole. */
import Type, { type Static } from 'typebox';
import { compile, PROBLEMS_MAX } from '../../contract/check.ts';
import { PAY_FREQUENCIES, type PayFrequency } from '../../contract/employee.ts';
import {
  boolean,
  closed,
  component,
  day,
  identifier,
  nullable,
  oneOfDescribed,
  text,
} from '../../contract/fields.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { type Problem, refused } from '../../errors.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { DATES_MAX } from '../../formats/pay-date-proposal.ts';
import { type Acting, isRecordedBy } from '../../security/audit.ts';
import { type Fact, insertFacts } from '../../security/facts.ts';
import { TAKES } from '../calculation/calendar.ts';
import { coverProblem, periodProblems, yearOf } from '../calculation/pay-dates.ts';
import { lockPayroll } from './lock.ts';
import { repeated } from './setting.ts';

const PayDate = closed({
  pay_date: { ...day, description: 'The date employees are paid.' },
  period_start: { ...day, description: 'The first day of the pay period.' },
  period_end: { ...day, description: 'The last day of the pay period.' },
  takes: oneOfDescribed(
    TAKES,
    'The deductions that the pay date takes: `all`; `own_period`: only those whose period is the pay frequency; or `none`.',
  ),
});
export type PayDate = Static<typeof PayDate>;

/** The pay dates of one frequency and pay group, in order, of any years. */
export const Schedule = closed({
  pay_frequency: oneOfDescribed(PAY_FREQUENCIES, 'The pay frequency of the runs.'),
  pay_group: nullable({
    ...identifier,
    description: 'The pay group of the runs. Null for runs without a pay group.',
  }),
  pay_dates: Type.Array(PayDate, { minItems: 1 }),
  year_in_fewer_checks: boolean(
    'Coverage lasts all year, and the pay dates do not: they divide the whole year among them. Default false.',
  ),
});
export type Schedule = Static<typeof Schedule>;

export const parseSchedules = jsonColumn('pay_schedules', 'schedules', Type.Array(Schedule));

/** `knownAt`: as set by this instant; by default the latest. */
export async function readSchedules(db: Db | Trx, employerId: string, knownAt?: string): Promise<Schedule[]> {
  const latest = await latestVersion(db, employerId, knownAt);
  return latest === undefined ? [] : parseSchedules(latest.schedules, employerId);
}

/** Returns the schedules as a version stored them; empty for an unknown version. */
export async function schedulesOfVersion(db: Db, employerId: string, version: number): Promise<Schedule[]> {
  const row = await db
    .selectFrom('pay_schedules')
    .select('schedules')
    .where('employer_id', '=', employerId)
    .where('version', '=', version)
    .executeTakeFirst();
  return row === undefined ? [] : parseSchedules(row.schedules, employerId);
}

/** Returns the schedules with the pay dates that are kept. A schedule without any is left out. */
export function withDates(schedules: readonly Schedule[], isKept: (payDate: string) => boolean): Schedule[] {
  return schedules
    .map((schedule) => ({
      ...schedule,
      pay_dates: schedule.pay_dates.filter(({ pay_date }) => isKept(pay_date)),
    }))
    .filter(({ pay_dates }) => pay_dates.length > 0);
}

/** The pay dates of a frequency and group of all years, of which some may be in fewer checks. */
export type DateList = Omit<Schedule, 'year_in_fewer_checks'>;

export function acrossYears(schedules: readonly Schedule[]): DateList[] {
  const lists = Map.groupBy(schedules, ({ pay_frequency, pay_group }) =>
    JSON.stringify([pay_frequency, pay_group]),
  );
  return [...lists.values()].map((list) => {
    const [{ pay_frequency, pay_group }] = list as [Schedule, ...Schedule[]];
    const pay_dates = list.flatMap((schedule) => schedule.pay_dates);
    return { pay_frequency, pay_group, pay_dates: inOrder(pay_dates) };
  });
}

export function inOrder(payDates: readonly PayDate[]): PayDate[] {
  return payDates.toSorted((date, other) => (date.pay_date < other.pay_date ? -1 : 1));
}

/** Returns the schedules of one calendar year. */
export function inYear(schedules: readonly Schedule[], year: string): Schedule[] {
  return withDates(schedules, (date) => yearOf(date) === year);
}

/** Returns the schedules of a year, or without any, of the last earlier year that has some. */
export function inYearOrBefore(schedules: readonly Schedule[], year: string): Schedule[] {
  const earlier = withDates(schedules, (date) => yearOf(date) <= year);
  const dates = earlier.flatMap(({ pay_dates }) => pay_dates.map(({ pay_date }) => yearOf(pay_date)));
  return inYear(
    earlier,
    dates.reduce((latest, date) => (date > latest ? date : latest), ''),
  );
}

function latestVersion(db: Db | Trx, employerId: string, knownAt?: string) {
  return db
    .selectFrom('pay_schedules')
    .select(['version', 'schedules'])
    .where('employer_id', '=', employerId)
    .where(isRecordedBy(db, knownAt))
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst();
}

export const SCHEDULES_VERSION: Fact<'pay_schedules'> = {
  table: 'pay_schedules',
  actions: ['schedule.put', 'schedule.delete'],
  subject: { resource: 'employer_id', employer: 'employer_id' },
};

export async function putSchedules(
  trx: Trx,
  employerId: string,
  schedules: readonly Schedule[],
  acting: Acting,
  action: 'schedule.put' | 'schedule.delete' = 'schedule.put',
): Promise<void> {
  await lockPayroll(trx);
  const latest = await latestVersion(trx, employerId);
  const stored = JSON.stringify(schedules);
  // The first list of an employer is stored even if it is empty: it makes the employer known.
  if (latest?.schedules === stored) return;
  const version = (latest?.version ?? 0) + 1;
  const row = { employer_id: employerId, version, schedules: stored };
  // The lists may be megabytes, and each version is kept.
  const details = { version, previous_version: latest?.version ?? null };
  await insertFacts(trx, SCHEDULES_VERSION, [row], acting, { action, details });
}

/** Reports whether an employer has pay schedules, payroll codes, a payroll policy or file formats. */
export async function hasSettings(db: Db | Trx, employerId: string): Promise<boolean> {
  for (const table of ['pay_schedules', 'payroll_codes', 'payroll_policies', 'file_formats'] as const) {
    const row = await db
      .selectFrom(table)
      .select('employer_id')
      .where('employer_id', '=', employerId)
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) return true;
  }
  return false;
}

/** Maximum number of schedules per employer: one for each pay frequency and pay group. */
const SCHEDULES_MAX = 100;

const RequestedDate = closed({ ...PayDate.properties, takes: Type.Optional(PayDate.properties.takes) });

export const PaySchedules = component(
  'PaySchedules',
  {
    schedules: Type.Array(
      closed({
        ...Schedule.properties,
        pay_group: Type.Optional(Schedule.properties.pay_group),
        year_in_fewer_checks: Type.Optional(Schedule.properties.year_in_fewer_checks),
        pay_dates: Type.Array(RequestedDate, {
          minItems: 1,
          maxItems: DATES_MAX,
          rule: `must be a list of at most ${DATES_MAX} pay dates`,
          description: 'All pay dates of the year, in order.',
        }),
      }),
      {
        maxItems: SCHEDULES_MAX,
        rule: `must be a list of at most ${SCHEDULES_MAX} pay schedules`,
        description: 'One schedule per frequency and pay group. Empty if there is none.',
      },
    ),
  },
  "An employer's pay schedules of one calendar year. Runs must use their pay dates.",
);

export const PaySchedulesRequest = component(
  'PaySchedulesRequest',
  {
    ...PaySchedules.properties,
    untaken: Type.Optional(
      boolean(
        'Finalized runs leave a part of the year to no other pay date: it is not taken. Default false.',
      ),
    ),
  },
  "An employer's pay schedules of one calendar year.",
);

export const PaySchedulesByYear = component(
  'PaySchedulesByYear',
  {
    years: Type.Array(
      closed({
        year: text('The calendar year of the pay dates.'),
        schedules: PaySchedules.properties.schedules,
      }),
      { description: 'The latest year first. Empty if the employer has no pay schedule.' },
    ),
  },
  "An employer's pay schedules of all years.",
);
export type SchedulesByYear = { years: { year: string; schedules: Schedule[] }[] };

export function byYear(schedules: readonly Schedule[]): SchedulesByYear {
  const dates = schedules.flatMap(({ pay_dates }) => pay_dates.map(({ pay_date }) => yearOf(pay_date)));
  const years = [...new Set(dates)].sort().reverse();
  return { years: years.map((year) => ({ year, schedules: inYear(schedules, year) })) };
}

const schedulesBody = compile(PaySchedulesRequest);

/**
 * Returns the schedules of one year. Every run trusts its schedule, so it must cover the year: docs/payroll-settings.md, "Pay dates".
 * Throws SETTINGS_REFUSED.
 */
export function checkSchedules(body: unknown, year: string): YearSchedules {
  if (!schedulesBody.accepts(body))
    throw refused('SETTINGS_REFUSED', schedulesBody.problems(body, PROBLEMS_MAX, 'hints'));
  const schedules = body.schedules.map(
    ({ pay_frequency, pay_group = null, year_in_fewer_checks = false, pay_dates }): Schedule => ({
      ...{ pay_frequency, pay_group },
      pay_dates: pay_dates.map(({ takes = TAKES[0], ...date }) => ({ ...date, takes })),
      year_in_fewer_checks,
    }),
  );
  const rule = 'must not have the pay_frequency and pay_group of a schedule before it';
  const keyOf = ({ pay_frequency, pay_group }: Schedule) => JSON.stringify([pay_frequency, pay_group]);
  const problems = [
    ...repeated('schedules', schedules, keyOf, rule),
    ...schedules.flatMap((schedule, index) => problemsOf(schedule, year, `schedules[${index}].pay_dates`)),
  ];
  if (problems.length > 0) throw refused('SETTINGS_REFUSED', problems);
  return { schedules, untaken: body.untaken ?? false };
}

/** The schedules of a year. `untaken`: what the pay dates leave of a year may be taken by none. */
export type YearSchedules = { schedules: Schedule[]; untaken: boolean };

function problemsOf(schedule: Schedule, year: string, path: string): Problem[] {
  const { pay_frequency, pay_dates, year_in_fewer_checks } = schedule;
  const problems = pay_dates.flatMap((date, index) =>
    dateProblems(date, pay_dates[index - 1], { year, pay_frequency, path: `${path}[${index}]` }),
  );
  if (!pay_dates.some(({ takes }) => takes === 'all'))
    problems.push({ path, rule: 'must have a date that takes all deductions' });
  // Dates out of order would be reported again as a year that is not covered.
  if (problems.length > 0 || year_in_fewer_checks) return problems;
  const dates = pay_dates.map(({ pay_date }) => pay_date);
  const problem = coverProblem(dates, year, pay_frequency, path);
  return problem === null ? [] : [problem];
}

function dateProblems(
  date: PayDate,
  before: PayDate | undefined,
  { year, pay_frequency, path }: { year: string; pay_frequency: PayFrequency; path: string },
): Problem[] {
  const problems: Problem[] = [];
  if (yearOf(date.pay_date) !== year) problems.push({ path: `${path}.pay_date`, rule: `must be in ${year}` });
  problems.push(...periodProblems(date, pay_frequency, `${path}.period_end`));
  if (before === undefined) return problems;
  if (date.pay_date <= before.pay_date)
    problems.push({ path: `${path}.pay_date`, rule: 'must be later than the pay date before it' });
  if (date.period_start <= before.period_end)
    problems.push({ path: `${path}.period_start`, rule: 'must be after the end of the period before it' });
  return problems;
}
