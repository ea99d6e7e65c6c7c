/**
 * Payroll runs in their simplest form: every line is computed from all facts, versions and runs in memory. The
 * real runs must agree with it. It shares only the body of a run with them and, through oracle.ts, nothing else.
 */
import type { PayFrequency } from '../../../src/contract/employee.ts';
import type { FactSource } from '../../../src/ledger/roster.ts';
import type { Run } from '../../../src/payroll/records/body.ts';
import {
  cycleDates,
  dollars,
  expectedCents,
  expectedTotal,
  fraction,
  roundToCents,
} from '../calculation/oracle.ts';
import type { ModelItemDecision, ModelOpening } from './model-items.ts';

/** A report of the roster. Null means not stated. */
export type ModelFact = {
  position: number;
  source: FactSource['source'];
  /** The date of receipt. */
  received: string;
  employee_id: string;
  employer_id: string;
  hire_date: string | null;
  termination_date: string | null;
  pay_frequency: string | null;
  pay_group: string | null;
  absent: 0 | 1 | null;
  effective_on: string | null;
};

/** The contents of an election. */
export type Election = {
  coverage: string;
  coverageType: string | null;
  taxability: string;
  period: PayFrequency;
  member: string;
  employer: string;
};

export type ModelVersion = Election & {
  position: number;
  deduction: string;
  employee: string;
  start: string | null;
  end: string | null;
  /** The event time. */
  sent: string;
};

/** An operator's decision on the version at position `of`, whose start was moved before it began. */
export type ModelDecision = { position: number; of: number; decision: 'keep' | 'drop' };

/** An assignment of a deduction to an employer, which counts from the pay period of `from` on. */
export type ModelAssignment = { position: number; deduction: string; employer: string; from: string };

export type Pair = { member: bigint; employer: bigint };

export type ModelLine = Pair & {
  employee: string;
  deduction: string;
  election: Election;
  kind: 'regular' | 'adjustment' | 'arrears';
  /** The run or opening item whose item a line takes. */
  of: string | null;
  /** The kind of that item, and the employee's amount that the line leaves of it. */
  item: string | null;
  left: bigint | null;
  change: string | null;
  /** The ended deduction that a `replaced` one is compared with. */
  replaces: string | null;
  amountChange: string | null;
  /** The differences from the previous run's amounts; null without one. */
  differences: Pair | null;
  flags: string[];
  /** The pay dates whose shares a final check took. */
  shares: readonly string[] | null;
};

export type ModelRun = {
  id: string;
  run: Run;
  voided: boolean;
  roster: ReadonlySet<string>;
  /** The employees who were active with two employers by the facts of the run. */
  shared: ReadonlySet<string>;
  lines: readonly ModelLine[];
  /** Amounts that a person set, by employee and deduction. */
  overrides: ReadonlyMap<string, Pair>;
  /** The number of decisions on open items that the run knew. */
  decisions: number;
};

/** The amount that payroll took of a line of a run, by one report. */
export type ModelTaken = { run: string; employee: string; line: string; amount: bigint };

export type World = {
  facts: readonly ModelFact[];
  versions: readonly ModelVersion[];
  decisions: readonly ModelDecision[];
  assignments: readonly ModelAssignment[];
  /** All finalized runs, including voided ones. */
  runs: readonly ModelRun[];
  /** In order of the reports. */
  taken: readonly ModelTaken[];
  openings: readonly ModelOpening[];
  /** In the order made. */
  itemDecisions: readonly ModelItemDecision[];
  /** The number of the employer's pay schedules: a biweekly one, then a weekly one. */
  schedules: number;
};

const DAY_MS = 86_400_000;
const CHECKS: Record<PayFrequency, number> = { monthly: 12, semimonthly: 24, biweekly: 26, weekly: 52 };
const NOTHING: Pair = { member: 0n, employer: 0n };

type Status =
  | 'in'
  | 'other_employer'
  | 'terminated'
  | 'not_hired_yet'
  | 'unknown_frequency'
  | 'other_frequency'
  | 'unknown_pay_group'
  | 'other_pay_group'
  | 'not_selected';

/** "Who is in a run": the first reason why an employee is not in it, or `in`. */
export function statusOf(world: World, run: Run, employee: string): Status {
  const day = run.period_end;
  const jobs = jobsOf(world, employee);
  const own = jobs.get(run.employer_id);
  if (own === undefined) return 'other_employer';
  const active = [...jobs.values()].filter((facts) => isActive(facts, day));
  if (active.length === 0 ? leftLast(jobs, day) !== run.employer_id : !active.includes(own))
    return 'other_employer';
  const spell = spellOn(own, day);
  if (spell === undefined) return 'not_hired_yet';
  if (isOver(spell, run, employee)) return 'terminated';
  const frequency = valueOn(own, 'pay_frequency', day);
  const group = valueOn(own, 'pay_group', day);
  if (frequency === null && world.schedules > 1) return 'unknown_frequency';
  if (frequency !== null && frequency !== run.pay_frequency) return 'other_frequency';
  if (run.pay_group !== null && group === null) return 'unknown_pay_group';
  if (run.pay_group !== null && group !== run.pay_group) return 'other_pay_group';
  return run.employee_ids?.includes(employee) === false ? 'not_selected' : 'in';
}

