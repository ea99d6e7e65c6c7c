/** A connection that sends exactly the bytes of a test, valid or not. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Test } from 'tap';

type RawSocket = {
  socket: Socket;
  /** Everything received, once the peer has closed. */
  closed: Promise<string>;
  /** Resolves when this many responses have begun. */
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
  // A reset connection is closed too. The test reads what arrived before.
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

/** Splits received bytes into responses. They have no bodies, so each starts on a new line. */
export function answersIn(heard: string): string[] {
  return heard.split(/^(?=HTTP\/1\.1 )/m).filter((text) => text !== '');
}

/** Returns the status in received bytes, or null if there are none. */
export function statusOf(answer: string): number | null {
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1];
  return status === undefined ? null : Number(status);
}

/** Returns the text of a request with CRLF line ends. */
export function requestText(path: string, headers: Record<string, string>, body = '', method = 'POST') {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${path} HTTP/1.1`, 'host: receiver', ...lines, '', body].join('\r\n');
}
