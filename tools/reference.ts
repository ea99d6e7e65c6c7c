/** The OpenAPI document, without a listener or a database. */
import type { ApiParts } from '../src/api/route.ts';
import { createApi } from '../src/api/server.ts';
import { VERSION } from '../src/version.ts';

/** Returns the OpenAPI document of this release. */
export async function referenceDocument() {
  // Declaring routes does not use the other parts. Only requests do, and there are none.
  const app = createApi({
    version: VERSION,
    firstToken: null,
    proxies: [] as readonly string[],
    pressure: { loopDelayMs: 0, heapBytes: 0 },
  } as ApiParts);
  await app.ready();
  const document = app.swagger();
  await app.close();
  // As a client reads it.
  return JSON.parse(JSON.stringify(document));
}
