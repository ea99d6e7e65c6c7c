import { mock } from 'node:test';
import t from 'tap';
import { type Failures, rateLimited } from '../../src/telemetry/rate-limited-log.ts';

t.test(
  'the first failure is told at once, and those of a second in one sum with the newest code',
  async (t) => {
    mock.timers.enable({ apis: ['setTimeout'] });
    t.teardown(() => mock.timers.reset());
    const told: Failures[] = [];
    const failed = rateLimited((failures) => told.push(failures));

    failed({ code: 'A', count: 1 });
    t.strictSame(told, [{ code: 'A', count: 1 }]);
    failed({ code: 'A', count: 2 });
    failed({ code: 'B', count: 3 });
    mock.timers.tick(999);
    t.equal(told.length, 1);
    mock.timers.tick(1);
    t.strictSame(told.slice(1), [{ code: 'B', count: 5 }]);

    mock.timers.tick(1_000);
    t.equal(told.length, 2, 'nothing more failed');
    failed({ code: 'C', count: 1 });
    t.strictSame(told.slice(2), [{ code: 'C', count: 1 }], 'at once again');
  },
);
