import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { createPageNotifier, LISTENERS_MAX } from '../../src/console/live.ts';
import { closeListener } from '../../src/security/listener.ts';
import { deductionOf, deliver, eventOf } from '../api/deliver.ts';
import { eventually } from '../support/eventually.ts';
import { openConsole } from './stage.ts';

t.test('a page refreshes automatically and keeps open sections, focus and scroll position', async (t) => {
  const { signedIn, db } = await openConsole(t);
  await deliver(db, [eventOf('evt_1', 'employee.deduction-updated', {})]);
  const page = await signedIn({ width: 360 });
  const listening = page.waitForResponse('**/live');
  await page.goto('/');
  await listening;
  const passed = page.locator('details.passed');
  await passed.getByText('checks passed').click();
  await page.getByText('checks passed').focus();
  const before = await page.evaluate(() => {
    window.scrollTo(0, 300);
    (window as unknown as { mark: boolean }).mark = true;
    return window.scrollY;
  });
  await deliver(db, [eventOf('evt_2', 'employee.deduction-updated', {})]);
  await page.getByRole('link', { name: 'evt_2' }).waitFor();
  t.equal(await passed.getAttribute('open'), '');
  t.ok(
    await page.evaluate(() => (window as unknown as { mark?: boolean }).mark),
    'the page was not reloaded',
  );
  t.equal(await page.evaluate(() => document.activeElement?.textContent?.includes('checks passed')), true);
  const after = await page.evaluate(() => window.scrollY);
  // The browser scrolls by the line that the new event adds above.
  t.ok(Math.abs(after - before) < 50, `it scrolled from ${before} to ${after}`);
});

t.test('a page reports a lost connection and catches up afterward', async (t) => {
  const { signedIn, db, app } = await openConsole(t);
  const page = await signedIn({ refusals: true });
  const listening = page.waitForResponse('**/live');
  await page.goto('/events');
  await listening;
  const sign = page.locator('#lost');
  t.equal(await sign.isVisible(), false);
  app.server.closeAllConnections();
  await sign.waitFor();
  await deliver(db, [deductionOf('evt_missed', { id: 'd1' })]);
  await page.getByRole('link', { name: 'evt_missed' }).waitFor();
  await sign.waitFor({ state: 'hidden' });
});

t.test('an open page does not delay the listener’s shutdown', async (t) => {
  const { signedIn, app, base } = await openConsole(t);
  const page = await signedIn({ refusals: true });
  const listening = page.waitForResponse('**/live');
  await page.goto('/');
  await listening;
  const [cookie] = await page.context().cookies();
  const stream = await fetch(`${base}/live`, { headers: { cookie: `${cookie?.name}=${cookie?.value}` } });
  await closeListener(app);
  // The listener cuts off a stream that is still open after five seconds, which would be an error here.
  t.match(await stream.text(), /^retry: /, 'the stream ended cleanly');
  await page.locator('#lost').waitFor();
});

t.test('the stream of a session ends with the session; without one it is rejected', async (t) => {
  const { signedIn, base } = await openConsole(t);
  const page = await signedIn();
  await page.goto('/');
  const [cookie] = await page.context().cookies();
  const stream = await fetch(`${base}/live`, { headers: { cookie: `${cookie?.name}=${cookie?.value}` } });
  t.equal(stream.headers.get('content-type'), 'text/event-stream');
  t.equal(stream.headers.get('cache-control'), 'no-store');
  await page.getByRole('button', { name: 'Sign out' }).click();
  t.match(await stream.text(), /^retry: 2000\n\n/, 'it ended');
  const refused = await fetch(`${base}/live`, { redirect: 'manual' });
  t.equal(refused.status, 303);
});

const LOOK_EVERY_MS = 30;
const until = (holds: () => boolean) => eventually('it happens', holds, Boolean);

/** `held`: a check does not end before. */
type World = { mark: string; looks: number; seen: string[]; mayListen: boolean; held: Promise<void> | null };

/** Sets the mark and waits until a check has read it. */
async function seen(world: World, mark: string): Promise<void> {
  world.mark = mark;
  const before = world.seen.length;
  await until(() => world.seen.slice(before).includes(mark));
}

