/**
 * payroll.md's runs in their plainest form: everything is looked at again for every line, in memory, from all facts
 * and versions. What the real runs are held to. It shares with them the body of a run and, through oracle.ts, nothing.
 */
import type { PayFrequency } from '../../src/contract/pay-rate.ts';
import type { Run } from '../../src/payroll/runs/body.ts';
import { cycleDates, dollars, expectedCents, fraction, roundToCents } from './oracle.ts';

/** A row of a census of `RECEIVED`. */
export type ModelFact = {
  position: number;
  employee_id: string;
  employer_id: string;
  hire_date: string | null;
  termination_date: string | null;
  pay_frequency: string | null;
  pay_group: string | null;
  absent: 0 | 1;
  effective_on: string | null;
};

/** The date on which every census was received. */
export const RECEIVED = '2026-06-01';

export type ModelVersion = {
  position: number;
  deduction: string;
  employee: string;
  coverage: string;
  member: string;
  employer: string;
  period: PayFrequency;
  taxability: string;
  start: string | null;
  end: string | null;
  /** The event's time. */
  sent: string;
};

export type ModelLine = {
  employee: string;
  deduction: string;
  coverage: string;
  taxability: string;
  kind: 'regular' | 'adjustment';
  of: string | null;
  member: bigint;
  employer: bigint;
  change: string | null;
  previous: bigint | null;
  flags: string[];
};

export type ModelRun = {
  id: string;
  run: Run;
  voided: boolean;
  position: number;
  roster: ReadonlySet<string>;
  lines: readonly ModelLine[];
};

export type World = {
  facts: readonly ModelFact[];
  versions: readonly ModelVersion[];
  /** Finalized ones, also those that were voided since. */
  runs: readonly ModelRun[];
  schedules: number;
};

const DAY_MS = 86_400_000;
const CHECKS: Record<PayFrequency, number> = { monthly: 12, semimonthly: 24, biweekly: 26, weekly: 52 };

/** Who is in a run, and its lines, in no order that means something. */
export function modelOf(world: World, id: string, run: Run): { roster: Set<string>; lines: ModelLine[] } {
  const employees = [...new Set(world.facts.map((fact) => fact.employee_id))];
  const standing = employees.map((employee) => ({ employee, status: statusOf(world, run, employee) }));
  const finalized = world.runs.filter((one) => !one.voided && one.id !== id);
  const finalizedHere = finalized.filter((one) => one.run.employer_id === run.employer_id);
  return {
    roster: new Set(standing.filter(({ status }) => status === 'in').map(({ employee }) => employee)),
    lines: standing.flatMap(({ employee, status }) => [
      ...withChange(run, finalizedHere, employee, status, linesNow(world, run, employee, status)),
      ...adjustments(world, run, finalizedHere, employee, status),
    ]),
  };
}

type Status = 'in' | 'left' | 'unclear' | 'out';

function dayOf(run: Run): string {
  return { period_end: run.period_end, pay_date: run.pay_date }[run.applies_on];
}

/** `left`: this employer pays no more. `unclear`: readiness must name the employee. `out`: not in this run. */
export function statusOf({ facts, schedules }: World, run: Run, employee: string): Status {
  const day = run.period_end;
  const jobs = [
    ...Map.groupBy(
      facts.filter((fact) => fact.employee_id === employee),
      (fact) => fact.employer_id,
    ),
  ];
  const own = jobs.find(([employer]) => employer === run.employer_id)?.[1];
  if (own === undefined) return 'out';
  if (run.employee_ids !== null && !run.employee_ids.includes(employee)) return 'out';
  const at = jobs.filter(([, rows]) => worksOn(rows, day)).map(([, rows]) => rows);
  const newest = facts.findLast((fact) => fact.employee_id === employee)?.employer_id;
  const isHere = at.length === 0 ? newest === run.employer_id : at.includes(own);
  if (!isHere) return 'left';
  const spell = spellOn(own, day);
  if (spell === undefined) return 'out';
  if (spell.end !== null && spell.end < run.period_start && !run.final_checks.includes(employee))
    return spellsOf(own).at(-1)?.start === spell.start ? 'left' : 'out';
  const [frequency, group] = [valueOn(own, 'pay_frequency', day), valueOn(own, 'pay_group', day)];
  if (run.pay_group !== null && group !== run.pay_group) return 'out';
  if (frequency !== null && frequency !== run.pay_frequency) return 'out';
  if (at.length > 1 || (frequency === null && schedules > 1)) return 'unclear';
  return 'in';
}

