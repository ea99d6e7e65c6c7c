/** A good environment for the executable, every secret of it new: none can be found anywhere by chance. */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';

export type Keys = {
  readonly apiKey: string;
  readonly webhookSecret: string;
  /** `id:base64`, as DATA_KEYS takes it. */
  readonly dataKey: string;
  /** Of the private listener, with the scope `all`. */
  readonly token: string;
};

/** Undefined takes one out. */
export type Variables = Record<string, string | undefined>;

export function makeKeys(): Keys {
  return {
    apiKey: `key-${randomBytes(24).toString('hex')}`,
    webhookSecret: `whsec_${randomBytes(32).toString('base64')}`,
    dataKey: `k1:${randomBytes(32).toString('base64')}`,
    token: `token-${randomBytes(24).toString('hex')}`,
  };
}

/** The least that `serve` needs, on free ports of 127.0.0.1. */
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

/** Systems take the ports of outgoing connections from 32768 up: a port below is still free after a restart. */
const LASTING = { from: 20_000, count: 12_000 };

/** A port for a listener that will be started more than once. */
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
