import type { Static, TSchema } from 'typebox';
import type { TLocalizedValidationError, TValidationError } from 'typebox/error';
import Format from 'typebox/format';
import { Compile, type Validator } from 'typebox/schema';
import { Settings } from 'typebox/system';
import { counted, type Problem } from '../errors.ts';
import { dayOf, toInstant } from './instant.ts';
import { meantFor } from './meant.ts';

export type Checker<T> = {
  schema: TSchema;
  /** Returns whether the value is valid. Compiled and fast: it runs for every event. */
  accepts(value: unknown): value is T;
  /**
   * Returns at most `limit` problems, one per field; empty exactly when `accepts` returns true. With `hints`, for the caller
   * who sent the value, they name what a refused text means.
   */
  problems(value: unknown, limit?: number, hints?: 'hints'): Problem[];
  /** Returns how many problems there are, at most `PROBLEMS_MAX`, in much less time. */
  count(value: unknown): number;
};

/** The default limit: more than anyone reads, and small enough to send. */
export const PROBLEMS_MAX = 1_000;

/** The most errors of one field (length, format and pattern of a string), and one to spare. */
const ERRORS_PER_FIELD = 4;

// The contract's own formats, registered before compiling looks them up.
Format.Set('instant', (text) => toInstant(text) !== null);
Format.Set('day-or-date-time', (text) => dayOf(text) !== null);

/** Compiles the schema when a value is first checked: a process that starts checks few of them. */
export function compile<const S extends TSchema>(schema: S): Checker<Static<S>> {
  let compiled: Validator | undefined;
  let counter: Counter | undefined;
  const validator = (): Validator => (compiled ??= Compile(schema));
  return {
    schema,
    accepts: (value): value is Static<S> => validator().Check(value),
    problems(value, limit = PROBLEMS_MAX, hints) {
      const hinted = hints === undefined ? undefined : { value };
      const ofLists = listProblems(schema, value);
      const rest = ofLists.length === 0 ? value : without(value as object, ofLists);
      const ofRest = errorsOf(validator(), rest, limit).flatMap((error) => problemsIn(schema, error, hinted));
      const problems = [...ofLists, ...ofRest];
      const byPath = Map.groupBy(problems, ({ path }) => path);
      return [...byPath.values()].slice(0, limit).map(([first]) => first as Problem);
    },
    count(value) {
      counter ??= counterOf(schema);
      return Math.min(counter(value), PROBLEMS_MAX);
    },
  };
}

export function describe(problem: Problem): string {
  const { path, rule, hint } = problem;
  return `${path === '' ? '' : `${path}: `}${rule}${hint === undefined ? '' : `; ${hint}`}`;
}

/** The beginning of a hint to the value that was probably meant. */
export const DID_YOU_MEAN = 'did you mean';

/** Returns the hint of a value that was probably meant. */
export function didYouMean(meant: string | null): { hint?: string } {
  return meant === null ? {} : { hint: `${DID_YOU_MEAN} ${meant}?` };
}

/** TypeBox limits the errors it collects by a global setting, which is changed for this call only. */
function errorsOf(validator: Validator, value: unknown, limit: number): TLocalizedValidationError[] {
  const { maxErrors } = Settings.Get();
  Settings.Set({ maxErrors: limit * ERRORS_PER_FIELD });
  try {
    return validator.Errors(value)[1];
  } finally {
    Settings.Set({ maxErrors });
  }
}

/** The keywords of an object and of a list. */
type Parts = {
  properties?: Readonly<Record<string, TSchema>>;
  required?: readonly string[];
  additionalProperties?: unknown;
  items?: TSchema;
  maxItems?: number;
  uniqueItems?: boolean;
  rule?: string;
};

/**
 * Returns the problems of the fields that are too long a list or repeat an element. TypeBox looks at all elements of the former,
 * and takes quadratic time to list the latter.
 */
function listProblems(schema: TSchema, value: unknown): Problem[] {
  const { properties = {} } = schema as Parts;
  return Object.entries(properties).flatMap(([path, field]): Problem[] => {
    const elements = isObject(value) ? value[path] : undefined;
    if (!Array.isArray(elements)) return [];
    const { maxItems = Number.POSITIVE_INFINITY, uniqueItems = false, rule } = field as Parts;
    if (elements.length > maxItems) return [{ path, rule: rule ?? mostElements(maxItems) }];
    if (!uniqueItems || new Set(elements).size === elements.length) return [];
    return [{ path, rule: rule ?? 'must satisfy uniqueItems' }];
  });
}

function mostElements(limit: number): string {
  return `must have at most ${counted(limit, 'element')}`;
}

function without(value: object, problems: readonly Problem[]): unknown {
  const names = new Set(problems.map(({ path }) => path));
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.has(name)));
}

type Counter = (value: unknown) => number;

