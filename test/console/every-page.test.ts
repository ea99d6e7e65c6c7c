/** Opens every page of the console. */
import t, { type Test } from 'tap';
import { LEDGER_CHECKS } from '../../src/readiness/report.ts';
import { RUN_CHECKS } from '../../src/readiness/run-report.ts';
import { deductionOf, deliver, eventOf, receive } from '../api/deliver.ts';
import { deduct, EMPLOYER, LATELY, sync } from '../support/payroll.ts';
import { open, openPayroll } from './runs-stage.ts';
import { AXE, assertFitsPhone, assertGood, openConsole, type Page } from './stage.ts';

const RUN = '/runs/r';
const FINAL = '/runs/before';
const OF_EMPLOYER = `employer_id=${EMPLOYER}`;

const PAGES = [
  ...['/', '/payrolls/accept?check=overlap', '/payrolls/finalize'],
  ...['/runs', `/runs/new?${OF_EMPLOYER}&employee_id=emp-1`],
  ...[RUN, `${RUN}/finalize`, `${RUN}/approve`, `${RUN}/override`, `${RUN}/audit`],
  ...[FINAL, `${FINAL}/taken`, `${FINAL}/void`, `${FINAL}/finalize`],
  ...['/open-items', `/open-items?${OF_EMPLOYER}`, `/open-items/decisions?${OF_EMPLOYER}`],
  ...['/settings', `/settings?${OF_EMPLOYER}`, '/settings?employer_id=unknown'],
  ...[`?${OF_EMPLOYER}`, '?employer_id=new-employer', '?employer_id=unknown'].map(
    (query) => `/settings/setup${query}`,
  ),
  ...['pay-schedule', 'payroll-codes', 'payroll-policy'].map((page) => `/settings/${page}?${OF_EMPLOYER}`),
  ...['/people', '/ledger', '/deductions/ded-1', '/deductions/none', '/employees/emp-1', '/employees/nobody'],
  ...['/events', '/events/evt-second', '/events/evt-broken', '/events/evt-text', '/events/none'],
  ...[
    '/census',
    `/census/${EMPLOYER}`,
    `/files/${EMPLOYER}/deductions`,
    `/files/${EMPLOYER}/payroll`,
    `/cut-over/${EMPLOYER}/people`,
    '/census/unknown',
    '/changes',
    '/changes/none',
    '/audit',
    '/audit/1',
  ],
  ...['/operations', '/notifications', '/sessions', '/help', '/nowhere', '/signed-in'],
];
/** The same pages with other parameters. */
const VARIANTS = [
  ...[`${RUN}?all=true`, `${RUN}?flag=negative`, `${RUN}?employee_id=emp-1`, `${RUN}?search=nobody`],
  ...[`${FINAL}?finalized=true`, `/open-items?${OF_EMPLOYER}&kind=adjustment`],
  ...['/people?employer_id=nobody', '/ledger?employee_id=nobody', '/events?state=ignored'],
  ...['/changes?state=rejected', '/audit?employee_id=nobody'],
];

/**
 * A month with a finalized run, amounts not taken, an open run with a failed check, two quarantined events and
 * one with another body.
 */
async function month(t: Test) {
  const stage = await openPayroll(t);
  const { db, finalized, put, call } = stage;
  await finalized('before', '2026-07-03');
  const lines = [{ employee_id: 'emp-1', amount: '39.23' }];
  await call({ method: 'POST', url: '/v1/payroll-runs/before/taken', body: { lines } });
  await deduct(db, 'evt-second', { id: 'ded-9', employee_id: 'emp-2', employer_contribution: '1205.27' });
  const text = { eventId: 'evt-text', body: Buffer.from('not JSON') };
  await deliver(db, [eventOf('evt-broken', 'employee.deduction-updated', {}), text], LATELY);
  await receive(db, [deductionOf('evt-second', { id: 'another-body' })], LATELY);
  await sync(db, { employer_id: 'new-employer' });
  await put('r', '2026-07-17');
  const left = { employee_id: 'emp-1', termination_date: '2026-12-31' };
  const { json } = await call({ method: 'POST', url: '/v1/employee-changes/termination', body: left });
  return { ...stage, changeId: json.id as string };
}

