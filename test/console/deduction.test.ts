import t from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { employ } from '../support/payroll.ts';
import { put } from './deductions.ts';
import { cells, openPayroll, unfold } from './runs-stage.ts';
import { assertFits, follow, HOSTILE, openConsole, type Page, type Stage } from './stage.ts';

/** Delivers a version of `ded-1`, sent and recorded on the given days. */
const version = (db: Db, eventId: string, fields: object, sent: string, learned = sent) =>
  deliver(
    db,
    [deductionOf(eventId, { id: 'ded-1', employee_id: 'emp-1', ...fields }, `${sent}T00:00:00Z`)],
    `${learned}T00:00:00.000Z`,
  );

/** 150.00, then 175.00 from March on, then a late version: 160.00 for February. */
async function threeVersions(db: Db): Promise<void> {
  await employ(db, 'emp-1');
  await version(db, 'evt-1', { effective_start: '2026-01-01' }, '2025-12-01');
  await version(db, 'evt-2', { effective_start: '2026-03-01', member_contribution: '175.00' }, '2026-01-20');
  const late = { effective_start: '2026-02-01', effective_end: '2026-02-28', member_contribution: '160.00' };
  await version(db, 'evt-3', late, '2026-01-10', '2026-01-25');
}

const rows = (page: Page) => cells(page, 'Versions, newest first');

t.test('a deduction shows its latest state and its versions', async (t) => {
  const { db, opened } = await openConsole(t);
  await threeVersions(db);
  const page = await opened('/deductions/ded-1');
  const said = await page.getByRole('main').textContent();
  t.match(said, '$175.00 monthly from the employee, $350.00 from the employer, pre-tax, medical, from Mar 1');
  t.match(said, 'starts Mar 1, 2026');
  t.match(await rows(page), [
    [
      ...['3 late', 'evt-3'],
      'Late: version 2 stays the latest. Compared with version 1:employee contribution: $150.00 → $160.00start date: Jan 1, 2026 → Feb 1, 2026end date: none → Feb 28, 2026',
      ...['$160.00monthly', '$350.00', 'from Feb 1, 2026to Feb 28, 2026'],
      'Jan 10, 2026, 12:00:00 AM sentrecorded Jan 25, 2026, 12:00:00 AM, position 4',
    ],
    [
      ...[
        '2 latest',
        'evt-2',
        'employee contribution: $150.00 → $175.00start date: Jan 1, 2026 → Mar 1, 2026',
      ],
      ...['$175.00monthly', '$350.00', 'from Mar 1, 2026no end date', String],
    ],
    [
      ...['1', 'evt-1', 'first version'],
      ...['$150.00monthly', '$350.00', 'from Jan 1, 2026no end date', String],
    ],
  ]);
  const event = page.getByRole('table', { name: 'Versions' }).getByRole('link', { name: 'evt-2' });
  t.equal(await event.getAttribute('href'), '/events/evt-2');
});

t.test('a day and a known-at time mark the version in effect and those not known then', async (t) => {
  const { db, opened } = await openConsole(t);
  await threeVersions(db);
  const page = await opened('/deductions/ded-1');
  const note = () => page.getByRole('note').textContent();
  await page.getByLabel('In effect on', { exact: true }).fill('2026-02-15');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL('**/deductions/ded-1?*');
  t.match(await note(), /On Feb 15, 2026: \$160\.00 monthly .*\(version 3\)/);
  await page.getByLabel('As known at').fill('2026-01-22T00:00');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL('**/deductions/ded-1?*known_at*');
  t.match(await note(), /On Feb 15, 2026, as known at Jan 22, 2026, 12:00:00 AM: \$150\.00 .*\(version 1\)/);
  const shown = (await rows(page)).map(([name]) => name);
  t.strictSame(shown, ['3 not known then late', '2 latest', '1 in effect then']);
  await page.goto('/deductions/ded-1?known_at=2026-01-22T00:00');
  t.match(await note(), /Latest state, as known at .*175\.00 .*\(version 2\)/);
  await page.goto('/deductions/ded-1?on=2025-06-01');
  t.match(await note(), 'not in effect');
  await page.goto('/deductions/ded-1?known_at=2025-06-01T00:00');
  t.match(await note(), 'not known yet');
  await follow(page, page.getByRole('link', { name: 'Back to today' }));
  t.equal(await page.getByRole('note').count(), 0);
});

