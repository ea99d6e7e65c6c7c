/**
 * Payroll runs in their simplest form, written from the rules alone: every line is computed from all facts, versions and
 * runs in memory. The real runs must agree with it. It shares only the types of records with them.
 */
import type { PayFrequency } from '../../../src/contract/employee.ts';
import type { FactSource } from '../../../src/ledger/roster.ts';
import type { Run } from '../../../src/payroll/records/body.ts';
import type { Schedule } from '../../../src/payroll/settings/schedules.ts';
import { calendarOf, cellOf, dollars, fraction, type ModelCalendar, offCycleCell } from './model-calendar.ts';
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
  /** The date on which it was received in a file of payroll. */
  importedOn?: string | null;
};

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

/** `hadLine`: the run would have a line without it. */
export type Override = Pair & { hadLine: boolean };

/** An employee who left another employer. `until`: the last pay date there; null if it is unknown. */
export type ModelTransfer = { left: string; until: string | null };

/** A run with what it froze. */
export type ModelRun = {
  id: string;
  run: Run;
  voided: boolean;
  roster: ReadonlySet<string>;
  /** The employees who were active with two employers by the facts of the run. */
  shared: ReadonlySet<string>;
  transfers: ReadonlyMap<string, readonly ModelTransfer[]>;
  /** The last days of employees who left for another employer. */
  leaves: ReadonlyMap<string, string>;
  /** The terminations that the run knew. */
  ends: ReadonlyMap<string, string>;
  lines: readonly ModelLine[];
  /** Amounts that a person set, by employee and deduction. */
  overrides: ReadonlyMap<string, Override>;
  /** The number of decisions on open items that the run knew. */
  decisions: number;
  calendar: ModelCalendar | null;
  /** The number of the employer's pay schedules. */
  schedules: number;
};

/** What a run or a date of its calendar is computed with. */
export type Check = Pick<ModelRun, 'run' | 'calendar' | 'schedules'> & {
  transfersOf: (employee: string) => readonly ModelTransfer[];
  leavesOf: (employee: string) => string | null;
  endOf: (employee: string) => string | null;
};

/** The amount that payroll took of a line of a run, by one report. */
export type ModelTaken = { run: string; employee: string; line: string; amount: bigint };

export type World = {
  facts: readonly ModelFact[];
  versions: readonly ModelVersion[];
  assignments: readonly ModelAssignment[];
  /** All finalized runs, including voided ones. */
  runs: readonly ModelRun[];
  /** In order of the reports. */
  taken: readonly ModelTaken[];
  openings: readonly ModelOpening[];
  /** In the order made. */
  itemDecisions: readonly ModelItemDecision[];
  schedulesOf: (employerId: string) => readonly Schedule[];
};

const NOTHING: Pair = { member: 0n, employer: 0n };

export type Status =
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
export function statusOf(
  world: World,
  { run, schedules }: Pick<Check, 'run' | 'schedules'>,
  employee: string,
): Status {
  const day = rosterDay(world, run, employee);
  const jobs = jobsOf(world, employee);
  const own = jobs.get(run.employer_id);
  if (own === undefined) return 'other_employer';
  const active = [...jobs.values()].filter((facts) => isActive(facts, day));
  if (active.length === 0 ? leftLast(jobs, day) !== run.employer_id : !active.includes(own))
    return 'other_employer';
  const spell = spellOn(own, run.period_end);
  if (spell === undefined) return 'not_hired_yet';
  if (spell.end !== null && spell.end < run.period_start && !isFinal(run, employee)) return 'terminated';
  const frequency = valueOn(own, 'pay_frequency', day);
  const group = valueOn(own, 'pay_group', day);
  if (frequency === null && schedules > 1) return 'unknown_frequency';
  if (frequency !== null && frequency !== run.pay_frequency) return 'other_frequency';
  if (run.pay_group !== null && group === null) return 'unknown_pay_group';
  if (run.pay_group !== null && group !== run.pay_group) return 'other_pay_group';
  return run.employee_ids?.includes(employee) === false ? 'not_selected' : 'in';
}

/** The day of employer, frequency and group: the end of the period, or the last day of a spell that ends in it. */
function rosterDay(world: Pick<World, 'facts'>, run: Run, employee: string): string {
  const end = endOfJob(world, run, employee);
  return end !== null && run.period_start <= end && end < run.period_end ? end : run.period_end;
}