t.test('a run and an employee are printed in light colors without controls', async (t) => {
  const { signedIn } = await month(t);
  const page = await signedIn({ scheme: 'dark' });
  for (const path of [RUN, '/employees/emp-1']) {
    await open(page, path);
    await page.emulateMedia({ media: 'print' });
    t.equal(await page.locator('nav, form, .actions').filter({ visible: true }).count(), 0, path);
    t.ok(await page.locator('.employee, table').first().isVisible(), path);
    t.notMatch(await page.locator('main').innerText(), /Show all|Open these lines|Report deductions taken/);
    t.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
    await page.emulateMedia({ media: null });
  }
  for (const path of [`/open-items?${OF_EMPLOYER}`, '/events']) {
    await open(page, path);
    await page.emulateMedia({ media: 'print' });
    t.ok(await page.locator('tbody').last().isVisible(), `${path}: rows with boxes to select them`);
    t.equal(await page.locator('button, input').filter({ visible: true }).count(), 0, path);
    await page.emulateMedia({ media: null });
  }
});

t.test('a part that cannot be loaded shows what to do, and the key / opens the search', async (t) => {
  const { signedIn } = await month(t);
  const page = await signedIn({ refusals: true });
  await page.route('**/runs/r/changes', (route) =>
    route.fulfill({
      status: 500,
      headers: { 'hx-retarget': '#message', 'hx-reswap': 'innerHTML' },
      body: 'Error',
    }),
  );
  await page.goto(RUN);
  await page.getByText('This part could not be loaded. Reload the page to try again.').waitFor();
  for (const path of ['/runs', '/open-items?employer_id=acme', '/changes', '/audit', '/census', '/events']) {
    await page.goto(path);
    await page.keyboard.press('/');
    t.ok(await page.evaluate(() => document.activeElement?.matches('form[role=search] input')), path);
  }
});

const COMMAND = /benefits-sidecar [a-z]/;

t.test('no advice names a command', async (t) => {
  for (const { id, advice } of [...LEDGER_CHECKS, ...RUN_CHECKS]) t.notMatch(advice, COMMAND, id);
});

/**
 * Opens a page and returns what it shows once its parts have loaded. A locator would load the driver's script into each
 * page, which takes as long as opening it.
 */
async function shown(page: Page, path: string) {
  await page.goto(path);
  return page.evaluate(async () => {
    while (document.querySelector('[hx-trigger=load]') !== null) await new Promise(requestAnimationFrame);
    const figures = [...document.querySelectorAll('td, .figure, .pays')].map((figure) => ({
      text: (figure.textContent ?? '').trim(),
      align: figure.tagName === 'TD' ? getComputedStyle(figure).textAlign : 'right',
    }));
    return { text: (document.querySelector('main') as HTMLElement).innerText, figures };
  });
}

type Figures = Awaited<ReturnType<typeof shown>>['figures'];

/** Asserts that every amount is formatted, and right-aligned in tables. Returns the amounts. */
function assertAmounts(t: Test, figures: Figures, path: string): string[] {
  const amounts = figures.filter(({ text }) => /^-?\$/.test(text));
  const bare = figures.filter(({ text }) => /^[+-]?[\d,]+\.\d\d\b/.test(text));
  t.strictSame(bare, [], `${path}: a bare amount`);
  const isFormatted = /^-?\$\d{1,3}(,\d{3})*\.\d\d/;
  const wrong = amounts.filter(({ text, align }) => !isFormatted.test(text) || align !== 'right');
  t.strictSame(wrong, [], path);
  return amounts.map(({ text }) => text);
}

/** Resources of the month. */
const IDS: Readonly<Record<string, string>> = {
  ...{ run_id: 'r', record_id: '1', event_id: 'evt-second', deduction_id: 'ded-1' },
  ...{ employee_id: 'emp-1', employer_id: EMPLOYER },
};