t.test(
  'a deduction starts with what payroll deducts now and why, and its versions with the days in effect',
  async (t) => {
    const { db, opened, finalized } = await openPayroll(t);
    await finalized('before', '2026-07-03');
    await version(
      db,
      'evt-raise',
      { effective_start: '2026-07-10', member_contribution: '200' },
      '2026-07-05',
    );
    await version(
      db,
      'evt-later',
      { effective_start: '2026-09-01', member_contribution: '240' },
      '2026-07-08',
    );
    await version(
      db,
      'evt-same',
      { effective_start: '2026-09-01', member_contribution: '250' },
      '2026-07-09',
    );
    const page = await opened('/deductions/ded-1');
    const now = page.getByRole('region', { name: 'What payroll deducts now' });
    t.match(
      await now.textContent(),
      /Payroll deducts \$200\.00 monthly.* from Jul 10, 2026 through Aug 31, 2026\.\s*Because of event evt-raise, which changed:\s*employee contribution: \$150\.00 → \$200\.00.*Then: \$250\.00 monthly.*because of event evt-same/s,
    );
    const effective = (await rows(page)).map(([name, , , , , dates]) => [name, dates]);
    t.match(effective, [
      ['4 latest', 'from Sep 1, 2026no end date'],
      ['3 in effect on no date', 'from Sep 1, 2026no end date'],
      ['2', /no end date.*in effect from Jul 10, 2026 through Aug 31, 2026$/],
      ['1', /in effect from .* through Jul 9, 2026$|in effect through Jul 9, 2026$/],
    ]);
  },
);

t.test('a replaced placeholder was deducted through the day before its deduction starts', async (t) => {
  const { db, opened } = await openPayroll(t);
  const id = 'placeholder:emp-1:vision:pre_tax';
  const terms = { line_of_coverage: 'vision', taxability: 'pre_tax' };
  await put(db, id, 'emp-1', { ...terms, effective_start: '2026-01-01' });
  await put(db, 'ded-vision', 'emp-1', { ...terms, effective_start: '2026-07-01' });
  const page = await opened(`/deductions/${encodeURIComponent(id)}`);
  const now = page.getByRole('region', { name: 'What payroll deducts now' });
  t.match(await now.textContent(), 'Payroll deducts nothing: the deduction ended on Jun 30, 2026.');
});

t.test('a long list of versions continues on the next page', async (t) => {
  const { db, opened } = await openConsole(t);
  const numbers = Array.from({ length: 120 }).map((_, index) => index + 1);
  const events = numbers.map((n) => {
    const sent = new Date(Date.UTC(2026, 0, 10, 0, 0, n)).toISOString();
    return deductionOf(`evt-${n}`, { id: 'ded-1', member_contribution: `${n}.00` }, sent);
  });
  await deliver(db, events);
  const page = await opened('/deductions/ded-1');
  const names = async () => (await rows(page)).map(([name]) => Number.parseInt(name ?? '', 10));
  const seen = await names();
  t.match((await rows(page)).at(-1)?.[2], '$70.00 → $71.00', 'changes are compared across pages');
  while ((await page.getByRole('link', { name: 'Next page' }).count()) > 0) {
    await page.getByRole('link', { name: 'Next page' }).click();
    seen.push(...(await names()));
  }
  t.strictSame(seen.toReversed(), numbers);
});

