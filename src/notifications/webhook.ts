/** The signature of a notification, by Standard Webhooks: any of its libraries verifies it. */
import { Webhook } from 'svix';

/** The timestamp is the attempt's, in seconds since 1970. */
export type NotificationHeaders = {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
};

/** Signs a body with every secret (`whsec_…`), as during a rotation. */
export function signedHeaders(
  secrets: readonly string[],
  id: string,
  at: Date,
  body: string,
): NotificationHeaders {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
  };
}
