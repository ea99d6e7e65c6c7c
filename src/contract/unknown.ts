/** Finds what an event has that the contract does not know: names of fields, never values. Pure. */
import type { TSchema } from 'typebox';
import { fieldPath, givenFieldPath } from './check.ts';
import { Deduction, deduction } from './deduction.ts';
import {
  CENSUS_SYNC_COMPLETE,
  CENSUS_SYNC_REQUEST,
  DEDUCTION_CREATED,
  DEDUCTION_UPDATED,
  Envelope,
  EVENT_TYPES,
  SyncData,
} from './events.ts';
import { folded } from './meant.ts';

/** A field or a value of a closed list that is new, another JSON type, and an event type that is close to a known one. */
export const UNKNOWN_KINDS = ['field', 'value', 'type', 'event_type'] as const;

/** `field`: its path in the event. */
export type Unknown = { readonly field: string; readonly kind: (typeof UNKNOWN_KINDS)[number] };

export const NOTHING_UNKNOWN: readonly Unknown[] = [];

/** An object with more new names is probably a map, whose names are ids or names of people: they are not repeated. */
const NEW_NAMES_MAX = 10;

type Known = { types: readonly string[]; values: ReadonlySet<unknown> | null };
type Fields = ReadonlyMap<string, Known>;

function fieldsOf({ properties }: { properties: Readonly<Record<string, TSchema>> }): Fields {
  return new Map(
    Object.entries(properties).map(([name, schema]) => {
      const { type, enum: values } = schema as { type: string | string[]; enum?: unknown[] };
      return [name, { types: [type].flat(), values: values === undefined ? null : new Set(values) }];
    }),
  );
}

const FRAME = fieldsOf(Envelope);
const DATA: ReadonlyMap<string, Fields> = new Map([
  [DEDUCTION_UPDATED, fieldsOf(Deduction)],
  [DEDUCTION_CREATED, fieldsOf(Deduction)],
  [CENSUS_SYNC_REQUEST, fieldsOf(SyncData)],
  [CENSUS_SYNC_COMPLETE, fieldsOf(SyncData)],
]);

/** Returns what is unknown in an event of a known type. Null is absent, so it has no type. */
export function unknownIn(eventType: string, frame: object): readonly Unknown[] {
  const fields = DATA.get(eventType);
  if (fields === undefined) return NOTHING_UNKNOWN;
  const unknown: Unknown[] = [];
  addUnknown(unknown, FRAME, frame, '');
  const { data } = frame as { data?: unknown };
  if (typeOf(data) === 'object') addUnknown(unknown, fields, data as object, 'data');
  return unknown.length === 0 ? NOTHING_UNKNOWN : unknown;
}

function addUnknown(unknown: Unknown[], fields: Fields, object: object, path: string): void {
  const names: string[] = [];
  // Runs for every event.
  for (const name in object) {
    const known = fields.get(name);
    const value = (object as Record<string, unknown>)[name];
    if (known === undefined) names.push(name);
    else if (value === null) continue;
    else if (!known.types.includes(typeOf(value)))
      unknown.push({ field: fieldPath(path, name), kind: 'type' });
    else if (known.values?.has(value) === false)
      unknown.push({ field: fieldPath(path, name), kind: 'value' });
  }
  if (names.length === 0) return;
  const isMap = names.length > NEW_NAMES_MAX;
  const paths = new Set(names.map((name) => givenFieldPath(path, isMap ? '' : name)));
  for (const field of paths) unknown.push({ field, kind: 'field' });
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const KNOWN_TYPES: ReadonlySet<string> = new Set(EVENT_TYPES.map(folded));
const NEW_TYPE: readonly Unknown[] = [{ field: 'event_type', kind: 'event_type' }];

/**
 * Returns the type of an event that is not handled, if payroll may miss what it has: its data is a valid deduction, or its type
 * differs from a handled one only by case and punctuation.
 */
export function unknownType(eventType: string, data: object): readonly Unknown[] {
  return KNOWN_TYPES.has(folded(eventType)) || deduction.accepts(data) ? NEW_TYPE : NOTHING_UNKNOWN;
}

/** Returns an event type as it may be repeated: one with digits may contain an id. */
export function shownType(eventType: string): string {
  return /^[A-Za-z_.-]{1,64}$/.test(eventType) ? eventType : '[…]';
}

/** Returns `a new field data.tier`. */
export function describeUnknown({ field, kind }: Unknown): string {
  switch (kind) {
    case 'field':
      return `a new field ${field}`;
    case 'value':
      return `a new value of ${field}`;
    case 'type':
      return `another type of value in ${field}`;
    case 'event_type':
      return 'a new event type';
  }
}
