/** Sends one notification to the configured address. */
import { currentNotifySecrets, type NotifyConfig } from '../notify-config.ts';
import { failureCode, type Transport } from '../outgoing.ts';
import { signedHeaders } from './webhook.ts';

/** A receiver stores what it gets and does the work later. */
const ATTEMPT_MS = 15_000;
/** Read of a response, so that its connection can be used again, and ignored. */
const RESPONSE_BYTES = 64 * 1024;

export type Attempted = { delivered: boolean; status: number | null; reason: string | null };

export type Receiver = {
  /** Never throws. Each call signs with the time `at`. */
  post(id: string, body: string, at: Date, signal: AbortSignal): Promise<Attempted>;
};

/** Creates the client of the receiver: no redirects, and what it responds with does not matter, except the status. */
export function createReceiver(
  config: NotifyConfig,
  version: string,
  { dispatcher, timeout }: Transport,
): Receiver {
  const { origin, pathname, search } = new URL(config.url);
  let { secrets } = config;
  return {
    async post(id, body, at, signal) {
      try {
        const { statusCode: status, body: response } = await dispatcher.request({
          ...{ origin, path: `${pathname}${search}`, method: 'POST', body },
          headers: {
            'content-type': 'application/json',
            'user-agent': `benefits-sidecar/${version}`,
            'accept-encoding': 'identity',
            ...signedHeaders(secrets, id, at, body),
          },
          signal: AbortSignal.any([signal, timeout(ATTEMPT_MS)]),
          ...{ headersTimeout: ATTEMPT_MS, bodyTimeout: ATTEMPT_MS },
        });
        await response.dump({ limit: RESPONSE_BYTES, signal }).catch(() => {});
        if (status >= 200 && status < 300) return { delivered: true, status, reason: null };
        // Either side may have changed the secret first.
        if (status === 401 || status === 403) secrets = again(config) ?? secrets;
        return { delivered: false, status, reason: `the receiver responded with ${status}` };
      } catch (error) {
        // Only the code: messages may quote what was sent.
        return { delivered: false, status: null, reason: `no response was received: ${failureCode(error)}` };
      }
    },
  };
}

/** Returns the secrets as they are now, or null while their file is unreadable: the next refusal reads it again. */
function again(config: NotifyConfig): readonly string[] | null {
  try {
    return currentNotifySecrets(config);
  } catch {
    return null;
  }
}
