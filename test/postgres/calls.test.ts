import { readFileSync } from 'node:fs';
import { setImmediate as immediately } from 'node:timers/promises';
import { sql } from 'kysely';
import t, { type Test } from 'tap';
import { createSidecarNotifier, type LoopName, listenForWakes } from '../../src/database/notifier.ts';
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
  const notify = createSidecarNotifier(open(t, url));
  const [first, second] = [await hearing(t, url), await hearing(t, url)];
  const elsewhere = await hearing(t, await newDatabaseUrl(t));
  for (const call of ['apply', 'send'] as const) {
    await notify(call);
    for (const heard of [first, second]) {
      await eventually(`${call} is heard`, () => heard.length > 0, true);
      t.strictSame(heard.splice(0), [call]);
    }
  }
  t.strictSame(elsewhere, [], 'sidecars on other databases receive nothing');
});

t.test('calls of one tick, and calls while a notification is sent, share the next one', async (t) => {
  const url = await newDatabaseUrl(t);
  const notify = createSidecarNotifier(open(t, url));
  const heard = await hearing(t, url);
  const calls: Promise<void>[] = [];
  for (let round = 0; round < 2; round += 1) {
    for (let call = 0; call < 100; call += 1) calls.push(notify('send'));
    // In the second turn, the first notification is on its way.
    for (let turn = 0; turn < 2; turn += 1) await immediately();
  }
  await Promise.all(calls);
  await notify('apply');
  await eventually('all are heard', () => heard.join(), 'send,send,apply');
});

t.test('while the server is down nothing throws, and afterward notifications arrive again', async (t) => {
  const url = await newDatabaseUrl(t);
  const notify = createSidecarNotifier(open(t, url));
  const heard = await hearing(t, url);
  await server.stop();
  await notify('apply');
  t.strictSame(heard, []);
  await server.start();
  await isHearing(heard);
  await notify('send');
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

/**
 * The number of open connections to this address that the system probes within a minute. Linux writes the time in
 * hundredths of a second, after `02` for a probe of an idle connection.
 */
function probedConnections(url: string): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const connections = readFileSync('/proc/self/net/tcp', 'utf8').split('\n');
  return connections.filter((line) => {
    const [, , remote, , , timer] = line.trim().split(/\s+/);
    const [kind, left] = timer?.split(':') ?? [];
    return remote?.endsWith(`:${port}`) && kind === '02' && Number.parseInt(left as string, 16) <= 6_000;
  }).length;
}

const { platform } = process;
t.test(
  'idle connections are probed before a firewall forgets them',
  { skip: platform !== 'linux' },
  async (t) => {
    const url = await newDatabaseUrl(t);
    await hearing(t, url);
    await sql`select 1`.execute(open(t, url));
    await eventually('the listener and the pool are probed', () => probedConnections(url), 2);
  },
);

t.test('on SQLite there are no other sidecars to notify', async (t) => {
  const url = `sqlite:${t.testdir()}/sidecar.db`;
  await createSidecarNotifier(open(t, url))('send');
  await listenForWakes(url, () => t.fail('nothing is heard'), new AbortController().signal);
  t.pass('listening ended immediately');
});
