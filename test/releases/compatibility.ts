/** The rule for the API: a client of the release before works with this one, until a deprecation has ended. */

type Json = Record<string, unknown>;
/** The client sends a value (`in`), or gets it (`out`). */
type Way = 'in' | 'out';
type Report = (place: string, what: string) => void;

/** Keywords that narrow what is accepted as their number rises, or falls. */
const LOWEST = ['minLength', 'minItems', 'minimum', 'minProperties'];
const HIGHEST = ['maxLength', 'maxItems', 'maximum'];
/** Keywords that narrow what is accepted unless they are the same. */
const FIXED = ['pattern', 'format', 'uniqueItems'];

/** Returns what a client of one OpenAPI document misses in a later one: the place, and what changed there. */
export function breaksOf(before: Json, after: Json): string[] {
  const breaks = new Set<string>();
  const report: Report = (place, what) => breaks.add(`${place} ${what}`);
  const operations = operationsIn(after);
  for (const [name, operation] of operationsIn(before)) {
    const now = operations.get(name);
    if (now === undefined) report(name, 'is gone');
    else compareOperation({ before, after, report }, name, operation, now);
  }
  return [...breaks];
}

type Documents = { before: Json; after: Json; report: Report };

/** By method and path. A notification is sent to the client, so its body is an output. */
function operationsIn(document: Json): Map<string, Json> {
  const operations = new Map<string, Json>();
  for (const part of ['paths', 'webhooks'])
    for (const [path, methods] of Object.entries(objectOf(document[part])))
      for (const [method, operation] of Object.entries(objectOf(methods)))
        operations.set(part === 'webhooks' ? path : `${method.toUpperCase()} ${path}`, objectOf(operation));
  return operations;
}

function compareOperation(documents: Documents, name: string, before: Json, after: Json): void {
  const { report } = documents;
  const isWebhook = !name.includes(' ');
  const needed = scopeListsOf(after);
  for (const held of scopeListsOf(before))
    if (!needed.some((scopes) => scopes.every((scope) => held.includes(scope))))
      report(name, `needs ${needed.map((scopes) => scopes.join(' and ')).join(' or ')}`);
  if (!isWebhook) compareParameters(documents, name, before, after);
  const [body, now] = [objectOf(before.requestBody), objectOf(after.requestBody)];
  compareContent(documents, `${name} body`, body, now, isWebhook ? 'out' : 'in');
  if (!isWebhook && now.required === true && body.required !== true) report(`${name} body`, 'is required');
  for (const [status, response] of Object.entries(objectOf(before.responses))) {
    const later = objectOf(after.responses)[status];
    if (later === undefined) {
      if (status.startsWith('2')) report(`${name} ${status}`, 'is gone');
      continue;
    }
    const [one, other] = [resolved(documents.before, response), resolved(documents.after, later)];
    compareContent(documents, `${name} ${status}`, one, other, 'out');
  }
}

function compareParameters(documents: Documents, name: string, before: Json, after: Json): void {
  const parametersOf = (document: Json, operation: Json): Map<string, Json> => {
    const list = (operation.parameters ?? []) as unknown[];
    const parameters = list.map((one) => resolved(document, one));
    return new Map(parameters.map((one) => [`${name} ${one.in} ${one.name}`, one]));
  };
  const [old, now] = [parametersOf(documents.before, before), parametersOf(documents.after, after)];
  for (const [place, { schema }] of old) {
    const later = now.get(place);
    if (later === undefined) documents.report(place, 'is gone');
    else compareSchemas(documents, place, schema, later.schema, 'in');
  }
  for (const [place, { required }] of now)
    if (required === true && old.get(place)?.required !== true) documents.report(place, 'is required');
}

function compareContent(documents: Documents, place: string, before: Json, after: Json, way: Way): void {
  for (const [type, media] of Object.entries(objectOf(before.content))) {
    const later = objectOf(after.content)[type];
    if (later === undefined) documents.report(place, `has no ${type}`);
    else compareSchemas(documents, place, objectOf(media).schema, objectOf(later).schema, way);
  }
}

function compareSchemas(
  documents: Documents,
  place: string,
  before: unknown,
  after: unknown,
  way: Way,
  seen: ReadonlySet<unknown> = new Set(),
): void {
  if (seen.has(before)) return;
  const within = new Set([...seen, before]);
  const choices = branchesOf(documents.before, before);
  const later = branchesOf(documents.after, after);
  for (const choice of choices) {
    const tries = later.map((each) => {
      const found: [string, string][] = [];
      const report: Report = (...one) => void found.push(one);
      compareOne({ ...documents, report }, place, choice, each, way, within);
      return found;
    });
    const [best = [[place, 'is gone'] as [string, string]]] = tries.sort((a, b) => a.length - b.length);
    for (const one of best) documents.report(...one);
  }
}

