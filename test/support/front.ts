/** A proxy between the sidecar and the benefits service that fails as networks and services do. */

import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';

export type Mode =
  /** Passes everything. */
  | 'pass'
  /** Accepts requests and never responds. */
  | 'hang'
  /** Resets every connection at its first byte. */
  | 'reset'
  /**
   * Passes requests and resets the connection instead of returning the response, so the request is applied without a
   * confirmation.
   */
  | 'lose-answer'
  /** Sends the beginning of the response and resets the connection. */
  | 'half-response';

export type Front = {
  readonly url: string;
  /** Sets the mode of new connections; open ones are reset. */
  mode: Mode;
  /** Connections that sent something, by mode. */
  readonly met: Map<Mode, number>;
  /** Responds to hanging requests, like a slow service. */
  letThrough(): void;
};

const HALF = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{"half":',
);

export async function startFront(t: Test, serviceUrl: string, mode: Mode = 'pass'): Promise<Front> {
  const { hostname, port } = new URL(serviceUrl);
  const open = new Set<Socket>();
  const held: (() => void)[] = [];
  const met = new Map<Mode, number>();
  let now = mode;

  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => {});
    const how = now;
    socket.once('data', (first: Buffer) => {
      socket.pause();
      met.set(how, (met.get(how) ?? 0) + 1);
      if (how === 'reset') return void socket.resetAndDestroy();
      if (how === 'hang') return void held.push(() => through(socket, first, 'pass'));
      through(socket, first, how);
    });
  });
  const through = (socket: Socket, first: Buffer, how: Mode): void => {
    if (socket.destroyed) return;
    const service = connect(Number(port), hostname);
    service.on('error', () => socket.destroy());
    socket.on('close', () => service.destroy());
    service.write(first);
    socket.pipe(service);
    if (how === 'pass') return void service.pipe(socket);
    service.once('data', () => {
      if (how === 'lose-answer') return void socket.resetAndDestroy();
      socket.write(HALF, () => socket.destroy());
    });
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    met,
    get mode() {
      return now;
    },
    set mode(next) {
      now = next;
      for (const socket of open) socket.resetAndDestroy();
    },
    letThrough() {
      now = 'pass';
      for (const go of held.splice(0)) go();
    },
  };
}