/** Reports whether the employee is active with two employers on more than one common day. */
export function isShared(world: Pick<World, 'facts'>, run: Run, employee: string): boolean {
  const jobs = jobsOf(world, employee);
  const day = rosterDay(world, run, employee);
  const own = jobs.get(run.employer_id);
  if (own === undefined || !isActive(own, day)) return false;
  const spell = spellOn(own, day) as ModelSpell;
  return [...jobs].some(([employer, facts]) => {
    if (employer === run.employer_id || !isActive(facts, day)) return false;
    const job = spellOn(facts, day) as ModelSpell;
    const from = [spell.start ?? '', job.start ?? ''].sort().at(-1) as string;
    const until = [spell.end ?? '9999', job.end ?? '9999'].sort()[0] as string;
    return from < until;
  });
}

/** Implements "A transfer": returns the jobs that an employee left for the run's employer. */
export function transfersOf(world: World, run: Run, employee: string): ModelTransfer[] {
  const jobs = jobsOf(world, employee);
  const spellsHere = spellsOf(jobs.get(run.employer_id) ?? []);
  return [...jobs].flatMap(([employer, facts]) => {
    if (employer === run.employer_id) return [];
    return spellsOf(facts)
      .flatMap(({ end }) => end ?? [])
      .filter((end) => end <= run.period_end)
      .filter((end) => spellsHere.some((spell) => spell.end === null || spell.end > end))
      .flatMap((left): ModelTransfer[] => {
        const last = lastCheckOf(world, employer, facts, left);
        if (last === null) return [{ left, until: null }];
        // A run there that does not pay the employee takes nothing because of this termination.
        const there: Run = { ...run, ...last, kind: 'regular', employer_id: employer, final_checks: [] };
        const status = statusOf(world, { run: there, schedules: 1 }, employee);
        const isPaid = !['other_employer', 'terminated', 'not_hired_yet'].includes(status);
        return isPaid && endOfJob(world, there, employee) === left ? [{ left, until: last.pay_date }] : [];
      });
  });
}

/** Returns the dates of the last check of a job, by the schedule, else by the run of its period. */
function lastCheckOf(
  world: World,
  employer: string,
  facts: readonly ModelFact[],
  left: string,
): Pick<Run, 'pay_date' | 'period_start' | 'period_end'> | null {
  const all = schedulesIn(world, employer, left);
  const frequency =
    valueOn(facts, 'pay_frequency', left) ?? (all.length === 1 ? (all[0]?.pay_frequency ?? null) : null);
  // With several schedules, no run includes an employee of unknown frequency.
  if (frequency === null && all.length > 1) return null;
  const group = valueOn(facts, 'pay_group', left);
  const contains = (date: { period_start: string; period_end: string }) =>
    date.period_start <= left && left <= date.period_end;
  const ofFrequency = world.schedulesOf(employer).filter((schedule) => schedule.pay_frequency === frequency);
  const list =
    ofFrequency.find(({ pay_group }) => pay_group === group) ??
    ofFrequency.find(({ pay_group }) => pay_group === null);
  const ran = world.runs.find(
    ({ voided, run: one }) =>
      !voided &&
      one.employer_id === employer &&
      one.kind === 'regular' &&
      contains(one) &&
      (frequency === null || one.pay_frequency === frequency) &&
      (one.pay_group === null || one.pay_group === group),
  );
  return list?.pay_dates.find(contains) ?? ran?.run ?? null;
}

/** Reports whether the old employer of a transfer takes only what started by the termination. */
export function leavesFor(world: World, run: Run, employee: string): string | null {
  const end = endOfJob(world, run, employee);
  if (end === null || end < run.period_start || end > run.period_end) return null;
  const hasJob = [...jobsOf(world, employee)].some(
    ([employer, facts]) =>
      employer !== run.employer_id && spellsOf(facts).some((spell) => spell.end === null || spell.end > end),
  );
  return hasJob ? end : null;
}