/** Reports whether the employee is active with two employers on the last day of the run's period. */
export function isShared(world: Pick<World, 'facts'>, run: Run, employee: string): boolean {
  const jobs = [...jobsOf(world, employee).values()];
  return jobs.filter((facts) => isActive(facts, run.period_end)).length >= 2;
}

/** Implements "One person, two employers": returns the employer to which a deduction is assigned, if any. */
function assignedTo(world: World, run: Run, deduction: string): string | undefined {
  const counting = world.assignments.filter(
    (one) => one.deduction === deduction && one.from <= run.period_end,
  );
  return counting.sort((one, other) => one.position - other.position).at(-1)?.employer;
}

/** Returns why an assignment on a day is refused: the runs that took the deduction since; null if it is not. */
export function refusalOf(
  world: World,
  { deduction, employer, from }: Omit<ModelAssignment, 'position'>,
  today: string,
): 'unknown' | 'not-employed' | string[] | null {
  const latest = orderOf(world, deduction).at(-1);
  if (latest === undefined) return 'unknown';
  const job = jobsOf(world, latest.employee).get(employer) ?? [];
  const until = from > today ? from : today;
  if (!spellsOf(job).some(({ start }) => start === null || start <= until)) return 'not-employed';
  const took = world.runs.filter(({ voided, run, lines }) => {
    if (voided || run.period_end < from) return false;
    return lines.some((line) => line.deduction === deduction && !isStopped(line));
  });
  return took.length === 0 ? null : took.map(({ id }) => id).sort();
}

/** Returns the employer that the employee left last, as of a day, or else the employer with the newest report. */
function leftLast(jobs: ReadonlyMap<string, readonly ModelFact[]>, day: string): string | undefined {
  const ends = [...jobs].map(([employer, facts]) => {
    const spell = spellOn(facts, day);
    const absence = facts.findLast(
      (fact) => fact.absent === 1 && (fact.effective_on ?? fact.received) <= day,
    );
    const end = spell?.end ?? absence?.effective_on ?? absence?.received ?? '';
    return { employer, end: spell === undefined ? '' : end, position: facts.at(-1)?.position ?? 0 };
  });
  ends.sort((one, other) => compare(one.end, other.end) || one.position - other.position);
  return ends.at(-1)?.employer;
}

/** Reports whether an employment ended before the pay period without a final check in the run. */
function isOver({ end }: ModelSpell, run: Run, employee: string): boolean {
  return end !== null && end < run.period_start && sharesStated(run, employee) === null;
}

/** Reports whether the employee left the employer permanently, so that no later check can adjust anything. */
export function isGone(world: World, run: Run, employee: string): boolean {
  if (!['other_employer', 'terminated'].includes(statusOf(world, run, employee))) return false;
  const own = jobsOf(world, employee).get(run.employer_id) ?? [];
  return !spellsOf(own).some(({ start }) => start !== null && start > run.period_end);
}

function jobsOf(world: Pick<World, 'facts'>, employee: string): Map<string, ModelFact[]> {
  const own = world.facts.filter((fact) => fact.employee_id === employee);
  return Map.groupBy(own, (fact) => fact.employer_id);
}

type ModelSpell = { start: string | null; end: string | null };

/** Returns the employments with one employer from its reports in order. */
function spellsOf(facts: readonly ModelFact[]): ModelSpell[] {
  const spells: ModelSpell[] = [];
  for (const { hire_date: hired, termination_date: ended, absent, source, received } of facts) {
    const last = spells.at(-1);
    const isListed = source === 'census' && absent === 0;
    const isKnown = spells.some(({ start }) => start === hired);
    if (last === undefined) {
      if (hired !== null || isListed) spells.push({ start: hired, end: null });
    } else if (hired !== null && !isKnown) {
      const of = spells.find(({ end }) => end === null || hired <= end);
      if (of === undefined) spells.push({ start: hired, end: null });
      else of.start = hired;
    }
    if (ended !== null) {
      const of = spells.findLast(({ start }) => start === null || start <= ended);
      if (of === undefined) spells.unshift({ start: null, end: ended });
      else of.end = ended;
    } else if (isListed) {
      const newest = spells.at(-1) as ModelSpell;
      if (newest.end !== null && newest.end < received) newest.end = null;
    }
  }
  return spells;
}

function spellOn(facts: readonly ModelFact[], day: string): ModelSpell | undefined {
  return spellsOf(facts).findLast(({ start }) => start === null || start <= day);
}

