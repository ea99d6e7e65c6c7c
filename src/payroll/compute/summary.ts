/** The summary of a run: totals, ETag, comparison with the previous run, and findings for readiness. */
import { createHash } from 'node:crypto';
import { isActive, spellOn, valueOn } from '../../ledger/employment.ts';
import { isZero, total } from '../../money.ts';
import { isIncluded, type Line } from '../calculation/line.ts';
import type { Basis, Outcome } from './basis.ts';
import type { EmployeeLines } from './compute.ts';
import { UNCLEAR } from './population.ts';
import { createComparison, createTotals, type Totals } from './totals.ts';

const NOTED_FLAGS = [
  'open_after_termination',
  'coverage_beyond_last_check',
  'absent_from_census',
  'frequency_mismatch',
  'missed_check',
  'retro_pre_tax',
] as const;

/** A finding of a readiness check in the computation. */
export type Note =
  | (typeof NOTED_FLAGS)[number]
  | (typeof UNCLEAR)[number]
  | 'code_missing'
  | 'negative_total'
  | 'not_scheduled'
  /** Two elections of a line of coverage that nearly always is elected once. */
  | 'overlap'
  /** Two elections of a line of coverage for which several are normal. */
  | 'overlap_normal'
  | 'start_corrected'
  | 'start_moved'
  | 'termination_contradicted';

/** `ids`: the versions that the finding rests on; while they are the same, so is the finding. */
type Noted = { example: string; employeeId: string | null; ids: readonly string[] };

/** Employees named in `not_in_run`: more than an employer of several frequencies usually has. */
const NOT_IN_RUN_NAMED = 10_000;

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

export type Summary = {
  totals: Totals;
  etag: string;
  outcome: Outcome;
  notes: ReadonlyMap<Note, readonly Noted[]>;
};

/** Adds up the employees of an employer, in order. The ETag is a SHA-256 of all lines and changes with nothing else. */
export function createSummary(basis: Basis) {
  const { run, schedules, codes } = basis;
  const hash = createHash('sha256');
  const adding = createTotals();
  const comparing = basis.previous === null ? null : createComparison(basis.previous);
  const notes = new Map<Note, Noted[]>();
  const missingCodes = new Set<string>();
  const hasEmployerCodes = codes.some((code) => code.side === 'employer');
  const notInRun: Outcome['not_in_run'] = [];
  let notInRunCount = 0;
  let employees = 0;

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

  const noteMembership = ({ employeeId, membership, employments, hasDeduction }: EmployeeLines): void => {
    if (!membership.isIn) {
      const unclear = UNCLEAR.find((why) => why === membership.why);
      if (unclear !== undefined) note(unclear, employeeId);
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
      // An adjustment repeats the mismatch of the run that it adjusts.
      const among = flag === 'frequency_mismatch' ? regular : lines;
      const flagged = among.filter((line) => line.flags.includes(flag));
      if (flagged.length > 0) note(flag, employeeId, flagged.map(versionId));
    }
    const overlapping = Map.groupBy(
      regular.filter((line) => line.flags.includes('overlap')),
      (line) => line.line_of_coverage,
    );
    for (const [coverage, rivals] of overlapping)
      note(ELECTED_ONCE.has(coverage) ? 'overlap' : 'overlap_normal', employeeId, rivals.map(versionId));
    const taken = lines.filter(isIncluded);
    const sum = total(taken.map((line) => line.member_amount));
    if (sum.startsWith('-')) {
      const negative = taken.filter((line) => line.member_amount.startsWith('-'));
      note('negative_total', employeeId, negative.map(versionId), `${employeeId}: ${sum}`);
    }
    regular.forEach(noteCodes);
  };

  /** A side without a contribution needs no code. An employer may have no codes, or none for its own side. */
  const noteCodes = (line: Line): void => {
    // A line that stops keeps the code of the previous run.
    if (codes.length === 0 || line.change === 'ended' || line.change === 'moved') return;
    const what = `${line.line_of_coverage} ${line.taxability}`;
    if (line.payroll_code === null && !isZero(line.member_contribution ?? ''))
      missingCodes.add(`${what} employee`);
    if (hasEmployerCodes && line.employer_payroll_code === null && !isZero(line.employer_contribution ?? ''))
      missingCodes.add(`${what} employer`);
  };

  return {
    /** Adds an employee, and returns the lines as JSON. */
    add(employee: EmployeeLines): string {
      const { employeeId, membership, lines, corrected, undecided, previous } = employee;
      noteMembership(employee);
      if (membership.isIn) {
        employees += 1;
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
      const text = JSON.stringify(lines);
      if (lines.length === 0) return text;
      hash.update(`${text}\n`);
      adding.add(lines);
      noteLines(employeeId, lines);
      return text;
    },
    summary(): Summary {
      for (const name of [...missingCodes].sort()) note('code_missing', null, [], name);
      const totals = adding.totals();
      return {
        totals,
        etag: hash.digest('hex'),
        outcome: {
          employees,
          comparison: comparing?.comparison(totals) ?? null,
          not_in_run: notInRun,
          not_in_run_count: notInRunCount,
        },
        notes,
      };
    },
  };
}

function versionId({ deduction_id, version }: Pick<Line, 'deduction_id' | 'version'>): string {
  return `${deduction_id}:${version}`;
}
