import { type SignedHeaders, signEvent } from './sign.ts';

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
