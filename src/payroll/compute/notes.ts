/** Notes findings for the readiness checks of a run (lifecycle/checks.ts). Pure. */
import { isAbsentNow, isActive, spellOn, valueOn } from '../../ledger/employment.ts';
import type { RunVersion } from '../../ledger/history.ts';
import { latestOf } from '../../ledger/state.ts';
import { amountOf, isZero, printReadable } from '../../money.ts';
import { isStopped, type Line } from '../calculation/line.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import { createBeyondYear } from './beyond-year.ts';
import { isScheduled } from './calendar.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { createElectionNotes, linesInWords, versionId, versionOf } from './election-notes.ts';
import { movedOn } from './frequency-moved.ts';
import { type History, historyAt, historyOf, stateInRun } from './history.ts';
import type { OpenItem } from './item-state.ts';
import { remainingInWords } from './last-check.ts';
import { ITEM_FLAGS, type Note, type Noted, type TakeNote } from './note.ts';
import { addedToYear } from './off-cycle-adds.ts';
import { createOutdatedOverrides } from './overrides.ts';
import { UNCLEAR } from './population.ts';
import { checksBefore, wasInRun } from './reopened-runs.ts';
import { remainingAfter } from './shares.ts';
import type { EmployeeLines, Taking } from './taking.ts';
import { countOfEmployees } from './totals.ts';

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

  const note: TakeNote = (what, employeeId, ids = [], example = employeeId ?? '') => {
    const noted = notes.get(what) ?? [];
    noted.push({ example, employeeId, ids });
    notes.set(what, noted);
  };
  const elections = createElectionNotes(computation, note);

  const noteMembership = ({ employeeId, membership }: RunEmployee, deductionIds: readonly string[]): void => {
    if (membership.isIn) return;
    const unclear = UNCLEAR.find((reason) => reason === membership.why);
    if (unclear !== undefined) note(unclear, employeeId, deductionIds);
  };

  const noteEmployment = (employee: RunEmployee, deductionIds: readonly string[]): void => {
    const { employeeId, employment, membership } = employee;
    if (employment === undefined) return;
    const contradictedOn = spellOn(employment, run.period_end)?.contradicted_on;
    if (contradictedOn != null) note('termination_contradicted', employeeId, [contradictedOn]);
    if (run.kind !== 'regular' || deductionIds.length === 0 || !isActive(employment, run.period_end)) return;
    const frequency = valueOn(employment, 'pay_frequency', run.period_end);
    const group = valueOn(employment, 'pay_group', run.period_end);
    if (isScheduled(schedules, frequency, group)) return;
    // Without any schedule, runs take their employees all the same: the first one of each names them.
    if (schedules.length === 0 && membership.isIn && checksBefore(computation, employee).length > 0) return;
    // Only a schedule of the employee's group is missing, so the runs of other frequencies are not concerned.
    const isOfOtherRuns =
      frequency !== null &&
      frequency !== run.pay_frequency &&
      schedules.some(({ pay_frequency }) => pay_frequency === frequency);
    if (!isOfOtherRuns) note('not_scheduled', employeeId, deductionIds);
  };

  /** Notes deductions without an end that runs took for pay periods after the termination. */
  const notePaidAfterTermination = (employee: RunEmployee): void => {
    const { employeeId, termination: terminated, jobAt, histories } = employee;
    if (run.kind !== 'regular' || terminated === null) return;
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
        const known = jobAt(earlier, earlier.position);
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

  const noteLines = (employee: RunEmployee, lines: readonly Line[], taking: Taking): void => {
    const { employeeId, employment, termination, histories } = employee;
    const regular = lines.filter((line) => line.kind === 'regular');
    const open = lines.filter((line) => line.flags.includes('open_after_termination'));
    if (open.length > 0 && termination !== null) {
      const example = `${employeeId}: left on ${termination}, ${linesWithCoverage(open, histories, termination)}`;
      note('open_after_termination', employeeId, open.map(versionOf), example);
    }
    if (employment !== undefined && isAbsentNow(employment) && termination === null)
      note(
        'absent_from_census',
        employeeId,
        regular.map(({ account }) => account.deduction_id),
      );
    elections.addLines(employee, regular);
    const added = run.kind === 'off_cycle' ? addedToYear(computation, employee, regular, taking) : [];
    if (added.length > 0) {
      offCycle.employees += 1;
      offCycle.member += added.reduce((sum, amount) => sum + amount, 0n);
    }
    lines.forEach(noteCodes);
    beyondYear.add(regular);
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
      for (const [coverage, ofCoverage] of Map.groupBy(items, ({ identity }) => identity.line_of_coverage)) {
        const sum = ofCoverage.reduce((total, item) => total + item.outstanding.member, 0n);
        const example = `${employeeId}: ${coverage} ${amountOf(sum)} (${paychecksInWords(ofCoverage)})`;
        note(what, employeeId, ofCoverage.flatMap(itemIds), example);
      }
    };
    const items = units.flatMap((unit) => unit.items);
    const undecided = items.filter(({ state }) => state === 'open');
    // The run before reported what was known then. It stays open until a person decides.
    const { previous } = computation;
    const reportedUntil = previous?.finalizedAt ?? '';
    const isNew = ({ line }: OpenItem): boolean => (line.settles?.because?.received_at ?? '') > reportedUntil;
    for (const flag of ITEM_FLAGS) {
      const flagged = undecided.filter(({ line }) => line.flags.includes(flag));
      noteItem(flag, flag === 'retro_refund' ? flagged.filter(isNew) : flagged);
    }
    const waiting = units.filter(({ leftOut }) => leftOut === 'refund_waits');
    noteItem(
      'refund_waits',
      waiting.flatMap((unit) => unit.items),
    );
    const bound = units.filter(({ leftOut }) => leftOut === 'other_tax_year').flatMap(({ items }) => items);
    const reportedYear = previous === null ? null : yearOf(previous.run.pay_date);
    noteItem(
      'bound_to_year',
      bound.filter((item) => isNew(item) || reportedYear === yearOf(item.payDate)),
    );
  };

  /** Notes each taxability below zero: a post-tax deduction must not hide a pre-tax refund. */
  const noteNegative = (employeeId: string, lines: readonly Line[], { byTaxability }: Taking): void => {
    for (const [taxability, sum] of byTaxability) {
      if (sum >= 0n) continue;
      const negative = lines.filter(
        ({ account, amounts }) => account.taxability === taxability && amounts.member < 0n,
      );
      const ids = negative.map((line) => line.settles?.item_id ?? versionOf(line));
      note('negative_total', employeeId, ids, `${employeeId}: ${amountOf(sum)} ${taxability}`);
    }
  };

  /** A side without an amount or a contribution needs no code. An employer may have no codes, or none for its own side. */
  const noteCodes = (line: Line): void => {
    // A line that stops keeps the code of the previous run.
    if (codes.length === 0 || isStopped(line)) return;
    const { account, election, amounts, codes: codesOfLine } = line;
    const { line_of_coverage, taxability } = account;
    const hasTypes = codes.some(
      (code) => code.line_of_coverage === line_of_coverage && code.coverage_type !== null,
    );
    const type = hasTypes ? ` ${election.coverage_type ?? 'without a coverage type'}` : '';
    const what = `${line_of_coverage}${type} ${taxability}`;
    const isNothing = (amount: bigint, contribution: string | null) =>
      amount === 0n && isZero(contribution ?? '');
    if (codesOfLine.payroll_code === null && !isNothing(amounts.member, election.member_contribution))
      missingCodes.add(`${what} employee`);
    const isEmployerNothing = isNothing(amounts.employer, election.employer_contribution);
    if (hasEmployerCodes && codesOfLine.employer_payroll_code === null && !isEmployerNothing)
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
    const remaining = flagged.map(({ account, shares }) =>
      remainingAfter(computation, computation, employee, historyOf(histories, account.deduction_id), shares),
    );
    const ends = flagged.map(({ account }) => endOf(historyOf(histories, account.deduction_id)));
    const end = ends.reduce((last, day) => (last === null || day === null || day < last ? last : day));
    const example = `${remainingInWords(employeeId, remaining)}, ${coverageInWords(end)}`;
    note('coverage_beyond_last_check', employeeId, flagged.map(versionOf), example);
  };

  return {
    /** `deductionIds`: the employee's deductions in effect on the run's day. */
    add({ employee, lines, taking }: EmployeeLines, deductionIds: readonly string[]): void {
      noteMembership(employee, deductionIds);
      noteEmployment(employee, deductionIds);
      notePaidAfterTermination(employee);
      for (const { example, ids } of outdatedOverrides(employee))
        note('override_outdated', employee.employeeId, ids, example);
      if (employee.membership.isIn) elections.add(employee, lines);
      if (lines.length > 0) noteLines(employee, lines, taking);
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

/**
 * Returns `medical 69.23 (coverage through 2026-12-31), dental 10.38 (coverage without an end date)`. An end after the year
 * that follows the termination is none.
 */
function linesWithCoverage(lines: readonly Line[], histories: readonly History[], left: string): string {
  const lastEnd = `${Number(yearOf(left)) + 1}-12-31`;
  const inWords = (line: Line) => {
    const end = endOf(historyOf(histories, line.account.deduction_id));
    return `${linesInWords([line])} (${coverageInWords(end !== null && end > lastEnd ? null : end)})`;
  };
  return lines.map(inWords).join(', ');
}

function coverageInWords(end: string | null): string {
  return end === null ? 'coverage without an end date' : `coverage through ${end}`;
}

function hasNoAmount({ member_contribution, employer_contribution }: RunVersion): boolean {
  return isZero(member_contribution) && isZero(employer_contribution);
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
  return [id, versionOf(line)];
}
