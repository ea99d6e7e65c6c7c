import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import t from 'tap';
import { AppError, CodedError, isAppError, isCodedError, postedError, receivedError } from '../src/errors.ts';

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
  t.ok(isAppError(new AppError('CONFIG', ''), 'RUN_REFUSED', 'CONFIG'));
  t.ok(isAppError(new AppError('CONFIG', '')));
  const coded = Object.assign(new Error(''), { code: 'CONFIG' });
  const ofOthers = [coded, new Error(''), 'CONFIG', null, undefined];
  for (const error of ofOthers) {
    t.notOk(isAppError(error, 'CONFIG'), String(error));
    t.notOk(isCodedError(error), String(error));
  }
});

t.test('a code of the API or of the command line is none of the domain', async (t) => {
  const refusal = new CodedError('FORBIDDEN', '');
  t.ok(isCodedError(refusal));
  t.notOk(isAppError(refusal));
});
