import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { TLocalizedValidationError, TValidationError } from 'typebox/error';
import Format from 'typebox/format';
import { Settings } from 'typebox/system';
import { dayOf, toInstant } from './instant.ts';

/** One broken rule. `path` names the field (`employees[17].address.state`, '' for the whole); never holds its value. */
export type Problem = { path: string; rule: string };

export type Checker<T> = {
  /** The JSON Schema, with the texts of its rules as annotations. */
  schema: TSchema;
  /** The fast answer: compiled once, runs for every event. */
  accepts(value: unknown): value is T;
  /** What is wrong, one problem a field, at most `limit`; empty exactly when `accepts` is true. */
  problems(value: unknown, limit?: number): Problem[];
};

/** Problems named when the caller asks for no other number: more than a person reads, little enough to send. */
export const PROBLEMS_MAX = 1_000;

/** The most errors that one field can have at once (length, format and pattern of a string), with one to spare. */
const ERRORS_PER_FIELD = 4;

// Formats of the interface that JSON Schema has no name for. Compiling looks them up, so they are set before.
Format.Set('instant', (text) => toInstant(text) !== null);
Format.Set('day-or-date-time', (text) => dayOf(text) !== null);

/** Compiles a schema once, at load. */
export function compile<const S extends TSchema>(schema: S): Checker<Static<S>> {
  const validator: Validator = Compile(schema);
  return {
    schema,
    accepts: (value): value is Static<S> => validator.Check(value),
    problems: (value, limit = PROBLEMS_MAX) => problemsOf(schema, errorsOf(validator, value, limit), limit),
  };
}

/** A problem as one line for people. */
export function describe(problem: Problem): string {
  return problem.path === '' ? problem.rule : `${problem.path}: ${problem.rule}`;
}

/** TypeBox bounds the errors it collects by a setting of the whole process: it is set for this one call only. */
function errorsOf(validator: Validator, value: unknown, limit: number): TLocalizedValidationError[] {
  const { maxErrors } = Settings.Get();
  Settings.Set({ maxErrors: limit * ERRORS_PER_FIELD });
  try {
    return validator.Errors(value);
  } finally {
    Settings.Set({ maxErrors });
  }
}

function problemsOf(schema: TSchema, errors: TLocalizedValidationError[], limit: number): Problem[] {
  const byPath = new Map<string, Problem>();
  for (const error of errors) {
    for (const problem of problemsIn(schema, error)) {
      if (byPath.size >= limit) return [...byPath.values()];
      if (!byPath.has(problem.path)) byPath.set(problem.path, problem);
    }
  }
  return [...byPath.values()];
}

function problemsIn(schema: TSchema, error: TLocalizedValidationError): Problem[] {
  const { keyword, instancePath, schemaPath } = error;
  // The branches of a choice are noise beside the choice itself, which has its own error.
  if (schemaPath.includes('/anyOf/')) return [];
  // Each unknown field comes as an error of its own ('boolean': the schema for it is false) before this summary.
  if (keyword === 'additionalProperties') return [];
  if (keyword === 'boolean') {
    return [{ path: unknownFieldPath(instancePath), rule: 'is not a field of the interface' }];
  }
  const path = pathOf(instancePath);
  if (keyword === 'required') {
    return error.params.requiredProperties.map((name) => ({
      path: fieldPath(path, name),
      rule: 'is required',
    }));
  }
  return [{ path, rule: ruleOf(schemaAt(schema, schemaPath), error) }];
}

/**
 * The text of a broken rule. It is made from the schema alone, so that it can't hold a value: from the schema's own
 * `rule` annotation where it has one, else from the keyword.
 */
export function ruleOf(schema: TSchema, error: TValidationError): string {
  const { rule } = annotated(schema);
  switch (error.keyword) {
    case 'minLength':
      return `must have at least ${counted(error.params.limit, 'character')}`;
    case 'maxLength':
      return `must be at most ${counted(error.params.limit, 'character')}`;
    case 'minItems':
      return `must have at least ${counted(error.params.limit, 'element')}`;
    case 'type':
      return rule ?? oneOfRule(schema) ?? `must be ${typeName(error.params.type)}`;
    case 'enum':
      return rule ?? oneOfRule(schema)!;
    default:
      return rule ?? `must satisfy ${error.keyword}`;
  }
}

/** The part of the schema that an error's `schemaPath` (`#/properties/address`) points at. */
export function schemaAt(root: TSchema, schemaPath: string): TSchema {
  return segmentsOf(schemaPath).reduce(
    (schema, segment) => (schema as Record<string, TSchema>)[segment]!,
    root,
  );
}

type Annotated = { rule?: string; enum?: unknown[] };

function annotated(schema: TSchema): Annotated {
  return schema as Annotated;
}

/** A list of values is a better answer than the type that they share. Null is not named: it means absent. */
function oneOfRule(schema: TSchema): string | undefined {
  const values = annotated(schema).enum?.filter((value) => value !== null);
  return values && `must be one of ${values.join(', ')}`;
}

function typeName(type: string | string[]): string {
  // `nullable` writes null last.
  const name = [type].flat()[0]!;
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`;
}

function counted(count: number | bigint, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/**
 * Paths of fields as people write them, `employees[17].address.state`, made from JSON pointers.
 */

/**
 * How the interface writes names, without digits. A name that the caller made up could be any text, such as an
 * employee's name or number: one that looks otherwise is not repeated.
 */
const FIELD_NAME = /^[A-Za-z_]{1,64}$/;
/** In the place of a name that is not repeated. */
const UNNAMED = '[…]';

const INDEX = /^\d+$/;

/** The path of a field that the interface knows: a segment of digits is the index of an array. */
export function pathOf(pointer: string): string {
  return segmentsOf(pointer).reduce(
    (path, segment) => (INDEX.test(segment) ? `${path}[${segment}]` : fieldPath(path, segment)),
    '',
  );
}

/** The path of a field that the interface doesn't know, by its pointer. */
export function unknownFieldPath(pointer: string): string {
  const parent = pointer.slice(0, pointer.lastIndexOf('/'));
  return givenFieldPath(pathOf(parent), segmentsOf(pointer).at(-1)!);
}

/** The path of a field by the name that the caller gave it: `employees[0].nickname`, or `employees[0][…]`. */
export function givenFieldPath(path: string, name: string): string {
  return FIELD_NAME.test(name) ? fieldPath(path, name) : `${path}${UNNAMED}`;
}

/** The path of a field of the object at `path`, by a name of the interface. */
export function fieldPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** The segments of a JSON pointer, unescaped (RFC 6901). */
export function segmentsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}
