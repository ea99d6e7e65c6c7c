import { mock } from 'node:test';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { createRefusedCaller } from '../../src/api/refusal-log.ts';
import { type LogFields, silentLog } from '../../src/telemetry/log.ts';

const requestFrom = (ip: string) =>
  ({
    method: 'GET',
    routeOptions: { url: '/v1/events' },
    caller: null,
    ip,
    socket: { remoteAddress: '10.9.9.9' },
  }) as unknown as FastifyRequest;

t.test('refusals from many addresses make at most eleven lines a second, and each is counted', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const logged: LogFields[] = [];
  const refused = createRefusedCaller({ ...silentLog, warn: (fields) => logged.push(fields) });
  const line = { route: 'GET /v1/events', status: 401 };

  refused(requestFrom('10.0.0.1'), 401);
  t.strictSame(logged.splice(0), [{ ...line, address: '10.0.0.1', count: 1 }], 'immediately');
  for (let count = 0; count < 300; count += 1) refused(requestFrom(`10.0.0.${count % 100}`), 401);
  t.strictSame(logged, []);
  mock.timers.tick(1_000);
  t.strictSame(logged.splice(0), [
    ...Array.from({ length: 10 }, (_, count) => ({ ...line, address: `10.0.0.${count}`, count: 3 })),
    { count: 270 },
  ]);
  refused(requestFrom('made up'), 401);
  mock.timers.tick(1_000);
  t.strictSame(logged.splice(0), [{ ...line, address: '10.9.9.9', count: 1 }], 'a text that is no address');
});
