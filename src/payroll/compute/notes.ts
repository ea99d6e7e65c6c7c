/** Notes findings for the readiness checks of a run (lifecycle/checks.ts). Pure. */
import { unassignedExample } from '../../ledger/checks.ts';
import { isActive, spellOn, valueOn } from '../../ledger/employment.ts';
import type { RunVersion } from '../../ledger/history.ts';
import { concernsDay, latestOf } from '../../ledger/state.ts';
import { amountOf, isZero } from '../../money.ts';
import { isStopped, type Line } from '../calculation/line.ts';
import { dayOfRun } from '../records/body.ts';
import { createBeyondYear } from './beyond-year.ts';
import { isScheduled } from './calendar.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { sharesAfterMove } from './frequency-moved.ts';
import { assignedIn, type History, historyAt, stateFor, stateInRun } from './history.ts';
import { remainingInWords } from './last-check.ts';
import type { OpenItem } from './open-items.ts';
import { createOutdatedOverrides } from './overrides.ts';
import { employmentAt, hasSeveralEmployers, UNCLEAR } from './population.ts';
import { wasInRun } from './reopened-runs.ts';
import { remainingAfter } from './shares.ts';
import type { EmployeeLines, Taking } from './taking.ts';

const NOTED_FLAGS = ['open_after_termination', 'absent_from_census', 'frequency_mismatch'] as const;

/** Flags of open items whose findings state amounts. */
const ITEM_FLAGS = ['missed_check', 'retro_pre_tax', 'retro_refund'] as const;

/** A finding of a readiness check in the computation. */
export type Note =
  | (typeof NOTED_FLAGS)[number]
  | (typeof ITEM_FLAGS)[number]
  | (typeof UNCLEAR)[number]
  | 'beyond_year'
  /** Pre-tax items that only a run of their own tax year takes. */
  | 'bound_to_year'
  | 'code_missing'
  | 'coverage_beyond_last_check'
  | 'final_check_empty'
  | 'frequency_moved'
  | 'negative_total'
  | 'not_scheduled'
  /** Two elections of a line of coverage that nearly always is elected once. */
  | 'overlap'
  /** Two elections of a line of coverage for which several are normal. */
  | 'overlap_normal'
  | 'override_outdated'
  | 'paid_after_termination'
  | 'start_corrected'
  | 'start_moved'
  | 'termination_contradicted'
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
      for (const moved of timeline.undecided) {
        const { version, next } = moved;
        if (version.employee_id !== employeeId || !concernsDay(moved, day)) continue;
        const example = `${employeeId}: deduction ${version.deduction_id}, version ${version.version} of ${version.starts_on} or ${next.version} of ${next.starts_on}`;
        note('start_moved', employeeId, [versionId(version), versionId(next)], example);
      }
    }
  };

  const noteLines = ({ employeeId, employments, histories }: RunEmployee, lines: readonly Line[]): void => {
    const regular = lines.filter((line) => line.kind === 'regular');
    for (const flag of NOTED_FLAGS) {
      // An adjustment repeats the mismatch of the run that it adjusts.
      const among = flag === 'frequency_mismatch' ? regular : lines;
      const flagged = among.filter((line) => line.flags.includes(flag));
      if (flagged.length === 0) continue;
      const employment = flag === 'open_after_termination' ? employmentAt(employments, run) : undefined;
      const left = employment && spellOn(employment, run.period_end)?.termination_date;
      const example = left
        ? `${employeeId}: left on ${left}, ${linesWithCoverage(flagged, histories)}`
        : undefined;
      note(flag, employeeId, flagged.map(versionId), example);
    }
    const overlapping = Map.groupBy(
      regular.filter((line) => line.flags.includes('overlap')),
      (line) => line.line_of_coverage,
    );
    for (const [coverage, rivals] of overlapping) {
      const example = `${employeeId}: ${linesInWords(rivals)}`;
      note(
        ELECTED_ONCE.has(coverage) ? 'overlap' : 'overlap_normal',
        employeeId,
        rivals.map(versionId),
        example,
      );
    }
    regular.forEach(noteCodes);
    beyondYear.add(regular);
  };

  /** Notes the shares of the year after a change of pay frequency. */
  const noteMove = (employee: RunEmployee, lines: readonly Line[]): void => {
    const moved = lines.filter(({ flags }) => flags.includes('frequency_moved'));
    const shares = moved.length === 0 ? null : sharesAfterMove(computation, employee);
    if (shares === null) return;
    const { employeeId } = employee;
    note('frequency_moved', employeeId, moved.map(versionId), `${employeeId}: ${shares.share}`);
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
    for (const flag of ITEM_FLAGS)
      noteItem(
        flag,
        undecided.filter(({ line }) => line.flags.includes(flag)),
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
    const what = `${line.line_of_coverage} ${line.taxability}`;
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
      remainingAfter(computation, employee, historyOf(histories, deduction_id), shares),
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

/** `medical 69.23 (coverage through 2026-12-31), dental 10.38 (coverage without an end date)`. */
function linesWithCoverage(lines: readonly Line[], histories: readonly History[]): string {
  const inWords = (line: Line) => {
    const end = endOf(historyOf(histories, line.deduction_id));
    return `${linesInWords([line])} (${coverageInWords(end)})`;
  };
  return lines.map(inWords).join(', ');
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
