import type { TSchema } from 'typebox';
import type { TValidationError } from 'typebox/error';
import { segmentsOf } from './field-path.ts';

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