/** Implements "One person, two employers": returns the employer to which a deduction is assigned, if any. */
export function assignedTo(world: World, run: Run, deduction: string): string | undefined {
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
): 'NOT_FOUND' | 'ASSIGNMENT_REFUSED' | string[] | null {
  const latest = orderOf(world, deduction).at(-1);
  if (latest === undefined) return 'NOT_FOUND';
  const job = jobsOf(world, latest.employee).get(employer) ?? [];
  const until = from > today ? from : today;
  if (!spellsOf(job).some(({ start }) => start === null || start <= until)) return 'ASSIGNMENT_REFUSED';
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

/** Reports whether the employee left the employer permanently, so that no later check can adjust anything. */
export function isGone(world: World, check: Pick<Check, 'run' | 'schedules'>, employee: string): boolean {
  if (!['other_employer', 'terminated'].includes(statusOf(world, check, employee))) return false;
  const own = jobsOf(world, employee).get(check.run.employer_id) ?? [];
  return !spellsOf(own).some(({ start }) => start !== null && start > check.run.period_end);
}

export function jobsOf(world: Pick<World, 'facts'>, employee: string): Map<string, ModelFact[]> {
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

export function spellOn(facts: readonly ModelFact[], day: string): ModelSpell | undefined {
  return spellsOf(facts).findLast(({ start }) => start === null || start <= day);
}

/** Implements "Roster facts have dates": returns the value of an attribute in effect on a day. */
function valueOn<K extends 'pay_frequency' | 'pay_group' | 'absent'>(
  facts: readonly ModelFact[],
  name: K,
  day: string,
): ModelFact[K] | null {
  const startsOn = (fact: ModelFact) => fact.effective_on ?? fact.received;
  const orderOf = (fact: ModelFact) => (startsOn(fact) > fact.received ? startsOn(fact) : fact.received);
  // The sort is stable, so that facts of one date stay in order of position.
  const order = facts
    .filter((fact) => fact[name] !== null)
    .sort((one, other) => compare(orderOf(one), orderOf(other)));
  return (order.findLast((fact) => startsOn(fact) <= day) ?? order[0])?.[name] ?? null;
}

function isActive(facts: readonly ModelFact[], day: string): boolean {
  const spell = spellOn(facts, day);
  if (spell === undefined || (spell.end !== null && spell.end < day)) return false;
  return valueOn(facts, 'absent', day) !== 1;
}

export function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

/** Returns the versions of a deduction that apply, by event time and position. A placeholder ends before its replacement. */
export function countingOf(world: Pick<World, 'versions'>, deduction: string): ModelVersion[] {
  const elected = electedOf(world, deduction);
  const replaced = replacedFrom(world, deduction);
  if (replaced === undefined) return elected;
  if (replaced === '') return [];
  const until = new Date(Date.parse(replaced) - 86_400_000).toISOString().slice(0, 10);
  return elected.map((version) => ({
    ...version,
    end: version.end === null || version.end > until ? until : version.end,
  }));
}

/** Returns the first day of what replaces a placeholder, '' if it has no start; undefined without a replacement. */
function replacedFrom({ versions }: Pick<World, 'versions'>, placeholder: string): string | undefined {
  const [, employee, coverage, taxability] = /^placeholder:(.*):(\w+):(\w+)$/.exec(placeholder) ?? [];
  if (employee === undefined) return undefined;
  const isMeant = (version: ModelVersion) =>
    version.employee === employee && version.coverage === coverage && version.taxability === taxability;
  const rivals = new Set(
    versions
      .filter((version) => isMeant(version) && !version.deduction.startsWith('placeholder:'))
      .map(({ deduction }) => deduction),
  );
  const starts = [...rivals].flatMap((deduction) => {
    const elected = electedOf({ versions }, deduction).filter((version) => version.employee === employee);
    const first = elected.find(isMeant) ?? elected[0];
    return first === undefined ? [] : [startOf(first)];
  });
  return starts.sort()[0];
}

/** Implements "Corrected starts". */
function electedOf(world: Pick<World, 'versions'>, deduction: string): ModelVersion[] {
  const versions = remainingOf(world, deduction);
  return versions.filter((version, place) => {
    const next = versions[place + 1];
    return next === undefined || !isMoved(version, next) || !isSameElection(version, next);
  });
}

/** Returns the versions of a deduction by event time and position. */
export function orderOf(world: Pick<World, 'versions'>, deduction: string): ModelVersion[] {
  return world.versions
    .filter((version) => version.deduction === deduction)
    .sort((one, other) => compare(one.sent, other.sent) || one.position - other.position);
}

/** Returns the versions that are not followed by one with the same, an earlier or no start. */
function remainingOf(world: Pick<World, 'versions'>, deduction: string): ModelVersion[] {
  const order = orderOf(world, deduction);
  return order.filter(
    (version, place) => !order.slice(place + 1).some((later) => startOf(later) <= startOf(version)),
  );
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

export function isSameElection(one: Election, other: Election): boolean {
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
export function stateOn(
  world: Pick<World, 'versions'>,
  deduction: string,
  employee: string,
  day: string,
): ModelVersion | null {
  const state = countingOf(world, deduction).findLast((version) => startOf(version) <= day);
  if (state === undefined || state.employee !== employee) return null;
  return state.end === null || state.end >= day ? state : null;
}

/** Returns the day on which a deduction must be in effect. */
export function dayOf(run: Pick<Run, 'applies_on' | 'pay_date' | 'period_end'>): string {
  if (run.applies_on !== 'next_month') return run[run.applies_on];
  const [year, month] = run.pay_date.split('-').map(Number) as [number, number];
  return new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10);
}

/** Returns the state of a deduction that a run takes. `shared`: the employee is active with two employers. */
function stateIn(
  world: World,
  { run, leavesOf }: Check,
  employee: string,
  deduction: string,
  shared: boolean,
): ModelVersion | null {
  const assigned = assignedTo(world, run, deduction);
  if (assigned === undefined ? shared : assigned !== run.employer_id) return null;
  const named = run.deductions ?? (run.kind === 'off_cycle' ? [] : null);
  if (named?.includes(deduction) === false) return null;
  const state = stateOn(world, deduction, employee, dayOf(run));
  const left = assigned === undefined ? leavesOf(employee) : null;
  return state !== null && left !== null && startOf(state) > left ? null : state;
}

/** Returns the schedules of the year of a date or, without any, of the last earlier year with some. */
function schedulesIn(world: World, employerId: string, date: string): Schedule[] {
  const all = world.schedulesOf(employerId);
  const years = all.flatMap(({ pay_dates }) => pay_dates.map(({ pay_date }) => pay_date.slice(0, 4)));
  const year = years
    .filter((one) => one <= date.slice(0, 4))
    .sort()
    .at(-1);
  return all
    .map((schedule) => ({
      ...schedule,
      pay_dates: schedule.pay_dates.filter(({ pay_date }) => pay_date.slice(0, 4) === year),
    }))
    .filter(({ pay_dates }) => pay_dates.length > 0);
}

/** Returns what a run is computed with, before it freezes it. */
export function checkOf(world: World, run: Run, others: readonly ModelRun[]): Check {
  const schedules = schedulesIn(world, run.employer_id, run.pay_date);
  const inYear = schedules.filter(({ pay_dates }) =>
    pay_dates.some(({ pay_date }) => pay_date.slice(0, 4) === run.pay_date.slice(0, 4)),
  );
  const ofFrequency = inYear.filter(({ pay_frequency }) => pay_frequency === run.pay_frequency);
  const list =
    ofFrequency.find(({ pay_group }) => pay_group === run.pay_group) ??
    ofFrequency.find(({ pay_group }) => pay_group === null);
  const ran = others
    .filter((other) => !other.voided && isSameKind(run, other.run))
    .filter(({ run: other }) => other.pay_date.slice(0, 4) === run.pay_date.slice(0, 4))
    .map((other) => ({ date: other.run.pay_date, calendar: other.calendar }));
  return {
    run,
    schedules: schedules.length,
    calendar: list === undefined ? null : calendarOf(list, run.pay_frequency, ran),
    transfersOf: (employee) => transfersOf(world, run, employee),
    leavesOf: (employee) => leavesFor(world, run, employee),
    endOf: (employee) => endOfJob(world, run, employee),
  };
}

/** Reports whether a run is a regular one of a run's frequency and group. */
export function isSameKind(run: Run, other: Run): boolean {
  return (
    other.kind === 'regular' && other.pay_frequency === run.pay_frequency && other.pay_group === run.pay_group
  );
}

export function isFinal(run: Run, employee: string): boolean {
  return run.final_checks.includes(employee);
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
export type Taken = Pair & { election: ModelVersion; flags: string[]; shares: string[] | null };

/** The regular check on a date of a run's calendar. */
function checkOn(check: Check, date: string): Check {
  const { run, calendar } = check;
  if (run.kind === 'regular' && run.pay_date === date) return check;
  const listed = calendar?.dates.find(({ pay_date }) => pay_date === date);
  return { ...check, run: { ...run, ...listed, kind: 'regular', pay_date: date, deductions: null } };
}

export function sharesTaken(of: ModelRun, employee: string, deduction: string): readonly string[] {
  if (of.voided) return [];
  return of.lines.flatMap((line) =>
    line.kind === 'regular' && line.employee === employee && line.deduction === deduction
      ? (line.shares ?? [])
      : [],
  );
}

export const ONE_SHARE = [
  'healthcare_fsa',
  'limited_purpose_fsa',
  'dependent_care_fsa',
  'hsa',
  'commuter_transit',
];

/** Implements "A final check takes the rest of the month": the dates whose shares it takes. `others`: all other runs. */
export function finalDates(
  world: World,
  check: Check,
  others: readonly ModelRun[],
  employee: string,
  deduction: string,
  shared: boolean,
  isAfter = false,
): string[] {
  const { run, calendar } = check;
  const end = check.endOf(employee);
  if (end === null || calendar === null || (run.kind === 'off_cycle' && !run.deductions?.includes(deduction)))
    return [];
  const counting = others.filter((other) => !other.voided);
  // The run that is being computed is not final.
  const same = counting.filter((other) => world.runs.includes(other) && isSameKind(run, other.run));
  // Once it is final, the run itself may be the first one.
  const firsts = [...(run.kind === 'regular' ? [run] : []), ...same.map((other) => other.run)];
  const first = firsts.map(({ pay_date }) => pay_date).sort()[0] ?? run.pay_date;
  const taken = counting.flatMap((other) => sharesTaken(other, employee, deduction));
  const dates = calendar.dates.flatMap(({ pay_date: date }) => {
    const on = checkOn(check, date);
    const state = stateIn(world, on, employee, deduction, shared);
    const isOwn = run.kind === 'regular' && date === run.pay_date;
    if (state === null || taken.includes(date) || (isOwn && isAfter)) return [];
    if (isElsewhere(world, check, employee, state, date)) return [];
    if (cellOf(calendar, run.pay_frequency, state.period, date) === null) return [];
    const belongs = isPaidOn(world, counting, employee, date);
    if (isOwn) return belongs ? [] : [{ date, state }];
    if (dayOf(on.run).slice(0, 7) !== end.slice(0, 7) || date < first) return [];
    return belongs ? [] : [{ date, state }];
  });
  const single = dates.find(({ date }) => run.kind === 'regular' && date === run.pay_date) ?? dates[0];
  if (single === undefined || !ONE_SHARE.includes(single.state.coverage))
    return dates.map(({ date }) => date);
  return taken.length > 0 ? [] : [single.date];
}

/** Reports whether an employee is, or belongs, in a regular run of a pay date. */
function isPaidOn(world: World, runs: readonly ModelRun[], employee: string, date: string): boolean {
  return runs.some(
    ({ voided, run, roster, schedules }) =>
      !voided &&
      run.kind === 'regular' &&
      run.pay_date === date &&
      (roster.has(employee) ||
        statusOf(world, { run: { ...run, employee_ids: null }, schedules }, employee) === 'in'),
  );
}

/** Reports whether the employer that the employee left takes a deduction on a pay date. */
function isElsewhere(
  world: World,
  { run, transfersOf }: Check,
  employee: string,
  state: ModelVersion,
  date: string,
): boolean {
  if (assignedTo(world, run, state.deduction) !== undefined) return false;
  return transfersOf(employee).some(
    ({ left, until }) => until !== null && date <= until && startOf(state) <= left,
  );
}

/** Returns the sum of the amounts on pay dates; null if the deduction is in effect on none. */
export function sharesOn(
  world: World,
  check: Check,
  dates: readonly string[],
  employee: string,
  deduction: string,
  shared: boolean,
): Taken | null {
  const checks = dates.flatMap((date) => {
    const on = checkOn(check, date);
    const state = stateIn(world, on, employee, deduction, shared);
    return state === null ? [] : [{ date, on, state }];
  });
  const [first] = checks;
  if (first === undefined) return null;
  const amounts = sumOf(checks.map(({ on, state }) => amountsOf(on, state)));
  return {
    election: first.state,
    ...amounts,
    flags: negativeFlags(amounts),
    shares: checks.map(({ date }) => date),
  };
}

/** Returns what a run takes of a deduction. */
export function takenIn(
  world: World,
  check: Check,
  others: readonly ModelRun[],
  employee: string,
  deduction: string,
  shared: boolean,
): Taken | null {
  const { run, calendar } = check;
  const state = stateIn(world, check, employee, deduction, shared);
  const isTaken = others.some((other) => sharesTaken(other, employee, deduction).includes(run.pay_date));
  const nothing = (flag: string): Taken | null =>
    state === null ? null : { election: state, ...NOTHING, flags: [flag], shares: null };
  const hasElsewhere = state !== null && isElsewhere(world, check, employee, state, run.pay_date);
  const zero = hasElsewhere
    ? nothing('taken_elsewhere')
    : isTaken && run.kind === 'regular'
      ? nothing('share_taken')
      : null;
  if (isFinal(run, employee) && check.endOf(employee) !== null && calendar !== null) {
    const dates = finalDates(world, check, others, employee, deduction, shared);
    const wasTaken = others.some((other) => sharesTaken(other, employee, deduction).length > 0);
    const isOver =
      state !== null &&
      ((wasTaken && ONE_SHARE.includes(state.coverage)) ||
        (run.kind === 'regular' &&
          isPaidOn(world, others, employee, run.pay_date) &&
          cellOf(calendar, run.pay_frequency, state.period, run.pay_date) !== null));
    return (
      sharesOn(world, check, dates, employee, deduction, shared) ??
      zero ??
      (isOver ? nothing('share_taken') : null)
    );
  }
  if (state === null || zero !== null) return zero;
  const amounts = amountsOf(check, state);
  return { election: state, ...amounts, flags: negativeFlags(amounts), shares: null };
}

/** Returns the amounts that a person set for a deduction in a run; null if none were. */
export function overridden(
  world: World,
  { run }: Check,
  overrides: ModelRun['overrides'],
  employee: string,
  deduction: string,
): Taken | null {
  const amounts = overrides.get(`${employee} ${deduction}`);
  if (amounts === undefined) return null;
  const isOwn = (version: ModelVersion) => version.employee === employee;
  const state = countingOf(world, deduction).findLast((version) => startOf(version) <= dayOf(run));
  const election = state !== undefined && isOwn(state) ? state : orderOf(world, deduction).findLast(isOwn);
  if (election === undefined) return null;
  const isNegative = amounts.member < 0n || amounts.employer < 0n;
  return { election, ...amounts, flags: ['overridden', ...(isNegative ? ['negative'] : [])], shares: null };
}

function negativeFlags({ member, employer }: Pair): string[] {
  return member < 0n || employer < 0n ? ['negative'] : [];
}

/** Implements "Amounts": returns the amounts that a check takes of an election, in cents. */
function amountsOf({ run, calendar }: Check, { member, employer, period }: Election): Pair {
  const cell =
    run.kind === 'off_cycle'
      ? offCycleCell(calendar, run.pay_frequency, period)
      : cellOf(calendar, run.pay_frequency, period, run.pay_date);
  if (cell === null) return NOTHING;
  return { member: cell.amount(member, period), employer: cell.amount(employer, period) };
}

/** Reports whether it is the first or last line of the year of a deduction that is not in effect on all dates. */
export function isPartial(world: World, check: Check, version: ModelVersion): boolean {
  const { run, calendar } = check;
  if (run.kind === 'off_cycle' || calendar === null) return false;
  const dates = calendar.dates
    .map(({ pay_date }) => pay_date)
    .filter((date) => cellOf(calendar, run.pay_frequency, version.period, date) !== null);
  const place = dates.indexOf(run.pay_date);
  if (place === -1) return false;
  const covered = dates.map((date) => {
    const day = dayOf(checkOn(check, date).run);
    return stateOn(world, version.deduction, version.employee, day) !== null;
  });
  if (!covered.includes(false)) return false;
  return !covered.slice(0, place).includes(true) || !covered.slice(place + 1).includes(true);
}

export function deductionsOf(world: Pick<World, 'versions'>): string[] {
  return [...new Set(world.versions.map(({ deduction }) => deduction))];
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

/** Returns the fact of each employee who has one. */
export function mapOf<T>(
  employees: readonly string[],
  factOf: (employee: string) => T | null,
): Map<string, T> {
  return new Map(
    employees.flatMap((employee) => {
      const fact = factOf(employee);
      return fact === null ? [] : [[employee, fact] as const];
    }),
  );
}

export function isStopped({ change }: ModelLine): boolean {
  return change === 'ended' || change === 'moved';
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

/** Returns the name of a line in a report of amounts taken: that of its item, if it takes one. */
export function lineKeyOf({ deduction, of, item, election: { coverage, taxability } }: ModelLine): string {
  return item === null ? `regular ${deduction}` : [item, of, deduction, coverage, taxability].join(' ');
}

export function yearOf({ pay_date }: Run): number {
  return Number(pay_date.slice(0, 4));
}
