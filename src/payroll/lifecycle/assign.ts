/** Assigns a deduction to an employer, unless a finalized run contradicts it. */
import type { Db, Trx } from '../../database/tables.ts';
import { dayAt } from '../../database/time-zone.ts';
import { type AppError, conflict, firstIds, notFound, refused } from '../../errors.ts';
import {
  assignedEmployer,
  type MadeAssignment,
  madeAssignments,
  type NewAssignment,
  recordAssignment,
} from '../../ledger/assignments.ts';
import {
  type Employment,
  employersOn,
  employmentsOf,
  isActive,
  isInSpell,
  spellOn,
} from '../../ledger/employment.ts';
import { historyOf } from '../../ledger/history.ts';
import { transactOnLedger } from '../../ledger/position.ts';
import { rosterOf } from '../../ledger/roster.ts';
import { latestOf } from '../../ledger/state.ts';
import { ELSEWHERE_ADVICE } from '../../ledger/visibility.ts';
import type { Acting } from '../../security/audit.ts';
import { runsThatTook } from '../records/frozen-lines.ts';
import { employersOfRuns } from '../records/runs.ts';
import { lockPayroll } from '../settings/lock.ts';

/** `effectiveOn`: the first day that counts; null: the date of receipt. `limit`: the employers of a limited caller. */
type Assigning = {
  deductionId: string;
  employerId: string;
  effectiveOn: string | null;
  reason: string;
  limit?: readonly string[] | null;
};

/** `isNew`: false if the latest assignment of the deduction has the same employer, day and reason. */
type Assigned = { isNew: boolean; assignment: MadeAssignment };

/**
 * Records the assignment of a deduction to one of the employers of its employee. Throws NOT_FOUND, ASSIGNMENT_REFUSED,
 * EMPLOYEE_ELSEWHERE, or CONFLICT if finalized runs took the deduction for a pay period that ends on or after the day.
 */
export function assignDeduction(db: Db, assigning: Assigning, acting: Acting): Promise<Assigned> {
  // Both locks, so that no run becomes final in between.
  return transactOnLedger(db, async (trx) => {
    await lockPayroll(trx);
    return assign(trx, assigning, acting);
  });
}

async function assign(
  trx: Trx,
  { deductionId, employerId, effectiveOn, reason, limit = null }: Assigning,
  acting: Acting,
): Promise<Assigned> {
  const today = dayAt(trx, acting.now);
  const versions = await historyOf(trx, [deductionId]);
  const latest = latestOf(versions);
  if (latest === null) throw notFound('deduction');
  const effective_on = effectiveOn ?? today;
  const assignment = { deduction_id: deductionId, employer_id: employerId, effective_on, reason };
  const employees = [...new Set(versions.map(({ employee_id }) => employee_id))];
  const roster = await rosterOf(trx, employees);
  const employments = employmentsOf(roster.get(latest.employee_id) ?? []);
  const made = await madeAssignments(trx, deductionId);
  if (limit !== null) {
    if (!employments.some(({ employer_id }) => limit.includes(employer_id))) throw notFound('deduction');
    if (!limit.includes(employerId)) throw notEmployed();
    if (takesFromOthers({ employments, made, limit }, employerId, effective_on, today)) {
      const rule = `would take the deduction from an employer outside the limit of this token. ${ELSEWHERE_ADVICE}`;
      throw refused('EMPLOYEE_ELSEWHERE', [{ path: 'employer_id', rule }]);
    }
  }
  const known = made.at(-1);
  if (known !== undefined && isSame(known, assignment)) return { isNew: false, assignment: known };
  const by = effective_on > today ? effective_on : today;
  if (!employments.some((employment) => wasActive(employment, employerId, by))) throw notEmployed();
  const employers = [...new Set([...roster.values()].flat().map(({ employer_id }) => employer_id))];
  const runs = await runsThatTook(trx, { deductionId, employees, employers, from: effective_on });
  if (runs.length > 0) throw taken(await visibleRuns(trx, limit, runs), effective_on);
  const days = [effective_on, by, ...changesAfter(made, effective_on)];
  const concerned = days.flatMap((day) => [
    assignedEmployer(made, day) ?? [],
    ...employersOn(employments, day),
  ]);
  const recorded = {
    employee: latest.employee_id,
    employers: [...new Set([employerId, ...concerned.flat()])],
  };
  return { isNew: true, assignment: await recordAssignment(trx, assignment, recorded, acting) };
}

/** Returns the refusal of an employer with whom the employee of the deduction was never active by then. */
function notEmployed(): AppError {
  const rule = 'must be an employer with whom the employee of the deduction is or was active';
  return refused('ASSIGNMENT_REFUSED', [{ path: 'employer_id', rule }]);
}

/** Runs that a refusal names: about a year. */
const RUNS_NAMED = 60;

function taken(runs: readonly string[], from: string): AppError {
  return conflict(
    `Finalized runs took the deduction for a pay period that ends on or after ${from}: ${firstIds(runs, RUNS_NAMED)}. Assign it from a later date, or void these runs first.`,
  );
}

/** Returns the runs that a limited caller may see, with one more entry for all others. */
async function visibleRuns(
  trx: Trx,
  limit: readonly string[] | null,
  runIds: readonly string[],
): Promise<readonly string[]> {
  if (limit === null) return runIds;
  const employerOf = await employersOfRuns(trx, runIds);
  const visible = runIds.filter((runId) => limit.includes(employerOf.get(runId) ?? ''));
  return visible.length === runIds.length ? visible : [...visible, 'runs of another employer'];
}

type Known = {
  employments: readonly Employment[];
  made: readonly MadeAssignment[];
  limit: readonly string[];
};

/**
 * Reports whether an assignment by a limited caller would take a deduction from an employer that the caller does not see:
 * one to which it is assigned, or one whose runs take it because the employee does not work for both since the first day.
 */
function takesFromOthers(
  { employments, made, limit }: Known,
  employerId: string,
  from: string,
  today: string,
): boolean {
  const assigned = [from, ...changesAfter(made, from)].map((day) => assignedEmployer(made, day));
  if (assigned.some((employer) => employer !== null && !limit.includes(employer))) return true;
  const others = employments.filter(({ employer_id }) => !limit.includes(employer_id));
  if (others.length === 0) return false;
  const employment = employments.find(({ employer_id }) => employer_id === employerId);
  const isInBoth =
    employment !== undefined && isInOneSpell(employment, from, today) && isActive(employment, today);
  return !isInBoth || !others.some((each) => isActive(each, from));
}

/** Returns the later days from which assignments count, which one from this day replaces. */
function changesAfter(made: readonly MadeAssignment[], from: string): string[] {
  return made.map(({ effective_on }) => effective_on).filter((day) => day > from);
}

/** Reports whether one period of employment contains both days. */
function isInOneSpell(employment: Employment, from: string, until: string): boolean {
  return isInSpell(employment, from) && spellOn(employment, from) === spellOn(employment, until);
}

function isSame(known: NewAssignment, assignment: NewAssignment): boolean {
  return (['employer_id', 'effective_on', 'reason'] as const).every(
    (field) => known[field] === assignment[field],
  );
}

/** Reports whether an employment with the employer began by a day. */
function wasActive({ employer_id, spells }: Employment, employerId: string, day: string): boolean {
  return employer_id === employerId && spells.some(({ hire_date }) => hire_date === null || hire_date <= day);
}
