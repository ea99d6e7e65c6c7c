import { describe } from '../contract/check.ts';
import { type Deduction, deduction } from '../contract/deduction.ts';
import {
  CENSUS_SYNC_COMPLETE,
  CENSUS_SYNC_REQUEST,
  DEDUCTION_CREATED,
  DEDUCTION_UPDATED,
  type Envelope,
  envelope,
  syncData,
} from '../contract/events.ts';
import { ID_MAX_CHARACTERS } from '../contract/fields.ts';
import { parseJson } from '../contract/json.ts';
import { NOTHING_UNKNOWN, type Unknown, unknownIn, unknownType } from '../contract/unknown.ts';
import type { Problem } from '../errors.ts';

/** The request of an event, or why it has none. Reasons contain fields and rules, never values. */
type Meaning =
  | { kind: 'deduction'; deduction: Deduction }
  | { kind: 'sync-request'; employerId: string }
  | { kind: 'sync-complete'; employerId: string }
  | { kind: 'ignored'; reason: string }
  | { kind: 'quarantined'; reason: string };

export type ParsedEvent = {
  eventType: string | null;
  envelopeId: string | null;
  createdAt: string | null;
  meaning: Meaning;
  /** What the contract does not know, in an event that is or may be handled. */
  unknown: readonly Unknown[];
};

/** Problems named in a reason: enough to see what is wrong with one event. */
const PROBLEMS_NAMED = 5;
/** The contract's types have at most 30 characters. A longer text is not a type and is not indexed. */
const EVENT_TYPE_LENGTH = 255;

/** Parses the raw body of a stored event. Never throws on content: an invalid event is quarantined. */
export function parseEvent(body: Buffer): ParsedEvent {
  const parsed = parseJson(body.toString('utf8'));
  if (!parsed.ok) return notAnEvent(`the body ${parsed.reason}`);
  const frame = parsed.value;
  if (!envelope.accepts(frame)) return notAnEvent(named(envelope.problems(frame, PROBLEMS_NAMED)), frame);
  if (frame.event_type.length > EVENT_TYPE_LENGTH) {
    return notAnEvent(`event_type: must be at most ${EVENT_TYPE_LENGTH} characters`, frame);
  }
  const meaning = meaningOf(frame.event_type, frame.data);
  return {
    eventType: frame.event_type,
    envelopeId: frame.id ?? null,
    createdAt: frame.created_at ?? null,
    meaning,
    unknown: unknownOf(frame, meaning),
  };
}

function unknownOf(frame: Envelope, { kind }: Meaning): readonly Unknown[] {
  const { event_type, data } = frame;
  if (kind !== 'ignored') return unknownIn(event_type, frame);
  // Undocumented.
  return event_type === DEDUCTION_CREATED ? NOTHING_UNKNOWN : unknownType(event_type, data);
}

function meaningOf(eventType: string, data: Record<string, unknown>): Meaning {
  switch (eventType) {
    case DEDUCTION_UPDATED:
    case DEDUCTION_CREATED:
      if (deduction.accepts(data)) return { kind: 'deduction', deduction: data };
      // Undocumented, and every deduction is also sent as an update.
      if (eventType === DEDUCTION_CREATED)
        return { kind: 'ignored', reason: 'the event type is deprecated and its data is not a deduction' };
      return { kind: 'quarantined', reason: named(deduction.problems(data, PROBLEMS_NAMED), 'data') };
    case CENSUS_SYNC_REQUEST:
    case CENSUS_SYNC_COMPLETE:
      if (!syncData.accepts(data)) {
        return { kind: 'quarantined', reason: named(syncData.problems(data, PROBLEMS_NAMED), 'data') };
      }
      return {
        kind: eventType === CENSUS_SYNC_REQUEST ? 'sync-request' : 'sync-complete',
        employerId: data.employer_id,
      };
    default:
      return { kind: 'ignored', reason: 'this event type is not handled' };
  }
}

/** Keeps the type and ID that could be read, so that an operator can search for them. */
function notAnEvent(reason: string, frame: unknown = null): ParsedEvent {
  const { event_type, id } = (frame ?? {}) as { event_type?: unknown; id?: unknown };
  const isType =
    typeof event_type === 'string' && event_type !== '' && event_type.length <= EVENT_TYPE_LENGTH;
  return {
    eventType: isType ? event_type : null,
    envelopeId: typeof id === 'string' && id.length <= ID_MAX_CHARACTERS ? id : null,
    createdAt: null,
    meaning: { kind: 'quarantined', reason },
    unknown: isType ? unknownIn(event_type, frame as object) : NOTHING_UNKNOWN,
  };
}

function named(problems: readonly Problem[], within = ''): string {
  return problems
    .map(({ path, rule }) => describe({ path: [within, path].filter((part) => part !== '').join('.'), rule }))
    .join('; ');
}
