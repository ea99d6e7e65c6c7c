/** Requests that wait for a slot or a turn. While the thread is late: test/faults/late-thread.test.ts. */
import { EventEmitter } from 'node:events';
import type { AddressInfo } from 'node:net';
import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { limitReads, type ReadRequest } from '../../src/api/read-slots.ts';
import { codeOf } from '../../src/errors.ts';
import { computeInTurn } from '../../src/payroll/compute/queue.ts';
import { type LogFields, silentLog } from '../../src/telemetry/log.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOn, NOW as PAYROLL_NOW, readyEmployer } from '../support/payroll.ts';
import { FIRST_TOKEN, start } from './start.ts';

const KIB = 1024;

type Upload = {
  /** Delivers a part of the body, and resolves once it was read. */
  deliver(bytes: number): Promise<void>;
  end(): Promise<void>;
  /** Closes the client's connection. */
  close(): void;
  /** `waits`, `reads`, `ended` or the code of its error. */
  state: string;
};

/** Two slots, and clocks that only the test moves. */
function twoSlots(t: Test) {
  mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const clocks = { now: 0, idle: 0 };
  const logged: LogFields[] = [];
  const limited = limitReads(2, 'files', {
    log: { ...silentLog, warn: (fields) => logged.push(fields) },
    elapsed: { now: () => clocks.now, idle: () => clocks.idle },
  });
  const upload = async (tokenId = 'tok_1'): Promise<Upload> => {
    const raw = new EventEmitter();
    const parts: PromiseWithResolvers<IteratorResult<Uint8Array, undefined>>[] = [];
    const next = () => parts.at(-1) as (typeof parts)[number];
    const result: Upload = {
      state: 'waits',
      async deliver(bytes) {
        next().resolve({ done: false, value: new Uint8Array(bytes) });
        await setImmediate();
      },
      async end() {
        next().resolve({ done: true, value: undefined });
        await setImmediate();
      },
      close: () => raw.emit('close'),
    };
    const request = { caller: { tokenId }, raw } as unknown as ReadRequest;
    void limited(request, async (slot) => {
      result.state = 'reads';
      for (let done: boolean | undefined = false; done !== true; ) {
        parts.push(Promise.withResolvers());
        ({ done } = await slot.received(next().promise));
      }
    }).then(
      () => {
        result.state = 'ended';
      },
      (error) => {
        result.state = codeOf(error);
      },
    );
    await setImmediate();
    return result;
  };
  /** Passes time while this thread is idle for `idle` seconds, and lets the checks run. */
  const pass = async (seconds: number, idle = seconds) => {
    clocks.now += seconds * 1_000;
    clocks.idle += idle * 1_000;
    mock.timers.tick(1_000);
    await setImmediate();
  };
  return { upload, pass, logged };
}

t.test('while every slot is taken, the slowest upload below 64 KiB/s loses its slot', async (t) => {
  const { upload, pass, logged } = twoSlots(t);
  const [slow, slower] = [await upload(), await upload()];
  const waiting = await upload();
  t.strictSame([slow.state, slower.state, waiting.state], ['reads', 'reads', 'waits']);
  await slow.deliver(630 * KIB);
  await slower.deliver(620 * KIB);
  await pass(9);
  t.strictSame([slow.state, slower.state], ['reads', 'reads'], 'not within 10 s');
  await pass(1);
  t.strictSame([slow.state, slower.state, waiting.state], ['reads', 'TOO_SLOW', 'reads']);
  t.strictSame(logged, [{ reason: 'files' }]);
  await waiting.end();
  await pass(60);
  t.equal(slow.state, 'reads', 'with a free slot it keeps its own');
  await slow.end();
  t.strictSame([slow.state, waiting.state], ['ended', 'ended']);
});

for (const { name, kibibytes, idle } of [
  { name: 'an upload of 64 KiB/s keeps its slot', kibibytes: 64, idle: 1 },
  { name: 'time in which this thread is busy does not count against an upload', kibibytes: 16, idle: 0.2 },
]) {
  t.test(name, async (t) => {
    const { upload, pass } = twoSlots(t);
    const uploads = [await upload(), await upload()];
    for (let second = 0; second < 60; second += 1) {
      for (const each of uploads) await each.deliver(kibibytes * KIB);
      await pass(1, idle);
    }
    for (const { state } of uploads) t.equal(state, 'reads');
  });
}

