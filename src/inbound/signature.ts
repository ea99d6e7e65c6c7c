import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { Webhook } from 'svix';
import type { Clock } from '../clock.ts';

/** Why a delivery was refused. Counted, never told to the sender: one answer for all causes. */
export const REFUSAL_CAUSES = ['headers', 'timestamp', 'encoding', 'signature'] as const;
export type RefusalCause = (typeof REFUSAL_CAUSES)[number];

/** A verified delivery has the id that was signed: the deduplication key. */
export type Verdict = { eventId: string } | { refused: RefusalCause };
export type Verify = (headers: IncomingHttpHeaders, body: Buffer) => Verdict;

/** The replay window of the provider (field notes), either way. */
const TOLERANCE_SECONDS = 5 * 60;
/** The provider's ids have some thirty characters; a longer one than this is not an id. */
const EVENT_ID_LENGTH = 255;

/** White-labelled senders use the second set. Where both are present, only one is signed. */
const HEADER_SETS = [
  ['svix-id', 'svix-timestamp', 'svix-signature'],
  ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
] as const;

/**
 * Verifies a delivery as the provider signs it, by any of the configured secrets. The library does the signing;
 * what it is lenient about is closed here (field notes): it mixes the two header sets, takes `123abc` as a
 * timestamp, and decodes bytes that are not UTF-8 to characters that another body could have had.
 */
export function createVerify(secrets: readonly string[], now: Clock): Verify {
  const webhooks = secrets.map((secret) => new Webhook(secret));
  return (headers, body) => {
    const sets = HEADER_SETS.map((names) => completeSet(headers, names)).filter((set) => set !== null);
    if (sets.length === 0) return { refused: 'headers' };
    const timely = sets.filter((set) => isTimely(set['svix-timestamp'], now));
    if (timely.length === 0) return { refused: 'timestamp' };
    if (!isUtf8(body)) return { refused: 'encoding' };
    const text = body.toString('utf8');
    const signed = timely.find((set) => webhooks.some((webhook) => isSigned(webhook, set, text)));
    return signed === undefined ? { refused: 'signature' } : { eventId: signed['svix-id'] };
  };
}

/** One set of headers under the names that the library looks for first. */
type HeaderSet = { 'svix-id': string; 'svix-timestamp': string; 'svix-signature': string };

function completeSet(
  headers: IncomingHttpHeaders,
  names: readonly [string, string, string],
): HeaderSet | null {
  const [id, timestamp, signature] = names.map((name) => headers[name]);
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signature !== 'string') return null;
  if (id === '' || id.length > EVENT_ID_LENGTH || timestamp === '' || signature === '') return null;
  return { 'svix-id': id, 'svix-timestamp': timestamp, 'svix-signature': signature };
}

function isTimely(timestamp: string, now: Clock): boolean {
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  return Math.abs(Math.floor(now().getTime() / 1_000) - Number(timestamp)) <= TOLERANCE_SECONDS;
}

function isSigned(webhook: Webhook, headers: HeaderSet, text: string): boolean {
  try {
    webhook.verify(text, headers);
    return true;
  } catch {
    return false;
  }
}
