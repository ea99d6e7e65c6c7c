/** Shared by the files of routes: the listener's dependencies, the declaration of a route, and the table of all routes. */
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import type { FastifyContextConfig, FastifySchema, RouteOptions } from 'fastify';
import type { CensusFrom } from '../census/source.ts';
import type { Clock, Elapsed } from '../clock.ts';
import type { ReadinessLimits } from '../config.ts';
import type { SharedNow } from '../database/engine.ts';
import type { NotReady } from '../database/errors.ts';
import type { Db } from '../database/tables.ts';
import type { EmployeeSets } from '../ledger/employee-sets.ts';
import type { RunReviews } from '../readiness/run-reviews.ts';
import type { Action } from '../security/audit.ts';
import type { Encryptor } from '../security/encryption.ts';
import type { SignInConfig } from '../sign-in-config.ts';
import type { PrivateCounts, Receiving, RunWork, ThreadCounts } from '../telemetry/counts.ts';
import type { Log } from '../telemetry/log.ts';
import { type RouteScope, scopesOf } from './auth.ts';
import { type EmployerRule, whyWrongRule } from './employers.ts';
import type { PressureLimits } from './pressure.ts';
import type { ProblemCode } from './problem-types.ts';
import type { Tag } from './tags.ts';
import { bodyMayBeLeftOut } from './validation.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The errors that only some routes return. Errors of every route are added automatically. */
    refuses?: readonly ProblemCode[];
    /** The action that the route records. Required on routes that are not a GET. */
    action?: RouteAction;
    /** Measures the route as this work on payroll runs. */
    runWork?: RunWork;
  }
  interface FastifySchema {
    /** For the reference: every refusal that the route may return. */
    'x-refuses'?: readonly ProblemCode[];
    /** For the reference: the body may be left out. */
    'x-optional-body'?: boolean;
  }
}

/** `none`: the route changes nothing. */
type RouteAction = Action | 'none';

/** Its handlers are typed by their routes' TypeBox schemas. */
export type Api = Parameters<FastifyPluginCallbackTypebox>[0];

/** The dependencies of the private listener, created by the API thread. */
export type ApiParts = ReadinessLimits & {
  readonly db: Db;
  readonly now: Clock;
  readonly sharedNow: SharedNow;
  readonly elapsed: Elapsed;
  /** Returns why this process's clock may be wrong, or null. */
  readonly clockWarning: () => Promise<string | null>;
  /** The sets of employees that one readiness report keeps for the next. */
  readonly employeeSets: EmployeeSets;
  /** The computations of open runs that are kept while nothing changes. */
  readonly runReviews: RunReviews;
  readonly log: Log;
  readonly encryptor: Encryptor;
  /** The configuration's `API_TOKEN`, which has every scope; null without one. */
  readonly firstToken: string | null;
  readonly signIn: SignInConfig;
  /** The addresses and networks of the proxies in front of this listener. */
  readonly proxies: readonly string[];
  readonly censusFrom: CensusFrom;
  /** CENSUS_MAX_AGE: an older staged census is not uploaded. */
  readonly censusMaxAgeMs: number;
  /** Returns whether the census source may have a census of an employer. */
  readonly mayFetch: (employerId: string) => Promise<boolean>;
  readonly version: string;
  /** Returns why this process cannot commit now; null if it can. */
  readonly whyNotReady: () => Promise<NotReady | null>;
  /** Returns the counts of the other threads. Rejects with the code THREAD_SILENT. */
  readonly receiving: () => Promise<Receiving>;
  readonly thread: () => ThreadCounts;
  readonly counts: PrivateCounts;
  readonly pressure: PressureLimits;
  /** Called when events are pending again. */
  readonly wakeApply: () => void;
  /** Called when a request to the benefits service may be due. */
  readonly wakeSend: () => void;
  /** Keeps the signed head of the audit records. Never rejects. */
  readonly keepHead: () => Promise<void>;
  /** Ends the process after a storage failure that no retry can fix. */
  readonly onFatal: (error: unknown) => void;
};

type Operation = FastifySchema &
  Pick<FastifyContextConfig, 'refuses' | 'neverShed' | 'action' | 'employers' | 'runWork'> &
  Pick<RouteOptions, 'bodyLimit' | 'validatorCompiler'>;

/** Returns the options of a route from its tag in the reference, its scope, and what the reference shows. */
export function operation<const S extends Operation>(tag: Tag, scope: RouteScope, options: S) {
  const {
    refuses = [],
    neverShed = false,
    action,
    employers,
    runWork,
    bodyLimit,
    validatorCompiler,
    ...schema
  } = options;
  return {
    config: {
      scope,
      refuses,
      neverShed,
      ...(action !== undefined && { action }),
      ...(employers !== undefined && { employers }),
      ...(runWork !== undefined && { runWork }),
    },
    ...(bodyLimit !== undefined && { bodyLimit }),
    ...(validatorCompiler !== undefined && { validatorCompiler }),
    schema: { ...schema, tags: [tag] } as unknown as S,
  };
}

