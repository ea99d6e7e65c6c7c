/** Notes findings for the readiness checks of a run (lifecycle/checks.ts). Pure. */
import { unassignedExample } from '../../ledger/checks.ts';
import { isAbsentNow, isActive, spellOn, valueOn } from '../../ledger/employment.ts';
import type { RunVersion } from '../../ledger/history.ts';
import { concernsDay, erasedStarts, latestOf, stateOn } from '../../ledger/state.ts';
import { amountOf, isZero, printReadable } from '../../money.ts';
import { isStopped, type Line } from '../calculation/line.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import { dayOfRun } from '../records/body.ts';
import { createBeyondYear } from './beyond-year.ts';
import { isScheduled } from './calendar.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { movedOn } from './frequency-moved.ts';
import { assignedIn, type History, historyAt, stateFor, stateInRun } from './history.ts';
import type { OpenItem } from './item-state.ts';
import { remainingInWords } from './last-check.ts';
import { createOutdatedOverrides } from './overrides.ts';
import { employmentAt, hasSeveralEmployers, UNCLEAR } from './population.ts';
import { wasInRun } from './reopened-runs.ts';
import { remainingAfter, terminationOf } from './shares.ts';
import type { EmployeeLines, Taking } from './taking.ts';
import { countOfEmployees } from './totals.ts';

/** Flags of open items whose findings state amounts. */
const ITEM_FLAGS = ['missed_check', 'retro_pre_tax', 'retro_refund'] as const;

/** A finding of a readiness check in the computation. */
export type Note =
  | (typeof ITEM_FLAGS)[number]
  | (typeof UNCLEAR)[number]
  | 'absent_from_census'
  | 'beyond_year'
  /** Pre-tax items that only a run of their own tax year takes. */
  | 'bound_to_year'
  | 'code_missing'
  | 'coverage_beyond_last_check'
  | 'final_check_empty'
  /** Deductions that end on the run's day, on which it takes them. */
  | 'ends_on_day'
  | 'first_month_ahead'
  | 'frequency_moved'
  | 'negative_total'
  | 'not_scheduled'
  | 'off_cycle_adds'
  | 'one_day_window'
  | 'open_after_termination'
  /** Two elections of a line of coverage that nearly always is elected once. */
  | 'overlap'
  /** Two elections of a line of coverage for which several are normal. */
  | 'overlap_normal'
  | 'override_outdated'
  | 'paid_after_termination'
  /** Refunds that are more than the paycheck takes. */
  | 'refund_waits'
  /** Renewals that begin after the run's day. */
  | 'renewal_ahead'
  | 'renewal_erased'
  | 'start_corrected'
  | 'start_moved'
  | 'termination_contradicted'
  /** The last pay date at the employer that an employee left is unknown. */
  | 'transfer_unknown'
  /** A deduction in effect that no run takes, because its employee has or had two employers. */
  | 'unassigned';

/** `ids`: the versions or deductions that the finding rests on; while they are the same, so is the finding. */
export type Noted = { example: string; employeeId: string | null; ids: readonly string[] };

/** Lines of coverage for which two elections at once are almost always an error. */
const ELECTED_ONCE: ReadonlySet<string> = new Set([
  'medical',
  'dental',
  'vision',
  'healthcare_fsa',
  'limited_purpose_fsa',
  'dependent_care_fsa',
  'short_term_disability',
  'long_term_disability',
  'hsa',
]);

