/**
 * Heads of the audit chain with an Ed25519 signature, to keep outside the database. The key is derived from a data key, so
 * whoever owns only the database cannot sign a head of a recomputed chain.
 */
import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign, verify } from 'node:crypto';
import type { DataKey } from '../config.ts';
import { type Head, headText, parseHead } from './audit-chain.ts';

/** A line of a file or of the log. `key_id` is the id of the data key. */
export type SignedHead = { audit_head: string; signed_at: string; key_id: string; signature: string };

/** What precedes the 32 bytes of a private key in PKCS #8, and of a public key in SPKI (RFC 8410). */
const PRIVATE_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const SEED_BYTES = 32;
/** Keeps the seed apart from every other use of a data key. */
const PURPOSE = 'benefits-sidecar/audit-head';

export function signHead(head: Head, now: Date, { id, key }: DataKey): SignedHead {
  const signed = { audit_head: headText(head), signed_at: now.toISOString() };
  const signature = sign(null, signedText(signed), privateKey(key)).toString('base64');
  return { ...signed, key_id: id, signature };
}

/** Returns the public key of the heads that a data key signs, as the base64 of its 32 bytes. */
export function publicKeyText({ key }: DataKey): string {
  const spki = createPublicKey(privateKey(key)).export({ format: 'der', type: 'spki' });
  return spki.subarray(PUBLIC_PREFIX.length).toString('base64');
}

/** Returns the public key that a text states, or null if it states none. */
export function parsePublicKey(text: string): KeyObject | null {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== SEED_BYTES || bytes.toString('base64') !== text) return null;
  return createPublicKey({ key: Buffer.concat([PUBLIC_PREFIX, bytes]), format: 'der', type: 'spki' });
}

/** Returns the signed head of a line of a file or of the log, or null if the line has none. */
export function readSignedHead(line: string): (SignedHead & { head: Head }) | null {
  let fields: Partial<Record<keyof SignedHead, unknown>> | null;
  try {
    fields = JSON.parse(line) as typeof fields;
  } catch {
    return null;
  }
  const [audit_head, signed_at, key_id, signature] = (
    ['audit_head', 'signed_at', 'key_id', 'signature'] as const
  ).map((name) => (typeof fields?.[name] === 'string' ? fields[name] : null));
  if (audit_head == null || signed_at == null || key_id == null || signature == null) return null;
  const head = parseHead(audit_head);
  return head === null ? null : { audit_head, signed_at, key_id, signature, head };
}

/** Reports whether one of the public keys signed the head. */
export function isSignedBy(signed: SignedHead, publicKeys: readonly KeyObject[]): boolean {
  const signature = Buffer.from(signed.signature, 'base64');
  return publicKeys.some((key) => verify(null, signedText(signed), key, signature));
}

function signedText({ audit_head, signed_at }: Pick<SignedHead, 'audit_head' | 'signed_at'>): Buffer {
  return Buffer.from(`${PURPOSE}\n${audit_head}\n${signed_at}`);
}

function privateKey(dataKey: Uint8Array): KeyObject {
  const seed = Buffer.from(hkdfSync('sha256', dataKey, '', PURPOSE, SEED_BYTES));
  return createPrivateKey({ key: Buffer.concat([PRIVATE_PREFIX, seed]), format: 'der', type: 'pkcs8' });
}