/** The path of the reference page. Its plugin creates the routes below, so their scope is declared here. */
export const DOCS_PATH = '/docs';

export type DeclaredRoute = {
  methods: readonly string[];
  url: string;
  scope: RouteScope;
  action: RouteAction;
  employers: EmployerRule;
  hidden: boolean;
};

/** The source of the scopes, the 405 responses and the reference. */
export type RouteTable = ReturnType<typeof createRouteTable>;

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export function createRouteTable() {
  const routes: DeclaredRoute[] = [];
  return {
    routes: routes as readonly DeclaredRoute[],
    /** Checks every route before it is added. Throws if it declares no scope, action or employer rule, which stops the start. */
    declare(route: RouteOptions & { routePath?: string; path?: string; prefix?: string }): void {
      const methods = [route.method].flat();
      const isOfReference = route.prefix === DOCS_PATH;
      const scope = route.config?.scope ?? (isOfReference ? 'any' : undefined);
      if (scope === undefined) {
        throw new Error(`${methods} ${route.url} declares no scope: say who may call it in config.scope`);
      }
      const action =
        route.config?.action ?? (methods.every((method) => READS.has(method)) ? 'none' : undefined);
      if (action === undefined) {
        throw new Error(`${methods} ${route.url} declares no action: say what it records in config.action`);
      }
      const isOpen = isOfReference || scope === 'public';
      const employers = route.config?.employers ?? (isOpen ? 'none' : undefined);
      if (employers === undefined) {
        const advice = 'say what tokens limited to employers may see in config.employers';
        throw new Error(`${methods} ${route.url} declares no employer rule: ${advice}`);
      }
      const { hide } = (route.schema ?? {}) as { hide?: boolean };
      // Pages of the console call these operations.
      const wrong = hide === true ? null : whyWrongRule(route.url, employers);
      if (wrong !== null) throw new Error(`${methods} ${route.url} ${wrong}`);
      route.config = { ...route.config, scope, employers };
      route.schema = { ...route.schema, 'x-refuses': refusalsOf(route, scope, employers) };
      if (route.validatorCompiler === bodyMayBeLeftOut) route.schema['x-optional-body'] = true;
      route.schema = { ...route.schema, ...securityOf(scope, route.schema) };
      // It responds like the GET of its path.
      if (route.method === 'HEAD' && !isOfReference) return;
      routes.push({
        methods,
        url: route.url,
        scope,
        action,
        employers,
        hidden: hide === true || isOfReference,
      });
    },
    /** Returns the methods of a request's path; empty if the path is unknown. */
    methodsOf: (path: string): string[] =>
      routes.filter(({ url }) => patternOf(url).test(path)).flatMap(({ methods }) => methods),
  };
}

function securityOf(scope: RouteScope, { description = '' }: { description?: string }) {
  if (scope === 'public') return { security: [] };
  const scopes = scopesOf(scope);
  const needs =
    scopes === null
      ? 'Requires any valid token.'
      : `Requires the scope ${scopes.map((name) => `\`${name}\``).join(' or ')}.`;
  const bearer = scopes === null ? [{ bearer: [] }] : scopes.map((name) => ({ bearer: [name] }));
  return {
    description: `${description} ${needs}`.trim(),
    security: [...bearer, ...(scope === 'any' ? [{ basic: [] }] : [])],
  };
}

/** The rules that hide no resource. */
const OPEN_RULES: ReadonlySet<EmployerRule> = new Set(['list', 'refused', 'none']);

function refusalsOf(
  { config, schema }: RouteOptions,
  scope: RouteScope,
  employers: EmployerRule,
): ProblemCode[] {
  return [
    'INVALID_REQUEST',
    ...(scope === 'public' ? [] : (['UNAUTHORIZED', 'TOO_MANY_ATTEMPTS'] as const)),
    ...(scope === 'public' || scope === 'any' ? [] : (['FORBIDDEN'] as const)),
    ...(schema?.body === undefined ? [] : (['TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const)),
    ...(OPEN_RULES.has(employers) || config?.refuses?.includes('NOT_FOUND') ? [] : (['NOT_FOUND'] as const)),
    ...(config?.refuses ?? []),
    'INTERNAL',
    ...(scope === 'public' ? [] : (['UNAVAILABLE'] as const)),
  ];
}

function patternOf(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/:[A-Za-z_]+/g, '[^/]+').replace(/\*$/, '.*')}$`);
}