t.test('received text is never markup', async (t) => {
  const { db, opened } = await openConsole(t);
  const fields = { employee_id: HOSTILE, description: HOSTILE };
  await version(db, HOSTILE, fields, '2026-01-01');
  await version(db, 'evt-2', { ...fields, description: 'x'.repeat(4_000) }, '2026-01-02');
  await version(db, 'evt-3', { ...fields, member_contribution: '9'.repeat(40) }, '2026-01-03');
  const page = await opened('/deductions/ded-1');
  t.equal(await page.title(), `Medical of ${HOSTILE} · benefits-sidecar`);
  t.equal(await page.getByRole('link', { name: HOSTILE }).first().textContent(), HOSTILE);
  t.equal(await page.locator('main img:not([src*="data:"])').count(), 0);
  t.match((await rows(page))[1]?.[2], `description: ${HOSTILE} → xxx`);
  await page.setViewportSize({ width: 360, height: 800 });
  await assertFits(t, page, 'a deduction with long texts');
});

const TELEPHONE = { width: 360, height: 700 };
const openPhone = async ({ signedIn }: Pick<Stage, 'signedIn'>, path: string) => {
  const page = await signedIn({ width: TELEPHONE.width });
  await page.setViewportSize(TELEPHONE);
  await page.goto(path);
  return page;
};
/** The maximum height above the content of a page, of 700 px. */
const HEADER_HEIGHT_MAX = 130;

t.test('on a phone the header is small, with the user in a row below the page links', async (t) => {
  const page = await openPhone(await openConsole(t), '/');
  const box = async (selector: string) => await page.locator(selector).boundingBox();
  const [header, brand] = [(await box('header.top'))!, (await box('.brand'))!];
  const [out, pages] = [(await box('.user button'))!, (await box('nav[aria-label="Pages"]'))!];
  t.ok(header.height <= HEADER_HEIGHT_MAX, `it is ${header.height} px high`);
  t.ok(pages.y >= brand.y + brand.height, 'the page links are below the brand');
  t.ok(out.y >= pages.y + pages.height, 'the user is below the page links');
  t.equal(await page.locator('nav[aria-label="Pages"] a').count(), 10);
  for (const link of await page.locator('nav[aria-label="Pages"] a').all()) {
    const at = await link.boundingBox();
    t.ok(at !== null && at.x >= 0 && at.x + at.width <= TELEPHONE.width, 'each link is on the screen');
  }
  await page.locator('nav[aria-label="Pages"] a').first().focus();
  await page.keyboard.press('Tab');
  t.equal(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'solid');
});

t.test('on a phone the ledger shows coverage and amounts without scrolling', async (t) => {
  const stage = await openConsole(t);
  const id = 'ded_2f6b1c9e-77aa-4f0e-9a55-0d2f8c1e4b7a';
  await employ(stage.db, 'emp-1');
  await put(stage.db, id, 'emp-1', { member_contribution: '123.45' });
  const page = await openPhone(stage, '/ledger');
  for (const text of ['medical', '$123.45', '$350.00']) {
    const at = await page.getByRole('table').getByText(text, { exact: true }).boundingBox();
    t.ok(at !== null && at.x + at.width <= TELEPHONE.width && at.y < TELEPHONE.height, `${text} is seen`);
  }
  await page.goto('/ledger?taxability=pre_tax&employer_id=acme');
  await page.locator('details[open] > summary', { hasText: 'Filters' }).waitFor();
  t.equal(await page.getByLabel('Employer', { exact: true }).isVisible(), true, 'active filters are open');
});

t.test('on a phone each table of a run shows the employee amounts', async (t) => {
  const stage = await openPayroll(t);
  await stage.put('run-1', '2026-07-17');
  const page = await openPhone(stage, '/runs/run-1');
  await unfold(page, 'By line of coverage');
  const pays = page.locator('.stacked [data-title="Employee amount"]');
  await pays.first().waitFor();
  for (const cell of await pays.all()) {
    const at = await cell.boundingBox();
    t.ok(at !== null && at.x + at.width <= TELEPHONE.width);
  }
});
