/** Every declared route of the listener: the source of the scopes, the 405 responses and the reference. */
import type { FastifyContextConfig, FastifySchema, RouteOptions } from 'fastify';
import type { RouteScope } from './auth.ts';
import type { ProblemCode } from './problem.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The errors that only some routes return. Those of every route are added automatically. */
    refuses?: readonly ProblemCode[];
  }
  interface FastifySchema {
    /** For the reference: every refusal that the route may return. */
    'x-refuses'?: readonly ProblemCode[];
  }
}

type Operation = FastifySchema &
  Pick<FastifyContextConfig, 'refuses' | 'alwaysAnswered'> &
  Pick<RouteOptions, 'bodyLimit' | 'validatorCompiler'>;

/** Returns a function that makes the options of a route from its scope and what the reference shows, under `tag`. */
export function taggedOperation(tag: string) {
  return <const S extends Operation>(scope: RouteScope, operation: S) => {
    const { refuses = [], alwaysAnswered = false, bodyLimit, validatorCompiler, ...schema } = operation;
    return {
      config: { scope, refuses, alwaysAnswered },
      ...(bodyLimit !== undefined && { bodyLimit }),
      ...(validatorCompiler !== undefined && { validatorCompiler }),
      schema: { ...schema, tags: [tag] } as unknown as S,
    };
  };
}

/** The path of the reference page. Its plugin creates the routes below, so their scope is declared here. */
export const DOCS_PATH = '/docs';

export type DeclaredRoute = { methods: readonly string[]; url: string; scope: RouteScope; hidden: boolean };

export type RouteTable = {
  readonly routes: readonly DeclaredRoute[];
  /** Checks every route before it is added. Throws if it declares no scope, which stops the start. */
  declare(route: RouteOptions & { routePath?: string; path?: string; prefix?: string }): void;
  /** Returns the methods of a request's path; empty if the path is unknown. */
  methodsOf(path: string): string[];
};

export function createRouteTable(): RouteTable {
  const routes: DeclaredRoute[] = [];
  return {
    routes,
    declare(route) {
      const methods = [route.method].flat();
      const scope = route.config?.scope ?? (route.prefix === DOCS_PATH ? 'any' : undefined);
      if (scope === undefined) {
        throw new Error(`${methods} ${route.url} declares no scope: say who may call it in config.scope`);
      }
      const hidden =
        (route.schema as { hide?: boolean } | undefined)?.hide === true || route.prefix === DOCS_PATH;
      route.config = { ...route.config, scope };
      route.schema = { ...route.schema, 'x-refuses': refusalsOf(route, scope) };
      route.schema = { ...route.schema, ...securityOf(scope, route.schema) };
      routes.push({ methods, url: route.url, scope, hidden });
    },
    methodsOf: (path) =>
      routes.filter(({ url }) => patternOf(url).test(path)).flatMap(({ methods }) => methods),
  };
}

function securityOf(scope: RouteScope, { description = '' }: { description?: string }) {
  if (scope === 'public') return { security: [] };
  const isAny = scope === 'any' || scope === 'self';
  const needs = isAny ? 'Requires any valid token.' : `Requires the scope \`${scope}\`.`;
  return {
    description: `${description} ${needs}`.trim(),
    security: [{ bearer: isAny ? [] : [scope] }, ...(scope === 'any' ? [{ basic: [] }] : [])],
  };
}

function refusalsOf({ config, schema }: RouteOptions, scope: RouteScope): ProblemCode[] {
  return [
    'INVALID_REQUEST',
    ...(scope === 'public' ? [] : (['UNAUTHORIZED', 'TOO_MANY_ATTEMPTS'] as const)),
    ...(scope === 'public' || scope === 'any' ? [] : (['FORBIDDEN'] as const)),
    ...(schema?.body === undefined ? [] : (['TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const)),
    ...(config?.refuses ?? []),
    'INTERNAL',
    ...(scope === 'public' ? [] : (['UNAVAILABLE'] as const)),
  ];
}

function patternOf(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/:[A-Za-z_]+/g, '[^/]+').replace(/\*$/, '.*')}$`);
}
