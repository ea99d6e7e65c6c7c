/** The OpenAPI document, without a listener or a database. */
import { createHash } from 'node:crypto';
import type { ApiParts } from '../../src/api/route.ts';
import { createApi } from '../../src/api/server.ts';

/**
 * The types do not depend on the release: with its version in the document every release would need new ones.
 */
const VERSION = '0.0.0';

/** Returns the OpenAPI document of the API listener as JSON. */
export async function referenceDocument(): Promise<string> {
  // Declaring routes does not use the other parts. Only requests do, and there are none.
  const app = createApi({
    version: VERSION,
    firstToken: null,
    proxies: [] as readonly string[],
    pressure: { loopDelayMs: 0, heapBytes: 0 },
  } as ApiParts);
  await app.ready();
  const text = JSON.stringify(app.swagger());
  await app.close();
  return text;
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
