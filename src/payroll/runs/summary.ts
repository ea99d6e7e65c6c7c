/**
 * The summary of a run: its totals, its ETag, its comparison with the previous run, and the findings for
 * readiness.
 */
import { createHash } from 'node:crypto';
import { isActive, spellOn, valueOn } from '../../ledger/employment.ts';
import { isZero, total } from '../../money.ts';
import { isIncluded, type Line } from '../calculation/line.ts';
import type { PayrollCode } from '../settings/codes.ts';
import type { Basis, Outcome } from './basis.ts';
import { createComparison } from './comparison.ts';
import type { EmployeeLines } from './compute.ts';
import type { Reason } from './population.ts';
import { createTotals, type Totals } from './totals.ts';

/** A finding of a readiness check in the computation. */
export type Note =
  | 'absent_from_census'
  | 'code_missing'
  | 'coverage_beyond_last_check'
  | 'frequency_mismatch'
  | 'missed_check'
  | 'negative_total'
  | 'not_scheduled'
  | 'not_selected'
  | 'open_after_termination'
  /** Two elections of a line of coverage that nearly always is elected once. */
  | 'overlap'
  /** Two elections of a line of coverage for which several are normal. */
  | 'overlap_normal'
  | 'retro_pre_tax'
  | 'start_corrected'
  | 'start_moved'
  | 'termination_contradicted'
  | 'two_employers'
  | 'unknown_frequency'
  | 'unknown_pay_group';

/** `ids`: the versions that the finding rests on; while they are the same, so is the finding. */
type Noted = { example: string; employeeId: string | null; ids: readonly string[] };
type Notes = ReadonlyMap<Note, readonly Noted[]>;

/** Employees named in `not_in_run`: more than an employer of several frequencies usually has. */
const NOT_IN_RUN_NAMED = 10_000;

const NOTED_FLAGS = [
  'open_after_termination',
  'coverage_beyond_last_check',
  'absent_from_census',
  'frequency_mismatch',
] as const;

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

const NOTED_REASONS: Partial<Record<Reason, Note>> = {
  two_employers: 'two_employers',
  unknown_frequency: 'unknown_frequency',
  unknown_pay_group: 'unknown_pay_group',
  not_selected: 'not_selected',
};

export type Summary = { totals: Totals; etag: string; outcome: Outcome; notes: Notes };

/**
 * Adds up the employees of an employer, in order. The ETag is a SHA-256 of all lines: it changes with any of
 * them and with nothing else.
 */