type ModelSpell = { start: string | null; end: string | null };

/** The spells of one employment, by its rows in order. */
function spellsOf(rows: readonly ModelFact[]): ModelSpell[] {
  const spells: ModelSpell[] = [];
  for (const { hire_date: hired, termination_date: ended, absent } of rows) {
    const last = spells.at(-1);
    const isKnown = spells.some(({ start }) => start === hired);
    if (last === undefined) {
      if (hired !== null || absent === 0) spells.push({ start: hired, end: null });
    } else if (hired !== null && !isKnown) {
      if (last.end !== null && hired > last.end) spells.push({ start: hired, end: null });
      else last.start = hired;
    }
    if (ended !== null) {
      const of = spells.findLast(({ start }) => start === null || start <= ended);
      if (of === undefined) spells.unshift({ start: null, end: ended });
      else of.end = ended;
    } else if (absent === 0) {
      const newest = spells.at(-1) as ModelSpell;
      if (newest.end !== null && newest.end < RECEIVED) newest.end = null;
    }
  }
  return spells;
}

function spellOn(rows: readonly ModelFact[], day: string): ModelSpell | undefined {
  return spellsOf(rows).findLast(({ start }) => start === null || start <= day);
}

/** What is in force of an attribute: every fact is a census's, so that A, B, A without dates leaves B out. */
function valueOn<K extends 'pay_frequency' | 'pay_group' | 'absent'>(
  rows: readonly ModelFact[],
  name: K,
  day: string,
): ModelFact[K] | null {
  const stated = rows.filter((row) => row[name] !== null);
  const isWrong = (index: number) => {
    const three = stated.slice(index - 1, index + 2);
    const [before, self, after] = three.map((row) => row[name]);
    const isUndated = three.every((row) => row.effective_on === null);
    return index > 0 && three.length === 3 && isUndated && before === after && before !== self;
  };
  const later = (one: string, other: string) => (one > other ? one : other);
  const order = stated
    .filter((_, index) => !isWrong(index))
    .map((row) => ({ value: row[name], from: row.effective_on ?? RECEIVED }))
    .map((row, index) => ({ ...row, key: `${later(row.from, RECEIVED)} ${String(index).padStart(4, '0')}` }))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  return (order.findLast(({ from }) => from <= day) ?? order[0])?.value ?? null;
}

function worksOn(rows: readonly ModelFact[], day: string): boolean {
  const spell = spellOn(rows, day);
  return (
    spell !== undefined && (spell.end === null || spell.end >= day) && valueOn(rows, 'absent', day) !== 1
  );
}

function greatest(versions: readonly ModelVersion[]): ModelVersion | null {
  return versions.reduce<ModelVersion | null>((best, one) => {
    if (best === null || one.sent > best.sent) return one;
    return one.sent === best.sent && one.position > best.position ? one : best;
  }, null);
}

/** What an employee pays of a deduction on the run's day. */
function effective(
  versions: readonly ModelVersion[],
  deduction: string,
  employee: string,
  run: Run,
): ModelVersion | null {
  const named = run.deductions ?? (run.kind === 'off_cycle' ? [] : null);
  if (named !== null && !named.includes(deduction)) return null;
  return effectiveOn(versions, deduction, employee, dayOf(run));
}

function effectiveOn(
  versions: readonly ModelVersion[],
  deduction: string,
  employee: string,
  day: string,
): ModelVersion | null {
  const state = greatest(
    versions.filter((one) => one.deduction === deduction && (one.start === null || one.start <= day)),
  );
  if (state === null || state.employee !== employee) return null;
  return state.end === null || state.end >= day ? state : null;
}

