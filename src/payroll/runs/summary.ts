/** A whole run at a glance: its totals, its ETag, and what readiness must name. */
import { createHash } from 'node:crypto';
import type { PayrollCode } from './codes.ts';
import type { EmployeeLines } from './compute.ts';
import { type Flag, isIncluded, type Line } from './line.ts';
import { createMissingCodes } from './missing-codes.ts';
import type { Settlements } from './settling.ts';
import { createTotals, type Totals } from './totals.ts';

/** What concerns readiness, and whom: all employees counted, the first named. Of codes those that are missing. */
export type Notes = Map<Note, { count: number; examples: string[] }>;
export type Note =
  | 'ambiguous'
  | 'frequency-unknown'
  | 'group-unknown'
  | 'code-missing'
  /** Both deductions were in the previous finalized run too: who finalized that has seen them. */
  | 'overlap-known'
  | Extract<Flag, 'overlap' | 'open_after_termination' | 'absent_from_census' | 'frequency_mismatch'>;

/** Who is named of each note. */
const EXAMPLES = 20;

const NOTED_FLAGS = ['open_after_termination', 'absent_from_census', 'frequency_mismatch'] as const;

export type Summary = {
  totals: Totals;
  etag: string;
  employees: number;
  settled: Settlements;
  notes: Notes;
};

/**
 * Takes in the employees of a run, in order. The ETag is a SHA-256 of every line, so that it changes with each of them
 * and with nothing else.
 */
export function createSummary(codes: readonly PayrollCode[]): {
  /** `text` is the employee's lines as JSON. */
  add(employee: EmployeeLines, text: string): void;
  summary(): Summary;
} {
  const hash = createHash('sha256');
  const adding = createTotals();
  const notes: Notes = new Map();
  const settled = new Map<string, Set<string>>();
  const missing = createMissingCodes(codes);
  let employees = 0;
  const note = (what: Note, example: string): void => {
    const noted = notes.get(what) ?? { count: 0, examples: [] };
    noted.count += 1;
    if (noted.examples.length < EXAMPLES) noted.examples.push(example);
    notes.set(what, noted);
  };
  return {
    add({ employeeId, membership, lines }, text) {
      if (membership.isIn) employees += 1;
      else if (membership.why !== 'gone' && membership.why !== 'elsewhere') note(membership.why, employeeId);
      if (lines.length === 0) return;
      hash.update(`${text}\n`);
      adding.add(lines);
      for (const line of lines) {
        if (line.adjustment_for === null || !isIncluded(line)) continue;
        const employeesOfRun = settled.get(line.adjustment_for) ?? new Set();
        settled.set(line.adjustment_for, employeesOfRun.add(employeeId));
      }
      const regular = lines.filter((line) => line.kind === 'regular');
      for (const flag of NOTED_FLAGS)
        if (regular.some((line) => line.flags.includes(flag))) note(flag, employeeId);
      const overlapping = regular.filter((line) => line.flags.includes('overlap'));
      if (overlapping.length > 0) note(overlapping.every(isKnown) ? 'overlap-known' : 'overlap', employeeId);
      // The line of a stop has the code of the run that it stops.
      for (const line of regular) if (line.change !== 'ended') missing.add(line);
    },
    summary() {
      const names = missing.names();
      if (names.length > 0)
        notes.set('code-missing', { count: names.length, examples: names.slice(0, EXAMPLES) });
      return {
        totals: adding.totals(),
        etag: hash.digest('hex'),
        employees,
        settled: [...settled].map(([runId, ids]) => [runId, [...ids]]),
        notes,
      };
    },
  };
}

/** Whether the previous finalized run had the line's deduction. */
function isKnown({ change }: Line): boolean {
  return change === 'same' || change === 'changed';
}
