import t from 'tap';
import { deductionOf, deliver } from '../api/deliver.ts';
import { report } from '../employment/stage.ts';
import { encryptor } from '../outbox/parts.ts';
import { employ, schedule, setSchedules } from '../support/payroll.ts';
import { listed, put } from './deductions.ts';
import { cells } from './runs-stage.ts';
import { follow, HOSTILE, openConsole } from './stage.ts';

t.test('deductions can be filtered, and the filters are kept in the address', async (t) => {
  const { db, opened } = await openConsole(t);
  await employ(db, 'emp-1', { employer_id: 'one' });
  await employ(db, 'emp-2', { employer_id: 'two' });
  await put(db, 'd1', 'emp-1', { effective_start: '2026-01-01', effective_end: '2026-01-31' });
  await put(db, 'd2', 'emp-2', { line_of_coverage: 'dental', taxability: 'post_tax' });
  await put(db, 'd3', 'stranger', { line_of_coverage: 'hsa' }, '2026-01-20T00:00:00Z');
  const page = await opened('/ledger', { refusals: true });
  t.strictSame(await listed(page), ['d1', 'd2', 'd3']);
  const by = (label: string) => page.getByLabel(label, { exact: true });
  const shown = async (query: string) => {
    await page.goto(`/ledger?${query}`);
    return listed(page);
  };
  await page.getByText('Filters', { exact: true }).click();
  await by('Line of coverage').selectOption('HSA');
  await by('Roster').selectOption('Not in the roster');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL('**/ledger?*');
  t.strictSame(await listed(page), ['d3']);
  t.strictSame(await shown('employer_id=one'), ['d1']);
  t.strictSame(await shown('employee_id=emp-2'), ['d2']);
  t.strictSame(await shown('taxability=post_tax'), ['d2']);
  t.equal(await page.getByRole('note').count(), 0, 'no notice for today');
  t.strictSame(await shown('on=2026-02-01'), ['d2', 'd3']);
  t.match(await page.getByRole('note').textContent(), 'deductions in effect on Feb 1, 2026');
  await by('As known at').fill('2026-01-15T00:00');
  await by('In effect on').fill('');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL('**/ledger?*known_at*');
  t.strictSame(await listed(page), ['d1', 'd2']);
  t.match(await page.getByRole('note').textContent(), /Past state.*as known at Jan 15, 2026, 12:00:00 AM/s);
  t.equal(await by('As known at').inputValue(), '2026-01-15T00:00', 'the form keeps what was asked');
  await page.goto('/ledger?employer_id=one&on=2026-02-01');
  t.match(await page.getByRole('main').textContent(), 'No matching deductions at that time');
  await follow(page, page.getByRole('link', { name: 'today’s deductions with the same filters' }));
  t.strictSame(await listed(page), ['d1']);
  await page.goto('/ledger?on=2026-02-30');
  t.match(await page.getByRole('main').textContent(), 'must be a real date');
});

t.test('a row shows coverage, amounts, dates and the state on the day', async (t) => {
  const { db, opened } = await openConsole(t);
  await employ(db, 'emp-1');
  await put(db, 'd1', 'emp-1', {
    member_contribution: '150.0',
    coverage_type: 'member_family',
    effective_start: '2026-03-01T05:31:56Z',
    effective_end: '2026-12-31',
  });
  const page = await opened('/ledger');
  const row = [
    ...['emp-1', 'acme', 'medicalmember family, pre-tax', '$150.00monthly', '$350.00monthly'],
    ...['from Mar 1, 2026to Dec 31, 2026', 'starts Mar 1, 2026', 'd1'],
  ];
  t.strictSame(await cells(page, 'Deductions by employee'), [row]);
  await page.goto('/ledger?on=2026-03-01');
  t.equal((await cells(page, 'Deductions by employee'))[0]?.[6], 'in effect');
});