/** The pay dates of the run's year; null where nobody knows them. */
function datesOf(run: Run): readonly string[] | null {
  if (run.pay_dates !== null) return run.pay_dates;
  const days = { weekly: 7, biweekly: 14, semimonthly: null, monthly: null }[run.pay_frequency];
  if (days === null) return null;
  const dates: string[] = [];
  for (let step = -60; step <= 60; step += 1) {
    const date = new Date(Date.parse(run.pay_date) + step * days * DAY_MS).toISOString().slice(0, 10);
    if (date.slice(0, 4) === run.pay_date.slice(0, 4)) dates.push(date);
  }
  return dates;
}

/** Whether the pay dates are given. The worlds have a schedule of each date, biweekly first. */
function isListed({ schedules }: World, run: Run): boolean {
  return run.pay_dates !== null || schedules > (run.pay_frequency === 'biweekly' ? 0 : 1);
}

function centsOf(world: World, text: string, { period }: ModelVersion, run: Run): bigint {
  const dates = datesOf(run);
  if (run.kind === 'regular' && dates !== null) {
    const remainder = isListed(world, run) ? run.remainder : 'none';
    return expectedCents(text, period, { ...run, remainder }, dates);
  }
  const [numerator, denominator] = fraction(text);
  if (period === run.pay_frequency) return roundToCents([numerator, denominator]);
  const shared = dates === null ? CHECKS[run.pay_frequency] : Math.max(1, cycleDates(run, dates).length);
  const parts = BigInt(shared) * (run.scheme === 'annualized' ? 1n : 12n);
  return roundToCents([numerator * BigInt(CHECKS[period]), denominator * parts]);
}

function amountFlags(version: ModelVersion, run: Run): string[] {
  const flags: string[] = [];
  const isHalves =
    version.period === 'semimonthly' && run.pay_frequency === 'biweekly' && run.scheme === 'first-checks';
  if (version.period !== run.pay_frequency && version.period !== 'monthly' && !isHalves)
    flags.push('frequency_mismatch');
  if ([version.member, version.employer].some((text) => text.startsWith('-') && /[1-9]/.test(text)))
    flags.push('negative');
  return flags;
}

/** The first or last line of a deduction that is not in effect on all dates of the cycle. */
function isPartial(world: World, version: ModelVersion, employee: string, run: Run): boolean {
  const dates = datesOf(run);
  if (version.period === run.pay_frequency || run.kind === 'off_cycle' || dates === null) return false;
  const cycle = cycleDates(run, dates);
  const place = cycle.indexOf(run.pay_date);
  if (place === -1) return false;
  const covered = cycle.map((day) => effectiveOn(world.versions, version.deduction, employee, day) !== null);
  if (!covered.includes(false)) return false;
  return !covered.slice(0, place).includes(true) || !covered.slice(place + 1).includes(true);
}

const isZero = ({ member, employer }: ModelVersion) => !/[1-9]/.test(member) && !/[1-9]/.test(employer);

function linesNow(world: World, run: Run, employee: string, status: Status): ModelLine[] {
  if (status !== 'in') return [];
  const own = world.facts.filter(
    (fact) => fact.employee_id === employee && fact.employer_id === run.employer_id,
  );
  const ids = [...new Set(world.versions.map((version) => version.deduction))];
  const states = ids
    .map((id) => effective(world.versions, id, employee, run))
    .filter((state) => state !== null);
  return states.map((state): ModelLine => {
    const flags = amountFlags(state, run);
    if (isPartial(world, state, employee, run)) flags.push('partial_cycle');
    const isRival = (other: ModelVersion) =>
      other !== state && other.coverage === state.coverage && !isZero(other) && !isZero(state);
    if (states.some(isRival)) flags.push('overlap');
    const history = world.versions.filter((version) => version.deduction === state.deduction);
    if (greatest(history) !== state) flags.push('start_moved_later');
    const end = spellOn(own, run.period_end)?.end ?? null;
    const isEnded = end !== null && end <= run.period_end;
    if (isEnded && (state.end === null || state.end > run.period_end)) flags.push('open_after_termination');
    if (own.at(-1)?.absent === 1 && end === null) flags.push('absent_from_census');
    return {
      ...contentOf(state),
      kind: 'regular',
      of: null,
      member: centsOf(world, state.member, state, run),
      employer: centsOf(world, state.employer, state, run),
      change: null,
      previous: null,
      flags,
    };
  });
}

