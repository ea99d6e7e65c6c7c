import { Webhook } from 'svix';

/** What a signed delivery carries. The timestamp is the attempt's, in whole seconds since 1970. */
export type SignedHeaders = { 'svix-id': string; 'svix-timestamp': string; 'svix-signature': string };

/**
 * Signs one delivery of an event as the provider does, with its own library.
 *
 * @param secrets `whsec_…`, one, or several that all sign, as during a rotation
 * @param id the event's id, the same over all of its attempts
 * @param timestamp when the attempt is made
 * @param body the exact text that is sent
 */
export function signEvent(
  secrets: string | readonly string[],
  id: string,
  timestamp: Date,
  body: string,
): SignedHeaders {
  const signatures = [secrets].flat().map((secret) => new Webhook(secret).sign(id, timestamp, body));
  return {
    'svix-id': id,
    'svix-timestamp': String(Math.floor(timestamp.getTime() / 1_000)),
    'svix-signature': signatures.join(' '),
  };
}

/** Ways in which a delivery is not what the provider signed. A receiver must refuse each of them. */
export const FORGERIES = ['other-secret', 'other-body', 'old-timestamp'] as const;
export type Forgery = (typeof FORGERIES)[number];

/** Twice what receivers accept. */
const OLD_MS = 10 * 60_000;
/** Well formed, and nobody's. */
const NOBODYS_SECRET = `whsec_${Buffer.alloc(32, 'nobody').toString('base64')}`;

/** Signs a delivery wrongly. */
export function forge(
  forgery: Forgery,
  secrets: readonly string[],
  id: string,
  at: Date,
  text: string,
): SignedHeaders {
  switch (forgery) {
    case 'other-secret':
      return signEvent(NOBODYS_SECRET, id, at, text);
    case 'other-body':
      return signEvent(secrets, id, at, `${text} `);
    case 'old-timestamp':
      return signEvent(secrets, id, new Date(at.getTime() - OLD_MS), text);
  }
}
