/** Limits what a token may report: changes of its employers' employees, and new hires at its employers. */
import type { Trx } from '../database/tables.ts';
import type { Problem } from '../errors.ts';
import type { RosterFact } from '../ledger/employment.ts';
import { censusHas } from '../ledger/near-ids.ts';
import {
  belongsTo,
  ELSEWHERE_ADVICE,
  elsewhereProblem,
  isElsewhere,
  type Viewer,
} from '../ledger/visibility.ts';
import type { Change } from './change.ts';

/** By employee, the employers whose newest census names the employee, before the roster does. */
export type Claims = ReadonlyMap<string, readonly string[]>;

/** The employers of a limited token, and what its idempotency keys belong to: the token, or the person of a session. */
export type Limits = {
  readonly owner: string;
  readonly employers: readonly string[];
  readonly claimedAt: (trx: Trx, employeeIds: readonly string[]) => Promise<Claims>;
};

/** The problem of a change that a limited token may not report, by outcome. */
const LIMIT_PROBLEMS = {
  'employee-unknown': { path: 'employee_id', rule: 'is not an employee of an employer of this token' },
  'employer-refused': { path: 'employer_id', rule: 'must be an employer of this token' },
  elsewhere: withAdvice(elsewhereProblem('employee_id')),
} as const satisfies Readonly<Record<string, Problem>>;

export type LimitRefusal = keyof typeof LIMIT_PROBLEMS;

/** Returns the problem of a refused change. `near`: the id of an employee that the token sees, if it is like the given one. */
export function limitProblem({
  outcome,
  near,
}: {
  outcome: LimitRefusal;
  near?: string | undefined;
}): Problem {
  const { path, rule } = LIMIT_PROBLEMS[outcome];
  return { path, rule: `${rule}${censusHas(near)}` };
}

function withAdvice({ path, rule }: Problem): Problem {
  return { path, rule: `${rule}. ${ELSEWHERE_ADVICE}` };
}

/**
 * Returns why a limited token may not report a change, or null. `reports`: all reports of the employee, in order. `claimed`: the
 * employers of `Claims`.
 */
export function limitRefusal(
  change: Change,
  viewer: Viewer,
  reports: readonly RosterFact[],
  claimed: readonly string[],
): LimitRefusal | null {
  const { employers } = viewer;
  if (change.kind !== 'new-hire') return belongsTo(reports, viewer) ? null : 'employee-unknown';
  const { employer_id } = change.body;
  if (!employers.includes(employer_id)) return 'employer-refused';
  return isElsewhere(reports, employer_id, viewer, claimed) ? 'elsewhere' : null;
}