function contentOf({ employee, deduction, coverage, taxability }: ModelVersion) {
  return { employee, deduction, coverage, taxability };
}

function withChange(
  run: Run,
  finalized: readonly ModelRun[],
  employee: string,
  status: Status,
  now: readonly ModelLine[],
): ModelLine[] {
  const before = finalized
    .filter(({ run: one }) => one.kind === 'regular' && one.pay_frequency === run.pay_frequency)
    .filter(({ run: one }) => one.pay_group === run.pay_group && one.pay_date < run.pay_date)
    .sort((one, other) => (one.run.pay_date < other.run.pay_date ? -1 : 1))
    .at(-1);
  const old = (before?.lines ?? []).filter(
    (line) => line.employee === employee && line.kind === 'regular' && line.change !== 'ended',
  );
  const compared = now.map((line): ModelLine => {
    const was = old.find((one) => one.deduction === line.deduction);
    if (was === undefined) return { ...line, change: 'new' };
    const isSame =
      was.member === line.member &&
      was.employer === line.employer &&
      was.coverage === line.coverage &&
      was.taxability === line.taxability;
    return { ...line, change: isSame ? 'same' : 'changed', previous: was.member };
  });
  // A run that is narrowed says nothing of what it leaves out, nor an off-cycle one, nor one that can't tell.
  const isLeftOut = run.employee_ids !== null && !run.employee_ids.includes(employee);
  if (status === 'unclear' || run.kind === 'off_cycle' || isLeftOut) return compared;
  const ended = old
    .filter((line) => run.deductions === null || run.deductions.includes(line.deduction))
    .filter((line) => !now.some((one) => one.deduction === line.deduction))
    .map(
      (line): ModelLine => ({
        ...line,
        member: 0n,
        employer: 0n,
        change: 'ended',
        previous: line.member,
        flags: [],
      }),
    );
  return [...compared, ...ended];
}

type Pair = { member: bigint; employer: bigint };

/** What an employee should have paid of a deduction in a finalized run, by all that is known now. */
export function amountNow(world: World, of: ModelRun, employee: string, deduction: string): Pair {
  const state = effective(world.versions, deduction, employee, of.run);
  if (state === null) return { member: 0n, employer: 0n };
  return {
    member: centsOf(world, state.member, state, of.run),
    employer: centsOf(world, state.employer, state, of.run),
  };
}

/** What was finalized of it, with what later finalized runs have settled. */
export function amountDone(world: World, of: ModelRun, employee: string, deduction: string): Pair {
  const lines = world.runs
    .filter((one) => !one.voided)
    .flatMap((one) =>
      one.lines.filter((line) =>
        line.kind === 'regular'
          ? one.id === of.id
          : line.of === of.id && one.id !== of.id && !line.flags.includes('reported'),
      ),
    )
    .filter((line) => line.employee === employee && line.deduction === deduction);
  return {
    member: lines.reduce((sum, line) => sum + line.member, 0n),
    employer: lines.reduce((sum, line) => sum + line.employer, 0n),
  };
}

function adjustments(
  world: World,
  run: Run,
  finalized: readonly ModelRun[],
  employee: string,
  status: Status,
): ModelLine[] {
  if (status === 'unclear' || status === 'out') return [];
  const lines = finalized
    .filter((of) => of.roster.has(employee))
    .filter(({ run: one }) => [0, 1].includes(Number(run.pay_date.slice(0, 4)) - yearOf(one)))
    .filter(
      ({ run: one }) =>
        status === 'in' || (one.pay_frequency === run.pay_frequency && one.pay_group === run.pay_group),
    )
    .flatMap((of) => adjustmentsOf(world, run, of, employee));
  return lines.map((line): ModelLine => {
    const flags = new Set(line.flags);
    const isOfNet = (one: ModelLine) =>
      one.taxability === 'pre_tax' &&
      one.coverage === line.coverage &&
      !one.flags.includes('start_moved_later') &&
      one.flags.includes('prior_year') === line.flags.includes('prior_year');
    const net = lines.filter(isOfNet).reduce((sum, one) => sum + one.member, 0n);
    if (isOfNet(line) && net > 0n) flags.add('retro_pre_tax');
    if (isOfNet(line) && net < 0n) flags.add('retro_refund');
    if (status === 'left') flags.add('no_further_paycheck');
    if (run.adjustments === 'report' || REPORTED.some((flag) => flags.has(flag))) flags.add('reported');
    return { ...line, flags: [...flags] };
  });
}

