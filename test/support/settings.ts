/** A valid environment for the executable with random secrets, so that none can be found by chance. */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';

export type Keys = {
  readonly apiKey: string;
  readonly webhookSecret: string;
  /** `id:base64`, the format of DATA_KEYS. */
  readonly dataKey: string;
  /** A token for the API with the scope `all`. */
  readonly token: string;
};

/** Undefined removes a variable. */
export type Variables = Record<string, string | undefined>;

export function makeKeys(): Keys {
  return {
    apiKey: `key-${randomBytes(24).toString('hex')}`,
    webhookSecret: `whsec_${randomBytes(32).toString('base64')}`,
    dataKey: `k1:${randomBytes(32).toString('base64')}`,
    token: `token-${randomBytes(24).toString('hex')}`,
  };
}

/** The minimal settings of `serve`, on free ports of 127.0.0.1. */
export function variablesFor(databaseUrl: string, serviceUrl: string, keys: Keys): Variables {
  return {
    BENEFITS_ENVIRONMENT: 'sandbox',
    BENEFITS_BASE_URL: serviceUrl,
    BENEFITS_API_KEY: keys.apiKey,
    WEBHOOK_SECRETS: keys.webhookSecret,
    DATA_KEYS: keys.dataKey,
    DATABASE_URL: databaseUrl,
    RECEIVER_HOST: '127.0.0.1',
    RECEIVER_PORT: '0',
    API_PORT: '0',
    API_TOKEN: keys.token,
  };
}

/** Systems use ports from 32768 up for outgoing connections, so a lower port is still free after a restart. */
const LASTING = { from: 20_000, count: 12_000 };

/** Returns a port for a listener that is started more than once. */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = LASTING.from + (randomBytes(4).readUInt32LE() % LASTING.count);
    const server = createServer();
    const taken = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(true));
      server.listen(port, '127.0.0.1', () => resolve(false));
    });
    if (taken) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
