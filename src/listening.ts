import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How long requests that are being served may take to end after a stop, which has 10 s in all. */
const SERVED_WITHIN_MS = 5_000;
/** How often connections that have become idle meanwhile are closed: nothing else would, for as long as they live. */
const LOOK_EVERY_MS = 20;

/** Closes a listener: no new connections, what is being served is answered, and then every connection ends. */
export async function closeListener(app: { server: Server; close(): PromiseLike<unknown> }): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), LOOK_EVERY_MS);
  const late = setTimeout(() => app.server.closeAllConnections(), SERVED_WITHIN_MS);
  try {
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(late);
  }
}

/** Where a listener that is listening can be reached: `http://127.0.0.1:8080`. */
export function addressOf(app: { server: Server }): string {
  const { address, family, port } = app.server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