const REPORTED = ['no_further_paycheck', 'prior_year', 'start_moved_later'];

const yearOf = (run: Run) => Number(run.pay_date.slice(0, 4));

function adjustmentsOf(world: World, run: Run, of: ModelRun, employee: string): ModelLine[] {
  const seen = world.runs.flatMap((one) => one.lines).map(({ deduction }) => deduction);
  const ids = new Set([...world.versions.map((version) => version.deduction), ...seen]);
  const isPrior = yearOf(of.run) !== yearOf(run) ? ['prior_year'] : [];
  return [...ids]
    .filter((deduction) => run.deductions === null || run.deductions.includes(deduction))
    .flatMap((deduction): ModelLine[] => {
      const history = world.versions.filter((version) => version.deduction === deduction);
      const state = effective(world.versions, deduction, employee, of.run);
      const latest = greatest(history);
      const [now, done] = [
        amountNow(world, of, employee, deduction),
        amountDone(world, of, employee, deduction),
      ];
      const lines: ModelLine[] = [];
      const linked = { kind: 'adjustment', of: of.id, change: null, previous: null } as const;
      if (now.member !== done.member || now.employer !== done.employer) {
        lines.push({
          ...(state === null ? lastLineOf(world, of, employee, deduction) : contentOf(state)),
          ...linked,
          member: now.member - done.member,
          employer: now.employer - done.employer,
          flags: [...(state === null ? [] : amountFlags(state, of.run)), ...isPrior],
        });
      }
      const isMoved =
        state !== null && latest !== null && latest.position > of.position && mayReplace(latest, state);
      if (isMoved && (now.member !== 0n || now.employer !== 0n)) {
        lines.push({
          ...contentOf(state),
          ...linked,
          member: -now.member,
          employer: -now.employer,
          flags: ['start_moved_later', ...isPrior],
        });
      }
      return lines;
    });
}

/** Whether a later version may mean that the state never was: not one that announces other amounts ahead. */
function mayReplace(latest: ModelVersion, state: ModelVersion): boolean {
  if (latest === state) return false;
  const day = latest.sent.slice(0, 10);
  const isAhead = (latest.start as string) >= day && (state.start === null || state.start <= day);
  const isOther =
    latest.period !== state.period ||
    !isEqual(latest.member, state.member) ||
    !isEqual(latest.employer, state.employer);
  return !(isAhead && isOther);
}

function isEqual(one: string, other: string): boolean {
  const [[above, below], [aboveToo, belowToo]] = [fraction(one), fraction(other)];
  return above * belowToo === aboveToo * below;
}

/** What the deduction was when it was taken in the run, or else when it was last settled. */
function lastLineOf(world: World, of: ModelRun, employee: string, deduction: string) {
  const isOf = (line: ModelLine) => line.employee === employee && line.deduction === deduction;
  const own = of.lines.find((line) => line.kind === 'regular' && isOf(line));
  const settling = world.runs
    .filter((one) => !one.voided)
    .sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1))
    .flatMap((one) => one.lines)
    .findLast((line) => line.kind === 'adjustment' && line.of === of.id && isOf(line) && isTaken(line));
  const line = (own ?? settling) as ModelLine;
  return { employee, deduction, coverage: line.coverage, taxability: line.taxability };
}

const placeOf = ({ id, run }: ModelRun) => `${run.pay_date} ${id}`;
const isTaken = (line: ModelLine) => !line.flags.includes('reported');

/** A line as a text that compares. */
export function printed(line: ModelLine): string {
  const { employee, deduction, coverage, taxability, kind, of, member, employer, change, previous, flags } =
    line;
  const amounts = [member, employer, previous].map((cents) => (cents === null ? null : dollars(cents)));
  return JSON.stringify([
    employee,
    deduction,
    coverage,
    taxability,
    kind,
    of,
    ...amounts,
    change,
    flags.toSorted(),
  ]);
}
