import t from 'tap';
import { employ } from '../support/payroll.ts';
import { put } from './deductions.ts';
import { openPayroll } from './runs-stage.ts';
import { assertAccessible, assertFits, openConsole } from './stage.ts';

const TELEPHONE = { width: 360, height: 700 };
/** The maximum height above the content of a page, of 700 px. */
const HEADER_HEIGHT_MAX = 120;

t.test('on a phone the header is small, with the brand and the user in one row', async (t) => {
  const { signedIn } = await openConsole(t);
  const page = await signedIn({ width: 360 });
  await page.setViewportSize(TELEPHONE);
  await page.goto('/');
  const box = async (selector: string) => await page.locator(selector).boundingBox();
  const [header, brand, out, pages] = [
    await box('header.top'),
    await box('.brand'),
    await box('.user button'),
    await box('nav[aria-label="Pages"]'),
  ];
  t.ok(header !== null && header.height <= HEADER_HEIGHT_MAX, `it is ${header?.height} px high`);
  t.ok(brand && out && pages);
  if (brand === null || out === null || pages === null) return;
  t.ok(Math.abs(brand.y + brand.height / 2 - (out.y + out.height / 2)) < 4, 'one row');
  t.ok(pages.y >= out.y + out.height, 'the page links are below it');
  t.equal(await page.locator('nav[aria-label="Pages"] a').count(), 6);
  for (const link of await page.locator('nav[aria-label="Pages"] a').all()) {
    const at = await link.boundingBox();
    t.ok(at !== null && at.x >= 0 && at.x + at.width <= TELEPHONE.width, 'each link is on the screen');
  }
  await page.locator('nav[aria-label="Pages"] a').first().focus();
  await page.keyboard.press('Tab');
  t.equal(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'solid');
});

t.test('on a phone the ledger shows coverage and amounts without scrolling', async (t) => {
  const { db, signedIn } = await openConsole(t);
  const id = 'ded_2f6b1c9e-77aa-4f0e-9a55-0d2f8c1e4b7a';
  await employ(db, 'emp-1');
  await put(db, id, 'emp-1', { member_contribution: '123.45' });
  const page = await signedIn({ width: 360 });
  await page.setViewportSize(TELEPHONE);
  await page.goto('/ledger');
  for (const text of ['medical', '$123.45', '$350.00']) {
    const at = await page.getByRole('table').getByText(text, { exact: true }).boundingBox();
    t.ok(at !== null && at.x + at.width <= TELEPHONE.width && at.y < TELEPHONE.height, `${text} is seen`);
  }
  await assertFits(t, page, 'the ledger');
  await assertAccessible(t, page, 'the ledger on a phone');
  await page.goto('/ledger?taxability=pre_tax&employer_id=acme');
  await page.getByText('Filters: Employer ID acme, pre-tax').waitFor();
  t.equal(await page.getByLabel('Employer id').isVisible(), true, 'active filters are open');
});

t.test('on a phone each table of a run shows the employee amounts', async (t) => {
  const { put: putRun, signedIn } = await openPayroll(t);
  await putRun('run-1', '2026-07-17');
  const page = await signedIn({ width: 360 });
  await page.setViewportSize(TELEPHONE);
  await page.goto('/runs/run-1');
  const pays = page.locator('.stacked [data-title="Employee amount"]');
  await pays.first().waitFor();
  for (const cell of await pays.all()) {
    const at = await cell.boundingBox();
    t.ok(at !== null && at.x + at.width <= TELEPHONE.width);
  }
  await assertAccessible(t, page, 'a run on a phone');
});

t.test('on a phone the timeline starts at the version that applies', async (t) => {
  const { db, signedIn } = await openConsole(t);
  await put(db, 'd1', 'emp-1', { effective_start: '2020-01-01', effective_end: '2020-12-31' });
  await put(db, 'd1', 'emp-1', { effective_start: '2026-11-01' }, '2026-01-11T00:00:00Z');
  const page = await signedIn({ width: 360 });
  await page.setViewportSize(TELEPHONE);
  await page.goto('/deductions/d1');
  await page.waitForFunction(() => (document.querySelector('.timeline-scroll')?.scrollLeft ?? 0) > 0);
  const [scroll, bar] = [
    await page.locator('.timeline-scroll').boundingBox(),
    await page.locator('.timeline-scroll path.latest').boundingBox(),
  ];
  t.ok(scroll && bar && bar.x >= scroll.x && bar.x < scroll.x + scroll.width, 'its start is visible');
  await assertFits(t, page, 'a deduction');
  await assertAccessible(t, page, 'a deduction on a phone');
});

t.test('the versions fit a usual screen', async (t) => {
  const { db, signedIn } = await openConsole(t);
  const id = '2f6b1c9e-77aa-4f0e-9a55-0d2f8c1e4b7a';
  for (const day of [10, 11, 12]) {
    const fields = { member_contribution: `1${day}.00`, effective_start: `2026-03-${day}T00:00:00.000Z` };
    await put(db, id, 'emp-1', fields, `2026-01-${day}T00:00:00Z`);
  }
  const page = await signedIn();
  await page.goto(`/deductions/${id}`);
  const { content, width } = await page
    .getByRole('region', { name: 'Versions' })
    .evaluate((region) => ({ content: region.scrollWidth, width: region.clientWidth }));
  t.ok(content <= width, `the table needs ${content} of ${width}`);
});
