/** Limits what a token may report: changes of its employers' employees, and new hires at its employers. */
import { utcDay } from '../contract/instant.ts';
import type { Problem } from '../errors.ts';
import type { Roster } from '../ledger/roster.ts';
import { sightOf } from '../ledger/visibility.ts';
import type { Change } from './change.ts';

/** The employers of a limited token, and what its idempotency keys belong to: the token, or the person of a session. */
export type Limits = { readonly owner: string; readonly employers: readonly string[] };

type Limited = { readonly change: Change; readonly limits?: Limits | null };

/** The problem of a change that a limited token may not report, by outcome. */
export const LIMIT_PROBLEMS = {
  'employee-unknown': { path: 'employee_id', rule: 'is not an employee of an employer of this token' },
  'employer-refused': { path: 'employer_id', rule: 'must be an employer of this token' },
} as const satisfies Readonly<Record<string, Problem>>;

/**
 * Returns a function that returns why a limited token may not report a change, or null. A change may follow the new hire of
 * its employee in the same call.
 */
export function createLimitCheck(roster: Roster, at: string) {
  const today = utcDay(at);
  const hired = new Set<string>();
  return ({ change, limits }: Limited) => {
    if (!limits) return null;
    const { owner, employers } = limits;
    const { employee_id } = change.body;
    const key = JSON.stringify([owner, employee_id]);
    if (change.kind === 'new-hire') {
      if (!employers.includes(change.body.employer_id)) return 'employer-refused';
      hired.add(key);
      return null;
    }
    const sight = sightOf(roster.get(employee_id) ?? [], employers, today);
    return sight?.isCurrent || hired.has(key) ? null : 'employee-unknown';
  };
}