t.test('the list of pages has every page', async (t) => {
  const { app, tokenWith, changeId } = await month(t);
  const headers = { authorization: `Bearer ${await tokenWith('all')}` };
  const listed = [...PAGES, `/changes/${changeId}`].map((path) => path.split('?')[0] as string);
  const routes = app.routeTable.routes.filter(({ hidden, methods }) => hidden && methods.includes('GET'));
  let pages = 0;
  for (const { url: pattern } of routes) {
    if (/^\/(assets|docs|live|sign-in)/.test(pattern)) continue;
    const url = pattern.replace(/:(\w+)/g, (_, name: string) => IDS[name] ?? changeId);
    const { statusCode, body } = await app.inject({ url, headers });
    // A part of a page is no document, and some parts need parameters.
    if (statusCode !== 200 || !body.startsWith('<!doctype html>')) continue;
    pages += 1;
    const isListed = listed.some((path) => new RegExp(`^${pattern.replace(/:\w+/g, '[^/]+')}$`).test(path));
    t.ok(isListed, `${pattern} is a page: add it to PAGES`);
  }
  t.ok(pages > 20, `${pages} pages`);
});

t.test('every page is accessible, fits a phone, formats amounts and names no command', async (t) => {
  const { signedIn, changeId } = await month(t);
  const page = await signedIn({ refusals: true });
  await page.addInitScript(AXE);
  const amounts: string[] = [];
  for (const path of [...PAGES, `/changes/${changeId}`, ...VARIANTS]) {
    const { text, figures } = await shown(page, path);
    t.notMatch(text, COMMAND, path);
    amounts.push(...assertAmounts(t, figures, path));
    if (VARIANTS.includes(path)) await assertFitsPhone(t, page, path);
    else await assertGood(t, page, path);
  }
  t.ok(amounts.some((text) => text.startsWith('$1,205.27')));
});

/** The scopes of the routes that a token with the scope `metrics:read` may use. */
const PERMITTED = ['public', 'any', 'self', 'metrics:read'];

t.test('every route of the console refuses a token without its scope', async (t) => {
  const { app, tokenWith } = await openConsole(t);
  const headers = { authorization: `Bearer ${await tokenWith('metrics:read')}` };
  const routes = app.routeTable.routes.filter(
    ({ hidden, scope }) => hidden && !PERMITTED.includes(String(scope)),
  );
  t.ok(routes.length > 40);
  for (const { methods, url: pattern } of routes) {
    const [method = '', url] = [methods[0], pattern.replace(/:[a-z_]+/g, 'unknown')];
    const { statusCode } = await app.inject({ method: method as 'GET', url, headers });
    t.equal(statusCode, 403, `${method} ${pattern}`);
  }
});

t.test('a token that only reads sees no button, and no link to what it may not read', async (t) => {
  const { signedIn, tokenWith, changeId } = await month(t);
  for (const [scope, ...paths] of [
    ['census:read', '/census', `/census/${EMPLOYER}`, '/census/unknown'],
    ['events:read', '/events?state=quarantined', '/events/evt-broken'],
    ['changes:read', `/changes/${changeId}?body=true`],
    ['runs:read', '/runs', RUN, FINAL, `/settings?${OF_EMPLOYER}`, `/open-items?${OF_EMPLOYER}`],
  ]) {
    const page = await signedIn({ token: await tokenWith(scope as string), refusals: true });
    for (const path of paths) {
      await open(page, path as string);
      const main = page.getByRole('main');
      const buttons = (await main.getByRole('button').allTextContents()).join();
      t.match(buttons, /^(Show)?(,Find)?(,Verify)?$/, path);
      t.equal(await main.getByRole('checkbox').count(), 0, path);
      t.equal(await main.locator('form[hx-post$="/decide"]').count(), 0, path);
      const changing = main.getByRole('link', { name: /^(Edit|Add|New|Copy|Finalize|Void|Report|Override)/ });
      t.equal(await changing.count(), 0, path);
      const ledger = page.locator('a[href^="/ledger"], a[href^="/deductions"], a[href^="/employees"]');
      t.equal(await ledger.count(), 0, path);
    }
  }
});
