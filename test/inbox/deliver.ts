/** Sends deliveries to a receiver over real HTTP, signed as the provider signs them. */
import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { createReceiver, type ReceiverParts, type RefusalCause } from '../../src/inbox/receiver.ts';
import { createVerify } from '../../src/inbox/signature.ts';
import { closeListener } from '../../src/security/listener.ts';
import { signEvent } from '../../src/simulator/sign.ts';

/** Returns a valid secret; each letter gives a different one. */
export function secretOf(letter: string): string {
  return `whsec_${Buffer.from(letter.repeat(32)).toString('base64')}`;
}

export const SECRET = secretOf('a');

type Arrived = { eventId: string; body: Buffer };
export type Started = { port: number; accepted: Arrived[]; refused: RefusalCause[] };

/** A receiver on its own port. Unless overridden it only records what it accepts. */
export async function startReceiver(t: Test, parts: Partial<ReceiverParts> = {}): Promise<Started> {
  const accepted: Arrived[] = [];
  const refused: RefusalCause[] = [];
  const app = createReceiver({
    verify: createVerify([SECRET], () => new Date()),
    accept: async (arrival) => void accepted.push(arrival),
    refuse: (cause) => void refused.push(cause),
    acknowledged: () => {},
    isAlive: async () => true,
    isReady: async () => true,
    ...parts,
  });
  t.teardown(() => closeListener(app));
  await app.listen({ host: '127.0.0.1', port: 0 });
  return { port: (app.server.address() as AddressInfo).port, accepted, refused };
}

type Answer = { status: number; headers: IncomingHttpHeaders; body: string };

/** Keeps connections open, as the provider does, and enough of them that no request waits. */
const agent = new Agent({ keepAlive: true, maxSockets: 256 });

/** Sends one request. A header may be an array, which becomes several lines. */
export function send(
  port: number,
  method: string,
  path: string,
  headers: OutgoingHttpHeaders = {},
  body: string | Buffer = '',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sending = request({ host: '127.0.0.1', port, method, path, headers, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode as number, headers: response.headers, body: text }),
      );
      response.on('error', reject);
    });
    sending.on('error', reject);
    sending.end(body);
  });
}

export function post(port: number, headers: OutgoingHttpHeaders, body: string | Buffer = '') {
  return send(port, 'POST', '/webhooks', { 'content-length': Buffer.byteLength(body), ...headers }, body);
}

export function deliver(port: number, id: string, body: string): Promise<Answer> {
  return post(port, signEvent(SECRET, id, new Date(), body), body);
}