export function createSummary(basis: Basis): {
  /** `text` is the employee's lines as JSON. */
  add(employee: EmployeeLines, text: string): void;
  summary(): Summary;
} {
  const { run, schedules } = basis;
  const hash = createHash('sha256');
  const adding = createTotals();
  const comparing = basis.previous === null ? null : createComparison(basis.previous);
  const notes = new Map<Note, Noted[]>();
  const settled = new Map<string, Set<string>>();
  const missing = createMissingCodes(basis.codes);
  const notInRun: Outcome['not_in_run'] = [];
  let notInRunCount = 0;
  let employees = 0;

  const note = (
    what: Note,
    employeeId: string | null,
    ids: readonly string[] = [],
    example?: string,
  ): void => {
    const noted = notes.get(what) ?? [];
    noted.push({ example: example ?? employeeId ?? '', employeeId, ids });
    notes.set(what, noted);
  };

  const noteMembership = ({ employeeId, membership, employments, hasDeduction }: EmployeeLines): void => {
    if (!membership.isIn) {
      const what = NOTED_REASONS[membership.why];
      if (what !== undefined) note(what, employeeId);
      if (run.kind === 'regular' && hasDeduction && membership.why !== 'other_employer') {
        notInRunCount += 1;
        if (notInRun.length < NOT_IN_RUN_NAMED)
          notInRun.push({ employee_id: employeeId, reason: membership.why });
      }
    }
    const own = employments.find((one) => one.employer_id === run.employer_id);
    if (own === undefined) return;
    if (spellOn(own, run.period_end)?.contradicted_on != null) note('termination_contradicted', employeeId);
    if (run.kind !== 'regular' || !hasDeduction || !isActive(own, run.period_end)) return;
    const [frequency, group] = [
      valueOn(own, 'pay_frequency', run.period_end),
      valueOn(own, 'pay_group', run.period_end),
    ];
    // An employee of unknown frequency fails a check of its own, but the group must have a schedule.
    const isScheduled = schedules.some(
      (one) => (frequency === null || one.pay_frequency === frequency) && (one.pay_group ?? group) === group,
    );
    if (!isScheduled) note('not_scheduled', employeeId);
  };

  const noteLines = (employeeId: string, lines: readonly Line[]): void => {
    const regular = lines.filter((line) => line.kind === 'regular');
    for (const flag of NOTED_FLAGS) {
      const flagged = regular.filter((line) => line.flags.includes(flag));
      if (flagged.length > 0) note(flag, employeeId, flagged.map(versionId));
    }
    const overlapping = Map.groupBy(
      regular.filter((line) => line.flags.includes('overlap')),
      (line) => line.line_of_coverage,
    );
    for (const [coverage, rivals] of overlapping)
      note(ELECTED_ONCE.has(coverage) ? 'overlap' : 'overlap_normal', employeeId, rivals.map(versionId));
    for (const flag of ['missed_check', 'retro_pre_tax'] as const) {
      const flagged = lines.filter((line) => line.flags.includes(flag));
      if (flagged.length > 0) note(flag, employeeId, flagged.map(versionId));
    }
    const taken = lines.filter(isIncluded);
    const sum = total(taken.map((line) => line.member_amount));
    if (sum.startsWith('-')) {
      const negative = taken.filter((line) => line.member_amount.startsWith('-'));
      note('negative_total', employeeId, negative.map(versionId), `${employeeId}: ${sum}`);
    }
    // A line that stops keeps the code of the previous run.
    for (const line of regular) if (line.change !== 'ended' && line.change !== 'moved') missing.add(line);
  };

  return {
    add(employee, text) {
      const { employeeId, membership, lines, corrected, undecided, previous } = employee;
      if (membership.isIn) employees += 1;
      noteMembership(employee);
      if (membership.isIn) {
        for (const { version, next } of corrected)
          note('start_corrected', employeeId, [versionId(version), versionId(next)]);
        for (const { version, next } of undecided)
          note(
            'start_moved',
            employeeId,
            [versionId(version), versionId(next)],
            `${employeeId}: deduction ${version.deduction_id}, version ${version.version} of ${version.starts_on} or ${next.version} of ${next.starts_on}`,
          );
      }
      if (previous !== null) comparing?.add(employeeId, membership.isIn, lines, previous);
      if (lines.length === 0) return;
      hash.update(`${text}\n`);
      adding.add(lines);
      for (const line of lines) {
        if (line.adjustment_for === null || !isIncluded(line)) continue;
        const employeesOfRun = settled.get(line.adjustment_for) ?? new Set();
        settled.set(line.adjustment_for, employeesOfRun.add(employeeId));
      }
      noteLines(employeeId, lines);
    },
    summary() {
      for (const name of missing.names()) note('code_missing', null, [], name);
      return {
        totals: adding.totals(),
        etag: hash.digest('hex'),
        outcome: {
          settled: [...settled].map(([runId, ids]) => [runId, [...ids]]),
          employees,
          comparison: comparing?.comparison() ?? null,
          not_in_run: notInRun,
          not_in_run_count: notInRunCount,
        },
        notes,
      };
    },
  };
}

function versionId({ deduction_id, version }: { deduction_id: string; version: number | null }): string {
  return `${deduction_id}:${version}`;
}

/**
 * Collects the payroll codes that lines need and the employer's list lacks. None are missing for an employer without
 * codes, nor on the employer's side if none of the codes is for that side. A side without a contribution needs none.
 */
function createMissingCodes(codes: readonly PayrollCode[]): {
  add(line: Line): void;
  /** `dental pre_tax employee`, each once. */
  names(): string[];
} {
  const missing = new Set<string>();
  const needsEmployee = codes.length > 0;
  const needsEmployer = codes.some((code) => code.side === 'employer');
  return {
    add(line) {
      const what = `${line.line_of_coverage} ${line.taxability}`;
      if (needsEmployee && line.payroll_code === null && isSome(line.member_contribution))
        missing.add(`${what} employee`);
      if (needsEmployer && line.employer_payroll_code === null && isSome(line.employer_contribution))
        missing.add(`${what} employer`);
    },
    names: () => [...missing].sort(),
  };
}

function isSome(contribution: string | null): boolean {
  return contribution !== null && !isZero(contribution);
}