t.test('an employee with no employer or two is marked, with advice', async (t) => {
  const { db, call, opened } = await openConsole(t);
  await employ(db, 'two', { employer_id: 'a' });
  await employ(db, 'two', { employer_id: 'b' });
  await put(db, 'd1', 'two');
  await put(db, 'd2', 'lost');
  const page = await opened('/ledger');
  const employers = (await cells(page, 'Deductions by employee')).map((row) => row[1]);
  t.strictSame(employers, ['unmatched', 'two employers']);
  const advice = /unmatched .*Upload a census.*two employers .*report the termination/s;
  t.match(await page.getByRole('main').textContent(), advice);
  await page.goto('/employees/lost');
  t.match(await page.getByRole('main').textContent(), 'contact the benefits service');
  const skipped = async () => {
    await page.goto('/employees/two');
    return page.getByText('payroll runs skip the deduction').count();
  };
  t.equal(await skipped(), 1);
  const body = { employer_id: 'a', reason: 'a test' };
  t.match(await call({ method: 'PUT', url: '/v1/deductions/d1/employer', body }), { status: 201 });
  t.equal(await skipped(), 0, 'runs of the assigned employer take it');
  const records = (await cells(page, 'Actions, newest first')).map(([action, _time, _by, at]) => [
    action,
    at,
  ]);
  const assigned = 'Deduction assigned to an employer';
  t.strictSame(records.toSorted(), [
    [assigned, 'a'],
    [assigned, 'b'],
  ]);
});

t.test('the next page of a list keeps its filters', async (t) => {
  const { db, opened } = await openConsole(t);
  const many = Array.from({ length: 120 }, (_, index) => `d${String(index).padStart(3, '0')}`);
  const events = many.map((id) => deductionOf(`evt-${id}`, { id, employee_id: 'emp-1' }));
  await deliver(db, events);
  const page = await opened('/ledger?employee_id=emp-1');
  const seen = await listed(page);
  while ((await page.getByRole('link', { name: 'Next page' }).count()) > 0) {
    await follow(page, page.getByRole('link', { name: 'Next page' }));
    t.match(page.url(), 'employee_id=emp-1');
    seen.push(...(await listed(page)));
  }
  t.strictSame(seen, many);
});

t.test('everything can be reached with the keyboard', async (t) => {
  const { db, opened } = await openConsole(t);
  await put(db, 'd1', 'emp-1');
  const page = await opened('/ledger');
  await page.getByText('Filters', { exact: true }).focus();
  await page.keyboard.press('Enter');
  const reached = new Set<string>();
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press('Tab');
    const name = await page.evaluate(() => {
      const focused = document.activeElement;
      return focused?.getAttribute('name') ?? focused?.getAttribute('aria-label') ?? focused?.textContent;
    });
    reached.add(name ?? '');
  }
  const names = ['employer_id', 'matched', 'known_at', 'Show', 'Deductions by employee', 'd1', 'emp-1'];
  for (const name of names) t.ok(reached.has(name), `${name} is reached`);
});

/** Ids that could break a path, a query or a page. */
const IDS = ['a/b ..x Zoë 🙂 50% %2F', HOSTILE];

t.test('any id opens its deduction or employee', async (t) => {
  const { db, signedIn } = await openConsole(t);
  for (const id of IDS) await put(db, `ded ${id}`, id);
  await put(db, 'both', 'both');
  await put(db, '.', '..');
  const page = await signedIn({ refusals: true });
  const find = async (text: string, group: string, id = text) => {
    await page.goto('/help');
    await page.getByLabel('Name or ID').fill(text);
    await page.getByLabel(group).getByText(id, { exact: true }).first().click();
    await page.waitForURL(({ pathname }) => pathname !== '/help');
    return page.getByRole('heading', { level: 1 }).textContent();
  };
  for (const id of IDS) {
    t.equal(await find(id, 'People'), `Employee ${id}`);
    await page.getByRole('link', { name: `ded ${id}`, exact: true }).click();
    t.equal(await page.getByRole('heading', { level: 1 }).textContent(), `Medical of ${id}`);
    await page.getByRole('link', { name: id, exact: true }).click();
    t.equal(await page.getByRole('heading', { level: 1 }).textContent(), `Employee ${id}`);
  }
  t.equal(await find(' both ', 'Deductions', 'both'), 'Medical of both', 'spaces around it are ignored');
  t.equal(
    await find('..', 'People'),
    'Deductions',
    'an id that does not fit into a URL opens its deductions',
  );
  t.strictSame(await listed(page), ['.']);
  t.equal(await page.getByRole('link', { name: '.', exact: true }).count(), 0);
});

