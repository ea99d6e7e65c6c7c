import t, { type Test } from 'tap';
import { type LoopName, listenForWakes, wakeSidecars } from '../../src/database/notifier.ts';
import { open } from '../database/scratch.ts';
import { newDatabaseUrl, useOwnPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';

const server = await useOwnPostgres();

/** The API thread has 8 s for a complete stop. */
const STOPS_WITHIN_MS = 8_000;

/** Listens until the test ends and returns the notifications received. */
async function hearing(t: Test, databaseUrl: string): Promise<LoopName[]> {
  const heard: LoopName[] = [];
  const stop = new AbortController();
  const ended = listenForWakes(databaseUrl, (call) => heard.push(call), stop.signal);
  t.teardown(async () => {
    stop.abort();
    await ended;
  });
  await isHearing(heard);
  return heard;
}

/** A new listener first checks everything once, because earlier notifications are lost. */
async function isHearing(heard: LoopName[]): Promise<void> {
  await eventually('it hears', () => [...heard].sort().join(), 'apply,send');
  heard.length = 0;
}

t.test('every other sidecar receives a notification immediately, with its kind', async (t) => {
  const url = await newDatabaseUrl(t);
  const db = open(t, url);
  const [first, second] = [await hearing(t, url), await hearing(t, url)];
  const elsewhere = await hearing(t, await newDatabaseUrl(t));
  for (const call of ['apply', 'send'] as const) {
    await wakeSidecars(db, call);
    for (const heard of [first, second]) {
      await eventually(`${call} is heard`, () => heard.length > 0, true);
      t.strictSame(heard.splice(0), [call]);
    }
  }
  t.strictSame(elsewhere, [], 'sidecars on other databases receive nothing');
});

t.test('while the server is down nothing throws, and afterward notifications arrive again', async (t) => {
  const url = await newDatabaseUrl(t);
  const db = open(t, url);
  const heard = await hearing(t, url);
  await server.stop();
  await wakeSidecars(db, 'apply');
  t.strictSame(heard, []);
  await server.start();
  await isHearing(heard);
  await wakeSidecars(db, 'send');
  await eventually('a notification is received', () => heard.length > 0, true);
  t.strictSame(heard, ['send']);
});

t.test('listening stops on request, even while the server is down', async (t) => {
  const url = await newDatabaseUrl(t);
  const stop = new AbortController();
  const heard: LoopName[] = [];
  const ended = listenForWakes(url, (call) => heard.push(call), stop.signal);
  await isHearing(heard);
  await server.stop();
  t.teardown(() => server.start());
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  stop.abort();
  await eventually('hearing has ended', () => hasEnded, true, STOPS_WITHIN_MS);
});

t.test('on SQLite there are no other sidecars to notify', async (t) => {
  const url = `sqlite:${t.testdir()}/sidecar.db`;
  await wakeSidecars(open(t, url), 'send');
  await listenForWakes(url, () => t.fail('nothing is heard'), new AbortController().signal);
  t.pass('listening ended immediately');
});
