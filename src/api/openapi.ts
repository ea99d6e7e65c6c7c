/** The reference: an OpenAPI 3.1 document made from the routes' own schemas, and a page that shows it. */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import Type from 'typebox';
import { PROBLEM_TYPE, PROBLEMS, type ProblemCode, ProblemDetails, problemName } from './problem.ts';
import { DOCS_PATH } from './route-table.ts';
import { type Api, named } from './schemas.ts';

type Document = { paths?: Record<string, Record<string, Operation>>; components?: object };
type Operation = { responses?: Record<string, unknown>; 'x-refuses'?: readonly ProblemCode[] };

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

const TAGS = [
  { name: 'Deductions', description: 'The ledger of payroll deductions.' },
  { name: 'Census', description: 'Employee censuses and their uploads.' },
  {
    name: 'Employment',
    description: 'Hires, terminations, moves and pay changes; employees and their rosters.',
  },
  { name: 'Events', description: 'Webhook events and their states.' },
  { name: 'Readiness', description: 'Whether payroll can trust the ledger now.' },
  { name: 'Activity', description: 'Current load: events received, pending work and requests sent.' },
  {
    name: 'Payroll runs',
    description: 'Deductions for one pay date, to the cent, with explanations and verification.',
  },
  {
    name: 'Payroll settings',
    description: 'Pay schedules, payroll codes and the payroll policy of an employer.',
  },
  { name: 'Sessions', description: "The caller's own console sessions." },
  { name: 'Health', description: 'Liveness, readiness of the process, and metrics.' },
  { name: 'Reference', description: 'This document.' },
];

/** Registers the reference. Call it before the routes, because it collects each when it is declared. */
export function collectRoutes(app: Api, version: string): void {
  app.register(swagger, {
    // Schemas keep their names in the document.
    refResolver: {
      buildLocalReference: (json, _base, _fragment, index) => String(json.$id ?? `Schema${index}`),
    },
    convertConstToEnum: false,
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'benefits-sidecar',
        version,
        description:
          'The private API for the payroll system. Every request except `/livez` and `/readyz` requires a ' +
          'token: `Authorization: Bearer …`. Errors are `application/problem+json` (RFC 9457).',
      },
      tags: TAGS,
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
  named(app, 'Problem', ProblemDetails);
}

export function referenceRoutes(app: Api): void {
  app.get(
    '/openapi.json',
    {
      config: { scope: 'any' },
      schema: {
        operationId: 'getReference',
        tags: ['Reference'],
        summary: 'Get this document',
        description: `OpenAPI 3.1. \`${DOCS_PATH}\` renders it as a page.`,
        response: { 200: Type.Unsafe<object>({ type: 'object', description: 'The document.' }) },
      },
    },
    async () => app.swagger(),
  );
  app.register(swaggerUi, {
    routePrefix: DOCS_PATH,
    theme: { title: 'benefits-sidecar' },
    staticCSP: DOCS_POLICY,
    uiConfig: { layout: 'BaseLayout', docExpansion: 'none', deepLinking: true },
  });
}

/** Adds the refusals of each operation, and rules as descriptions of schemas that have none. */
function finish(document: Document): Document {
  const responses = Object.fromEntries(
    (Object.keys(PROBLEMS) as ProblemCode[]).map((code) => [problemName(code), response(code)]),
  );
  for (const path of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(path)) {
      for (const code of operation['x-refuses'] ?? []) {
        operation.responses ??= {};
        operation.responses[PROBLEMS[code].status] ??= {
          $ref: `#/components/responses/${problemName(code)}`,
        };
      }
      delete operation['x-refuses'];
    }
  }
  return standardKeywords({ ...document, components: { ...document.components, responses } }) as Document;
}

function response(code: ProblemCode): object {
  const { title } = PROBLEMS[code];
  return {
    description: title,
    content: { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } },
  };
}

/** Replaces `rule` and the format `instant`, which are our own, with standard keywords. */
function standardKeywords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(standardKeywords);
  if (typeof value !== 'object' || value === null) return value;
  const { rule, ...rest } = value as Record<string, unknown>;
  const described = typeof rule === 'string' && rest.description === undefined ? { description: rule } : {};
  const format = rest.format === 'instant' ? { format: 'date-time' } : {};
  const kept = rule === undefined || typeof rule === 'string' ? {} : { rule };
  return Object.fromEntries(
    Object.entries({ ...rest, ...format, ...kept, ...described }).map(([name, part]) => [
      name,
      standardKeywords(part),
    ]),
  );
}
