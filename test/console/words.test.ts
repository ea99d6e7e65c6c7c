/** Walks all pages of the console and checks their words and amounts. */
import t from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { LEDGER_CHECKS } from '../../src/readiness/report.ts';
import { RUN_CHECKS } from '../../src/readiness/run-report.ts';
import { deductionOf, deliver, eventOf, receive } from '../api/deliver.ts';
import { deduct } from '../support/payroll.ts';
import { open, openPayroll } from './runs-stage.ts';
import type { Page } from './stage.ts';

const COMMAND = /benefits-sidecar [a-z]/;

t.test('no advice names a command', async (t) => {
  for (const { id, advice } of [...LEDGER_CHECKS, ...RUN_CHECKS]) t.notMatch(advice, COMMAND, id);
});

/** Returns the kind of page that a path leads to. */
const pageOf = (path: string) => path.replace(/[?#].*/, '').replace(/\/[^/]*\d[^/]*(?=\/|$)/g, '/:id');

/** Visits every kind of page that links lead to, starting at the overview. */
async function walk(page: Page, look: (path: string) => Promise<void>): Promise<string[]> {
  const seen = new Set<string>();
  const paths = ['/'];
  for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
    if (seen.has(pageOf(path))) continue;
    seen.add(pageOf(path));
    await open(page, path);
    await look(path);
    const links = await page
      .locator('a[href^="/"]')
      .evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''));
    paths.push(...links.filter((link) => !/^\/(v1|docs|openapi)|\.csv/.test(link)));
  }
  return [...seen];
}

t.test('no page names a command, and every amount is formatted and right-aligned', async (t) => {
  const stage = await openPayroll(t);
  const { db, call, put, finalized, signedIn } = stage;
  await finalized('r1', '2026-07-03');
  await deduct(db, 'evt-second', { id: 'ded-9', employee_id: 'emp-1', employer_contribution: '1205.27' });
  await deliver(db, [
    eventOf('evt_asks_1', 'employee-census.sync-request', { employer_id: 'acme' }),
    eventOf('evt_wrong_1', 'employee.deduction-updated', {}),
    deductionOf('evt_unmatched_1', { id: 'ded-8', employee_id: 'stranger-1' }),
  ]);
  await receive(db, [deductionOf('evt_waits_1', { id: 'ded-7' })]);
  await call({
    method: 'POST',
    url: '/v1/employee-changes/termination',
    body: { employee_id: 'emp-1', termination_date: '2026-12-31' },
  });
  const paused = {
    state: 'paused',
    reason: 'the service responded with 401',
    paused_at: '2026-07-01T00:00:00.000Z',
    next_probe_at: '2027-01-01T00:00:00.000Z',
  } as const;
  await transact(db, (trx) => trx.updateTable('circuit_breaker').set(paused).execute());
  await put('r2', '2026-07-17');

  const page = await signedIn();
  const amounts: string[] = [];
  const seen = await walk(page, async (path) => {
    t.notMatch(await page.locator('main').innerText(), COMMAND, path);
    const found = await page
      .locator('td, .figure, .pays')
      .evaluateAll((all) =>
        all.map((one) => ({
          text: (one.textContent ?? '').trim(),
          align: getComputedStyle(one).textAlign,
          isCell: one.tagName === 'TD',
        })),
      );
    for (const { text, align, isCell } of found) {
      t.notMatch(text, /^[+-]?[\d,]+\.\d\d\b/, `${path}: a bare amount`);
      if (!/^-?\$/.test(text)) continue;
      amounts.push(text);
      t.match(text, /^-?\$\d{1,3}(,\d{3})*\.\d\d/, path);
      if (isCell) t.equal(align, 'right', `${path}: ${text}`);
    }
  });
  t.ok(amounts.some((text) => text.startsWith('$1,205.27')));
  for (const kind of [
    '/events/:id',
    '/deductions/:id',
    '/employees/:id',
    '/runs/:id',
    '/runs/:id/finalize',
    '/settings',
    '/changes/:id',
  ])
    t.ok(seen.includes(kind), `${kind} in ${seen.join(' ')}`);
});
