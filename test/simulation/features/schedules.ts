/** Pay schedules: payroll sets them, marks what a date takes, and adds and drops pay dates during the year. */
import { TAKES } from '../../../src/payroll/calculation/calendar.ts';
import type { PayDate, Schedule } from '../../../src/payroll/settings/schedules.ts';
import { pick, type Random } from '../../../src/simulator/random.ts';
import type { Response } from '../machine.ts';
import type { Simulation } from '../simulation.ts';
import { dayOf, daysAfter, type Employer, type Frequency } from '../world.ts';
import type { Feature } from './features.ts';

/** `addedAfter`: the days from a pay date to one that is added after it, and its last days. */
const STEPS = {
  biweekly: { days: 14, addedAfter: 5, checks: 26 },
  weekly: { days: 7, addedAfter: 3, checks: 52 },
} as const;

/** A holiday moves the first pay date of the year into the year before. */
const NEW_YEAR = '2027-01-01';
const NEW_YEARS_EVE = '2026-12-31';

const REFUSED = 'schedule change that leaves a rest of the year';

/** The frozen calendars of final runs that count, with each date's share of either class of deductions. */
const SHARES = `
  select run_id, basis ->> '$.run.pay_date' as run_date, classes.value as periods, date.value ->> 'pay_date' as pay_date,
    date.value ->> ('$.' || classes.value || '.share') as share
  from payroll_runs, json_each('["own", "other"]') as classes, json_each(basis -> '$.calendar') as date
  where state = 'finalized' and payroll_runs.kind = 'regular'`;

export const SCHEDULES: Feature = {
  plan(simulation) {
    const { world, days } = simulation;
    for (const employer of world.employers) {
      const draw = simulation.random('schedules', employer.id);
      for (let count = Math.ceil(days / 3); count > 0; count -= 1)
        simulation.schedule(draw(), 'schedule', () => change(simulation, employer, draw));
    }
  },
  invariants: {
    'no share of a year is negative': `select * from (${SHARES}) where share like '-%'`,
    'the shares of a year sum to 1 at most': sharesAboveOne,
  },
  situations: {
    'pay date that takes nothing': `(${SHARES}) where pay_date = run_date and periods = 'own' and share is null`,
    'share that changed during the year': `(${SHARES}) group by run_id, periods having count(distinct share) > 1`,
    'run on an added pay date': `(${SHARES}) where pay_date = run_date and strftime('%w', pay_date) <> '5'`,
    [REFUSED]: null,
  },
};

/** Returns the stepped pay dates of three whole years, which are never dropped. All are Fridays. */
export function datesOf(frequency: Frequency): PayDate[] {
  const { days } = STEPS[frequency];
  const dates: PayDate[] = [];
  for (let date = '2025-01-03'; date < '2028'; date = daysAfter(date, days))
    dates.push({ pay_date: date, period_start: daysAfter(date, 1 - days), period_end: date, takes: 'all' });
  return dates;
}

/** Returns all pay dates that a schedule may have, in no order. */
export function possibleDates(frequency: Frequency): string[] {
  const dates = datesOf(frequency).map(({ pay_date }) => pay_date);
  const added = dates.map((date) => daysAfter(date, STEPS[frequency].addedAfter));
  return [...new Set([...dates, ...added, NEW_YEARS_EVE])];
}

/** Reports whether a schedule may lose a pay date. */
export function mayGo(frequency: Frequency, payDate: string): boolean {
  return payDate === NEW_YEAR || !datesOf(frequency).some(({ pay_date }) => pay_date === payDate);
}

/** Returns the pay dates of a frequency as they are now; null while no sidecar runs or before the first ones are set. */
export function currentDates(
  { machine }: Simulation,
  employerId: string,
  frequency: Frequency,
): PayDate[] | null {
  if (!machine.isUp()) return null;
  const sql = 'select schedules from pay_schedules where employer_id = ? order by version desc limit 1';
  const [row] = machine.query<{ schedules: string }>(sql, employerId);
  const schedules = JSON.parse(row?.schedules ?? '[]') as Schedule[];
  return schedules.find(({ pay_frequency }) => pay_frequency === frequency)?.pay_dates ?? null;
}

export function setSchedules(simulation: Simulation, employer: Employer): void {
  const lists = employer.frequencies.map((frequency) => [frequency, datesOf(frequency)] as const);
  for (const year of ['2027', '2026', '2025']) put(simulation, employer.id, year, lists, () => {});
}

type Lists = readonly (readonly [frequency: Frequency, dates: readonly PayDate[]])[];

