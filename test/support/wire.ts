/** A proxy between a sidecar and its PostgreSQL that cuts connections at critical points, such as a commit. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';

export type Cut =
  /** The server never receives the commit, and rolls back. */
  | 'before'
  /** The server has committed, and its response is lost. */
  | 'after';

export type Wire = {
  /** The address of the same database through this proxy. */
  readonly url: string;
  /** Cuts the connection at every nth commit; null passes everything. */
  cutting: { how: Cut; every: number } | null;
  /** The number of cuts. */
  readonly cuts: Readonly<Record<Cut, number>>;
  /** If true, nothing passes and neither end is notified, as in a network that loses packets. */
  silent: boolean;
  /** Leads new connections to another server; open ones stay. */
  leadTo(databaseUrl: string): void;
};

export async function startWire(t: Test, databaseUrl: string): Promise<Wire> {
  let target = new URL(databaseUrl);
  const open = new Set<Socket>();
  const cuts = { before: 0, after: 0 };
  let commits = 0;

  const cutNow = (): Cut | null => {
    if (wire.cutting === null) return null;
    commits += 1;
    return commits % wire.cutting.every === 0 ? wire.cutting.how : null;
  };
  const server = createServer((client) => {
    const database = connect(Number(target.port), target.hostname);
    const end = (): void => {
      for (const socket of [client, database]) socket.destroy();
    };
    for (const socket of [client, database]) {
      open.add(socket);
      // Without this each message would wait for the acknowledgment of the previous one.
      socket.setNoDelay(true);
      socket.on('error', end).on('close', () => {
        open.delete(socket);
        end();
      });
    }
    let answerIsLost = false;
    const isCommit = commitFinder();
    const eachMessage = messagesOf((message) => {
      const cut = isCommit(message) ? cutNow() : null;
      if (cut !== null) cuts[cut] += 1;
      if (cut === 'before') return end();
      answerIsLost = cut === 'after';
      if (!wire.silent) database.write(message);
    });
    client.on('data', eachMessage);
    database.on('data', (answer) => {
      if (answerIsLost) end();
      else if (!wire.silent) client.write(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const leadTo = (databaseUrl: string): void => {
    target = new URL(databaseUrl);
  };
  const wire: Wire = { url: url.href, cutting: null, cuts, silent: false, leadTo };
  return wire;
}

/**
 * Finds the messages that commit: the simple query `commit`, which ends a transaction of the driver, and the end of the
 * single statement by which the intake stores a batch, which is its own transaction.
 */
function commitFinder(): (message: Buffer) => boolean {
  const storing = new Set<string>();
  let bound = '';
  return (message) => {
    const type = message.toString('latin1', 0, 1);
    const [first = '', second = ''] = message.toString('latin1', 5).split('\0');
    if (type === 'P' && second.includes('insert into inbox')) storing.add(first);
    if (type === 'B') bound = second;
    return (type === 'Q' && first === 'commit') || (type === 'S' && storing.has(bound));
  };
}

/**
 * Joins a client's bytes to complete messages: a type and a length, except the first, which has no type (PostgreSQL's
 * documentation, "Message Formats"). The clients here do not use TLS.
 */
function messagesOf(each: (message: Buffer) => void): (part: Buffer) => void {
  let rest = Buffer.alloc(0);
  let before = 0;
  return (part) => {
    rest = Buffer.concat([rest, part]);
    while (rest.length >= before + 4) {
      const length = before + rest.readUInt32BE(before);
      if (rest.length < length) return;
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      before = 1;
      each(message);
    }
  };
}
