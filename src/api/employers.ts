/**
 * Limits tokens to their employers, and refuses unknown employers. Every route declares its rule, and this hook enforces the
 * rules of ids in a path. Another employer's id gets the same response as an unknown id.
 */
import type { FastifyRequest } from 'fastify';
import { employerOfSync } from '../census/sync-list.ts';
import type { Clock } from '../clock.ts';
import type { Db } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import { isVisibleChange } from '../employment/changes.ts';
import { notFound } from '../errors.ts';
import { getDeduction } from '../ledger/deductions.ts';
import { isKnownAt } from '../ledger/roster.ts';
import type { Viewer } from '../ledger/visibility.ts';
import { isKnownEmployer } from '../payroll/lifecycle/employers.ts';
import type { LineSight } from '../payroll/lifecycle/line-view.ts';
import { employersOfRuns } from '../payroll/records/runs.ts';
import type { Caller } from '../security/tokens.ts';
import { mayAlso } from './auth.ts';
import { Refusal } from './problem.ts';

/**
 * `employer`, `run`, `sync`, `employee`, `deduction`, `change`: the hook checks the id in the path. `new-employer`: an employer may
 * begin with the operation, so only a limited token needs to know it. `list`: the handler filters by the caller's employers.
 * `request`: the handler checks the employers and employees that the request names. `refused`: limited tokens get 403.
 * `none`: the response has no data of an employer.
 */
export type EmployerRule = keyof typeof PATH_RULES | 'list' | 'request' | 'refused' | 'none';

declare module 'fastify' {
  interface FastifyContextConfig {
    employers?: EmployerRule;
  }
}

type PathRule = {
  parameter: string;
  noun: string;
  isVisible: (db: Db, id: string, viewer: Viewer) => Promise<boolean>;
};

const EMPLOYER: PathRule = {
  parameter: 'employer_id',
  noun: 'employer',
  isVisible: async (_db, id, { employers }) => employers.includes(id),
};

const PATH_RULES = {
  employer: EMPLOYER,
  'new-employer': EMPLOYER,
  run: {
    parameter: 'run_id',
    noun: 'payroll run',
    isVisible: async (db, id, { employers }) =>
      isOneOf(employers, (await employersOfRuns(db, [id])).get(id) ?? null),
  },
  sync: {
    parameter: 'sync_id',
    noun: 'census sync',
    isVisible: async (db, id, { employers }) => isOneOf(employers, await employerOfSync(db, id)),
  },
  employee: {
    parameter: 'employee_id',
    noun: 'employee',
    isVisible: (db, id, { employers }) => isKnownAt(db, employers, id),
  },
  deduction: {
    parameter: 'deduction_id',
    noun: 'deduction',
    isVisible: async (db, id, viewer) => (await getDeduction(db, id, viewer.today, { viewer })) !== null,
  },
  change: {
    parameter: 'change_id',
    noun: 'employment change',
    isVisible: (db, id, { employers }) => isVisibleChange(db, id, employers),
  },
} as const satisfies Record<string, PathRule>;

function isPathRule(rule: EmployerRule): rule is keyof typeof PATH_RULES {
  return Object.hasOwn(PATH_RULES, rule);
}

function isOneOf(employers: readonly string[], employerId: string | null): boolean {
  return employerId !== null && employers.includes(employerId);
}

/** Refuses limited tokens, before anything is read, on routes that show data of all employers. */
export async function refuseLimited({ caller, is404, routeOptions }: FastifyRequest): Promise<void> {
  if (!is404) assertNotLimited(caller, routeOptions.config.employers);
}

/** Throws FORBIDDEN for limited tokens on an operation that shows data of all employers. */
export function assertNotLimited(caller: Caller | null, rule: EmployerRule | undefined): void {
  if (employersOf({ caller }) === null) return;
  // A route without a rule stops the start. If one is reached anyway, refuse limited tokens.
  if (rule === undefined || rule === 'refused') throw refusedToLimited();
}