t.test('an employee page shows employment, deductions, changes, open items and their sources', async (t) => {
  const { db, opened, tokenWith } = await openConsole(t, { encryptor });
  await employ(db, 'emp-1', { pay_group: HOSTILE });
  const earlier = { hire_date: '2015-01-01', termination_date: '2019-12-31' };
  await employ(db, 'emp-1', { employer_id: 'before', ...earlier });
  await put(db, 'd1', 'emp-1', { description: HOSTILE });
  const change = await report(db, 'termination', 'emp-1', {
    clock: () => new Date('2026-01-15T00:00:00Z'),
    fields: { termination_date: '2026-02-28' },
  });
  const page = await opened('/employees/emp-1');
  t.strictSame(await cells(page, 'Employment'), [
    ['acme', 'employed', 'Jan 1, 2020', 'Feb 28, 2026', 'full time', 'biweekly', HOSTILE],
    ['before', 'ended', 'Jan 1, 2015', 'Dec 31, 2019', 'full time', 'biweekly', '–'],
  ]);
  const history = await cells(page, 'Roster reports, newest first');
  const reported = ['4', 'acme', 'Jan 15, 2026', 'termination date: Feb 28, 2026'];
  t.match(history[0], [...reported, `termination ${change}`, String]);
  t.match(history[2]?.[3], `pay group: ${HOSTILE}`);
  t.equal(await page.getByRole('link', { name: 'Termination' }).getAttribute('href'), `/changes/${change}`);
  t.match(await page.getByRole('main').textContent(), 'No open items');
  t.equal(await page.title(), 'Employee emp-1 · benefits-sidecar');

  const other = await opened('/employees/emp-1', { token: await tokenWith('ledger:read') });
  t.match(await other.getByRole('main').textContent(), 'changes (changes:read) and open items (runs:read)');
  t.equal(await other.getByRole('link', { name: change }).count(), 0);
  t.equal(await other.getByRole('table', { name: 'Employment changes' }).count(), 0);
});

t.test('an unknown pay frequency is shown as the frequency of the only pay schedule', async (t) => {
  const { db, html } = await openConsole(t);
  await employ(db, 'emp-1', { pay_frequency: null });
  await put(db, 'd1', 'emp-1');
  await setSchedules(db, [schedule()]);
  const frequency = async () =>
    /data-title="Pay frequency">.*?<\/td>/s.exec(await html('/employees/emp-1'))?.[0];
  t.match(await frequency(), /biweekly<.*the employer’s only pay schedule/s);
  await setSchedules(db, [schedule(), schedule({ pay_group: 'north' })]);
  t.match(await frequency(), />unknown</);
});

t.test('an unknown employee or deduction returns 404', async (t) => {
  const { base, cookie, html, tokenWith } = await openConsole(t);
  const headers = { cookie: await cookie() };
  for (const path of ['/employees/nobody', '/deductions/nothing']) {
    const response = await fetch(base + path, { headers });
    t.equal(response.status, 404);
    t.match(await response.text(), 'pending or quarantined');
  }
  const advice = async (token?: string) =>
    /its (.*?) may be pending/.exec(await html('/employees/nobody', token))?.[1];
  t.equal(await advice(), '<a href="/events">event</a>');
  t.equal(await advice(await tokenWith('ledger:read')), 'event');
});
