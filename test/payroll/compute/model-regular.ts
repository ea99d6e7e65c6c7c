/** The regular lines of the payroll model, and what is due for earlier runs. */
import type { Run } from '../../../src/payroll/records/body.ts';
import {
  assignedTo,
  type Check,
  compare,
  countingOf,
  dayOf,
  deductionsOf,
  type Election,
  endOfJob,
  finalDates,
  isFinal,
  isPartial,
  isSameElection,
  isSameKind,
  isShared,
  isStopped,
  jobsOf,
  leavesFor,
  type ModelLine,
  type ModelRun,
  ONE_SHARE,
  overridden,
  type Pair,
  type Status,
  sharesOn,
  sharesTaken,
  startOf,
  stateOn,
  statusOf,
  sumOf,
  type Taken,
  takenIn,
  transfersOf,
  type World,
} from './model.ts';
import { cellOf, isSameFraction, offCycleCell } from './model-calendar.ts';

const NOTHING: Pair = { member: 0n, employer: 0n };

/** Returns the lines of the deductions in effect and of deductions that only the previous run had. */
export function regularLines(
  world: World,
  check: Check,
  runs: readonly ModelRun[],
  employee: string,
  overrides: ModelRun['overrides'],
): ModelLine[] {
  const { run } = check;
  const status = statusOf(world, check, employee);
  const shared = isShared(world, run, employee);
  const previous = previousOf(run, runs);
  const old = (previous?.lines ?? []).filter(
    (line) => line.employee === employee && line.kind === 'regular' && !isStopped(line),
  );
  const taken =
    status === 'in'
      ? deductionsOf(world)
          .map(
            (deduction) =>
              overridden(world, check, overrides, employee, deduction) ??
              takenIn(world, check, runs, employee, deduction, shared),
          )
          .filter((one) => one !== null)
      : [];
  const lines = taken.map((one) => lineOf(world, check, runs, one));
  if (run.kind === 'off_cycle') return lines;
  const compared = lines.map((line) => {
    const was = old.find(({ deduction }) => deduction === line.deduction);
    const change =
      was === undefined ? 'new' : isSameElection(was.election, line.election) ? 'same' : 'changed';
    return withAmountChange(check, previous, was, { ...line, change });
  });
  // A run that can't tell whether the employee belongs to it ends nothing.
  const isUnclear = ['unknown_frequency', 'unknown_pay_group', 'not_selected'].includes(status);
  if (isUnclear) return compared;
  const hasLeft = hasMoved(world, run, employee, status);
  const gone = old
    .filter((line) => !compared.some((one) => one.deduction === line.deduction))
    .flatMap((line) => {
      const assigned = assignedTo(world, run, line.deduction);
      const isInEffect = stateOn(world, line.deduction, employee, dayOf(run)) !== null;
      // A deduction of two jobs that is not assigned yet has not ended.
      if (status === 'in' && isInEffect && assigned === undefined && shared) return [];
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
    return withAmountChange(check, previous, was, { ...line, change: 'replaced', replaces: was.deduction });
  });
  const stopped = gone
    .filter(({ was }) => !replacing.some(({ replaces }) => replaces === was.deduction))
    .map(({ was, change }) => {
      const none = { ...NOTHING, change, replaces: null, shares: null, flags: [] };
      return withAmountChange(check, previous, was, { ...was, ...none });
    });
  return [...replacing, ...stopped];
}

/** Reports whether the employee left the run's frequency, group or employer for another one. */
function hasMoved(world: World, run: Run, employee: string, status: Status): boolean {
  if (status === 'other_employer') return jobsOf(world, employee).has(run.employer_id);
  return status === 'other_frequency' || status === 'other_pay_group';
}

