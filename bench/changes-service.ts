/** A benefits service with a response time that records what it received. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The response time required by the issue. */
const ANSWERS_AFTER_MS = 20;

export type Service = {
  url: string;
  /** Idempotency keys, in order of arrival. */
  readonly received: string[];
  /** The time of each request. */
  readonly at: number[];
  /** The maximum number of concurrent requests. */
  mostInFlight(): number;
  /** Resolves when this many requests were received. */
  reached(count: number): Promise<void>;
  stop(): Promise<void>;
};

export async function startService(): Promise<Service> {
  const received: string[] = [];
  const at: number[] = [];
  let inFlight = 0;
  let most = 0;
  let awaited = { count: Number.POSITIVE_INFINITY, resolve: () => {} };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      received.push(String(request.headers['idempotency-key']));
      at.push(performance.now());
      inFlight += 1;
      most = Math.max(most, inFlight);
      if (received.length >= awaited.count) awaited.resolve();
      setTimeout(() => {
        inFlight -= 1;
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      }, ANSWERS_AFTER_MS);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    at,
    mostInFlight: () => most,
    async reached(count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      awaited = { count, resolve };
      if (received.length < count) await promise;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
