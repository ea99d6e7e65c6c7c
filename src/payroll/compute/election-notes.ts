/** Notes findings about the elections of a run's employees: who takes them, and their starts, ends, overlaps. Pure. */
import { unassignedExample } from '../../ledger/checks.ts';
import { isActive, spellOn } from '../../ledger/employment.ts';
import type { RunVersion } from '../../ledger/history.ts';
import { concernsDay, erasedStarts, stateOn } from '../../ledger/state.ts';
import { amountOf, isZero } from '../../money.ts';
import { isNothing } from '../calculation/items.ts';
import { isStopped, type Line, NOT_COMPARED } from '../calculation/line.ts';
import { dayOfRun } from '../records/body.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { assignedIn, type History, historyOf, stateFor } from './history.ts';
import type { TakeNote } from './note.ts';
import { employmentAt } from './population.ts';
import { checksBefore } from './reopened-runs.ts';

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

/** Passes findings about the elections of one employee after the other to `note`. */
export function createElectionNotes(computation: Computation, note: TakeNote) {
  const { run } = computation;

  /** Notes deductions of two jobs that are in effect and in no run until an operator assigns them to an employer. */
  const noteUnassigned = (employee: RunEmployee): void => {
    const { employeeId, employments, histories, hasSeveralEmployers: hasSeveral } = employee;
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

  /** Notes each pair of deductions for one line of coverage. A deduction whose amounts became zero has ended (docs/provider.md). */
  const noteOverlaps = (
    employeeId: string,
    regular: readonly Line[],
    histories: readonly History[],
  ): void => {
    const elected = regular.filter(
      (line) =>
        !isStopped(line) &&
        !(
          isZero(line.election.member_contribution ?? '') && isZero(line.election.employer_contribution ?? '')
        ),
    );
    for (const [coverage, rivals] of Map.groupBy(elected, (line) => line.account.line_of_coverage)) {
      const pairs = rivals.flatMap((line, index) =>
        rivals.slice(index + 1).map((rival) => [line, rival] as const),
      );
      for (const [line, rival] of pairs) {
        const example = `${employeeId}: ${linesInWords([line, rival])}${sameDayInWords(line, rival, histories)}`;
        const what = ELECTED_ONCE.has(coverage) ? 'overlap' : 'overlap_normal';
        // Where several elections are normal, only the first run of a pair names it.
        if (what === 'overlap_normal' && wasTaken(line) && wasTaken(rival)) continue;
        note(what, employeeId, [line.account.deduction_id, rival.account.deduction_id].sort(), example);
      }
    }
  };

  /** Returns `; dental ded-1 ends on the day on which ded-2 starts`, or nothing. */
  const sameDayInWords = (line: Line, rival: Line, histories: readonly History[]): string => {
    const [one, other] = [line, rival].map(({ account }) =>
      stateNow(historyOf(histories, account.deduction_id)),
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
      if (isStopped(line) || isNothing(line.amounts)) continue;
      const state = stateNow(historyOf(histories, line.account.deduction_id));
      if (state === null || state.ends_on !== dayOfRun(run)) continue;
      const { starts_on, ends_on, event_id } = state;
      const example = `${employeeId}: ${linesInWords([line])} (${line.account.deduction_id})`;
      if (starts_on === ends_on)
        note('one_day_window', employeeId, [versionOf(line)], `${example}, in effect on ${ends_on} only`);
      else note('ends_on_day', employeeId, [event_id], `${example}, ends on ${ends_on}`);
    }
  };

  /** Notes renewals that a later change of the present window erased. */
  const noteErased = ({ employeeId, employment, histories }: RunEmployee): void => {
    const day = dayOfRun(run);
    for (const { versions } of histories) {
      if (versions.length < 2) continue;
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

  /** Notes what the first line of a deduction leaves out, because premiums are taken a month ahead. */
  const noteFirstMonth = (employee: RunEmployee, lines: readonly Line[]): void => {
    if (run.applies_on !== 'next_month' || run.kind !== 'regular') return;
    const days = [run, ...checksBefore(computation, employee).map((check) => check.run)].map(dayOfRun);
    const [day = ''] = days.sort();
    for (const line of lines) {
      if (line.kind !== 'regular' || isStopped(line) || line.compared?.change !== 'new') continue;
      const begun = stateNow(historyOf(employee.histories, line.account.deduction_id))?.starts_on ?? null;
      if (begun === null || begun >= day) continue;
      const example = `${employee.employeeId}: ${linesInWords([line])} (${line.account.deduction_id}) a check, from ${begun}; the first run looks at ${day}`;
      note('first_month_ahead', employee.employeeId, [versionOf(line)], example);
    }
  };

  return {
    /** Notes the elections of an employee in the run, with or without lines. */
    add(employee: RunEmployee, lines: readonly Line[]): void {
      noteStarts(employee);
      noteUnassigned(employee);
      noteErased(employee);
      noteFirstMonth(employee, lines);
    },
    /** Notes what an employee's regular lines take at once, and on which day. */
    addLines({ employeeId, histories }: RunEmployee, regular: readonly Line[]): void {
      noteOverlaps(employeeId, regular, histories);
      noteLastDay(employeeId, regular, histories);
    },
  };
}

/** Reports whether the previous run took the deduction too. */
function wasTaken({ compared }: Line): boolean {
  const { change, amount_change, previous_amount } = compared ?? NOT_COMPARED;
  return change === 'same' || (change === 'changed' && (amount_change === 'same' || previous_amount !== 0n));
}

/** `medical 69.23, medical 36.92`. */
export function linesInWords(lines: readonly Line[]): string {
  return lines
    .map(({ account, amounts }) => `${account.line_of_coverage} ${amountOf(amounts.member)}`)
    .join(', ');
}

/** Returns `150.00 monthly from 2026-07-01`, with the employer's part and the end if there are any. */
function termsInWords(version: RunVersion): string {
  const { member_contribution, employer_contribution, period, starts_on, ends_on } = version;
  const employer = isZero(employer_contribution) ? '' : ` plus employer ${employer_contribution}`;
  const from = starts_on === null ? '' : ` from ${starts_on}`;
  return `${member_contribution}${employer} ${period}${from}${ends_on === null ? '' : ` through ${ends_on}`}`;
}

/** Names what a finding rests on: another version of the deduction is another finding. */
export function versionId({
  deduction_id,
  version,
}: {
  deduction_id: string;
  version: number | null;
}): string {
  return `${deduction_id}:${version}`;
}

export function versionOf({ account, election }: Line): string {
  return versionId({ deduction_id: account.deduction_id, version: election.version });
}
