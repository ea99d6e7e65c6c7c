import t from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { createReceivingCounts } from '../../src/telemetry/counts.ts';
import { deductionOf, deliver, eventOf, receive } from '../api/deliver.ts';
import { NOW } from '../api/start.ts';
import { employee, organization } from '../contract/samples.ts';
import { onlyReceived } from '../telemetry/still.ts';
import { assertAccessible, assertFits, openConsole, type Stage } from './stage.ts';

const HOSTILE = 'evt<img src=x onerror=alert(1)><script>alert(2)</script>';

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

t.test('the overview shows readiness, what failed, and where to fix it', async (t) => {
  const stage = await openConsole(t);
  await trouble(stage);
  const page = await stage.signedIn();
  await page.goto('/');
  const readiness = page.locator('section.readiness');
  await readiness.getByRole('heading', { name: 'Not ready' }).waitFor();
  t.match(await readiness.textContent(), 'Reprocess it after a fix, or dismiss it with a reason');
  t.strictSame(await readiness.getByRole('link', { name: HOSTILE }).count(), 1, 'the id is shown as text');
  for (const [card, figure] of [
    ['Quarantined events', '1'],
    ['Event conflicts', '1'],
    ['Pending events', '1'],
  ] as const) {
    const found = page.locator('.numbers .card', { has: page.getByRole('heading', { name: card }) });
    t.equal(await found.locator('.figure').textContent(), figure, card);
  }
  t.match(await page.getByRole('row', { name: /maple-bakery/ }).textContent(), 'requested');
  t.equal(await page.getByRole('link', { name: 'maple-bakery' }).count(), 1);
  t.equal(await page.getByRole('link', { name: '..', exact: true }).count(), 0, 'this id has no page');
  await readiness.locator('li', { hasText: 'Events are quarantined' }).getByText('Show all').click();
  await page.waitForURL('**/events?state=quarantined&dismissed=false');
  t.match(await page.locator('#events').textContent(), HOSTILE);
});

t.test('a fresh installation shows the first steps until an event arrives', async (t) => {
  const { signedIn, db } = await openConsole(t);
  const page = await signedIn();
  await page.goto('/');
  const first = page.locator('.first-steps');
  t.match(await first.textContent(), '/webhooks');
  t.equal(await first.getByRole('link', { name: 'Census' }).count(), 1);
  await assertAccessible(t, page, 'the overview of a fresh installation');
  await deliver(db, [deductionOf('evt_first', { id: 'd1' })]);
  await page.reload();
  t.equal(await first.count(), 0);
});

t.test('an installation without data is not reported as ready', async (t) => {
  const { signedIn, call } = await openConsole(t);
  const page = await signedIn();
  await page.goto('/');
  const readiness = page.locator('section.readiness');
  await readiness.getByRole('heading', { name: 'No data yet' }).waitFor();
  t.equal(await page.locator('.readiness.good').count(), 0);
  t.notMatch(await readiness.textContent(), 'can use the ledger');
  const url = '/v1/employers/acme/census';
  await call({ method: 'PUT', url, body: { organization, employees: [employee] } });
  await page.reload();
  await readiness.getByRole('heading', { name: 'Ready', exact: true }).waitFor();
});

t.test('findings counted by cause have no “and more”', async (t) => {
  const { signedIn, db } = await openConsole(t);
  await deliver(db, [deductionOf('evt_first', { id: 'd1' })]);
  const minute = `${new Date(NOW.getTime() - 60_000).toISOString().slice(0, 16)}Z`;
  await transact(db, (trx) =>
    trx
      .insertInto('refused_signatures')
      .values([
        { minute, cause: 'signature', refused_count: 1 },
        { minute, cause: 'timestamp', refused_count: 2 },
      ])
      .execute(),
  );
  await deliver(
    db,
    Array.from({ length: 7 }, (_, index) => eventOf(`evt_${index}`, 'employee.deduction-updated', {})),
  );
  const page = await signedIn();
  await page.goto('/');
  const finding = (text: string) => page.locator('.checks > li', { hasText: text });
  t.match(
    await finding('Webhook deliveries were rejected').textContent(),
    /\(3\).*1 delivery without a valid signature\s*2 deliveries with a time/s,
  );
  t.equal(
    await finding('Webhook deliveries were rejected')
      .getByText(/^and .* more$/)
      .count(),
    0,
  );
  t.match(await finding('Events are quarantined').textContent(), /\(7\).*and 2 more/s);
});

