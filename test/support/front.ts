/** A proxy between the sidecar and the benefits service that holds requests back, as a slow service does. */
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';

type Mode =
  /** Passes everything. */
  | 'pass'
  /** Accepts requests and never responds. */
  | 'hang';

export type Front = {
  readonly url: string;
  /** Sets the mode of new connections; open ones are reset. */
  mode: Mode;
  /** Connections that sent something, by mode. */
  readonly met: Map<Mode, number>;
  /** Responds to hanging requests. */
  letThrough(): void;
};

/** Starts the proxy in the mode `hang`. */
export async function startFront(t: Test, serviceUrl: string): Promise<Front> {
  const { hostname, port } = new URL(serviceUrl);
  const open = new Set<Socket>();
  const held: (() => void)[] = [];
  const met = new Map<Mode, number>();
  let mode: Mode = 'hang';

  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => {});
    const modeOfSocket = mode;
    socket.once('data', (first: Buffer) => {
      socket.pause();
      met.set(modeOfSocket, (met.get(modeOfSocket) ?? 0) + 1);
      if (modeOfSocket === 'hang') held.push(() => pass(socket, first));
      else pass(socket, first);
    });
  });
  const pass = (socket: Socket, first: Buffer): void => {
    if (socket.destroyed) return;
    const service = connect(Number(port), hostname);
    service.on('error', () => socket.destroy());
    socket.on('close', () => service.destroy());
    service.write(first);
    socket.pipe(service).pipe(socket);
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
      return mode;
    },
    set mode(next) {
      mode = next;
      for (const socket of open) socket.resetAndDestroy();
    },
    letThrough() {
      mode = 'pass';
      for (const go of held.splice(0)) go();
    },
  };
}
