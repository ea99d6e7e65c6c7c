import { isUtf8 } from 'node:buffer';
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
// The package has no entry for verification alone, so its API client is loaded too.
import { Webhook } from 'svix';
import type { Clock } from '../clock.ts';

/** Why a delivery is not verified. Counted but never shown to the sender: every cause has the same response. */
export const UNVERIFIED_CAUSES = ['headers', 'timestamp', 'encoding', 'signature'] as const;
export type UnverifiedCause = (typeof UNVERIFIED_CAUSES)[number];

/** `eventId` is the signed delivery id, which is the deduplication key. */
export type SignatureVerdict = { eventId: string } | { refused: UnverifiedCause };
export type Verify = (headers: IncomingHttpHeaders, body: Buffer) => SignatureVerdict;

/** The provider's replay window (docs/internals/provider.md), in both directions. */
const TOLERANCE_SECONDS = 5 * 60;
/** The provider's ids have about 30 characters. */
const EVENT_ID_LENGTH = 255;
/** Signatures compared per header set: the provider sends one per secret, and a header has room for hundreds. */
const SIGNATURES = 10;
/** The base64 of a SHA-256. */
const DIGEST_CHARACTERS = 44;
/**
 * Entries of the signature header: the version, a comma, and the base64 of a SHA-256. Adapters split the header at commas and
 * join the parts with `, `, and join several lines in the same way.
 */
const SIGNATURE_ENTRIES = /(?<=^|[ \t,])v1[ \t,]{1,3}[A-Za-z0-9+/]{43}=(?=$|[ \t]|,[ \t]|,v1)/g;

/** White-labeled senders use the second set. If both are present, only one is signed. */
const HEADER_SETS = [
  ['svix-id', 'svix-timestamp', 'svix-signature'],
  ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
] as const;

/**
 * Returns a function that verifies deliveries with the provider's library, by any of `secrets` (`whsec_…`). The library is
 * lenient where these checks are strict (docs/internals/provider.md): it mixes the two header sets, reads `123abc` as a timestamp, and
 * decodes invalid UTF-8 to characters that another body could contain. It also computes SHA-256 in JavaScript, 50 times
 * slower, so a native HMAC refuses first, and the library verifies only what passes.
 */
export function createVerify(secrets: readonly string[], now: Clock): Verify {
  const keys = secrets.map((secret) => ({ webhook: new Webhook(secret), hmacKey: hmacKey(secret) }));
  return (headers, body) => {
    const sets = HEADER_SETS.map((names) => completeSet(headers, names)).filter((set) => set !== null);
    if (sets.length === 0) return { refused: 'headers' };
    const timely = sets.filter((set) => isTimely(set.timestamp, now));
    if (timely.length === 0) return { refused: 'timestamp' };
    if (!isUtf8(body)) return { refused: 'encoding' };
    for (const set of timely) {
      const entries = set.signature.match(SIGNATURE_ENTRIES)?.slice(0, SIGNATURES) ?? [];
      const signatures = entries.map((entry) => `v1,${entry.slice(-DIGEST_CHARACTERS)}`);
      if (signatures.length === 0) continue;
      for (const { webhook, hmacKey } of keys) {
        if (!hasHmac(hmacKey, set, signatures, body)) continue;
        if (isSigned(webhook, { ...set, signature: signatures.join(' ') }, body.toString()))
          return { eventId: set.id };
      }
    }
    return { refused: 'signature' };
  };
}

type HeaderSet = { id: string; timestamp: string; signature: string };

function completeSet(headers: IncomingHttpHeaders, names: readonly [string, string, string]) {
  const [id, timestamp, signature] = names.map((name) => headers[name]);
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signature !== 'string') return null;
  if (id === '' || id.length > EVENT_ID_LENGTH || timestamp === '' || signature === '') return null;
  return { id, timestamp, signature };
}

/** The library repeats this check with the system clock. */
function isTimely(timestamp: string, now: Clock): boolean {
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  return Math.abs(Math.floor(now().getTime() / 1_000) - Number(timestamp)) <= TOLERANCE_SECONDS;
}

function hmacKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret.slice('whsec_'.length), 'base64'));
}

/** Compares as the library does, but over the raw bytes: a UTF-8 body has the same bytes after decoding. */
function hasHmac(
  key: KeyObject,
  { id, timestamp }: HeaderSet,
  signatures: readonly string[],
  body: Buffer,
): boolean {
  const hmac = createHmac('sha256', key)
    .update(`${id}.${Number(timestamp)}.`)
    .update(body);
  const expected = Buffer.from(`v1,${hmac.digest('base64')}`);
  return signatures.some((signature) => timingSafeEqual(Buffer.from(signature), expected));
}

function isSigned(webhook: Webhook, { id, timestamp, signature }: HeaderSet, body: string): boolean {
  try {
    webhook.verify(body, { 'svix-id': id, 'svix-timestamp': timestamp, 'svix-signature': signature });
    return true;
  } catch {
    // Whatever the library throws for a header, the delivery is not proven to be the provider's.
    return false;
  }
}
