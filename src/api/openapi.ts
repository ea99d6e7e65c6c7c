/** The reference: an OpenAPI 3.1 document made from the routes' own schemas, and a page that shows it. */
import { isDeepStrictEqual } from 'node:util';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import Type from 'typebox';
import { bodySchema, NOTIFICATION_TYPES, NOTIFICATIONS } from '../notifications/types.ts';
import { withExamples } from './examples.ts';
import { PROBLEM_TYPE, ProblemDetails } from './problem.ts';
import { PROBLEMS, type ProblemCode, problemName } from './problem-types.ts';
import { type Api, DOCS_PATH, operation } from './route.ts';
import { TAGS } from './tags.ts';

type Parameter = { name: string; in: string };
type ListedOperation = {
  operationId?: string;
  tags?: string[];
  parameters?: object[] | undefined;
  requestBody?: { required?: boolean };
  responses?: Record<string, unknown>;
  'x-refuses'?: readonly ProblemCode[];
  'x-optional-body'?: boolean;
};
type Document = {
  paths?: Record<string, Record<string, ListedOperation>>;
  webhooks?: object;
  components?: object;
};

/** Allows scripts, styles and images from this listener only, and no frames. */
const DOCS_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Registers the reference. Call it before the routes, because it collects each route when it is declared. */
export function collectRoutes(app: Api, version: string): void {
  app.register(swagger, {
    convertConstToEnum: false,
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'benefits-sidecar',
        version,
        license: { name: 'MIT', identifier: 'MIT' },
        description:
          'The private API for the payroll system. Every request except `/livez` and `/readyz` requires a ' +
          'token: `Authorization: Bearer …`. Errors are `application/problem+json` (RFC 9457).',
      },
      servers: [{ url: '/', description: 'The private listener.' }],
      tags: TAGS.map(({ name, description }) => ({ name, description })),
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: 'A token with the scope of the operation, or `all`.',
          },
          basic: {
            type: 'http',
            scheme: 'basic',
            description:
              'For browsers, on the reference page only: any user name, with the token as the password.',
          },
        },
      },
    },
    transformObject: (made) => finish('openapiObject' in made ? (made.openapiObject as Document) : {}),
  });
}

export function referenceRoutes(app: Api): void {
  app.get(
    '/openapi.json',
    operation('Reference', 'any', {
      operationId: 'getReference',
      employers: 'none',
      summary: 'Get this document',
      description: `OpenAPI 3.1. \`${DOCS_PATH}\` renders it as a page.`,
      response: { 200: Type.Unsafe<object>({ type: 'object', description: 'The document.' }) },
    }),
    async () => app.swagger(),
  );
  app.register(swaggerUi, {
    routePrefix: DOCS_PATH,
    theme: { title: 'benefits-sidecar' },
    staticCSP: DOCS_POLICY,
    uiConfig: { layout: 'BaseLayout', docExpansion: 'none', deepLinking: true },
  });
}

/** Completes the document: refusals, shared components, examples, and rules in standard keywords. */
function finish(document: Document): Document {
  const used = new Set<ProblemCode>();
  for (const operation of operationsOf(document)) {
    for (const code of operation['x-refuses'] ?? []) {
      const { status } = PROBLEMS[code];
      operation.responses ??= {};
      if (operation.responses[status] !== undefined) continue;
      operation.responses[status] = { $ref: `#/components/responses/${problemName(code)}` };
      used.add(code);
    }
    delete operation['x-refuses'];
    if (operation['x-optional-body'] === true && operation.requestBody !== undefined)
      operation.requestBody.required = false;
    delete operation['x-optional-body'];
  }
  const content = { [PROBLEM_TYPE]: { schema: ProblemDetails } };
  const responses = Object.fromEntries(
    [...used].map((code) => [problemName(code), { description: PROBLEMS[code].title, content }]),
  );
  const schemas: Record<string, object> = {};
  const parameters = sharedParameters(document);
  const { components, ...rest } = hoisted(
    {
      ...document,
      paths: byTag(document.paths ?? {}),
      webhooks: webhooks(),
      components: { ...document.components, responses, parameters },
    },
    schemas,
  ) as Document;
  return withExamples(standard({ ...rest, components: { ...components, schemas } }) as Document);
}

