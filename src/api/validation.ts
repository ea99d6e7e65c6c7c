/** Checks the parts of a request against the route's schemas, with the contract's error messages. */
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { compile, fieldPath, givenFieldPath, isObject, PROBLEMS_MAX } from '../contract/check.ts';
import type { Problem } from '../errors.ts';
import { oncePer } from './once-per.ts';
import { invalid } from './problem.ts';
import { toMilliseconds } from './schemas.ts';

type HttpPart = Readonly<Record<string, unknown>>;
type Properties = Readonly<Record<string, { type?: unknown; format?: unknown }>>;

/** The problem reported for an unknown name, by part of the request. */
const NAMES: Readonly<Record<string, string>> = {
  querystring: 'is not a parameter of this operation',
  body: 'is not a field of this request',
};

/** Up to 15 digits, which a number holds exactly. */
const WHOLE_NUMBER = /^-?\d{1,15}$/;

/**
 * Compiles one part of a route. Refuses unknown names, so that a mistyped filter never widens a list, and parameters that are
 * given twice. Texts of the path and the query become the numbers and flags of their schema, and instants the stored form.
 */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'body' }) => {
  // Handlers check headers, because every request has some that no schema names.
  if (httpPart === 'headers') return () => true;
  const checker = compile(schema);
  const properties: Properties = (schema as { properties?: Properties }).properties ?? {};
  const instants = Object.keys(properties).filter((name) => properties[name]?.format === 'instant');
  return (received: unknown) => {
    const misnamed = isObject(received) ? namingProblems(received, properties, httpPart) : [];
    const value = httpPart === 'body' ? received : fromText(received as HttpPart, properties);
    if (misnamed.length === 0 && checker.accepts(value)) {
      return { value: instants.length === 0 ? value : withStored(value as HttpPart, instants) };
    }
    const known = new Set(misnamed.map(({ path }) => path));
    const ofValues = checker.problems(value, PROBLEMS_MAX, 'hints');
    return { error: invalid([...misnamed, ...ofValues.filter(({ path }) => !known.has(path))]) };
  };
};

type Part = 'params' | 'querystring' | 'body';

/** Returns a part of a call as the operation gets it. Throws INVALID_REQUEST. Without a schema, a part is empty. */
export function checked(schema: TSchema | undefined, httpPart: Part, value: unknown): unknown {
  if (schema === undefined) return undefined;
  const result = VALIDATORS[httpPart](schema)(value);
  if (typeof result === 'object' && 'error' in result) throw result.error;
  return typeof result === 'object' && 'value' in result ? result.value : value;
}

/** The next call of an operation has the same schemas. */
const validatorsOf = (httpPart: Part) =>
  oncePer((schema: TSchema) => compileValidator({ schema, httpPart, method: '', url: '' }));
const VALIDATORS = {
  params: validatorsOf('params'),
  querystring: validatorsOf('querystring'),
  body: validatorsOf('body'),
};

/** For routes whose bodies a domain module checks, with better messages than a schema has. */
export const exceptBody: FastifySchemaCompiler<TSchema> = (part) =>
  part.httpPart === 'body' ? () => true : compileValidator(part);

/** For routes whose body is optional; without one it is `{}`. */
export const bodyMayBeLeftOut: FastifySchemaCompiler<TSchema> = (part) => {
  const check = compileValidator(part);
  return part.httpPart === 'body' ? (body: unknown) => check(body ?? {}) : check;
};

function namingProblems(part: HttpPart, properties: Properties, httpPart: string): Problem[] {
  const rules = new Map<string, string>();
  for (const [name, value] of Object.entries(part)) {
    if (rules.size === PROBLEMS_MAX) break;
    const path = fieldPath('', name);
    if (!Object.hasOwn(properties, name)) {
      const rule = `${NAMES[httpPart]}, which has: ${Object.keys(properties).join(', ')}`;
      rules.set(givenFieldPath('', name), rule);
    } else if (httpPart !== 'body' && Array.isArray(value) && properties[name]?.type !== 'array') {
      rules.set(path, 'must be given only once');
    } else if (httpPart !== 'body' && String(value).includes('\0')) {
      rules.set(path, 'must not contain a NUL character');
    }
  }
  return [...rules].map(([path, rule]) => ({ path, rule }));
}

function fromText(part: HttpPart, properties: Properties): HttpPart {
  return Object.fromEntries(
    Object.entries(part).map(([name, given]) => {
      const type = properties[name]?.type;
      return [name, type === 'array' ? [given].flat() : parsed(String(given), type)];
    }),
  );
}

/** Returns text that cannot be parsed unchanged, so that the check refuses it. */
function parsed(text: string, type: unknown): unknown {
  if (type === 'integer') return WHOLE_NUMBER.test(text) ? Number(text) : text;
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}

function withStored(part: HttpPart, instants: readonly string[]): HttpPart {
  const present = instants.filter((name) => part[name] !== undefined);
  return {
    ...part,
    ...Object.fromEntries(present.map((name) => [name, toMilliseconds(String(part[name]))])),
  };
}
