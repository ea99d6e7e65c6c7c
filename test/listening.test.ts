import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import { createReceiver } from '../src/inbound/receiver.ts';
import { closeListener } from '../src/listening.ts';
import { createReceivingCounts } from '../src/observe/receiving.ts';

const parts = {
  verify: () => ({ eventId: 'msg_1' }),
  refuse: () => {},
  counts: createReceivingCounts(() => new Date(), []),
  isAlive: async () => true,
  isReady: async () => true,
};

t.test(
  'a connection whose request is being answered when the listener closes does not keep it open',
  async (t) => {
    const arrived = Promise.withResolvers<void>();
    const stored = Promise.withResolvers<void>();
    const accept = () => {
      arrived.resolve();
      return stored.promise;
    };
    const app = createReceiver({ ...parts, accept });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as { port: number };
    const socket = connect(port, '127.0.0.1');
    socket.write('POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}');
    await arrived.promise;
    const closed = closeListener(app);
    stored.resolve();
    const [answer] = await once(socket, 'data');
    t.match(String(answer), /^HTTP\/1\.1 204/, 'what was in flight is answered');
    await closed;
    await once(socket, 'close');
    t.pass('the keep-alive connection is closed with the listener');
  },
);