/** Returns the paths in the order of their tags. */
function byTag<Operations extends Record<string, { tags?: string[] }>>(
  paths: Record<string, Operations>,
): Record<string, Operations> {
  const placeOf = (operations: Operations): number => {
    const [tag] = Object.values(operations)[0]?.tags ?? [];
    return TAGS.findIndex(({ name }) => name === tag);
  };
  return Object.fromEntries(
    Object.entries(paths).sort(([, left], [, right]) => placeOf(left) - placeOf(right)),
  );
}

/** Returns what the sidecar sends to `NOTIFY_URL`, by type. */
function webhooks(): Record<string, object> {
  const headers = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => ({
    ...{ name, in: 'header', required: true, schema: { type: 'string' } },
    description: 'Standard Webhooks: verify the three headers with one of its libraries.',
  }));
  return Object.fromEntries(
    NOTIFICATION_TYPES.map((type) => {
      const content = { 'application/json': { schema: bodySchema(type) } };
      const post = {
        ...{ operationId: type, tags: ['Notifications'], summary: NOTIFICATIONS[type].summary },
        ...{ security: [], parameters: headers, requestBody: { required: true, content } },
        responses: {
          '2XX': { description: 'Delivered. The body is ignored.' },
          default: { description: 'Not delivered. It is sent again, for up to 72 hours.' },
        },
      };
      return [type, { post }];
    }),
  );
}

function operationsOf({ paths = {} }: Document): ListedOperation[] {
  return Object.values(paths).flatMap((path) => Object.values(path));
}

/** Moves parameters of several operations to the components. */
function sharedParameters(document: Document): Record<string, object> {
  const operations = operationsOf(document);
  const parameters = operations.flatMap((operation) => (operation.parameters ?? []) as Parameter[]);
  const uses = Map.groupBy(parameters, (parameter) => JSON.stringify(parameter));
  const shared: Record<string, object> = {};
  const references = new Map<string, object>();
  for (const [text, [parameter, ...others]] of uses) {
    if (parameter === undefined || others.length === 0) continue;
    const name = [parameter.name, `${parameter.in}_${parameter.name}`].find((one) => !(one in shared));
    if (name === undefined) continue;
    shared[name] = parameter;
    references.set(text, { $ref: `#/components/parameters/${name}` });
  }
  for (const operation of operations) {
    operation.parameters = operation.parameters?.map((one) => references.get(JSON.stringify(one)) ?? one);
  }
  return shared;
}

/** Moves the schemas with a name (`component`) to the components and leaves references to them. */
function hoisted(value: unknown, schemas: Record<string, object>): unknown {
  if (Array.isArray(value)) return value.map((one) => hoisted(one, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const { component, 'x-response-description': _, ...given } = value as Record<string, unknown>;
  const { description, ...rest } = Object.fromEntries(
    Object.entries(given).map(([name, part]) => [name, hoisted(part, schemas)]),
  );
  const words = description === undefined ? {} : { description };
  if (typeof component !== 'string') return { ...rest, ...words };
  const isNullable = Array.isArray(rest.type);
  const schema = isNullable ? { ...rest, type: (rest.type as string[])[0] } : rest;
  schemas[component] ??= { ...schema, ...words };
  const known = schemas[component];
  const { description: first, ...same } = known as { description?: unknown };
  if (!isDeepStrictEqual(same, schema)) throw new Error(`two schemas are named ${component}`);
  const reference = { $ref: `#/components/schemas/${component}` };
  if (isNullable) return { oneOf: [reference, { type: 'null' }], ...words };
  return { ...reference, ...(description === first ? {} : words) };
}

/** Replaces `rule`, `meant` and the format `instant`, which are our own, with standard keywords. */
function standard(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(standard);
  if (typeof value !== 'object' || value === null) return value;
  const { rule, meant: _, ...rest } = value as Record<string, unknown>;
  const words = typeof rule === 'string' && rest.description === undefined ? { description: rule } : {};
  const format = rest.format === 'instant' ? { format: 'date-time' } : {};
  // A date or a date-time has no format of its own.
  if (rest.format === 'day-or-date-time') delete rest.format;
  const kept = rule === undefined || typeof rule === 'string' ? {} : { rule };
  return Object.fromEntries(
    Object.entries({ ...rest, ...format, ...kept, ...words }).map(([name, part]) => [name, standard(part)]),
  );
}