t.test('time in which the reader is busy does not count against an upload', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  let idle = 0;
  const limited = limitReads(1, 'files', { log: silentLog, elapsed: { now: () => 0, idle: () => idle } });
  const request = { caller: null, raw: new EventEmitter() } as unknown as ReadRequest;
  const part = { done: false, value: new Uint8Array(1) } as const;
  const read = limited(request, async (slot) => {
    for (let parts = 0; parts < 10; parts += 1) {
      await slot.received(Promise.resolve(part));
      // The reader waits for its database.
      idle += 60_000;
      mock.timers.tick(1_000);
      await setImmediate();
    }
    return 'read';
  });
  t.equal(await read, 'read');
});

t.test('slowness counts from when every slot is taken', async (t) => {
  const { upload, pass } = twoSlots(t);
  const slow = await upload();
  await pass(60);
  const fast = await upload();
  await pass(9);
  t.equal(slow.state, 'reads');
  await fast.deliver(1_000 * KIB);
  await pass(1);
  t.strictSame([slow.state, fast.state], ['TOO_SLOW', 'reads']);
});

t.test('the next slot is for the token that has the fewest, and then for who waits longest', async (t) => {
  const { upload, pass } = twoSlots(t);
  const hostile = [await upload('tok_1'), await upload('tok_1')];
  const more = [await upload('tok_1'), await upload('tok_1')];
  const [first, second] = [await upload('tok_2'), await upload('tok_2')];
  await pass(10);
  t.match([...hostile, ...more].filter(({ state }) => state === 'TOO_SLOW').length, 1);
  t.strictSame([first.state, second.state], ['reads', 'waits']);
  await first.end();
  t.equal(second.state, 'reads');
});

t.test('a request without a slot is refused after 15 s, and one whose client left at once', async (t) => {
  const { upload, pass, logged } = twoSlots(t);
  const uploads = [await upload(), await upload()];
  const [left, ...waiting] = [await upload(), await upload(), await upload(), await upload()];
  left.close();
  await setImmediate();
  t.equal(left.state, 'UNAVAILABLE');
  await pass(14, 0);
  t.equal(waiting[0]?.state, 'waits');
  await pass(1, 0);
  for (const { state } of waiting) t.equal(state, 'UNAVAILABLE');
  await pass(1, 0);
  t.strictSame(logged, [
    { reason: 'files', count: 1 },
    { reason: 'files', count: 2 },
  ]);
  for (const each of uploads) await each.end();
  t.equal((await upload()).state, 'reads', 'the slots are free again');
});

t.test('a client that leaves while its run waits to be computed gives up its turn', async (t) => {
  const errors: string[] = [];
  let received = () => {};
  const { app, db, call } = await start(t, { now: () => PAYROLL_NOW }, (added) => {
    added.addHook('preHandler', async () => received());
    added.addHook('onError', async (_request, _reply, error) => void errors.push(codeOf(error)));
  });
  await readyEmployer(t, db);
  const body = bodyOn('2026-07-17');
  t.equal((await call({ method: 'PUT', url: '/v1/payroll-runs/known', body })).status, 201);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const computing = Promise.withResolvers<void>();
  const others = Array.from({ length: 8 }, () => computeInTurn('other', () => computing.promise));

  const headers = { authorization: `Bearer ${FIRST_TOKEN}`, 'content-type': 'application/json' };
  const requests = [
    ['PUT', 'new', body],
    ['POST', 'preview', body],
    ['POST', 'known/finalize', {}],
  ] as const;
  for (const [method, path, sent] of requests) {
    const client = new AbortController();
    const arrival = Promise.withResolvers<void>();
    received = arrival.resolve;
    const response = fetch(`http://127.0.0.1:${port}/v1/payroll-runs/${path}`, {
      ...{ method, signal: client.signal, body: JSON.stringify(sent) },
      headers: { ...headers, 'if-match': '"reviewed"' },
    });
    await arrival.promise;
    client.abort();
    await t.rejects(response, { name: 'AbortError' });
    await eventually(`${path} leaves the queue`, () => errors.splice(0), ['CALLER_LEFT']);
  }
  computing.resolve();
  await Promise.all(others);
});

t.test('a slow upload for a proposal does not block files of rows', async (t) => {
  const { app, db } = await start(t);
  await readyEmployer(t, db);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const headers = { authorization: `Bearer ${FIRST_TOKEN}`, 'content-type': 'text/csv' };
  const post = (path: string, body: string | ReadableStream) =>
    fetch(`http://127.0.0.1:${port}/v1/employers/acme/${path}`, {
      ...{ method: 'POST', headers, body, duplex: 'half' },
    });
  const { readable, writable } = new TransformStream();
  const slow = post('file-formats/payroll/propose', readable.pipeThrough(new TextEncoderStream()));
  const writer = writable.getWriter();
  await writer.write('employee_id\n');
  t.equal((await post('opening-items', 'employee_id\n')).status, 422);
  await writer.close();
  t.equal((await slow).status, 200);
});
