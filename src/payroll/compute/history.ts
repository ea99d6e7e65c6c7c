/** A deduction as a run knows it: its versions, its employer, and which versions count. Pure. */
import { type Assignment, assignedEmployer } from '../../ledger/assignments.ts';
import type { RunVersion } from '../../ledger/history.ts';
import { endedBy, replacementOf, successorsOf } from '../../ledger/placeholders.ts';
import { appliesOn, latestOf, stateOn, type Timeline, timelineOf } from '../../ledger/state.ts';
import type { Run } from '../records/body.ts';
import type { Job } from './population.ts';
import type { RunTerms } from './terms.ts';

export type History = {
  deductionId: string;
  /** Oldest position first, at least one. */
  versions: readonly RunVersion[];
  assignments: readonly Assignment[];
  /** The versions of deductions that may replace this one, which is a placeholder. Most often none. */
  successors: readonly (readonly RunVersion[])[];
  timeline: Timeline<RunVersion>;
};

export function historyFrom(
  versions: readonly RunVersion[],
  assignments: readonly Assignment[],
  successors: readonly (readonly RunVersion[])[] = [],
): History {
  const first = versions[0] as RunVersion;
  const timeline = timelineOf(versions);
  const replacement = replacementOf(first, successors);
  return {
    deductionId: first.deduction_id,
    versions,
    assignments,
    successors,
    timeline:
      replacement === null ? timeline : { ...timeline, counting: endedBy(timeline.counting, replacement) },
  };
}

/** Returns the history as known at an earlier position of the ledger, or null if nothing was known then. */
export function historyAt(history: History, position: number): History | null {
  if (newestFact(history) <= position) return history;
  const { versions, assignments, successors } = history;
  const known = <Fact extends { position: number }>(facts: readonly Fact[]) =>
    facts.filter((fact) => fact.position <= position);
  const knownVersions = known(versions);
  const [first] = knownVersions;
  if (first === undefined) return null;
  return historyFrom(knownVersions, known(assignments), successorsOf(first, successors.map(known)));
}

/** Returns the state of a deduction on a run's day, else its latest state, else null. */
export function contentOn(
  { day }: Pick<RunTerms, 'day'>,
  histories: readonly History[],
  deductionId: string | null,
): RunVersion | null {
  const history = histories.find((candidate) => candidate.deductionId === deductionId);
  const counting = history?.timeline.counting ?? [];
  return stateOn(counting, day) ?? latestOf(counting);
}

/** Returns the position of the newest version, assignment or version of a deduction that may replace it. */
export function newestFact({ versions, assignments, successors }: History): number {
  let newest = Math.max(lastPosition(versions), lastPosition(assignments));
  for (const successor of successors) newest = Math.max(newest, lastPosition(successor));
  return newest;
}

function lastPosition(facts: readonly { position: number }[]): number {
  return facts.at(-1)?.position ?? 0;
}

/** Returns what an employee pays of a deduction on a day; null if it is not in effect or is someone else's. */
export function stateFor({ timeline }: History, employeeId: string, day: string): RunVersion | null {
  const state = stateOn(timeline.counting, day);
  if (state === null || state.employee_id !== employeeId || !appliesOn(state, day)) return null;
  return state;
}

/** Returns the employer to which a deduction is assigned in the pay period of a run, or null. */
export function assignedIn({ assignments }: History, { period_end }: Pick<Run, 'period_end'>): string | null {
  return assignedEmployer(assignments, period_end);
}

/**
 * Returns the state that a run takes of a deduction; null if it is not in effect or the run does not take it.
 * `job`: of the employee, as the run knows it. Without an assignment, a deduction of an employee who is active
 * with two employers is taken in neither employer's runs.
 */
export function stateInRun(
  history: History,
  employeeId: string,
  { run, day, deductions }: RunTerms,
  job: Job,
): RunVersion | null {
  if (deductions !== null && !deductions.has(history.deductionId)) return null;
  const employer = assignedIn(history, run);
  if (employer === null ? job.hasSeveralEmployers : employer !== run.employer_id) return null;
  const state = stateFor(history, employeeId, day);
  if (employer !== null || state?.starts_on == null || job.leftForAnotherOn === null) return state;
  // The employer whom the employee left for takes what starts later.
  return state.starts_on > job.leftForAnotherOn ? null : state;
}

/** Returns the history of a deduction that has one. */
export function historyOf(histories: readonly History[], id: string): History {
  return histories.find(({ deductionId }) => deductionId === id) as History;
}