function put(
  { machine, persist }: Simulation,
  employerId: string,
  year: string,
  lists: Lists,
  done: (response: Response) => void,
  untaken = false,
): void {
  const schedules = lists.map(([pay_frequency, dates]) => ({
    pay_frequency,
    pay_dates: dates.filter(({ pay_date }) => pay_date.startsWith(year)),
  }));
  const url = `/v1/employers/${employerId}/pay-schedules/${year}`;
  persist('schedule', () => machine.call('PUT', url, { schedules, untaken }), [200, 409], done);
}

/** Changes one pay date, and puts the years in which it lies. Payroll may have run it in the meantime. */
function change(simulation: Simulation, { id, frequencies }: Employer, draw: Random): void {
  const lists = frequencies.map((frequency) => [frequency, currentDates(simulation, id, frequency)] as const);
  if (lists.some(([, dates]) => dates === null)) return;
  const before = lists as [Frequency, PayDate[]][];
  const changed = pick(draw, before);
  const today = dayOf(simulation.time.now());
  const after = changedDates(changed, today, draw);
  const inYear = (dates: readonly PayDate[], year: string) =>
    dates.filter(({ pay_date }) => pay_date.startsWith(year));
  const years = ['2025', '2026', '2027'].filter(
    (year) => JSON.stringify(inYear(changed[1], year)) !== JSON.stringify(inYear(after, year)),
  );
  const next: Lists = before.map((list) => (list === changed ? [changed[0], after] : list));
  // A date that moves to another year leaves its year first: a refusal keeps it there.
  const gain = (year: string) => inYear(after, year).length - inYear(changed[1], year).length;
  putYears(years.sort((one, other) => gain(one) - gain(other)));

  function putYears([year, ...rest]: readonly string[]): void {
    if (year === undefined) return;
    put(simulation, id, year, next, (response) => {
      if (response.status === 200) return putYears(rest);
      if (!JSON.stringify(response.body).includes('would not be taken')) return;
      simulation.saw(REFUSED);
      if (draw() < 0.7)
        put(simulation, id, year, next, (again) => again.status === 200 && putYears(rest), true);
    });
  }
}

function changedDates([frequency, dates]: [Frequency, PayDate[]], today: string, draw: Random): PayDate[] {
  const place = dates.findIndex(({ pay_date }) => pay_date >= today) + Math.floor(draw() * 3);
  const date = dates[place];
  const kind = draw();
  // While it moves, it may be in neither year.
  const newYear = dates.find(({ pay_date }) => pay_date === NEW_YEAR || pay_date === NEW_YEARS_EVE);
  if (date === undefined || newYear === undefined) return dates;
  if (today > '2026-12-10' && today <= NEW_YEARS_EVE && kind < 0.6) {
    const pay_date = newYear.pay_date === NEW_YEAR ? NEW_YEARS_EVE : NEW_YEAR;
    return dates.map((other) => (other === newYear ? { ...other, pay_date } : other));
  }
  if (kind > 0.4)
    return dates.map((other) => (other === date ? { ...date, takes: pick(draw, TAKES) } : other));
  const { addedAfter, checks } = STEPS[frequency];
  const added = dates.find(
    ({ pay_date }) => pay_date !== NEW_YEARS_EVE && pay_date >= today && mayGo(frequency, pay_date),
  );
  if (added !== undefined && added.pay_date !== NEW_YEAR) {
    const after = dates[dates.indexOf(added) + 1];
    return dates
      .filter((other) => other !== added)
      .map((other) => (other === after ? { ...after, period_start: added.period_start } : other));
  }
  const before = dates[place - 1];
  const year = dates.filter(({ pay_date }) => pay_date.slice(0, 4) === date.pay_date.slice(0, 4));
  if (before === undefined || year.length > checks || mayGo(frequency, before.pay_date)) return dates;
  const pay_date = daysAfter(before.pay_date, addedAfter);
  if (pay_date.slice(0, 4) !== date.pay_date.slice(0, 4)) return dates;
  const period_end = daysAfter(before.period_end, addedAfter - 1);
  return [
    ...dates.slice(0, place),
    { pay_date, period_start: date.period_start, period_end, takes: pick(draw, TAKES) },
    { ...date, period_start: daysAfter(period_end, 1) },
    ...dates.slice(place + 1),
  ];
}

function sharesAboveOne({ machine }: Simulation): string[] {
  type Row = { run_id: string; periods: string; share: string | null };
  const rows = machine.query<Row>(`select * from (${SHARES}) where periods = 'other'`);
  return [...Map.groupBy(rows, ({ run_id }) => run_id)].flatMap(([run, dates]) => {
    const sum = dates.reduce((total, { share }) => {
      const [part = 0, of = 1] = (share ?? '0/1').split('/').map(Number);
      return total + part / of;
    }, 0);
    return sum > 1.000_001 ? [`${run}: ${sum}`] : [];
  });
}
