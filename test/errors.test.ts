import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import t from 'tap';
import { PROBLEMS, problemCodeOf } from '../src/api/problem.ts';
import { AppError, ERROR_CODES, isAppError, postedError, receivedError } from '../src/errors.ts';

t.test('an error keeps its code, message and problems on the way to another thread', async (t) => {
  const problems = [{ path: 'pay_date', rule: 'is required' }];
  const sent = new AppError('RUN_REFUSED', 'the run cannot be computed', { problems, problemCount: 7 });
  const { port1, port2 } = new MessageChannel();
  t.teardown(() => port1.close());
  port1.postMessage(postedError(sent));
  const [message] = await once(port2, 'message');
  const received = receivedError(message);
  t.ok(isAppError(received, 'RUN_REFUSED'));
  t.notOk(isAppError(received, 'CONFIG'));
  t.match(received, { message: 'the run cannot be computed', problems, problemCount: 7 });
});

t.test('an error of the system keeps its code and address on the way to another thread', async (t) => {
  const sent = Object.assign(new Error('taken'), { code: 'EADDRINUSE', address: '127.0.0.1', port: 8080 });
  const received = receivedError(structuredClone(postedError(sent)));
  t.match(received, { message: 'taken', code: 'EADDRINUSE', address: '127.0.0.1', port: 8080 });
  t.notOk(isAppError(received));
});

t.test('only errors of this program with one of the codes are recognized', async (t) => {
  t.ok(isAppError(new AppError('CONFLICT', ''), 'NOT_FOUND', 'CONFLICT'));
  t.ok(isAppError(new AppError('CONFLICT', '')));
  const others = [
    Object.assign(new Error(''), { code: 'CONFLICT' }),
    new Error(''),
    'CONFLICT',
    null,
    undefined,
  ];
  for (const other of others) t.notOk(isAppError(other, 'CONFLICT'), String(other));
});

t.test('every code has an HTTP status', async (t) => {
  for (const code of ERROR_CODES) t.ok(PROBLEMS[problemCodeOf(code)].status >= 400, code);
});