/** Collects notes, employee by employee. */
export function createNotes(computation: Computation) {
  const { run, basis } = computation;
  const { schedules, codes } = basis;
  const notes = new Map<Note, Noted[]>();
  const missingCodes = new Set<string>();
  const beyondYear = createBeyondYear(computation);
  const outdatedOverrides = createOutdatedOverrides(computation);
  const emptyChecks = new Set(computation.finalChecks.keys());
  const offCycle = { employees: 0, member: 0n };
  const hasEmployerCodes = codes.some((code) => code.side === 'employer');

  const note = (
    what: Note,
    employeeId: string | null,
    ids: readonly string[] = [],
    example = employeeId ?? '',
  ): void => {
    const noted = notes.get(what) ?? [];
    noted.push({ example, employeeId, ids });
    notes.set(what, noted);
  };

  const noteMembership = ({ employeeId, membership }: RunEmployee): void => {
    if (membership.isIn) return;
    const unclear = UNCLEAR.find((reason) => reason === membership.why);
    if (unclear !== undefined) note(unclear, employeeId);
  };

  const noteEmployment = ({ employeeId, employments }: RunEmployee, hasDeduction: boolean): void => {
    const employment = employmentAt(employments, run);
    if (employment === undefined) return;
    if (spellOn(employment, run.period_end)?.contradicted_on != null)
      note('termination_contradicted', employeeId);
    if (run.kind !== 'regular' || !hasDeduction || !isActive(employment, run.period_end)) return;
    const frequency = valueOn(employment, 'pay_frequency', run.period_end);
    const group = valueOn(employment, 'pay_group', run.period_end);
    if (isScheduled(schedules, frequency, group)) return;
    // Only a schedule of the employee's group is missing, so the runs of other frequencies are not concerned.
    const isOfOtherRuns =
      frequency !== null &&
      frequency !== run.pay_frequency &&
      schedules.some(({ pay_frequency }) => pay_frequency === frequency);
    if (!isOfOtherRuns) note('not_scheduled', employeeId);
  };

  /** Notes deductions without an end that runs took for pay periods after the termination. */
  const notePaidAfterTermination = (employee: RunEmployee): void => {
    const { employeeId, employments, employmentsAt, histories } = employee;
    const employment = employmentAt(employments, run);
    const terminated =
      employment === undefined ? null : spellOn(employment, run.period_end)?.termination_date;
    if (run.kind !== 'regular' || terminated == null) return;
    const after = computation.earlier.filter(
      (earlier) =>
        earlier.run.pay_frequency === run.pay_frequency &&
        (run.pay_group === null ||
          earlier.run.pay_group === null ||
          run.pay_group === earlier.run.pay_group) &&
        !earlier.isVoided &&
        earlier.isRecent &&
        earlier.run.period_start > terminated &&
        wasInRun(earlier, employee),
    );
    if (after.length === 0) return;
    for (const history of histories) {
      const latest = latestOf(history.timeline.counting);
      if (latest === null || latest.ends_on !== null || hasNoAmount(latest)) continue;
      const taken = after.filter((earlier) => {
        const then = historyAt(history, earlier.position);
        const known = employmentsAt(earlier.position);
        const state = then === null ? null : stateInRun(then, employeeId, earlier, known);
        return state !== null && !hasNoAmount(state);
      });
      if (taken.length === 0) continue;
      const { line_of_coverage, deduction_id } = latest;
      const dates = taken.map((earlier) => earlier.run.pay_date).join(', ');
      const example = `${employeeId}: ${line_of_coverage} (${deduction_id}), paid on ${dates} after ${terminated}`;
      note('paid_after_termination', employeeId, [versionId(latest)], example);
    }
  };

  /** Notes deductions of two jobs that are in effect and in no run until an operator assigns them to an employer. */
  const noteUnassigned = ({ employeeId, employments, histories }: RunEmployee): void => {
    const hasSeveral = hasSeveralEmployers(employments, run);
    for (const history of histories) {
      const { deductionId } = history;
      if (computation.deductions?.has(deductionId) === false) continue;
      const employer_id = assignedIn(history, run);
      const job = employer_id === null ? undefined : employmentAt(employments, { employer_id });
      const isTaken = employer_id === null ? !hasSeveral : job !== undefined && isActive(job, run.period_end);
      if (isTaken || employer_id === run.employer_id) continue;
      if (stateFor(history, employeeId, dayOfRun(run)) === null) continue;
      note('unassigned', employeeId, [deductionId], unassignedExample(employeeId, deductionId));
    }
  };

  /** Notes moved starts whose old and new dates enclose the run's day. */
  const noteStarts = ({ employeeId, histories }: RunEmployee): void => {
    const day = dayOfRun(run);
    for (const { timeline } of histories) {
      for (const moved of timeline.corrected) {
        const { version, next } = moved;
        if (version.employee_id === employeeId && concernsDay(moved, day))
          note('start_corrected', employeeId, [versionId(version), versionId(next)]);
      }
      for (const moved of timeline.moved) {
        const { version, next } = moved;
        if (version.employee_id !== employeeId || !concernsDay(moved, day)) continue;
        const example = `${employeeId}: ${version.line_of_coverage} (${version.deduction_id}), ${termsInWords(version)} until ${termsInWords(next)}`;
        note('start_moved', employeeId, [versionId(version), versionId(next)], example);
      }
    }
  };

  const noteLines = ({ employeeId, employments, histories }: RunEmployee, lines: readonly Line[]): void => {
    const regular = lines.filter((line) => line.kind === 'regular');
    const employment = employmentAt(employments, run);
    const left = employment && spellOn(employment, run.period_end)?.termination_date;
    const open = lines.filter((line) => line.flags.includes('open_after_termination'));
    if (open.length > 0 && left) {
      const example = `${employeeId}: left on ${left}, ${linesWithCoverage(open, histories, left)}`;
      note('open_after_termination', employeeId, open.map(versionId), example);
    }
    if (
      employment !== undefined &&
      isAbsentNow(employment) &&
      terminationOf(computation, employments) === null
    )
      note('absent_from_census', employeeId);
    noteOverlaps(employeeId, regular, histories);
    noteLastDay(employeeId, regular, histories);
    const shared = regular.filter(({ shares }) => shares === null);
    if (run.kind === 'off_cycle' && shared.length > 0) {
      offCycle.employees += 1;
      offCycle.member += shared.reduce((sum, line) => sum + line.member_amount, 0n);
    }
    regular.forEach(noteCodes);
    beyondYear.add(regular);
  };

  /** Notes each pair of deductions for one line of coverage. A deduction whose amounts became zero has ended (docs/provider.md). */
  const noteOverlaps = (
    employeeId: string,
    regular: readonly Line[],
    histories: readonly History[],
  ): void => {
    const elected = regular.filter(
      (line) =>
        !isStopped(line) &&
        !(isZero(line.member_contribution ?? '') && isZero(line.employer_contribution ?? '')),
    );
    for (const [coverage, rivals] of Map.groupBy(elected, (line) => line.line_of_coverage)) {
      const pairs = rivals.flatMap((line, index) =>
        rivals.slice(index + 1).map((rival) => [line, rival] as const),
      );
      for (const [line, rival] of pairs) {
        const example = `${employeeId}: ${linesInWords([line, rival])}${sameDayInWords(line, rival, histories)}`;
        const what = ELECTED_ONCE.has(coverage) ? 'overlap' : 'overlap_normal';
        note(what, employeeId, [line.deduction_id, rival.deduction_id].sort(), example);
      }
    }
  };

  /** Returns `; dental ded-1 ends on the day on which ded-2 starts`, or nothing. */
  const sameDayInWords = (line: Line, rival: Line, histories: readonly History[]): string => {
    const [one, other] = [line, rival].map(({ deduction_id }) =>
      stateNow(historyOf(histories, deduction_id)),
    );
    const [ended, begun] =
      one?.ends_on != null && one.ends_on === other?.starts_on ? [one, other] : [other, one];
    if (ended?.ends_on == null || ended.ends_on !== begun?.starts_on) return '';
    return `; ${ended.deduction_id} ends on ${ended.ends_on}, the day on which ${begun.deduction_id} starts`;
  };

  const stateNow = ({ timeline }: History): RunVersion | null => stateOn(timeline.counting, dayOfRun(run));

  /** Notes deductions that this run takes on their last day, and those that are in effect on that day only. */
  const noteLastDay = (employeeId: string, regular: readonly Line[], histories: readonly History[]): void => {
    for (const line of regular) {
      if (isStopped(line) || (line.member_amount === 0n && line.employer_amount === 0n)) continue;
      const state = stateNow(historyOf(histories, line.deduction_id));
      if (state === null || state.ends_on !== dayOfRun(run)) continue;
      const { starts_on, ends_on, event_id } = state;
      const example = `${employeeId}: ${linesInWords([line])} (${line.deduction_id})`;
      if (starts_on === ends_on)
        note('one_day_window', employeeId, [versionId(line)], `${example}, in effect on ${ends_on} only`);
      else note('ends_on_day', employeeId, [event_id], `${example}, ends on ${ends_on}`);
    }
  };

  /** Notes renewals that a later change of the present window erased. */
  const noteErased = ({ employeeId, employments, histories }: RunEmployee): void => {
    const day = dayOfRun(run);
    const employment = employmentAt(employments, run);
    for (const { versions, timeline } of histories) {
      if (timeline.counting.length < 2 && versions.length < 2) continue;
      for (const { version, by } of erasedStarts(versions)) {
        const start = version.starts_on ?? '';
        const left = employment && spellOn(employment, start)?.termination_date;
        if (version.employee_id !== employeeId || (left && left < start)) continue;
        if (version.ends_on !== null && version.ends_on < day) continue;
        const example = `${employeeId}: ${version.line_of_coverage} (${version.deduction_id}), ${termsInWords(version)} was erased by ${termsInWords(by)}`;
        note(day < start ? 'renewal_ahead' : 'renewal_erased', employeeId, [versionId(version)], example);
      }
    }
  };

  /** Notes what the first run of an employee leaves out, because premiums are taken a month ahead. */
  const noteFirstMonth = (employee: RunEmployee, lines: readonly Line[]): void => {
    if (run.applies_on !== 'next_month' || run.kind !== 'regular') return;
    const isLater = computation.earlier.some(
      (other) => !other.isVoided && other.run.kind === 'regular' && wasInRun(other, employee),
    );
    if (isLater) return;
    const day = dayOfRun(run);
    for (const line of lines) {
      if (line.kind !== 'regular' || isStopped(line)) continue;
      const begun = stateNow(historyOf(employee.histories, line.deduction_id))?.starts_on ?? null;
      if (begun === null || begun >= day) continue;
      const example = `${employee.employeeId}: ${linesInWords([line])} (${line.deduction_id}) a check, from ${begun}; the first run looks at ${day}`;
      note('first_month_ahead', employee.employeeId, [versionId(line)], example);
    }
  };

  /** Notes the first run after a change of pay frequency or employer. */
  const noteMove = (employee: RunEmployee, lines: readonly Line[]): void => {
    const { employeeId } = employee;
    const unknown = computation.transfers.get(employeeId)?.find(({ until }) => until === null);
    if (unknown !== undefined && lines.length > 0)
      note('transfer_unknown', employeeId, [unknown.left_on], `${employeeId}: left on ${unknown.left_on}`);
    const day = lines.length === 0 ? null : movedOn(computation, employee);
    if (day !== null) note('frequency_moved', employeeId, [day], `${employeeId}: since ${day}`);
  };

  /** Notes items without a decision, and items bound to another tax year. */
  const noteItems = (employeeId: string, { units }: Taking): void => {
    const noteItem = (what: Note, items: readonly OpenItem[]): void => {
      for (const [coverage, ofCoverage] of Map.groupBy(items, ({ line }) => line.line_of_coverage)) {
        const sum = ofCoverage.reduce((total, item) => total + item.outstanding.member, 0n);
        const example = `${employeeId}: ${coverage} ${amountOf(sum)} (${paychecksInWords(ofCoverage)})`;
        note(what, employeeId, ofCoverage.flatMap(itemIds), example);
      }
    };
    const items = units.flatMap((unit) => unit.items);
    const undecided = items.filter(({ state }) => state === 'open');
    // The run before reported a refund that was known then. It stays open until a person decides.
    const reportedUntil = computation.previous?.finalizedAt ?? '';
    const isNew = ({ line }: OpenItem): boolean => (line.because?.received_at ?? '') > reportedUntil;
    for (const flag of ITEM_FLAGS) {
      const flagged = undecided.filter(({ line }) => line.flags.includes(flag));
      noteItem(flag, flag === 'retro_refund' ? flagged.filter(isNew) : flagged);
    }
    const waiting = units.filter(({ leftOut }) => leftOut === 'refund_waits');
    noteItem(
      'refund_waits',
      waiting.flatMap((unit) => unit.items),
    );
    const bound = units.filter(({ leftOut }) => leftOut === 'other_tax_year');
    noteItem(
      'bound_to_year',
      bound.flatMap((unit) => unit.items),
    );
  };

  /** Notes each taxability below zero: a post-tax deduction must not hide a pre-tax refund. */
  const noteNegative = (employeeId: string, lines: readonly Line[], { byTaxability }: Taking): void => {
    for (const [taxability, sum] of byTaxability) {
      if (sum >= 0n) continue;
      const negative = lines.filter((line) => line.taxability === taxability && line.member_amount < 0n);
      const ids = negative.map((line) => line.item_id ?? versionId(line));
      note('negative_total', employeeId, ids, `${employeeId}: ${amountOf(sum)} ${taxability}`);
    }
  };

  /** A side without a contribution needs no code. An employer may have no codes, or none for its own side. */
  const noteCodes = (line: Line): void => {
    // A line that stops keeps the code of the previous run.
    if (codes.length === 0 || isStopped(line)) return;
    const { line_of_coverage, taxability, coverage_type } = line;
    const hasTypes = codes.some(
      (code) => code.line_of_coverage === line_of_coverage && code.coverage_type !== null,
    );
    const type = hasTypes ? ` ${coverage_type ?? 'without a coverage type'}` : '';
    const what = `${line_of_coverage}${type} ${taxability}`;
    if (line.payroll_code === null && !isZero(line.member_contribution ?? ''))
      missingCodes.add(`${what} employee`);
    if (hasEmployerCodes && line.employer_payroll_code === null && !isZero(line.employer_contribution ?? ''))
      missingCodes.add(`${what} employer`);
  };

  /** Notes the shares that remain after the employee's last check, and that a final check has one. */
  const noteShares = (employee: RunEmployee, lines: readonly Line[]): void => {
    const { employeeId, histories } = employee;
    const isTaken = (line: Line) =>
      line.kind === 'regular' && !isStopped(line) && !line.flags.includes('share_taken');
    if (lines.some(isTaken)) emptyChecks.delete(employeeId);
    const flagged = lines.filter(({ flags }) => flags.includes('coverage_beyond_last_check'));
    if (flagged.length === 0) return;
    const remaining = flagged.map(({ deduction_id, shares }) =>
      remainingAfter(computation, computation, employee, historyOf(histories, deduction_id), shares),
    );
    const ends = flagged.map(({ deduction_id }) => endOf(historyOf(histories, deduction_id)));
    const end = ends.reduce((last, day) => (last === null || day === null || day < last ? last : day));
    const example = `${remainingInWords(employeeId, remaining)}, ${coverageInWords(end)}`;
    note('coverage_beyond_last_check', employeeId, flagged.map(versionId), example);
  };

  return {
    /** `hasDeduction`: a deduction of the employee is in effect on the run's day. */
    add({ employee, lines, taking }: EmployeeLines, hasDeduction: boolean): void {
      noteMembership(employee);
      noteEmployment(employee, hasDeduction);
      notePaidAfterTermination(employee);
      for (const { example, ids } of outdatedOverrides(employee))
        note('override_outdated', employee.employeeId, ids, example);
      if (employee.membership.isIn) {
        noteStarts(employee);
        noteUnassigned(employee);
        noteErased(employee);
        noteFirstMonth(employee, lines);
      }
      if (lines.length > 0) noteLines(employee, lines);
      noteItems(employee.employeeId, taking);
      noteNegative(employee.employeeId, lines, taking);
      noteShares(employee, lines);
      noteMove(employee, lines);
    },
    notes(): ReadonlyMap<Note, readonly Noted[]> {
      for (const name of [...missingCodes].sort()) note('code_missing', null, [], name);
      for (const employeeId of emptyChecks) note('final_check_empty', employeeId);
      for (const example of beyondYear.examples()) note('beyond_year', null, [], example);
      const { employees, member } = offCycle;
      if (employees > 0)
        note('off_cycle_adds', null, [], `${countOfEmployees(employees)}, ${printReadable(member)}`);
      return notes;
    },
  };
}