/** Returns why a route's rule does not fit its path; null if it does. Ids of employers in a path are always checked. */
export function whyWrongRule(url: string, rule: EmployerRule): string | null {
  const isChecked = isPathRule(rule) && PATH_RULES[rule].parameter === EMPLOYER.parameter;
  if (!url.split('/').includes(`:${EMPLOYER.parameter}`) || isChecked) return null;
  return 'has an employer in its path: declare the rule employer, or new-employer if an employer begins with it';
}

/** Returns the hook that checks ids in the path before the handlers of all routes. */
export function createEmployerLimit(parts: Viewed) {
  return async (request: FastifyRequest): Promise<void> => {
    if (!request.is404) await assertVisible(parts, request.routeOptions.config.employers, request);
  };
}

/** Throws NOT_FOUND if the caller does not see what the rule's parameter names. */
export async function assertVisible(
  parts: Viewed,
  rule: EmployerRule = 'none',
  call: { readonly caller: Caller | null; readonly params: unknown },
): Promise<void> {
  if (!isPathRule(rule)) return;
  const { parameter, noun, isVisible }: PathRule = PATH_RULES[rule];
  const id = (call.params as Readonly<Record<string, string>>)[parameter] as string;
  const viewer = viewerOf(call, parts);
  if (viewer !== null && !(await isVisible(parts.db, id, viewer))) throw notFound(noun);
  if (rule === 'employer' && !(await isKnownEmployer(parts.db, id))) throw unknownEmployer();
}

/**
 * Throws NOT_FOUND if nothing is known of the employer that a call filters by: its ID may be mistyped. Employers that the
 * caller does not see match nothing, known or not.
 */
export async function assertKnownFilter(
  call: Called,
  { db }: Pick<Viewed, 'db'>,
  employerId: string | undefined,
): Promise<void> {
  if (employerId === undefined || !seesEmployer(call, employerId)) return;
  if (!(await isKnownEmployer(db, employerId))) throw unknownEmployer();
}

export function unknownEmployer(next = 'stage its census first'): Refusal {
  return new Refusal('NOT_FOUND', `Nothing is known of this employer. Check the ID, or ${next}.`);
}

/** Returns the employers to which the caller's token is limited; null if it is not limited. */
export function employersOf({ caller }: Called): readonly string[] | null {
  return caller?.employers ?? null;
}

/** Returns the employer that a call filters by, if the caller sees it. Without a filter, returns `employersOf` the caller. */
export function employersFiltered(call: Called, employerId: string | undefined): readonly string[] | null {
  if (employerId === undefined) return employersOf(call);
  return seesEmployer(call, employerId) ? [employerId] : [];
}

type Called = { readonly caller: Caller | null };
type Viewed = { readonly db: Db; readonly now: Clock };

/** Returns the caller as a viewer of the ledger; null if its token is not limited. */
export function viewerOf(request: Called, { db, now }: Viewed): Viewer | null {
  const employers = employersOf(request);
  return employers && { employers, today: dayAt(db, now()) };
}

/** Reports whether the caller may see an employer's data. */
export function seesEmployer(request: Called, employerId: string): boolean {
  return employersOf(request)?.includes(employerId) ?? true;
}

/** Throws 404 if the request names an employer to which the caller's token is not limited. */
export function assertOwnEmployer(request: Called, employerId: string): void {
  if (!seesEmployer(request, employerId)) throw notFound('employer');
}

/** Returns how the caller sees lines. Limited tokens see no events. */
export function lineSightOf(request: Called, parts: Viewed): LineSight {
  const viewer = viewerOf(request, parts);
  if (viewer !== null) return { viewer, unapplied: 'none' };
  return { viewer, unapplied: mayAlso(request.caller, 'ledger:read') ? 'amounts' : 'marks' };
}

function refusedToLimited(): Refusal {
  return new Refusal(
    'FORBIDDEN',
    'This operation shows data of all employers. It needs a token that is not limited to employers.',
  );
}