function lineOf(world: World, check: Check, runs: readonly ModelRun[], taken: Taken): ModelLine {
  const { election: state, member, employer, shares } = taken;
  const { run } = check;
  const flags = [...taken.flags];
  const checks = shares?.map((pay_date) => ({
    ...check,
    run: { ...run, kind: 'regular' as const, pay_date },
  })) ?? [check];
  if (!flags.includes('overridden') && checks.some((one) => isPartial(world, one, state)))
    flags.push('partial_cycle');
  return {
    ...{ employee: state.employee, deduction: state.deduction, election: state, member, employer, shares },
    ...{ kind: 'regular', of: null, item: null, left: null, change: null, replaces: null },
    ...{ amountChange: null, differences: null },
    flags: [...flags, ...lastLineFlags(world, check, runs, taken)],
  };
}

/** Implements "Flags of the last line". */
function lastLineFlags(
  world: World,
  check: Check,
  runs: readonly ModelRun[],
  { election: { employee, deduction, end }, shares }: Taken,
): string[] {
  const { run } = check;
  const termination = endOfJob(world, run, employee);
  if (termination === null || (termination > run.period_end && !isFinal(run, employee))) return [];
  const isOpen = end === null || end.slice(0, 7) > termination.slice(0, 7);
  const shared = isShared(world, run, employee);
  const left = finalDates(world, check, runs, employee, deduction, shared, true).filter(
    (date) => !shares?.includes(date),
  );
  // Of some lines of coverage, a later final check takes no second share. The coverage on the date counts.
  const next = sharesOn(world, check, left.slice(0, 1), employee, deduction, shared);
  const isLeft = next !== null && !(shares !== null && ONE_SHARE.includes(next.election.coverage));
  return [...(isOpen ? ['open_after_termination'] : []), ...(isLeft ? ['coverage_beyond_last_check'] : [])];
}

/** Implements "Change against the previous run": returns why the amounts differ. */
function withAmountChange(
  check: Check,
  previous: ModelRun | undefined,
  was: ModelLine | undefined,
  line: ModelLine,
): ModelLine {
  if (previous === undefined) return { ...line, amountChange: null, differences: null };
  const before = was ?? NOTHING;
  const differences = { member: line.member - before.member, employer: line.employer - before.employer };
  const isSame = differences.member === 0n && differences.employer === 0n;
  const isComparable = was !== undefined && !isStopped(line) && isSameElection(was.election, line.election);
  const amountChange = isSame ? 'same' : isComparable ? reasonOf(check, line, previous, was) : 'changed';
  return { ...line, amountChange, differences };
}

/** Returns why the amounts of one election differ between two runs. */
function reasonOf({ run, calendar }: Check, line: ModelLine, previous: ModelRun, old: ModelLine): string {
  if ([line, old].some(({ flags }) => flags.includes('overridden'))) return 'override';
  if (run.applies_on !== previous.run.applies_on) return 'changed';
  const isOfShares = ({ shares, flags }: ModelLine, of: Run) =>
    (shares !== null && !(of.kind === 'regular' && shares.join() === of.pay_date)) ||
    flags.includes('share_taken') ||
    flags.includes('taken_elsewhere');
  if (isOfShares(line, run) || isOfShares(old, previous.run)) return 'shares';
  const [now, before] = [
    run.kind === 'off_cycle'
      ? offCycleCell(calendar, run.pay_frequency, line.election.period)
      : cellOf(calendar, run.pay_frequency, line.election.period, run.pay_date),
    cellOf(previous.calendar, run.pay_frequency, line.election.period, previous.run.pay_date),
  ];
  if (now === null || before === null) return 'calendar';
  return isSameFraction(now.share, before.share) ? 'same' : 'calendar';
}

/** Reports whether the election that decides a run was sent before its pay date and its day. */
export function isElectedInTime(world: World, run: Run, deduction: string): boolean {
  const day = dayOf(run);
  const deciding = countingOf(world, deduction).findLast((version) => startOf(version) <= day);
  return deciding !== undefined && deciding.sent < (day > run.pay_date ? day : run.pay_date);
}

type Due = Pair & { election: Election; flags: string[] };