function hasNoAmount({ member_contribution, employer_contribution }: RunVersion): boolean {
  return isZero(member_contribution) && isZero(employer_contribution);
}

/** `medical 69.23, medical 36.92`. */
function linesInWords(lines: readonly Line[]): string {
  return lines
    .map(({ line_of_coverage, member_amount }) => `${line_of_coverage} ${amountOf(member_amount)}`)
    .join(', ');
}

/**
 * Returns `medical 69.23 (coverage through 2026-12-31), dental 10.38 (coverage without an end date)`. An end after the year
 * that follows the termination is none.
 */
function linesWithCoverage(lines: readonly Line[], histories: readonly History[], left: string): string {
  const lastEnd = `${Number(yearOf(left)) + 1}-12-31`;
  const inWords = (line: Line) => {
    const end = endOf(historyOf(histories, line.deduction_id));
    return `${linesInWords([line])} (${coverageInWords(end !== null && end > lastEnd ? null : end)})`;
  };
  return lines.map(inWords).join(', ');
}

/** Returns `150.00 monthly from 2026-07-01`, with the employer's part and the end if there are any. */
function termsInWords(version: RunVersion): string {
  const { member_contribution, employer_contribution, period, starts_on, ends_on } = version;
  const employer = isZero(employer_contribution) ? '' : ` plus employer ${employer_contribution}`;
  const from = starts_on === null ? '' : ` from ${starts_on}`;
  return `${member_contribution}${employer} ${period}${from}${ends_on === null ? '' : ` through ${ends_on}`}`;
}

function coverageInWords(end: string | null): string {
  return end === null ? 'coverage without an end date' : `coverage through ${end}`;
}

function historyOf(histories: readonly History[], id: string): History {
  return histories.find(({ deductionId }) => deductionId === id) as History;
}

/** Returns the last day of a deduction by its latest version, which may start after the run; null without an end. */
function endOf({ timeline }: History): string | null {
  return latestOf(timeline.counting)?.ends_on ?? null;
}

/** Names the pay dates, because another item of the same line of coverage may not belong to the finding. */
function paychecksInWords(items: readonly OpenItem[]): string {
  const dates = [...new Set(items.map(({ payDate }) => payDate))].sort();
  const [first = '', last = first] = [dates[0], dates.at(-1)];
  return dates.length === 1 ? `paycheck of ${first}` : `${dates.length} paychecks from ${first} to ${last}`;
}

/** The version shows whether the item still rests on the same facts. */
function itemIds({ id, line }: OpenItem): string[] {
  return [id, versionId(line)];
}

function versionId({ deduction_id, version }: Pick<Line, 'deduction_id' | 'version'>): string {
  return `${deduction_id}:${version}`;
}
