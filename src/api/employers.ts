/**
 * What a token that is limited to employers may ask for. Every route declares its rule, and this hook enforces the rules
 * of ids in a path. An id of another employer gets the response of an unknown id.
 */
import type { FastifyRequest } from 'fastify';
import { employerOfSync } from '../census/sync-list.ts';
import type { Db } from '../database/tables.ts';
import { employerOfRun } from '../payroll/records/runs.ts';
import { notFound, Refusal } from './problem.ts';

/**
 * `employer`, `run`, `sync`: the hook checks the id in the path. `list`: the handler filters by the caller's employers.
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
  /** Returns whether one of the employers may see the resource. */
  isVisible: (db: Db, id: string, employers: readonly string[]) => Promise<boolean>;
};

const PATH_RULES = {
  employer: {
    parameter: 'employer_id',
    noun: 'employer',
    isVisible: async (_db, id, employers) => employers.includes(id),
  },
  run: {
    parameter: 'run_id',
    noun: 'payroll run',
    isVisible: async (db, id, employers) => isOneOf(employers, await employerOfRun(db, id)),
  },
  sync: {
    parameter: 'sync_id',
    noun: 'census sync',
    isVisible: async (db, id, employers) => isOneOf(employers, await employerOfSync(db, id)),
  },
} as const satisfies Record<string, PathRule>;

function isOneOf(employers: readonly string[], employerId: string | null): boolean {
  return employerId !== null && employers.includes(employerId);
}

/** Returns the hook that runs before the handlers of all routes. */
export function createEmployerLimit(db: Db) {
  return async (request: FastifyRequest): Promise<void> => {
    const employers = employersOf(request);
    if (employers === null || request.is404) return;
    const { employers: rule } = request.routeOptions.config;
    // A route without a rule stops the start. If one is reached anyway, refuse limited tokens.
    if (rule === undefined || rule === 'refused') throw refusedToLimited();
    if (rule === 'list' || rule === 'request' || rule === 'none') return;
    const { parameter, noun, isVisible }: PathRule = PATH_RULES[rule];
    const id = (request.params as Readonly<Record<string, string>>)[parameter] as string;
    if (!(await isVisible(db, id, employers))) throw notFound(noun);
  };
}

/** Returns the employers to which the caller's token is limited; null if it is not limited. */
export function employersOf({ caller }: FastifyRequest): readonly string[] | null {
  return caller?.employers ?? null;
}

/** Throws 404 if the request names an employer to which the caller's token is not limited. */
export function assertOwnEmployer(request: FastifyRequest, employerId: string): void {
  const employers = employersOf(request);
  if (employers !== null && !employers.includes(employerId)) throw notFound('employer');
}

function refusedToLimited(): Refusal {
  return new Refusal(
    'FORBIDDEN',
    'This operation shows data of all employers. It needs a token that is not limited to employers.',
  );
}
