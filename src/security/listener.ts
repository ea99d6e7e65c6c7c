import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { systemElapsed } from '../clock.ts';

/** How long requests that are being served may take to end after a stop, which has 10 s in all. */
const SERVED_WITHIN_MS = 5_000;
/** How often a stop closes connections that became idle, which clients would keep open. */
const LOOK_EVERY_MS = 20;
/** From the last response on a connection to its end, if the client doesn't close it before. */
const LINGER_MS = 2_000;

/**
 * The lowest accepted rate of a body, 16 KiB/s: only stalled and hostile clients are slower. A body of 60 MB needs six
 * times that to arrive within the ten minutes that a request may take.
 */
const SLOWEST = { bytes: 160 * 1024, withinMs: 10_000 };
const RATE_CHECK_MS = 1_000;

/** Closes a listener: refuses new connections, finishes the requests in flight, then closes every connection. */
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

export function addressOf(app: { server: Server }): string {
  const { address, family, port } = app.server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/**
 * Accepts at most `max` connections at once and frees the place of each within `LINGER_MS` of its last response. A full
 * listener drops the new connection, calls `dropped`, and closes connections that are idle or wait for their client.
 */
export function limitConnections(server: Server, max: number, dropped: () => void = () => {}): void {
  const closing = new Set<Socket>();
  server.maxConnections = max;
  server.on('connection', (socket: Socket) => {
    // The HTTP server calls this after a response with `Connection: close`. Its own version closes at once, and the
    // reset that follows can make a client that is still sending its body lose the response.
    socket.destroySoon = () => linger(socket, closing);
  });
  server.on('drop', () => {
    server.closeIdleConnections();
    for (const socket of closing) socket.destroy();
    dropped();
  });
}

/** Sends what is written and a FIN, then discards what still arrives until the client closes or time is up. */
function linger(socket: Socket, closing: Set<Socket>): void {
  if (socket.destroyed || closing.has(socket)) return;
  closing.add(socket);
  // Replaces the HTTP parser as the reader: after the last response no further request may be served.
  const discard = () => socket.removeAllListeners('data').on('data', () => {});
  // A body that nobody read has paused the socket. Only the HTTP server, as a listener of `resume`, reads on from there.
  if (socket.isPaused()) socket.once('resume', discard);
  else discard();
  socket.resume();
  socket.end();
  const late = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => {
    clearTimeout(late);
    closing.delete(socket);
  });
}

/**
 * Returns a function that is called every `everyMs` and returns by how much it is late: the process was stopped, as for a
 * snapshot of its machine, or its thread was busy. What arrived in that time has not been read yet.
 */
function createLateness(everyMs: number): () => number {
  let last = performance.now();
  return () => {
    const late = Math.max(0, performance.now() - last - everyMs);
    last = performance.now();
    return late;
  };
}

/**
 * Keeps the time in which nothing could be read out of the time limits of requests and connections. `checkMs` is the interval
 * in which the server checks the former.
 */
export function discountPauses(server: Server, checkMs: number): void {
  const { headersTimeout, requestTimeout } = server;
  const lateness = createLateness(checkMs);
  let pauses: { ms: number; countsUntil: number }[] = [];
  const paused = (): number => Math.ceil(pauses.reduce((sum, { ms }) => sum + ms, 0));
  Object.defineProperties(server, {
    // The server reads both limits in each check, this one first.
    headersTimeout: {
      get() {
        const now = performance.now();
        // After this, no request that it delayed is within its limit.
        const countsUntil = now + Math.max(headersTimeout, requestTimeout);
        pauses = pauses.filter((pause) => pause.countsUntil > now);
        pauses.push({ ms: lateness(), countsUntil });
        return headersTimeout + paused();
      },
    },
    requestTimeout: { get: () => requestTimeout + paused() },
  });
  // A listener keeps the server from closing a connection without traffic.
  server.on('timeout', (socket: Socket) => {
    const before = socket.bytesRead;
    // Timers run before what has arrived is read, and this after it.
    setImmediate(() => {
      if (socket.bytesRead === before) socket.destroy();
    });
  });
}

/** Returns whether the request announced a body that hasn't arrived in full. */
export function isBodyPending({ headers, complete }: IncomingMessage): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Ends requests whose body arrives slower than `slowest` with 408. Time during which this thread works doesn't count. */
export function endSlowBodies(server: Server, slowest = SLOWEST, checkMs = RATE_CHECK_MS): void {
  // A request that was destroyed has no socket any more, so the socket is kept from its start.
  const arriving = new Map<IncomingMessage, { socket: Socket; at: number; bytes: number }>();
  const measure = (request: IncomingMessage, socket: Socket) =>
    arriving.set(request, { socket, at: systemElapsed.idle(), bytes: socket.bytesRead });
  server.on('request', (request: IncomingMessage) => {
    if (isBodyPending(request)) measure(request, request.socket);
  });
  const lateness = createLateness(checkMs);
  const checking = setInterval(() => {
    const late = lateness();
    for (const [request, before] of arriving) {
      before.at += late;
      const { complete, readableLength } = request;
      const { socket } = before;
      if (complete || socket.destroyed) arriving.delete(request);
      else if (readableLength > 0) measure(request, socket);
      else if (systemElapsed.idle() - before.at >= slowest.withinMs) {
        measure(request, socket);
        if (socket.bytesRead - before.bytes < slowest.bytes)
          server.emit('clientError', { code: 'ERR_HTTP_REQUEST_TIMEOUT' }, socket);
      }
    }
  }, checkMs);
  checking.unref();
  server.once('close', () => clearInterval(checking));
}

/** Returns whether the request has one `Host` header: proxies read several differently (RFC 9112, 3.2). HTTP/1.0 has none. */
export function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

/** Responses contain payroll data: no cache may store them, and no browser may render them as pages. Some routes differ. */
const PROTECTION: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
};

/** Adds the protection to every response, also to a response that the framework sends without calling our hooks. */
export function protectResponses(server: Server): void {
  const protect = (response: ServerResponse): void => {
    for (const [name, value] of Object.entries(PROTECTION)) response.setHeader(name, value);
  };
  server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) =>
    protect(response),
  );
  // Without a listener, Node responds itself. Clients that expect `100-continue` do not come here.
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    protect(response);
    response.writeHead(417, { connection: 'close', 'content-length': 0 }).end();
  });
}

const PROTOCOL_ERRORS: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

/** Responds to a request that isn't HTTP, or is too slow or too large to be read, and closes the connection. */
export function refuseProtocol(error: { code?: string }, socket: Socket): void {
  const status = (error.code && PROTOCOL_ERRORS[error.code]) || '400 Bad Request';
  // A response that has begun can't be followed by another one.
  const { _httpMessage: open } = socket as { _httpMessage?: { headersSent: boolean } | null };
  if (socket.writable && open?.headersSent !== true) {
    const headers = { ...PROTECTION, Connection: 'close', 'Content-Length': '0' };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`);
  }
  socket.destroySoon();
}