/** Returns what a run should have taken of a deduction by today's facts; null if nothing. */
export function dueOf(
  world: World,
  of: ModelRun,
  runs: readonly ModelRun[],
  employee: string,
  deduction: string,
): Due | null {
  if (of.voided) return null;
  const { run } = of;
  const wasIn = of.roster.has(employee);
  // Of an employee who was in the run, the employers and the termination are as frozen.
  const shared = wasIn ? of.shared.has(employee) : isShared(world, run, employee);
  const check: Check = {
    ...{ run, calendar: of.calendar, schedules: of.schedules },
    transfersOf: () => (wasIn ? (of.transfers.get(employee) ?? []) : transfersOf(world, run, employee)),
    endOf: () => (wasIn ? (of.ends.get(employee) ?? null) : endOfJob(world, run, employee)),
    leavesOf: () => (wasIn ? (of.leaves.get(employee) ?? null) : leavesFor(world, run, employee)),
  };
  const override = wasIn ? overridden(world, check, of.overrides, employee, deduction) : null;
  const others = runs.filter((other) => other !== of);
  const line = of.lines.find(
    (one) => one.kind === 'regular' && one.employee === employee && one.deduction === deduction,
  );
  const due =
    line?.shares != null && wasIn
      ? sharesOn(world, check, line.shares, employee, deduction, shared)
      : takenIn(world, check, others, employee, deduction, shared);
  // Of a deduction that is in effect no more, an override is due no more.
  const hadLine = of.overrides.get(`${employee} ${deduction}`)?.hadLine;
  const isInEffect = daysOfCheck(check, employee).some(
    (day) => stateOn(world, deduction, employee, day) !== null,
  );
  if (override !== null) return { ...override, ...(hadLine && !isInEffect && NOTHING), flags: [] };
  if (due === null || wasIn) return due;
  if (runs.some((other) => other !== of && sharesTaken(other, employee, deduction).includes(run.pay_date)))
    return null;
  return missedOf(world, of, runs, due, employee, deduction);
}

/** Returns the day of a check. A final check also has the days of its pay dates in the month of the termination. */
function daysOfCheck({ run, calendar, endOf }: Check, employee: string): string[] {
  const month = isFinal(run, employee) ? endOf(employee)?.slice(0, 7) : undefined;
  const days = (calendar?.dates ?? []).map((date) => dayOf({ ...run, ...date }));
  return [dayOf(run), ...days.filter((day) => day.slice(0, 7) === month)];
}

/** Implements "Missed checks": the amount due to a run that the employee belonged in and was not in. */
function missedOf(
  world: World,
  of: ModelRun,
  runs: readonly ModelRun[],
  due: Due,
  employee: string,
  deduction: string,
): Due | null {
  const { run } = of;
  if (run.kind === 'off_cycle') return null;
  // Payroll took an imported deduction before its import.
  const first = world.versions.find((version) => version.deduction === deduction);
  if (first?.importedOn != null && run.pay_date < first.importedOn) return null;
  const all = { ...of, run: { ...run, employee_ids: null } };
  if (statusOf(world, all, employee) !== 'in') return null;
  const others = runs.filter(({ voided, roster }) => !voided && roster.has(employee));
  const days = daysOf(run);
  const covered = days.filter((day) =>
    others.some(
      ({ run: { kind, period_start, period_end } }) =>
        kind === 'regular' && period_start <= day && day <= period_end,
    ),
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
    ...{ member: due.member - member, employer: due.employer - employer },
    flags: [...due.flags, 'missed_check', ...(covered.length > 0 ? ['partly covered'] : [])],
  };
}

/** Returns the days of the pay period. */
function daysOf({ period_start, period_end }: Run): string[] {
  const days: string[] = [];
  for (let time = Date.parse(period_start); time <= Date.parse(period_end); time += 86_400_000)
    days.push(new Date(time).toISOString().slice(0, 10));
  return days;
}

/** Returns the previous finalized regular run of the same frequency and group. */
function previousOf(run: Run, runs: readonly ModelRun[]): ModelRun | undefined {
  return runs
    .filter(({ voided, run: one }) => !voided && isSameKind(run, one) && one.pay_date < run.pay_date)
    .sort((one, other) => compare(one.run.pay_date, other.run.pay_date))
    .at(-1);
}
