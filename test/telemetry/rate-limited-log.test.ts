import { mock } from 'node:test';
import t from 'tap';
import type { LogFields } from '../../src/telemetry/log.ts';
import { type Failures, rateLimited, rateLimitedLines } from '../../src/telemetry/rate-limited-log.ts';

t.test('the first failure is logged immediately, later ones once per second', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const logged: Failures[] = [];
  const failed = rateLimited((failures) => logged.push(failures));

  failed({ code: 'A', count: 1 });
  t.strictSame(logged, [{ code: 'A', count: 1 }]);
  failed({ code: 'A', count: 2 });
  failed({ code: 'B', count: 3 });
  mock.timers.tick(999);
  t.equal(logged.length, 1);
  mock.timers.tick(1);
  t.strictSame(logged.slice(1), [{ code: 'B', count: 5 }]);

  mock.timers.tick(1_000);
  t.equal(logged.length, 2, 'nothing more failed');
  failed({ code: 'C', count: 1 });
  t.strictSame(logged.slice(2), [{ code: 'C', count: 1 }], 'immediately again');
});

t.test('lines that differ in their ids only are counted in one line without them', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const logged: LogFields[] = [];
  const log = rateLimitedLines({ line: (fields) => logged.push(fields), others: () => {} });
  for (const [reason, request_id] of [
    ['a', '1'],
    ['a', '2'],
    ['b', '3'],
    ['a', '4'],
  ] as const)
    log({ reason }, { request_id });
  mock.timers.tick(1_000);
  t.strictSame(logged, [
    { reason: 'a', request_id: '1', count: 1 },
    { reason: 'a', count: 2 },
    { reason: 'b', request_id: '3', count: 1 },
  ]);
});