function compareOne(
  documents: Documents,
  place: string,
  before: Json,
  after: Json,
  way: Way,
  seen: ReadonlySet<unknown>,
): void {
  const { report } = documents;
  const [type, now] = [before.type ?? null, after.type ?? null];
  if (now !== null && type !== now) report(place, `is ${now}, not ${type}`);
  if (way === 'in') compareLimits(report, place, before, after);
  const [fields, later] = [objectOf(before.properties), objectOf(after.properties)];
  const [required, requiredNow] = [before, after].map(({ required }) => (required ?? []) as string[]);
  for (const [field, schema] of Object.entries(fields)) {
    const within = `${place}.${field}`;
    if (!(field in later)) report(within, 'is gone');
    else compareSchemas(documents, within, schema, later[field], way, seen);
    const isOptional = way === 'out' && required?.includes(field) && !requiredNow?.includes(field);
    if (isOptional && field in later) report(within, 'is optional');
  }
  for (const field of requiredNow ?? [])
    if (way === 'in' && !required?.includes(field)) report(`${place}.${field}`, 'is required');
  if (before.items !== undefined && after.items !== undefined)
    compareSchemas(documents, `${place}[]`, before.items, after.items, way, seen);
  const [others, othersNow] = [before.additionalProperties, after.additionalProperties];
  if (typeof others === 'object' && typeof othersNow === 'object')
    compareSchemas(documents, `${place}.*`, others, othersNow, way, seen);
  else if (way === 'in' && others !== false && othersNow === false && type === 'object')
    report(place, 'refuses other fields');
}

function compareLimits(report: Report, place: string, before: Json, after: Json): void {
  const valuesOf = ({ enum: values, const: value }: Json) =>
    (values as unknown[] | undefined) ?? (value === undefined ? undefined : [value]);
  const values = valuesOf(after);
  const gone = valuesOf(before)?.filter((value) => values?.includes(value) === false) ?? [];
  for (const value of gone) report(place, `refuses ${value}`);
  if (valuesOf(before) === undefined && values !== undefined) report(place, 'is limited to some values');
  for (const limit of LOWEST)
    if (Number(after[limit] ?? -Infinity) > Number(before[limit] ?? -Infinity))
      report(place, `has another ${limit}`);
  for (const limit of HIGHEST)
    if (Number(after[limit] ?? Infinity) < Number(before[limit] ?? Infinity))
      report(place, `has another ${limit}`);
  for (const limit of FIXED)
    if (after[limit] !== undefined && after[limit] !== before[limit]) report(place, `has another ${limit}`);
}

/** The alternatives of a schema. Parts of `allOf` are compared as one. */
function branchesOf(document: Json, given: unknown): Json[] {
  const schema = resolved(document, given);
  const choices = (schema.oneOf ?? schema.anyOf) as unknown[] | undefined;
  if (choices !== undefined) return choices.flatMap((choice) => branchesOf(document, choice));
  const types = schema.type;
  if (Array.isArray(types)) return types.map((type) => ({ ...schema, type }));
  const parts = (schema.allOf ?? []) as unknown[];
  return [parts.reduce((whole: Json, part) => merged(whole, resolved(document, part)), schema)];
}

function merged(one: Json, other: Json): Json {
  const properties = { ...objectOf(one.properties), ...objectOf(other.properties) };
  const required = [...((one.required ?? []) as string[]), ...((other.required ?? []) as string[])];
  return { ...one, ...other, properties, required };
}

function resolved(document: Json, given: unknown): Json {
  const { $ref: reference } = objectOf(given);
  if (typeof reference !== 'string') return objectOf(given);
  const path = reference.slice('#/'.length).split('/');
  return resolved(
    document,
    path.reduce((part: Json, name) => objectOf(part[name]), document),
  );
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

/** Returns the lists of scopes that each suffice for an operation. A public operation needs no scope. */
function scopeListsOf({ security }: Json): string[][] {
  const alternatives = (security ?? []) as Record<string, string[]>[];
  return alternatives.length === 0 ? [[]] : alternatives.map((scheme) => Object.values(scheme).flat());
}
