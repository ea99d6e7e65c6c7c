/** A benefits service over real HTTP whose responses the test defines. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

export type Received = { method: string; path: string; headers: IncomingMessage['headers']; body: string };

type Stub = {
  url: string;
  /** Every complete request, in order. */
  received: Received[];
};

export type Answer = (response: ServerResponse, request: Received, index: number) => void;

/** Calls `answer` for each request once its body has arrived; `index` counts from 0. */
export async function stubService(t: Test, answer: Answer): Promise<Stub> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('error', () => {});
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const whole: Received = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(parts).toString('utf8'),
      };
      received.push(whole);
      answer(response, whole, received.length - 1);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

/** Responds with these statuses in turn, and with the last one from then on. */
export const inTurn =
  (...statuses: number[]): Answer =>
  (response, _, index) =>
    json(response, statuses[index] ?? (statuses.at(-1) as number));

export function json(response: ServerResponse, status: number, body: unknown = {}, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
