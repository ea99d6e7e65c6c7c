import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import Format from 'typebox/format';
import { Settings } from 'typebox/system';
import { fieldPath, pathOf, unknownFieldPath } from './field-path.ts';
import { dayOf, toInstant } from './instant.ts';
import { ruleOf, schemaAt } from './rule.ts';

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
