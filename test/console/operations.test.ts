import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { createPageNotifier, LISTENERS_MAX, LISTENERS_OF_SESSION_MAX } from '../../src/console/live.ts';
import { transact } from '../../src/database/transaction.ts';
import { adoptTypes, notify } from '../../src/notifications/store.ts';
import { closeListener } from '../../src/security/listener.ts';
import { createReceivingCounts } from '../../src/telemetry/counts.ts';
import { deductionOf, deliver, eventOf, receive } from '../api/deliver.ts';
import { NOW } from '../api/start.ts';
import { employee, organization } from '../contract/samples.ts';
import { notifyConfig, RUN } from '../notifications/parts.ts';
import { owe } from '../outbox/parts.ts';
import { eventually } from '../support/eventually.ts';
import { onlyReceived } from '../telemetry/still.ts';
import { assertAccessible, assertGood, HOSTILE, openConsole, type Page, type Stage } from './stage.ts';

/** A quarantined event, a conflict, a pending event and two census requests. */
async function trouble({ db }: Stage): Promise<void> {
  await deliver(db, [
    deductionOf('evt_twice', { id: 'd1' }),
    eventOf('evt_asks', 'employee-census.sync-request', { employer_id: 'maple-bakery' }),
    eventOf('evt_asks_2', 'employee-census.sync-request', { employer_id: '..' }),
    eventOf(HOSTILE, 'employee.deduction-updated', {}),
  ]);
  await receive(db, [deductionOf('evt_twice', { id: 'd2' }), deductionOf('evt_waits', { id: 'd3' })]);
}

/** Returns what the page shows for a term. */
const factOf = (page: Page, term: string) =>
  page
    .locator('dt', { hasText: new RegExp(`^${term}$`) })
    .locator('+ dd')
    .textContent();

t.test('the operations page shows readiness, what failed, and where to fix it', async (t) => {
  const stage = await openConsole(t);
  await trouble(stage);
  const page = await stage.opened('/operations');
  const readiness = page.locator('section.readiness');
  await readiness.getByRole('heading', { name: 'Not ready: 4 checks fail' }).waitFor();
  t.match(await readiness.textContent(), 'Reprocess it after a fix, or dismiss it with a reason');
  t.strictSame(await readiness.getByRole('link', { name: HOSTILE }).count(), 1, 'the id is shown as text');
  for (const fact of ['Quarantined events', 'Event conflicts', 'Pending events'])
    t.match(await factOf(page, fact), /^1\b/, fact);
  t.equal(await page.getByRole('link', { name: 'maple-bakery' }).count(), 2, 'two checks of it');
  t.equal(await page.getByRole('link', { name: '..', exact: true }).count(), 0, 'this id has no page');
  await readiness.locator('li', { hasText: 'Events are quarantined' }).getByText('Show all').click();
  await page.waitForURL('**/events?state=quarantined&dismissed=false');
  t.match(await page.locator('#events').textContent(), HOSTILE);
});

t.test('a failed notification is listed with its reason, and sent again', async (t) => {
  const { db, opened } = await openConsole(t);
  await adoptTypes(db, notifyConfig('http://127.0.0.1/hooks'));
  await transact(db, (trx) => notify(trx, 'run.finalized', RUN, NOW.toISOString()));
  const failed = {
    state: 'failed',
    is_next: 0,
    reason: 'status 500',
    finished_at: NOW.toISOString(),
  } as const;
  await transact(db, (trx) => trx.updateTable('notifications').set(failed).execute());
  const page = await opened('/notifications');
  t.match(await page.locator('tbody').textContent(), /Run finalized.*failed.*status 500.*Send again/s);
  await assertGood(t, page, 'the notifications');
  await page.getByRole('button', { name: /^Send again/ }).click();
  await page.getByText('The notification is queued. It is sent within seconds.').waitFor();
  t.match(await page.locator('tbody').textContent(), /Run finalized.*pending/s);
});

t.test('an overloaded sidecar sends a page, and when to ask for it again', async (t) => {
  const { base } = await openConsole(t, { pressure: { loopDelayMs: 1, connections: 100, heapBytes: 1 } });
  const open = () => fetch(`${base}/runs`, { redirect: 'manual' });
  const refused = await eventually('it refuses', open, { status: 503 });
  t.match(refused.headers.get('content-type'), 'text/html');
  t.match(refused.headers.get('retry-after'), /^\d+$/);
  const text = await refused.text();
  t.match(text, 'Too many requests at once.');
  t.match(text, 'Wait a moment, then try again.');
});

t.test('sending is delayed when a request waits for five minutes', async (t) => {
  const sendingAfter = async (seconds: number) => {
    const { html, db } = await openConsole(t);
    await owe(db, 'request', 'emp-1', 'demographic', new Date(NOW.getTime() - seconds * 1_000));
    return /<dt>Sending<\/dt>.*?<\/dd>/s.exec(await html('/operations'))?.[0];
  };
  t.match(await sendingAfter(299), 'active');
  t.match(await sendingAfter(301), /delayed.*5 min ago and is not delivered/s);
});

t.test('a fresh installation shows the first steps, and is not ready without data', async (t) => {
  const { opened, db, call } = await openConsole(t);
  const page = await opened('/operations');
  const [first, readiness] = [page.locator('.first-steps'), page.locator('section.readiness')];
  t.match(await first.textContent(), '/webhooks');
  t.equal(await first.getByRole('link', { name: 'Census' }).count(), 1);
  await readiness.getByRole('heading', { name: 'No data yet' }).waitFor();
  t.equal(await page.locator('.readiness.good').count(), 0);
  t.notMatch(await readiness.textContent(), 'can use the ledger');
  await assertAccessible(t, page, 'the operations page of a fresh installation');
  const body = { organization, employees: [employee] };
  await call({ method: 'PUT', url: '/v1/employers/acme/census', body });
  await page.reload();
  await readiness.getByRole('heading', { name: 'Ready', exact: true }).waitFor();
  await deliver(db, [deductionOf('evt_first', { id: 'd1' })]);
  await page.reload();
  t.equal(await first.count(), 0);
});

