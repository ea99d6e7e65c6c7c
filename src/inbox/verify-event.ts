/** Compares an event's row with its body. */
import type { Selectable } from 'kysely';
import type { ReportDifference } from '../database/difference.ts';
import type { InboxTable } from '../database/tables.ts';
import type { ParsedEvent } from './parse-event.ts';
import { IMPORTED, importId, sha256 } from './stored-body.ts';

/** The columns of an event that are verified. */
export const EVENT_COLUMNS = [
  'inbox.seq',
  'inbox.source',
  'inbox.received_at',
  'inbox.body',
  'inbox.body_hash',
  'inbox.state',
  'inbox.event_type',
  'inbox.envelope_id',
  'inbox.reason',
  'inbox.finished_at',
  'inbox.reprocessed',
] as const;

export type EventRow = Omit<Selectable<InboxTable>, 'dismissed_at' | 'dismissed_reason'>;

const SHA256_BYTES = 32;

/** Compares what every event has; `parsed` is null where the body was dropped. */
export function verifyEvent(event: EventRow, parsed: ParsedEvent | null, report: ReportDifference): void {
  const wrong = (field: keyof EventRow, rule: string) => report('inbox', event.event_id, field, rule);
  if (!isOurInstant(event.received_at)) wrong('received_at', 'is no instant');
  if (event.finished_at !== null && !isOurInstant(event.finished_at)) wrong('finished_at', 'is no instant');
  if (event.body === null && event.body_hash?.length !== SHA256_BYTES) wrong('body_hash', 'is no SHA-256');
  const isNamedByBody = event.event_id.startsWith(IMPORTED);
  if ((event.source === 'import') !== isNamedByBody) wrong('source', 'is not what the id says');
  if (isNamedByBody) {
    const hash = event.body === null ? (event.body_hash ?? Buffer.alloc(0)) : sha256(event.body);
    const field = event.body === null ? 'body_hash' : 'body';
    if (event.event_id !== importId(hash)) wrong(field, 'is not the one that the id was made of');
  }
  // An event that is pending again keeps the results of the last time.
  if (parsed === null || (event.state === 'pending' && event.reprocessed === 0)) return;
  if (event.event_type !== parsed.eventType) wrong('event_type', 'is not that of the body');
  if (event.envelope_id !== parsed.envelopeId) wrong('envelope_id', 'is not that of the body');
}

/** Ignores the lengths of months: it runs twice for every event and only detects what is no instant. */
const INSTANT = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** Returns whether a text is an instant in the format of our own clock. */
export function isOurInstant(text: string): boolean {
  return INSTANT.test(text);
}
