/**
 * The axis of a picture of days: where each day stands, and which are named. Pure.
 *
 * Deductions begin in year 0001 and end in 9999 when somebody filled a form in that way. So a long time in which nothing
 * begins or ends is drawn short, as a break; all the rest is drawn to one scale. Later days always stand further right.
 */

const MS_PER_DAY = 86_400_000;
/** A gap longer than this is a break: with less the years around today would lose their room to it. */
const BREAK_DAYS = 5 * 366;
const BREAK_WIDTH = 48;
/** Of the axis, at most, for all breaks together. */
const BREAKS_SHARE = 0.5;
/** Days of a month, near enough to choose a step by. */
const MONTH_DAYS = 30.4;
/** Months from one tick to the next. The last is for a picture that has millennia without a break. */
const STEPS = [1, 3, 6, 12, 24, 60, 120, 600, 1_200, 12_000] as const;
const STEP_WIDTH_MIN = 44;
/** One character of a label, and what stands around it. */
const CHARACTER_WIDTH = 6.5;
const LABEL_MARGIN = 8;
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** `label` is empty where there is no room for one. */
type Tick = { readonly x: number; readonly label: string };
/** A time that is drawn shorter than it was. */
type Break = { readonly from: number; readonly to: number };

export type Axis = {
  /** Where a day stands; one outside of the days that the axis was made for stands at its nearest end. */
  x(day: number): number;
  readonly ticks: readonly Tick[];
  readonly breaks: readonly Break[];
};

/** A place on the axis that is known. */
type Stop = { readonly day: number; readonly x: number };

/** Days since 1970-01-01 of a day `YYYY-MM-DD`. */
export function dayNumber(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) / MS_PER_DAY;
}

/** An axis from `left` to `right` (pixels) that has room for each of the days, of which there is at least one. */
export function axisOf(days: readonly number[], left: number, right: number): Axis {
  const stops = stopsOf(
    [...new Set(days)].toSorted((one, other) => one - other),
    left,
    right,
  );
  const isBreak = (index: number) => gapBefore(stops, index) > BREAK_DAYS;
  return {
    x: (day) => between(stops, day),
    ticks: ticksOf(stops, isBreak),
    breaks: stops.flatMap(({ x }, index) =>
      isBreak(index) ? [{ from: (stops[index - 1] as Stop).x, to: x }] : [],
    ),
  };
}

function stopsOf(days: readonly number[], left: number, right: number): Stop[] {
  const gaps = days.slice(1).map((day, index) => day - (days[index] as number));
  const scaled = gaps.filter((gap) => gap <= BREAK_DAYS).reduce((sum, gap) => sum + gap, 0);
  const breaks = gaps.filter((gap) => gap > BREAK_DAYS).length;
  const all = right - left;
  const breakWidth =
    scaled === 0 ? all / Math.max(1, breaks) : Math.min(BREAK_WIDTH, (all * BREAKS_SHARE) / breaks);
  const perDay = scaled === 0 ? 0 : (all - breaks * breakWidth) / scaled;
  let x = left;
  return days.map((day, index) => {
    const gap = index === 0 ? 0 : (gaps[index - 1] as number);
    x += gap > BREAK_DAYS ? breakWidth : gap * perDay;
    // The last digits of a sum must not lead out of the picture.
    return { day, x: Math.min(x, right) };
  });
}

function gapBefore(stops: readonly Stop[], index: number): number {
  const [before, stop] = [stops[index - 1], stops[index]];
  return before === undefined || stop === undefined ? 0 : stop.day - before.day;
}

function between(stops: readonly Stop[], day: number): number {
  const next = stops.findIndex((stop) => stop.day >= day);
  const [before, after] = [stops[next - 1], stops[next]];
  if (after === undefined) return (stops.at(-1) as Stop).x;
  if (before === undefined) return after.x;
  return before.x + ((day - before.day) / (after.day - before.day)) * (after.x - before.x);
}

/** Of each stretch between two breaks; the first of one names its year, so that every stretch says where it is. */
function ticksOf(stops: readonly Stop[], isBreak: (index: number) => boolean): Tick[] {
  const starts = stops.flatMap((_, index) => (index === 0 || isBreak(index) ? [index] : []));
  const stretches = starts.map((from, index) => stops.slice(from, starts[index + 1]));
  const step = stepOf(stretches);
  let free = Number.NEGATIVE_INFINITY;
  return stretches.flatMap((stretch) => {
    const [first, last] = [stretch[0] as Stop, stretch.at(-1) as Stop];
    const months = monthsIn(first.day, last.day, step);
    const days = months.length === 0 ? [first.day] : months.map(firstOfMonth);
    return days.map((day, index) => {
      const x = between(stretch, day);
      const label = labelOf(day, index === 0);
      const isRoom = x >= free;
      if (isRoom) free = x + label.length * CHARACTER_WIDTH + LABEL_MARGIN;
      return { x, label: isRoom ? label : '' };
    });
  });
}

/** The months from tick to tick, the same for all stretches: all are drawn to one scale. */
function stepOf(stretches: readonly (readonly Stop[])[]): number {
  const long = stretches.find((stretch) => stretch.length > 1);
  if (long === undefined) return 12;
  const [first, last] = [long[0] as Stop, long.at(-1) as Stop];
  const perMonth = ((last.x - first.x) / (last.day - first.day)) * MONTH_DAYS;
  return STEPS.find((months) => months * perMonth >= STEP_WIDTH_MIN) ?? (STEPS.at(-1) as number);
}

/** Months counted from year 0, of which each is a multiple of `step` and its first day is from `from` to `to`. */
function monthsIn(from: number, to: number, step: number): number[] {
  const month = monthOf(from);
  const first = Math.ceil((firstOfMonth(month) < from ? month + 1 : month) / step) * step;
  const months: number[] = [];
  for (let at = first; firstOfMonth(at) <= to; at += step) months.push(at);
  return months;
}

function monthOf(day: number): number {
  const date = new Date(day * MS_PER_DAY);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

function firstOfMonth(month: number): number {
  // `Date.UTC` takes years before 100 for those of the last century.
  return new Date(0).setUTCFullYear(Math.floor(month / 12), month % 12, 1) / MS_PER_DAY;
}

function labelOf(day: number, isFirst: boolean): string {
  const month = monthOf(day);
  const year = `${Math.floor(month / 12)}`.padStart(4, '0');
  if (month % 12 === 0) return year;
  return isFirst ? `${MONTHS[month % 12]} ${year}` : (MONTHS[month % 12] as string);
}