/** A notifier of a mark that the test changes. */
function stage(t: Test) {
  const world: World = { mark: '0', looks: 0, seen: [], mayListen: true, held: null };
  const notifier = createPageNotifier(async () => {
    world.looks += 1;
    await world.held;
    world.seen.push(world.mark);
    if (world.mark === 'away') throw new Error('the database is away');
    return world.mark;
  }, LOOK_EVERY_MS);
  t.teardown(() => notifier.close());
  const listen = () => {
    const stream = notifier.subscribe(async () => world.mayListen) as Readable;
    const heard = { text: '' };
    stream.on('data', (bytes: Buffer) => {
      heard.text += bytes.toString();
    });
    return { stream, heard };
  };
  return { world, notifier, listen };
}

const newsIn = (heard: { text: string }) => heard.text.match(/event: news/g)?.length ?? 0;

t.test('a subscriber receives a message at its first check, and one per change', async (t) => {
  const { world, listen } = stage(t);
  const [one, other] = [listen(), listen()];
  await until(() => newsIn(one.heard) === 1 && newsIn(other.heard) === 1);
  await seen(world, '0');
  t.equal(newsIn(one.heard), 1, 'nothing has changed');
  world.mark = '1';
  await until(() => newsIn(one.heard) === 2 && newsIn(other.heard) === 2);
});

t.test('who subscribes during a check is notified by the next one', async (t) => {
  const { world, listen } = stage(t);
  const { promise, resolve } = Promise.withResolvers<void>();
  world.held = promise;
  listen();
  await until(() => world.looks === 1);
  const { heard } = listen();
  world.held = new Promise(() => {});
  resolve();
  await until(() => world.looks === 2);
  t.equal(newsIn(heard), 0);
});

t.test('one check serves all subscribers, and none runs without subscribers', async (t) => {
  const { world, listen } = stage(t);
  await delay(3 * LOOK_EVERY_MS);
  t.equal(world.looks, 0);
  const listeners = Array.from({ length: 10 }, listen);
  await until(() => world.looks >= 1);
  t.ok(world.looks < listeners.length, 'all subscribers share one check');
  for (const { stream } of listeners) stream.destroy();
  // One check may still be running.
  await delay(3 * LOOK_EVERY_MS);
  const { looks } = world;
  await delay(3 * LOOK_EVERY_MS);
  t.equal(world.looks, looks);
  listen();
  await until(() => world.looks > looks);
});

t.test('a subscriber whose session ended is disconnected at the next check', async (t) => {
  const { world, listen } = stage(t);
  const { stream } = listen();
  world.mayListen = false;
  await once(stream, 'end');
});

t.test('a database error neither notifies nor disconnects subscribers', async (t) => {
  const { world, listen } = stage(t);
  const { heard } = listen();
  await until(() => newsIn(heard) === 1);
  await seen(world, 'away');
  await seen(world, '0');
  await seen(world, '0');
  t.equal(newsIn(heard), 1);
  world.mark = '1';
  await until(() => newsIn(heard) === 2);
});

/** Returns all buffered text; Node releases differ in how they split it. */
function unread(stream: Readable): string {
  let text = '';
  for (let part = stream.read(); part !== null; part = stream.read()) text += String(part);
  return text;
}

t.test('subscribers are limited, and unread messages do not pile up', async (t) => {
  const { world, notifier } = stage(t);
  const streams = Array.from({ length: LISTENERS_MAX }, () => notifier.subscribe(async () => true));
  t.notOk(streams.includes(null));
  t.equal(
    notifier.subscribe(async () => true),
    null,
  );
  streams[0]?.destroy();
  await once(streams[0] as Readable, 'close');
  t.not(
    notifier.subscribe(async () => true),
    null,
  );
  for (const mark of ['1', '2', '3']) await seen(world, mark);
  t.equal(unread(streams[1] as Readable), 'retry: 2000\n\nevent: news\ndata:\n\n');
});

t.test('closing ends every stream, including later ones', async (t) => {
  const { notifier, listen } = stage(t);
  const { stream } = listen();
  notifier.close();
  await once(stream, 'end');
  await once(listen().stream, 'end');
});