/** Implements "Roster facts have dates": returns the value of an attribute in effect on a day. */
function valueOn<K extends 'pay_frequency' | 'pay_group' | 'absent'>(
  facts: readonly ModelFact[],
  name: K,
  day: string,
): ModelFact[K] | null {
  const stated = facts.filter((fact) => fact[name] !== null);
  const census = stated.filter(({ source }) => source === 'census');
  const isWrong = (fact: ModelFact) => {
    const place = census.indexOf(fact);
    if (place < 1 || place === census.length - 1) return false;
    const three = census.slice(place - 1, place + 2);
    const [before, , after] = three.map((one) => one[name]);
    const isUndated = three.every((one) => one.effective_on === null);
    return isUndated && before === after && before !== fact[name];
  };
  const startOf = (fact: ModelFact) => fact.effective_on ?? fact.received;
  const orderOf = (fact: ModelFact) => (startOf(fact) > fact.received ? startOf(fact) : fact.received);
  // The sort is stable, so that facts of one date stay in order of position.
  const order = stated
    .filter((fact) => !isWrong(fact))
    .sort((one, other) => compare(orderOf(one), orderOf(other)));
  return (order.findLast((fact) => startOf(fact) <= day) ?? order[0])?.[name] ?? null;
}

function isActive(facts: readonly ModelFact[], day: string): boolean {
  const spell = spellOn(facts, day);
  if (spell === undefined || (spell.end !== null && spell.end < day)) return false;
  return valueOn(facts, 'absent', day) !== 1;
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

/**
 * Implements "Corrected starts": returns the versions of a deduction that apply, by event time and position.
 */
export function countingOf(world: World, deduction: string): ModelVersion[] {
  const versions = remainingOf(world, deduction);
  return versions.filter((version, place) => {
    const next = versions[place + 1];
    if (next === undefined || !isMoved(version, next)) return true;
    if (isSameElection(version, next)) return false;
    return world.decisions.findLast(({ of }) => of === version.position)?.decision !== 'drop';
  });
}

/** Returns the versions of a deduction by event time and position. */
function orderOf(world: Pick<World, 'versions'>, deduction: string): ModelVersion[] {
  return world.versions
    .filter((version) => version.deduction === deduction)
    .sort((one, other) => compare(one.sent, other.sent) || one.position - other.position);
}

/** Returns the versions that are not followed by one with the same, an earlier or no start. */
function remainingOf(world: World, deduction: string): ModelVersion[] {
  const order = orderOf(world, deduction);
  return order.filter(
    (version, place) => !order.slice(place + 1).some((later) => startOf(later) <= startOf(version)),
  );
}

/** Returns the versions with a start moved together with other contents, which an operator decides on. */
export function ambiguousVersions(world: World): ModelVersion[] {
  return deductionsOf(world).flatMap((deduction) => {
    const versions = remainingOf(world, deduction);
    return versions.filter((version, place) => {
      const next = versions[place + 1];
      return next !== undefined && isMoved(version, next) && !isSameElection(version, next);
    });
  });
}

/** Returns the start of a version. A version without one starts before every day. */
export function startOf({ start }: ModelVersion): string {
  return start ?? '';
}

/** Reports whether the next version moved a start that had not begun. Two separate windows both apply. */
function isMoved(version: ModelVersion, next: ModelVersion): boolean {
  if (version.end !== null && version.end < startOf(next)) return false;
  if (next.end !== null && next.end < startOf(next)) return false;
  return next.sent.slice(0, 10) < startOf(version);
}

function isSameElection(one: Election, other: Election): boolean {
  return (
    isEqual(one.member, other.member) &&
    isEqual(one.employer, other.employer) &&
    one.period === other.period &&
    one.taxability === other.taxability &&
    one.coverage === other.coverage &&
    one.coverageType === other.coverageType
  );
}

function isEqual(one: string, other: string): boolean {
  const [[above, below], [aboveToo, belowToo]] = [fraction(one), fraction(other)];
  return above * belowToo === aboveToo * below;
}

/** Returns the state of a deduction on a day, if it is in effect for the employee. */
function stateOn(world: World, deduction: string, employee: string, day: string): ModelVersion | null {
  const state = countingOf(world, deduction).findLast((version) => startOf(version) <= day);
  if (state === undefined || state.employee !== employee) return null;
  return state.end === null || state.end >= day ? state : null;
}

/** Returns the state of a deduction that a run takes. `shared`: the employee is active with two employers. */
function stateIn(
  world: World,
  run: Run,
  employee: string,
  deduction: string,
  shared: boolean,
): ModelVersion | null {
  const assigned = assignedTo(world, run, deduction);
  if (assigned === undefined ? shared : assigned !== run.employer_id) return null;
  const named = run.deductions ?? (run.kind === 'off_cycle' ? [] : null);
  if (named?.includes(deduction) === false) return null;
  return stateOn(world, deduction, employee, run[run.applies_on]);
}

/** Returns the pay dates of the run's year, or null if they are unknown. */
function datesOf(run: Run): readonly string[] | null {
  if (run.pay_dates !== null) return run.pay_dates;
  const days = { weekly: 7, biweekly: 14, semimonthly: null, monthly: null }[run.pay_frequency];
  return days === null ? null : steppedDates(run.pay_date, days);
}

const stepped = new Map<string, readonly string[]>();

/** Returns the dates in the year of a pay date, in steps of days both ways. The model asks for them most of the time. */
function steppedDates(payDate: string, days: number): readonly string[] {
  const key = `${payDate} ${days}`;
  const known = stepped.get(key);
  if (known !== undefined) return known;
  const dates = Array.from({ length: 121 }, (_, index) =>
    new Date(Date.parse(payDate) + (index - 60) * days * DAY_MS).toISOString().slice(0, 10),
  ).filter((date) => date.slice(0, 4) === payDate.slice(0, 4));
  stepped.set(key, dates);
  return dates;
}

/** Reports whether the pay dates are given. The schedules of the worlds have the stepped dates. */
function isListed({ schedules }: World, run: Run): boolean {
  return run.pay_dates !== null || schedules > (run.pay_frequency === 'biweekly' ? 0 : 1);
}

/** Returns how many shares the final check of an employee takes; null without one. */
export function sharesStated(run: Run, employee: string): number | null {
  for (const entry of run.final_checks) {
    if (entry === employee) return 1;
    if (typeof entry !== 'string' && entry.employee_id === employee)
      return entry.shares === 'all' ? 999 : entry.shares;
  }
  return null;
}

/** Returns the termination that a run knows of, or null. */
export function endOfJob(
  world: Pick<World, 'facts'>,
  run: Pick<Run, 'employer_id' | 'period_end'>,
  employee: string,
): string | null {
  return spellOn(jobsOf(world, employee).get(run.employer_id) ?? [], run.period_end)?.end ?? null;
}

/** The amounts of a check for a deduction. */
type Taken = Pair & { election: ModelVersion; flags: string[]; shares: string[] | null };

/** The regular check of the run's calendar on a pay date. The periods of the worlds' schedules end on the pay dates. */
function checkOn(run: Run, date: string): Run {
  if (run.kind === 'regular' && run.pay_date === date) return run;
  return { ...run, kind: 'regular', pay_date: date, period_end: date, deductions: null };
}

function isTakenBy({ lines }: ModelRun, employee: string, deduction: string, date: string): boolean {
  return lines.some(
    (line) =>
      line.kind === 'regular' &&
      line.employee === employee &&
      line.deduction === deduction &&
      line.shares?.includes(date),
  );
}

/** Implements "remaining dates". `others`: all other runs. */
function remainingDates(
  world: World,
  run: Run,
  others: readonly ModelRun[],
  employee: string,
  deduction: string,
  shared: boolean,
): string[] {
  const end = endOfJob(world, run, employee);
  if (end === null || (run.kind === 'off_cycle' && !run.deductions?.includes(deduction))) return [];
  const counting = others.filter(({ voided }) => !voided);
  return (datesOf(run) ?? []).filter((date) => {
    const state =
      date < run.pay_date ? null : stateIn(world, checkOn(run, date), employee, deduction, shared);
    if (state === null) return false;
    if (date.slice(0, 7) > end.slice(0, 7) && (state.end === null || state.end < date)) return false;
    return !counting.some(
      (other) =>
        (other.run.kind === 'regular' && other.run.pay_date === date && other.roster.has(employee)) ||
        isTakenBy(other, employee, deduction, date),
    );
  });
}

/** Returns the sum of the amounts on pay dates; null if the deduction is in effect on none. */
function sharesOn(
  world: World,
  run: Run,
  dates: readonly string[],
  employee: string,
  deduction: string,
  shared: boolean,
): Taken | null {
  const checks = dates.flatMap((date) => {
    const check = checkOn(run, date);
    const state = stateIn(world, check, employee, deduction, shared);
    return state === null ? [] : [{ date, check, state }];
  });
  const [first] = checks;
  if (first === undefined) return null;
  return {
    election: first.state,
    ...sumOf(checks.map(({ check, state }) => amountsOf(world, check, employee, state))),
    flags: [...new Set(checks.flatMap(({ check, state }) => amountFlags(world, check, employee, state)))],
    shares: checks.map(({ date }) => date),
  };
}

/** Returns what a run takes of a deduction. `before`: the end of the dates of its shares. */
function takenIn(
  world: World,
  run: Run,
  others: readonly ModelRun[],
  employee: string,
  deduction: string,
  shared: boolean,
  before = '9999',
): Taken | null {
  const state = stateIn(world, run, employee, deduction, shared);
  const isTaken = others.some(
    (other) => !other.voided && isTakenBy(other, employee, deduction, run.pay_date),
  );
  const zero =
    state !== null && isTaken && run.kind === 'regular'
      ? { election: state, ...NOTHING, flags: ['share_taken'], shares: null }
      : null;
  const stated = sharesStated(run, employee);
  const hasShares = run.kind === 'off_cycle' || endOfJob(world, run, employee) !== null;
  if (stated !== null && hasShares && isListed(world, run) && datesOf(run) !== null) {
    const dates = remainingDates(world, run, others, employee, deduction, shared).filter(
      (date) => date < before,
    );
    return sharesOn(world, run, dates.slice(0, stated), employee, deduction, shared) ?? zero;
  }
  if (state === null || zero !== null) return zero;
  const flags = amountFlags(world, run, employee, state);
  return { election: state, ...amountsOf(world, run, employee, state), flags, shares: null };
}

/** Returns the amounts that a person set for a deduction in a run; null if none were. */
function overridden(
  world: World,
  run: Run,
  overrides: ModelRun['overrides'],
  employee: string,
  deduction: string,
): Taken | null {
  const amounts = overrides.get(`${employee} ${deduction}`);
  if (amounts === undefined) return null;
  const isOwn = (version: ModelVersion) => version.employee === employee;
  const state = countingOf(world, deduction).findLast((version) => startOf(version) <= run[run.applies_on]);
  const election = state !== undefined && isOwn(state) ? state : orderOf(world, deduction).findLast(isOwn);
  if (election === undefined) return null;
  const isNegative = amounts.member < 0n || amounts.employer < 0n;
  return { election, ...amounts, flags: ['overridden', ...(isNegative ? ['negative'] : [])], shares: null };
}

/** Implements "Amounts": returns the amount that a run takes of an employee's election, in cents. */
function amountsOf(world: World, run: Run, employee: string, election: Election): Pair {
  if (isCompleteElection(world, run, employee, election)) return NOTHING;
  const [member, employer] = [election.member, election.employer].map((text) =>
    centsOf(world, run, text, election.period),
  ) as [bigint, bigint];
  return { member, employer };
}

const ANNUAL = ['healthcare_fsa', 'limited_purpose_fsa', 'dependent_care_fsa'];

/** Reports whether a check follows all contributions of an FSA whose coverage began with the year. */
function isCompleteElection(world: World, run: Run, employee: string, { coverage, period }: Election) {
  const dates = datesOf(run);
  if (!ANNUAL.includes(coverage) || period !== run.pay_frequency || run.kind !== 'regular') return false;
  if (dates === null || !isListed(world, run)) return false;
  if (dates.indexOf(run.pay_date) < CHECKS[period]) return false;
  // The periods of the worlds' schedules end on the pay dates.
  const first = dates[0] as string;
  return deductionsOf(world).some(
    (deduction) => stateOn(world, deduction, employee, first)?.coverage === coverage,
  );
}

function centsOf(world: World, run: Run, text: string, period: PayFrequency): bigint {
  const dates = datesOf(run);
  if (run.kind === 'regular' && dates !== null) {
    const remainder = isListed(world, run) ? run.remainder : 'none';
    return expectedCents(text, period, { ...run, remainder }, dates);
  }
  const [numerator, denominator] = fraction(text);
  if (period === run.pay_frequency) return roundToCents([numerator, denominator]);
  const parts = BigInt(Math.max(1, checksOf(run))) * (run.scheme === 'annualized' ? 1n : 12n);
  return roundToCents([numerator * BigInt(CHECKS[period]), denominator * parts]);
}

/** Returns N. */
function checksOf(run: Run): number {
  const dates = datesOf(run);
  return dates === null ? CHECKS[run.pay_frequency] : cycleDates(run, dates).length;
}

function amountFlags(world: World, run: Run, employee: string, election: Election): string[] {
  const { period } = election;
  const isHalves =
    period === 'semimonthly' && run.pay_frequency === 'biweekly' && run.scheme === 'first-checks';
  const { member, employer } = amountsOf(world, run, employee, election);
  return [
    ...(period !== run.pay_frequency && period !== 'monthly' && !isHalves ? ['frequency_mismatch'] : []),
    ...(member < 0n || employer < 0n ? ['negative'] : []),
  ];
}

/** Reports whether it is the first or last line of a deduction that is not in effect on all dates of the cycle. */
function isPartial(world: World, run: Run, version: ModelVersion): boolean {
  const dates = datesOf(run);
  if (version.period === run.pay_frequency || run.kind === 'off_cycle' || dates === null) return false;
  const cycle = cycleDates(run, dates);
  const place = cycle.indexOf(run.pay_date);
  if (place === -1) return false;
  const covered = cycle.map((day) => stateOn(world, version.deduction, version.employee, day) !== null);
  if (!covered.includes(false)) return false;
  return !covered.slice(0, place).includes(true) || !covered.slice(place + 1).includes(true);
}

export function deductionsOf(world: World): string[] {
  return [...new Set(world.versions.map(({ deduction }) => deduction))];
}

function isZero({ member, employer }: Election): boolean {
  return isEqual(member, '0') && isEqual(employer, '0');
}

/** Returns the lines of the deductions in effect and of deductions that only the previous run had. */
export function regularLines(
  world: World,
  run: Run,
  runs: readonly ModelRun[],
  employee: string,
  overrides: ModelRun['overrides'],
): ModelLine[] {
  const status = statusOf(world, run, employee);
  const previous = previousOf(run, runs);
  const old = (previous?.lines ?? []).filter(
    (line) => line.employee === employee && line.kind === 'regular' && !isStopped(line),
  );
  const taken =
    status === 'in'
      ? deductionsOf(world)
          .map(
            (deduction) =>
              overridden(world, run, overrides, employee, deduction) ??
              takenIn(world, run, runs, employee, deduction, isShared(world, run, employee)),
          )
          .filter((one) => one !== null)
      : [];
  const lines = taken.map((one) => lineOf(world, run, runs, one, taken));
  const compared = lines.map((line) => {
    const was = old.find((one) => one.deduction === line.deduction);
    const change =
      was === undefined ? 'new' : isSameElection(was.election, line.election) ? 'same' : 'changed';
    return withAmountChange(run, previous, was, { ...line, change });
  });
  // An off-cycle run ends nothing, nor does a run that can't tell whether the employee belongs to it.
  const isUnclear = ['unknown_frequency', 'unknown_pay_group', 'not_selected'].includes(status);
  if (run.kind === 'off_cycle' || isUnclear) return compared;
  const hasLeft = hasMoved(world, run, employee, status);
  const gone = old
    .filter((line) => !lines.some((one) => one.deduction === line.deduction))
    .flatMap((line) => {
      const assigned = assignedTo(world, run, line.deduction);
      const isInEffect = stateOn(world, line.deduction, employee, run[run.applies_on]) !== null;
      // A deduction of two jobs that is not assigned yet has not ended.
      if (status === 'in' && isInEffect && assigned === undefined && isShared(world, run, employee))
        return [];
      const isElsewhere = isInEffect && assigned !== undefined && assigned !== run.employer_id;
      return [{ was: line, change: hasLeft || isElsewhere ? 'moved' : 'ended' }];
    });
  // The worlds have no payroll codes.
  const replacing = compared.map((line) => {
    const isOfCoverage = (one: ModelLine) => one.election.coverage === line.election.coverage;
    const began = compared.filter((one) => one.change === 'new' && isOfCoverage(one));
    const [ended, ...others] = gone.filter(({ was, change }) => change === 'ended' && isOfCoverage(was));
    if (line.change !== 'new' || began.length > 1 || ended === undefined || others.length > 0) return line;
    const { was } = ended;
    if (was.election.taxability !== line.election.taxability) return line;
    return withAmountChange(run, previous, was, { ...line, change: 'replaced', replaces: was.deduction });
  });
  const stopped = gone
    .filter(({ was }) => !replacing.some(({ replaces }) => replaces === was.deduction))
    .map(({ was, change }) =>
      withAmountChange(run, previous, was, {
        ...was,
        ...NOTHING,
        change,
        replaces: null,
        shares: null,
        flags: [],
      }),
    );
  return [...replacing, ...stopped];
}

function isStopped({ change }: ModelLine): boolean {
  return change === 'ended' || change === 'moved';
}

/** Reports whether the employee left the run's frequency, group or employer for another one. */
function hasMoved(world: World, run: Run, employee: string, status: Status): boolean {
  if (status === 'other_employer') return jobsOf(world, employee).has(run.employer_id);
  return status === 'other_frequency' || status === 'other_pay_group';
}

/** Returns the previous finalized regular run of the same frequency and group. */
function previousOf(run: Run, runs: readonly ModelRun[]): ModelRun | undefined {
  return runs
    .filter(({ voided, run: one }) => !voided && one.kind === 'regular')
    .filter(({ run: one }) => one.pay_frequency === run.pay_frequency && one.pay_group === run.pay_group)
    .filter(({ run: one }) => one.pay_date < run.pay_date)
    .sort((one, other) => compare(one.run.pay_date, other.run.pay_date))
    .at(-1);
}

function lineOf(
  world: World,
  run: Run,
  runs: readonly ModelRun[],
  taken: Taken,
  all: readonly Taken[],
): ModelLine {
  const { election: state, member, employer, shares } = taken;
  const flags = [...taken.flags];
  const checks = (shares ?? [run.pay_date]).map((date) => checkOn(run, date));
  const isOverridden = flags.includes('overridden');
  if (!isOverridden && (shares === null ? [run] : checks).some((check) => isPartial(world, check, state)))
    flags.push('partial_cycle');
  const isRival = ({ election: other }: Taken) =>
    other !== state && other.coverage === state.coverage && !isZero(other) && !isZero(state);
  if (all.some(isRival)) flags.push('overlap');
  if (isFirstAfterMove(world, run, runs, state.employee)) flags.push('frequency_moved');
  return {
    employee: state.employee,
    deduction: state.deduction,
    election: state,
    member,
    employer,
    shares,
    kind: 'regular',
    of: null,
    item: null,
    left: null,
    change: null,
    replaces: null,
    amountChange: null,
    differences: null,
    flags: [...flags, ...rosterFlags(world, run, runs, taken)],
  };
}

/** The first dates of both stepped schedules in each year of the worlds. */
const FIRST_DATES = ['2025-01-03', '2026-01-02', '2027-01-01'];

/**
 * Reports whether a run is the employee's first one after a change of frequency that leaves more or less than a year of
 * checks. The periods of the worlds' schedules end on the pay dates.
 */
function isFirstAfterMove(world: World, run: Run, runs: readonly ModelRun[], employee: string): boolean {
  const { kind, scheme, pay_dates, pay_frequency, pay_date, period_end } = run;
  if (kind !== 'regular' || scheme !== 'annualized' || pay_dates !== null || world.schedules < 2)
    return false;
  const facts = jobsOf(world, employee).get(run.employer_id) ?? [];
  const first = FIRST_DATES.find((date) => date.slice(0, 4) === pay_date.slice(0, 4)) as string;
  const datesPaid = (frequency: string, dates: readonly string[]) =>
    dates.filter((date) => valueOn(facts, 'pay_frequency', date) === frequency);
  const [allBiweekly, allWeekly] = [steppedDates(first, 14), steppedDates(first, 7)];
  const [biweekly, weekly] = [datesPaid('biweekly', allBiweekly), datesPaid('weekly', allWeekly)];
  const [shares, wholeYear] = [
    biweekly.length * allWeekly.length + weekly.length * allBiweekly.length,
    allWeekly.length * allBiweekly.length,
  ];
  const elsewhere = (pay_frequency === 'weekly' ? biweekly : weekly)
    .filter((date) => date < period_end)
    .at(-1);
  if (elsewhere === undefined || shares === wholeYear) return false;
  return !runs.some(
    (earlier) =>
      !earlier.voided &&
      earlier.run.kind === 'regular' &&
      earlier.run.pay_frequency === pay_frequency &&
      earlier.run.period_end > elsewhere &&
      earlier.run.pay_date < pay_date &&
      earlier.roster.has(employee),
  );
}

function rosterFlags(
  world: World,
  run: Run,
  runs: readonly ModelRun[],
  { election: { employee, deduction, end }, shares }: Taken,
): string[] {
  const own = jobsOf(world, employee).get(run.employer_id) ?? [];
  const termination = spellOn(own, run.period_end)?.end ?? null;
  if (termination === null) {
    const isAbsent = own.findLast(({ absent }) => absent !== null)?.absent === 1;
    return isAbsent ? ['absent_from_census'] : [];
  }
  if (termination > run.period_end && sharesStated(run, employee) === null) return [];
  const isOpen = end === null || end.slice(0, 7) > termination.slice(0, 7);
  const isLeft = remainingDates(world, run, runs, employee, deduction, isShared(world, run, employee)).some(
    (date) => !shares?.includes(date) && !(run.kind === 'regular' && date === run.pay_date),
  );
  return [...(isOpen ? ['open_after_termination'] : []), ...(isLeft ? ['coverage_beyond_last_check'] : [])];
}

/** Implements "Change against the previous run": returns why the amounts differ. */
function withAmountChange(
  run: Run,
  previous: ModelRun | undefined,
  was: ModelLine | undefined,
  line: ModelLine,
): ModelLine {
  if (previous === undefined) return { ...line, amountChange: null, differences: null };
  const before = was ?? NOTHING;
  const differences = { member: line.member - before.member, employer: line.employer - before.employer };
  const isSame = differences.member === 0n && differences.employer === 0n;
  const amountChange = isSame
    ? 'same'
    : was !== undefined &&
        line.change !== 'ended' &&
        line.change !== 'moved' &&
        isSameElection(was.election, line.election)
      ? reasonOf(run, line, previous.run, was)
      : 'changed';
  return { ...line, amountChange, differences };
}

/** Returns why the amounts of one election differ between two runs. */
function reasonOf(run: Run, line: ModelLine, before: Run, old: ModelLine): string {
  const { election } = line;
  const options = ['scheme', 'remainder', 'extra_paycheck', 'applies_on'] as const;
  if ([line, old].some(({ flags }) => flags.includes('overridden'))) return 'override';
  if (options.some((option) => run[option] !== before[option])) return 'changed';
  if ([line, old].some(({ shares, flags }) => (shares ?? []).length > 1 || flags.includes('share_taken')))
    return 'shares';
  if (isSkipped(run, election, line) || isSkipped(before, election, old)) return 'calendar';
  const isWithinCent = [election.member, election.employer].every((text) => {
    const difference = totalOf(text, election.period, run) - totalOf(text, election.period, before);
    return difference >= -1n && difference <= 1n;
  });
  return checksOf(run) === checksOf(before) && isWithinCent ? 'rounding' : 'calendar';
}

/** Reports whether a check takes nothing because of its place in the month or year. */
function isSkipped(run: Run, { coverage, period }: Election, { member, employer }: Pair): boolean {
  const dates = datesOf(run);
  if (member !== 0n || employer !== 0n || run.kind === 'off_cycle' || dates === null) return false;
  if (period !== run.pay_frequency) return !cycleDates(run, dates).includes(run.pay_date);
  const stops = run.extra_paycheck === 'skip' || ANNUAL.includes(coverage);
  return stops && dates.indexOf(run.pay_date) >= CHECKS[period];
}

/** Returns T. The cycle of a contribution for the run's own frequency is the check. */
function totalOf(text: string, period: PayFrequency, run: Run): bigint {
  return period === run.pay_frequency ? roundToCents(fraction(text)) : expectedTotal(text, period, run);
}

/** Returns the name of a line in a report of amounts taken. */
export function lineKeyOf({
  kind,
  deduction,
  of,
  item,
  election: { coverage, taxability },
}: ModelLine): string {
  if (kind === 'regular') return `${kind} ${deduction}`;
  return [kind, deduction, item === 'opening' ? `opening:${of}` : of, coverage, taxability].join(' ');
}

/** Reports whether the election that decides a run was sent before its pay date. */
export function isElectedInTime(world: World, run: Run, deduction: string): boolean {
  const deciding = countingOf(world, deduction).findLast(
    (version) => startOf(version) <= run[run.applies_on],
  );
  return deciding !== undefined && compare(deciding.sent, run.pay_date) < 0;
}

export function yearOf({ pay_date }: Run): number {
  return Number(pay_date.slice(0, 4));
}

/** Amounts of different lines of coverage or taxability never offset each other. */
export function bucketOf({ coverage, taxability }: Pick<Election, 'coverage' | 'taxability'>): string {
  return `${coverage} ${taxability}`;
}

export function sumOf(pairs: readonly Pair[]): Pair {
  return pairs.reduce(
    (sum, one) => ({ member: sum.member + one.member, employer: sum.employer + one.employer }),
    NOTHING,
  );
}

type Due = Pair & { election: Election; flags: string[] };

/** Returns what a run should have taken of a deduction by today's facts; null if nothing. */
export function dueOf(
  world: World,
  of: ModelRun,
  runs: readonly ModelRun[],
  employee: string,
  deduction: string,
  before: string,
): Due | null {
  // Of an employee who was in the run, the employers are as frozen.
  const shared = of.roster.has(employee) ? of.shared.has(employee) : isShared(world, of.run, employee);
  if (of.voided) return null;
  const override = of.roster.has(employee)
    ? overridden(world, of.run, of.overrides, employee, deduction)
    : null;
  if (override !== null) return { ...override, flags: [] };
  const others = runs.filter((run) => run !== of);
  const shares = of.lines.find(
    (line) => line.kind === 'regular' && line.employee === employee && line.deduction === deduction,
  )?.shares;
  const due =
    shares != null && of.roster.has(employee)
      ? sharesOn(world, of.run, shares, employee, deduction, shared)
      : takenIn(world, of.run, others, employee, deduction, shared, before);
  if (due === null || of.roster.has(employee)) return due;
  const isTaken = ({ voided, lines, run }: ModelRun) =>
    !voided &&
    run !== of.run &&
    lines.some(
      (line) =>
        line.kind === 'regular' &&
        line.employee === employee &&
        line.deduction === deduction &&
        line.shares?.includes(of.run.pay_date),
    );
  if (runs.some(isTaken)) return null;
  return missedOf(world, of, runs, due, employee, deduction);
}

/**
 * Implements "Missed checks": returns the amount due to a run that the employee belonged in and was not in.
 */
function missedOf(
  world: World,
  { run }: ModelRun,
  runs: readonly ModelRun[],
  due: Due,
  employee: string,
  deduction: string,
): Due | null {
  if (run.kind === 'off_cycle') return null;
  if (statusOf(world, { ...run, employee_ids: null }, employee) !== 'in') return null;
  const others = runs
    .filter(({ voided, roster }) => !voided && roster.has(employee))
    .filter(({ run: one }) => one.deductions?.includes(deduction) !== false);
  const covering = others.filter(({ run: one }) => one.kind === 'regular').map(({ run: one }) => one);
  const days = daysOf(run);
  const covered = days.filter((day) =>
    covering.some(({ period_start, period_end }) => period_start <= day && day <= period_end),
  );
  if (covered.length === days.length) return null;
  const taken = others
    .filter(({ run: one }) => one.kind === 'off_cycle')
    .filter(({ run: one }) => run.period_start <= one.period_start && one.period_end <= run.period_end)
    .flatMap(({ lines }) => lines)
    .filter((line) => line.kind === 'regular' && line.employee === employee && line.deduction === deduction)
    .filter((line) => line.shares === null);
  const { member, employer } = sumOf(taken);
  return {
    ...due,
    member: due.member - member,
    employer: due.employer - employer,
    flags: [...due.flags, covered.length === 0 ? 'missed_check' : 'missed_check_partial'],
  };
}

/** Returns the days of the pay period. */
function daysOf({ period_start, period_end }: Run): string[] {
  const days: string[] = [];
  for (let time = Date.parse(period_start); time <= Date.parse(period_end); time += DAY_MS)
    days.push(new Date(time).toISOString().slice(0, 10));
  return days;
}

/** Returns a line as a text that can be compared. */
export function printed(line: ModelLine): string {
  const { employee, deduction, election, kind, of, change, replaces, amountChange, differences } = line;
  const { flags, shares, item, left } = line;
  const money = ({ member, employer }: Pair) => `${dollars(member)} ${dollars(employer)}`;
  return JSON.stringify([
    employee,
    deduction,
    bucketOf(election),
    kind,
    of,
    item,
    left === null ? null : dollars(left),
    money(line),
    change,
    replaces,
    amountChange,
    differences === null ? null : money(differences),
    flags.toSorted(),
    shares,
  ]);
}