t.test('each part of the overview needs its scope', async (t) => {
  const stage = await openConsole(t);
  const { base, tokenWith, signedIn } = stage;
  await trouble(stage);
  const partsOf = async (...scopes: string[]) => {
    const page = await signedIn({ token: await tokenWith(...scopes) });
    await page.goto(base);
    const links = await page.getByRole('main').getByRole('link').count();
    return [await page.getByRole('main').getByRole('heading', { level: 2 }).allTextContents(), links > 0];
  };
  t.strictSame(await partsOf('ledger:read'), [['Not ready'], true]);
  t.strictSame(
    await partsOf('metrics:read'),
    [['Activity'], false],
    'pages without permission are not linked',
  );
  t.strictSame(await partsOf('census:read'), [['Latest census sync by employer'], true]);
  t.strictSame(await partsOf('changes:read'), [[], false]);
  const page = await signedIn({ token: await tokenWith('ledger:read', 'census:read') });
  await page.goto(base);
  await page.getByText('lacks the scope: activity (metrics:read).').waitFor();
});

t.test('the charts of the last hour have a summary and a table', async (t) => {
  let now = new Date(NOW.getTime() - 2 * 3_600_000);
  const counts = createReceivingCounts(() => now, []);
  now = NOW;
  for (const ms of [1, 2, 3, 250]) counts.acknowledged(ms);
  const { signedIn } = await openConsole(t, { receiving: async () => onlyReceived(counts.read()) });
  const page = await signedIn();
  await page.goto('/');
  await page.getByRole('img', { name: '4 events in the last hour; at most 4 per minute.' }).waitFor();
  await page.getByRole('img', { name: 'The slowest took 250 ms, at 12:00 UTC.' }).waitFor();
  await page.getByText('Data of Acknowledgment time').click();
  const rows = page.getByRole('region', { name: /^Acknowledgment time/ }).getByRole('row');
  t.equal(await rows.count(), 61);
  t.match(await rows.nth(1).getByRole('cell').allTextContents(), [/^\d/, '250', '250']);
  t.strictSame(await rows.nth(2).getByRole('cell').allTextContents(), ['–', '–', '–']);
});

t.test('the charts of a new process name its start', async (t) => {
  let now = new Date(NOW.getTime() - 25 * 60_000);
  const counts = createReceivingCounts(() => now, []);
  now = NOW;
  counts.acknowledged(3);
  const { signedIn } = await openConsole(t, { receiving: async () => onlyReceived(counts.read()) });
  const page = await signedIn();
  await page.goto('/');
  await page
    .getByRole('img', { name: '1 event since the sidecar started at 11:35 UTC; at most 1 per minute.' })
    .waitFor();
  t.equal(await page.getByText('in the last hour').count(), 0);
});

t.test('a part that cannot be read leaves the rest of the overview visible', async (t) => {
  const receiving = () => Promise.reject(Object.assign(new Error('silent'), { code: 'MAIN_SILENT' }));
  const { signedIn } = await openConsole(t, { receiving });
  const page = await signedIn();
  await page.goto('/');
  await page.locator('section.readiness').waitFor();
  t.match(await page.getByRole('main').textContent(), 'Unavailable');
});

t.test('the overview is accessible, in light and dark, and fits a phone', async (t) => {
  const stage = await openConsole(t);
  await trouble(stage);
  for (const scheme of ['light', 'dark'] as const) {
    const page = await stage.signedIn({ scheme });
    await page.goto('/');
    await assertAccessible(t, page, `the overview, ${scheme},`);
    await page.setViewportSize({ width: 360, height: 700 });
    await assertFits(t, page, 'the overview');
  }
});
