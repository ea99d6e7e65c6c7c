import { Webhook } from 'svix';

/** The headers of a signed delivery. The timestamp is the attempt's, in seconds since 1970. */
export type SignedHeaders = { 'svix-id': string; 'svix-timestamp': string; 'svix-signature': string };

/**
 * Signs one delivery of an event, whose `body` is the exact text that is sent, with the provider's own library. Several
 * secrets (`whsec_…`) all sign, as during a rotation. `timestamp`: the time of the attempt.
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

/** Ways to forge a delivery. A receiver must refuse each of them. */
export const FORGERIES = ['other-secret', 'other-body', 'old-timestamp'] as const;
export type Forgery = (typeof FORGERIES)[number];

/** Twice what receivers accept. */
const OLD_MS = 10 * 60_000;
/** Valid, but unknown to every receiver. */
const NOBODYS_SECRET = `whsec_${Buffer.alloc(32, 'nobody').toString('base64')}`;

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
