/** A connection that says exactly what a test wants, however wrong. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Test } from 'tap';

export type RawSocket = {
  socket: Socket;
  /** Everything that came back, once the other side has closed. */
  closed: Promise<string>;
  /** Resolves when so many answers have begun. */
  answers(count: number): Promise<string[]>;
};

export async function rawSocket(t: Test, port: number): Promise<RawSocket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  t.teardown(() => socket.destroy());
  let heard = '';
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => {
    heard += chunk;
  });
  // A connection that is reset is closed too: what a test looks at is what came before.
  socket.on('error', () => {});
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  socket.on('end', () => socket.destroy());
  socket.on('close', () => resolve(heard));
  await once(socket, 'connect');
  return {
    socket,
    closed,
    async answers(count) {
      for (;;) {
        const begun = answersIn(heard);
        if (begun.length >= count) return begun;
        await once(socket, 'data');
      }
    },
  };
}

/** The answers in what came over the wire: they carry no bodies, so each begins a line. */
export function answersIn(heard: string): string[] {
  return heard.split(/^(?=HTTP\/1\.1 )/m).filter((text) => text !== '');
}

/** The status of an answer as it came over the wire, or null when nothing came. */
export function statusOf(answer: string): number | null {
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1];
  return status === undefined ? null : Number(status);
}

/** A request's text; lines end as HTTP wants them. */
export function requestText(
  path: string,
  headers: Record<string, string>,
  body = '',
  method = 'POST',
): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${path} HTTP/1.1`, 'host: receiver', ...lines, '', body].join('\r\n');
}
