/** The rule for migrations: the release before runs on their result. */
import type { SchemaObject } from '../../src/database/schema-check.ts';

/** A column that rows of the release before leave out. */
const NULLABLE = /^[a-z ]+ f\b/;

/** Returns what of a schema on PostgreSQL a later one lacks, changes, or adds to a table in a way that may refuse a row. */
export function breaksOf(before: readonly SchemaObject[], after: readonly SchemaObject[]): string[] {
  const there = new Map(after.map((object) => [object.name, object]));
  const known = new Set(before.map(({ name }) => name));
  const isOfView = ({ on }: SchemaObject): boolean => known.has(`view ${on}`);
  const breaks: string[] = [];
  for (const object of before) {
    const now = there.get(object.name);
    if (now === undefined) breaks.push(`${object.name} is gone`);
    // Migrations create views again, with more columns.
    else if (now.definition !== object.definition && !isOfView(object))
      breaks.push(`${object.name} is another`);
  }
  for (const object of after) {
    const isNew = !known.has(object.name) && known.has(`table ${object.on}`);
    if (isNew && !isHarmless(object)) breaks.push(`${object.name} was added to a table`);
  }
  return breaks;
}

function isHarmless({ name, definition }: SchemaObject): boolean {
  if (name.startsWith('column ')) return NULLABLE.test(definition);
  return name.startsWith('index ') && !definition.startsWith('CREATE UNIQUE');
}
