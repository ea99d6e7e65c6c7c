/** Shares of a year and amounts in the payroll model: "Pay dates" and "Amounts", with fractions and closures. */
import type { PayFrequency } from '../../../src/contract/employee.ts';
import type { Schedule } from '../../../src/payroll/settings/schedules.ts';

export type Fraction = readonly [numerator: bigint, denominator: bigint];

export const CHECKS: Record<PayFrequency, number> = {
  monthly: 12,
  semimonthly: 24,
  biweekly: 26,
  weekly: 52,
};

/** What a pay date takes of one class of deductions. */
export type Cell = { share: Fraction; amount: (text: string, period: PayFrequency) => bigint };

/** Deductions whose period is the run's frequency, and others. */
const CLASSES = ['own', 'other'] as const;
type Class = (typeof CLASSES)[number];

/** `isEven`: each date takes the contributions for the run's own frequency as they are, however many dates there are. */
export type ModelCalendar = {
  dates: Schedule['pay_dates'];
  cells: Record<Class, ReadonlyMap<string, Cell>>;
  isEven: boolean;
};

/** A finalized regular run of the year that is not voided. */
export type Ran = { date: string; calendar: ModelCalendar | null };

export function fraction(text: string): Fraction {
  const [, sign, whole, decimals = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) as RegExpExecArray;
  return [BigInt(`${sign}${whole}${decimals}`), 10n ** BigInt(decimals.length)];
}

/** Rounds dollars to cents, half away from zero. */
export function roundToCents([numerator, denominator]: Fraction): bigint {
  const size = numerator < 0n ? -numerator : numerator;
  const cents = (2n * size * 100n + denominator) / (2n * denominator);
  return numerator < 0n ? -cents : cents;
}

export function dollars(cents: bigint): string {
  const digits = String(cents < 0n ? -cents : cents).padStart(3, '0');
  return `${cents < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

export function isSameFraction([above, below]: Fraction, [aboveToo, belowToo]: Fraction): boolean {
  return above * belowToo === aboveToo * below;
}

/** Returns T. */
function yearOf(text: string, period: PayFrequency): bigint {
  const [above, below] = fraction(text);
  return roundToCents([above * BigInt(CHECKS[period]), below]);
}

/** A check without a list. */
export function evenCell(frequency: PayFrequency): Cell {
  const amount: Cell['amount'] = (text, period) => {
    const [above, below] = fraction(text);
    return roundToCents([above * BigInt(CHECKS[period]), below * BigInt(CHECKS[frequency])]);
  };
  return { share: [1n, BigInt(CHECKS[frequency])], amount };
}

function reduced([above, below]: Fraction): Fraction {
  let [divisor, rest] = [below, above];
  while (rest !== 0n) [divisor, rest] = [rest, divisor % rest];
  if (divisor < 0n) divisor = -divisor;
  return [above / divisor, below / divisor];
}

/** Division of bigints cuts toward zero. */
export function cutCell(given: Fraction): Cell {
  const share = reduced(given);
  return { share, amount: (text, period) => (yearOf(text, period) * share[0]) / share[1] };
}

export function classOf(period: PayFrequency, frequency: PayFrequency): Class {
  return period === frequency ? 'own' : 'other';
}

export function calendarOf(
  { pay_dates: dates, year_in_fewer_checks }: Schedule,
  frequency: PayFrequency,
  ran: readonly Ran[],
): ModelCalendar {
  let isEven = false;
  const cellsOf = (of: Class): Map<string, Cell> => {
    const taking = dates
      .filter(({ takes }) => takes === 'all' || (takes === 'own_period' && of === 'own'))
      .map(({ pay_date }) => pay_date);
    const even = evenCell(frequency);
    const frozen = new Map(
      ran.flatMap(({ date, calendar }) => {
        const cell = calendar === null ? even : calendar.cells[of].get(date);
        return cell === undefined ? [] : [[date, cell] as const];
      }),
    );
    const isFrozenEven = [...frozen.values()].every(({ share }) => isSameFraction(share, even.share));
    if (of === 'own' && !year_in_fewer_checks && taking.length === dates.length && isFrozenEven) {
      isEven = true;
      return new Map(taking.map((date) => [date, even]));
    }
    const last = ran.toSorted((one, other) => (one.date < other.date ? -1 : 1)).at(-1);
    const cells = new Map(frozen);
    for (const date of taking) {
      const kept = last !== undefined && date < last.date ? last.calendar?.cells[of].get(date) : undefined;
      if (!frozen.has(date) && kept !== undefined) cells.set(date, cutCell(kept.share));
    }
    let rest: Fraction = [1n, 1n];
    for (const { share } of cells.values())
      rest = reduced([rest[0] * share[1] - share[0] * rest[1], rest[1] * share[1]]);
    if (rest[0] < 0n) rest = [0n, 1n];
    const free = taking.filter((date) => !cells.has(date));
    for (const date of free) cells.set(date, cutCell([rest[0], rest[1] * BigInt(free.length)]));
    const closing = taking.findLast((date) => !frozen.has(date));
    if (closing === undefined) return cells;
    const { share } = cells.get(closing) as Cell;
    const others = [...cells].filter(([date]) => date !== closing).map(([, cell]) => cell);
    const amount: Cell['amount'] = (text, period) =>
      others.reduce((left, cell) => left - cell.amount(text, period), yearOf(text, period));
    return cells.set(closing, { share, amount });
  };
  const cells = { own: cellsOf('own'), other: cellsOf('other') };
  return { dates, cells, isEven };
}

/** Returns what a date takes of deductions of a period; null: nothing. */
export function cellOf(
  calendar: ModelCalendar | null,
  frequency: PayFrequency,
  period: PayFrequency,
  date: string,
): Cell | null {
  if (calendar === null) return evenCell(frequency);
  return calendar.cells[classOf(period, frequency)].get(date) ?? null;
}

/** Returns the part of the year that an off-cycle run takes, as if it were one of the N dates. */
export function offCycleCell(
  calendar: ModelCalendar | null,
  frequency: PayFrequency,
  period: PayFrequency,
): Cell {
  const even = evenCell(frequency);
  if (calendar === null) return even;
  const of = classOf(period, frequency);
  const taking = calendar.dates.filter(
    ({ takes }) => takes === 'all' || (takes === 'own_period' && of === 'own'),
  );
  if (of === 'own' && calendar.isEven) return even;
  return cutCell([1n, BigInt(taking.length)]);
}