t.test('each part of the operations page needs its scope', async (t) => {
  const stage = await openConsole(t);
  const { tokenWith, html } = stage;
  await trouble(stage);
  const operations = async (...scopes: string[]) => html('/operations', await tokenWith(...scopes));
  const partsOf = async (scope: string) => {
    const [main = ''] = /<main.*<\/main>/s.exec(await operations(scope)) ?? [];
    return [[...main.matchAll(/<h2[^>]*>([^<]*)/g)].map(([, title]) => title), main.includes('<a ')];
  };
  for (const [scope, parts, hasLinks] of [
    ['ledger:read', ['Not ready: 4 checks fail'], true],
    ['metrics:read', ['Activity'], true],
    ['census:read', [], false],
  ] as const)
    t.strictSame(await partsOf(scope), [parts, hasLinks], scope);
  t.match(await operations('ledger:read', 'census:read'), 'lacks the scope: activity (metrics:read).');
});

t.test('the charts of the last hour have a summary and a table', async (t) => {
  let now = new Date(NOW.getTime() - 2 * 3_600_000);
  const counts = createReceivingCounts(() => now, []);
  now = NOW;
  for (const ms of [1, 2, 3, 250]) counts.acknowledged(ms);
  const { opened } = await openConsole(t, { receiving: async () => onlyReceived(counts.read()) });
  const page = await opened('/operations');
  await page.getByRole('img', { name: '4 events in the last hour; at most 4 per minute.' }).waitFor();
  await page.getByRole('img', { name: 'The slowest took 250 ms.' }).waitFor();
  await page.getByText('Data of Acknowledgment time').click();
  const rows = page.getByRole('region', { name: /^Acknowledgment time/ }).getByRole('row');
  t.equal(await rows.count(), 61);
  t.match(await rows.nth(1).getByRole('cell').allTextContents(), [/^\d/, '250', '250']);
  t.strictSame(await rows.nth(2).getByRole('cell').allTextContents(), ['–', '–', '–']);
});

t.test('a part that cannot be read leaves the rest of the page visible', async (t) => {
  const receiving = () => Promise.reject(Object.assign(new Error('silent'), { code: 'MAIN_SILENT' }));
  const { html } = await openConsole(t, { receiving });
  t.match(await html('/operations'), /class="card readiness.*Unavailable/s);
});

t.test('a page refreshes automatically and keeps open sections, focus and scroll position', async (t) => {
  const { signedIn, db } = await openConsole(t);
  await deliver(db, [eventOf('evt_1', 'employee.deduction-updated', {})]);
  const page = await signedIn({ width: 360 });
  const listening = page.waitForResponse('**/live');
  await page.goto('/operations');
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
  const isSame = await page.evaluate(() => (window as unknown as { mark?: boolean }).mark);
  t.ok(isSame, 'the page was not reloaded');
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
  const { signedIn, app, base, cookie } = await openConsole(t);
  const page = await signedIn({ refusals: true });
  const listening = page.waitForResponse('**/live');
  await page.goto('/operations');
  await listening;
  const stream = await fetch(`${base}/live`, { headers: { cookie: await cookie() } });
  await closeListener(app);
  // The listener cuts off a stream that is still open after five seconds, which would be an error here.
  t.match(await stream.text(), /^retry: /, 'the stream ended cleanly');
  await page.locator('#lost').waitFor();
});

t.test('the stream of a session ends with the session; without one it is rejected', async (t) => {
  const { opened, base } = await openConsole(t);
  // The page may ask for its own stream once more before the next page has loaded.
  const page = await opened('/operations', { refusals: true });
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
const until = (holds: () => boolean) => eventually('it happens', holds, true);

/** `held`: a check does not end before. */
type World = { mark: string; looks: number; seen: string[]; held: Promise<void> | null };

/** Sets the mark and waits until a check has read it. */
async function seen(world: World, mark: string): Promise<void> {
  world.mark = mark;
  const before = world.seen.length;
  await until(() => world.seen.slice(before).includes(mark));
}

/** A notifier of a mark that the test changes. */
function stage(t: Test) {
  const world: World = { mark: '0', looks: 0, seen: [], held: null };
  const notifier = createPageNotifier(async () => {
    world.looks += 1;
    await world.held;
    world.seen.push(world.mark);
    if (world.mark === 'away') throw new Error('the database is away');
    return world.mark;
  }, LOOK_EVERY_MS);
  t.teardown(() => notifier.close());
  let sessions = 0;
  const listen = () => {
    sessions += 1;
    const stream = notifier.subscribe(`listening ${sessions}`, async () => true) as Readable;
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
  const subscribe = (owner = 'last') => notifier.subscribe(owner, async () => true);
  const streams = Array.from({ length: LISTENERS_MAX }, (_, index) =>
    subscribe(`session ${Math.floor(index / LISTENERS_OF_SESSION_MAX)}`),
  );
  t.notOk(streams.includes(null));
  t.equal(subscribe(), null);
  streams[0]?.destroy();
  await once(streams[0] as Readable, 'close');
  t.equal(subscribe('session 1'), null, 'one session does not take the place of another');
  t.not(subscribe(), null);
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
