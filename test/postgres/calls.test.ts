/** What sidecars call to each other over PostgreSQL. */
import t, { type Test } from 'tap';
import { type Call, callOthers, hearCalls } from '../../src/database/calls.ts';
import { open } from '../database/scratch.ts';
import { newDatabaseUrl, postgresServer, usePostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';

usePostgres();

/** The private side has 8 s to stop, for all that it does. */
const STOPS_WITHIN_MS = 8_000;

/** Hears until the test ends, and answers what was heard. */
async function hearing(t: Test, databaseUrl: string): Promise<Call[]> {
  const heard: Call[] = [];
  const stop = new AbortController();
  const ended = hearCalls(databaseUrl, (call) => heard.push(call), stop.signal);
  t.teardown(async () => {
    stop.abort();
    await ended;
  });
  await isHearing(heard);
  return heard;
}

/** Whoever begins to hear looks once at everything: it may have been called before. */
async function isHearing(heard: Call[]): Promise<void> {
  await eventually(
    'it hears',
    () => [...heard].sort(),
    (calls) => `${calls}` === 'apply,send',
  );
  heard.length = 0;
}

t.test('a call is heard by every other, at once and as what it is', async (t) => {
  const url = await newDatabaseUrl(t);
  const db = open(t, url);
  const [first, second] = [await hearing(t, url), await hearing(t, url)];
  const elsewhere = await hearing(t, await newDatabaseUrl(t));
  for (const call of ['apply', 'send'] as const) {
    await callOthers(db, call);
    for (const heard of [first, second]) {
      await eventually(
        `${call} is heard`,
        () => heard,
        (calls) => calls.length > 0,
      );
      t.strictSame(heard.splice(0), [call]);
    }
  }
  t.strictSame(elsewhere, [], 'in another database nothing is');
});

t.test('while the server is away nothing is thrown; when it is back, calls are heard again', async (t) => {
  const url = await newDatabaseUrl(t);
  const db = open(t, url);
  const heard = await hearing(t, url);
  const server = await postgresServer();
  await server.stop();
  await callOthers(db, 'apply');
  t.strictSame(heard, []);
  await server.start();
  await isHearing(heard);
  await callOthers(db, 'send');
  await eventually(
    'a call is heard',
    () => heard,
    (calls) => calls.length > 0,
  );
  t.strictSame(heard, ['send']);
});

t.test('hearing ends when it is told to, also while the server is away', async (t) => {
  const url = await newDatabaseUrl(t);
  const stop = new AbortController();
  const heard: Call[] = [];
  const ended = hearCalls(url, (call) => heard.push(call), stop.signal);
  await isHearing(heard);
  const server = await postgresServer();
  await server.stop();
  t.teardown(() => server.start());
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  stop.abort();
  await eventually('hearing has ended', () => hasEnded, Boolean, STOPS_WITHIN_MS);
});

t.test('on SQLite there is nobody to call', async (t) => {
  const url = `sqlite:${t.testdir()}/sidecar.db`;
  await callOthers(open(t, url), 'send');
  await hearCalls(url, () => t.fail('nothing is heard'), new AbortController().signal);
  t.pass('hearing has ended at once');
});