/** Returns a function that counts problems without building them. A list that breaks a rule of its own counts as one. */
function counterOf(schema: TSchema): Counter {
  const { properties = {}, required = [], additionalProperties, items, ...shell } = schema as Parts;
  const { accepts } = compile(shell);
  const countItem = items && counterOf(items);
  const fields = new Map(Object.entries(properties).map(([name, field]) => [name, counterOf(field)]));
  const isUnknown = (name: string) => additionalProperties === false && !fields.has(name);
  return (value) => {
    const count = accepts(value) ? 0 : 1;
    if (Array.isArray(value) && count === 0 && countItem !== undefined)
      return value.reduce<number>((sum, item) => sum + countItem(item), 0);
    if (!isObject(value)) return count;
    const names = Object.keys(value);
    const missing = required.filter((name) => !Object.hasOwn(value, name)).length;
    const unknown = names.filter(isUnknown);
    const named = unknown.filter((name) => FIELD_NAME.test(name)).length;
    // Those that are not named have the same path.
    const unnamed = named < unknown.length ? 1 : 0;
    return names.reduce(
      (sum, name) => sum + (fields.get(name)?.(value[name]) ?? 0),
      count + missing + named + unnamed,
    );
  };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function problemsIn(
  schema: TSchema,
  error: TLocalizedValidationError,
  hinted: { value: unknown } | undefined,
): Problem[] {
  const paths = pathsIn(error);
  const { keyword, instancePath, schemaPath } = error;
  const [path] = paths;
  if (path === undefined) return [];
  if (keyword === 'boolean') return [{ path, rule: 'is not a field of the interface' }];
  if (keyword === 'required') return paths.map((missing) => ({ path: missing, rule: 'is required' }));
  const broken = segmentsOf(schemaPath).reduce((at, name) => (at as Record<string, TSchema>)[name]!, schema);
  const text = hinted && valueAt(hinted.value, instancePath);
  const hint = typeof text === 'string' ? didYouMean(meantFor(broken, text)?.value ?? null) : {};
  return [{ path, rule: ruleOf(broken, error), ...hint }];
}

/** Returns the fields that an error is about. */
function pathsIn({ keyword, instancePath, schemaPath, params }: TLocalizedValidationError): string[] {
  // A choice has its own error, so the errors of its branches are omitted.
  if (schemaPath.includes('/anyOf/')) return [];
  // Each unknown field has its own error before this one ('boolean', because its schema is false).
  if (keyword === 'additionalProperties') return [];
  if (keyword === 'boolean') {
    const parent = instancePath.lastIndexOf('/');
    const [name] = segmentsOf(instancePath.slice(parent));
    return [givenFieldPath(pathOf(instancePath.slice(0, parent)), name as string)];
  }
  const path = pathOf(instancePath);
  if (keyword !== 'required') return [path];
  return (params as { requiredProperties: string[] }).requiredProperties.map((name) => fieldPath(path, name));
}

function valueAt(root: unknown, pointer: string): unknown {
  return segmentsOf(pointer).reduce((at, name) => (at as Record<string, unknown>)[name], root);
}

/** Returns the text of a broken rule. It depends on the schema only, so it contains no value. */
function ruleOf(schema: TSchema, error: TValidationError): string {
  const { rule } = schema as { rule?: string };
  switch (error.keyword) {
    case 'minLength':
      return `must have at least ${counted(error.params.limit, 'character')}`;
    case 'maxLength':
      return `must be at most ${counted(error.params.limit, 'character')}`;
    case 'minItems':
      return `must have at least ${counted(error.params.limit, 'element')}`;
    case 'maxItems':
      return rule ?? mostElements(error.params.limit);
    case 'type':
      return rule ?? oneOfRule(schema) ?? `must be ${typeName(error.params.type)}`;
    case 'enum':
      return rule ?? oneOfRule(schema)!;
    default:
      return rule ?? `must satisfy ${error.keyword}`;
  }
}

/** A list of values is more helpful than their type. Null is omitted: it means absent. */
function oneOfRule(schema: TSchema): string | undefined {
  const values = (schema as { enum?: unknown[] }).enum?.filter((value) => value !== null);
  return values && `must be one of ${values.join(', ')}`;
}

function typeName(type: string | string[]): string {
  // `nullable` puts null last.
  const name = [type].flat()[0]!;
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`;
}

/** The contract's names have no digits. Other names could be personal data and are not repeated. */
const FIELD_NAME = /^[A-Za-z_]{1,64}$/;

/** Returns the path of a known field: `employees[17].address.state`. Digits are an array index. */
export function pathOf(pointer: string): string {
  return segmentsOf(pointer).reduce(
    (path, segment) => (/^\d+$/.test(segment) ? `${path}[${segment}]` : fieldPath(path, segment)),
    '',
  );
}

/** Returns the path of a field with a caller's name: `employees[0].nickname`, or `employees[0][…]`. */
export function givenFieldPath(path: string, name: string): string {
  return FIELD_NAME.test(name) ? fieldPath(path, name) : `${path}[…]`;
}

export function fieldPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** Returns a problem of a part, whose path is '' for the whole part, as one of what contains it at `path`. */
export function within(path: string, problem: Problem): Problem {
  if (path === '' || problem.path === '') return { ...problem, path: path || problem.path };
  return {
    ...problem,
    path: problem.path.startsWith('[') ? path + problem.path : fieldPath(path, problem.path),
  };
}

/** Returns the unescaped segments of a JSON pointer (RFC 6901). */
export function segmentsOf(pointer: string): string[] {
  const [, ...segments] = pointer.split('/');
  return segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}
