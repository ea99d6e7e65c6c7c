/** Malformed forms, forms sent twice, and concurrent edits. */
import t, { type Test } from 'tap';
import { FORM_FIELDS_MAX } from '../../src/console/forms.ts';
import { COVERAGE_TYPES, LINES_OF_COVERAGE, TAXABILITIES } from '../../src/contract/deduction.ts';
import { transact } from '../../src/database/transaction.ts';
import { DATES_MAX } from '../../src/formats/pay-date-proposal.ts';
import { CODES_MAX } from '../../src/formats/payroll-code.ts';
import { putSchedules } from '../../src/payroll/settings/schedules.ts';
import { NOW } from '../api/start.ts';
import { employee, organization } from '../contract/samples.ts';
import { acting } from '../support/audit.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { eventually } from '../support/eventually.ts';
import { employ, schedule, setSchedules } from '../support/payroll.ts';
import { assertFits, csrfOf, openConsole, type Page } from './stage.ts';

const CODES = '/v1/employers/acme/payroll-codes';
/**
 * The maximum CPU time of a page: 300 ms, with reserve for a slow machine. The server runs in this process.
 */
const QUICK_MS = 300 * 3;

async function opened(t: Test) {
  const stage = await openConsole(t);
  await employ(stage.db, 'e');
  const page = await stage.opened('/');
  const cookie = await stage.cookie();
  const form = {
    ...(await csrfOf(stage.base, cookie)),
    'hx-request': 'true',
    'content-type': 'application/x-www-form-urlencoded',
  };
  /** Requests as the signed-in page would, but without the browser. Returns the CPU time of the response. */
  const get = async (path: string, options: RequestInit = { headers: { cookie } }) => {
    const { result, cpuMs } = await cpuTime(async () => {
      const answer = await fetch(stage.base + path, options);
      return { status: answer.status, text: await answer.text() };
    });
    return { ...result, ms: cpuMs };
  };
  const post = (path: string, body: string) =>
    get(`/settings/${path}`, {
      method: 'POST',
      headers: { ...form, cookie },
      body: `employer_id=acme&do=${body}`,
    });
  return { stage, page, get, post };
}

async function typeCode(page: Page, code: string): Promise<void> {
  await page.getByLabel('Line of coverage, row 1').selectOption('medical');
  await page.getByLabel('Paid by, row 1').selectOption('employee');
  await page.getByLabel('Code, row 1').fill(code);
}

const lines = (count: number, line: string) => encodeURIComponent(`${line}\n`.repeat(count));
const fields = (count: number) => Array.from({ length: count }, (_, row) => `row-${row}-code=a`).join('&');

t.test('a list longer than the API accepts is rejected before it is rendered', async (t) => {
  const { post } = await opened(t);
  const codes = await post('payroll-codes', `paste&pasted=${lines(30_000, 'hsa')}`);
  t.equal(codes.status, 413);
  t.match(codes.text, `at most ${CODES_MAX} payroll codes, and this one would have 30,000`);
  const dates = await post('pay-schedule', `paste&pasted=${lines(30_000, '1')}`);
  t.match(dates.text, `at most ${DATES_MAX} pay dates`);
  const many = await post('payroll-codes', `add&${fields(12_000)}`);
  t.equal(many.status, 413);
  t.match(many.text, `at most ${FORM_FIELDS_MAX.toLocaleString('en-US')} fields`);
  const more = await post('payroll-codes', `add&${fields(CODES_MAX)}`);
  t.match(more.text, `this one would have ${CODES_MAX + 1}`);
  for (const { ms } of [codes, dates, many, more]) t.ok(ms < QUICK_MS, `responded in ${ms} ms`);
});

t.test('the longest lists and 100 schedules render quickly', async (t) => {
  const { stage, page, get } = await opened(t);
  const codes = LINES_OF_COVERAGE.flatMap((line_of_coverage) =>
    [null, ...TAXABILITIES].flatMap((taxability) =>
      [null, ...COVERAGE_TYPES].flatMap((coverage_type) =>
        ['employee', 'employer'].map((side) => ({
          ...{ line_of_coverage, taxability, coverage_type },
          ...{ side, code: 'A1' },
        })),
      ),
    ),
  );
  t.equal(codes.length, CODES_MAX);
  t.equal((await stage.call({ method: 'PUT', url: CODES, body: { codes } })).status, 200);
  const day = (at: number) => new Date(Date.UTC(2026, 0, 1 + 7 * at)).toISOString().slice(0, 10);
  const days = Array.from({ length: DATES_MAX }, (_, at) => day(at));
  const pay_dates = days.map((at) => ({
    pay_date: at,
    period_start: at,
    period_end: at,
    takes: 'all' as const,
  }));
  const weekly = { pay_frequency: 'weekly', year_in_fewer_checks: false, pay_dates } as const;
  const hundred = Array.from({ length: 100 }, (_, at) => ({ ...weekly, pay_group: `group ${at}` }));
  await transact(stage.db, (trx) => putSchedules(trx, 'acme', hundred, acting(NOW)));
  const query = 'employer_id=acme&pay_frequency=weekly&pay_group=group+99';
  for (const path of ['/payroll-codes?', '/pay-schedule?year=2026&', '?']) {
    const took = [];
    for (let time = 0; time < 3; time += 1) {
      const { status, ms } = await get(`/settings${path}${query}`);
      t.equal(status, 200);
      took.push(ms);
    }
    t.ok(Math.min(...took) < QUICK_MS, `${path} took ${took.map(Math.round)} ms`);
  }
  await page.goto('/settings?employer_id=acme');
  const rest = page.getByRole('link', { name: 'Show the dates of this schedule' });
  t.equal(await rest.count(), 80, 'the other schedules are links');
  await rest.last().click();
  await page.locator('details[open]').getByRole('table').waitFor();
  t.equal(await page.locator('details[open] tbody tr').count(), DATES_MAX);
});

t.test('a form without its rows deletes no code', async (t) => {
  const { stage, post } = await opened(t);
  const codes = [{ line_of_coverage: 'medical', side: 'employee', code: 'M1' }];
  await stage.call({ method: 'PUT', url: CODES, body: { codes } });
  for (const body of ['', '&rows-shown=1', '&rows-shown=2&row-0-shown=yes&row-0-code=M1']) {
    const { status, text } = await post('payroll-codes', `save${body}`);
    t.equal(status, 400);
    t.match(text, 'the form arrived without all of its payroll codes');
  }
  const unmarked = await post('payroll-codes', 'save&rows-shown=0');
  t.match(unmarked.text, 'Not saved: the payroll codes changed');
  t.match((await stage.call({ url: CODES })).json.codes, codes);
});

t.test('a double click submits once', async (t) => {
  const { stage, page } = await opened(t);
  const body = { organization, employees: [employee] };
  await stage.call({ method: 'PUT', url: '/v1/employers/maple/census', body });
  let posts = 0;
  await page.route('**/census/maple/sync', async (route) => {
    posts += 1;
    await route.continue();
  });
  await page.goto('/census/maple');
  await page.getByRole('button', { name: 'Sync now' }).dblclick();
  await page.getByText('requested manually').first().waitFor();
  t.equal(posts, 1);
  t.equal((await stage.call({ url: '/v1/census-syncs' })).json.data.length, 1);
  posts = 0;
  await page.route('**/settings/payroll-codes', async (route) => {
    if (route.request().method() === 'POST') posts += 1;
    await route.continue();
  });
  await page.goto('/settings/payroll-codes?employer_id=acme');
  await typeCode(page, 'M1');
  await page.getByRole('button', { name: 'Save payroll codes' }).dblclick();
  await page.getByText('Saved.').waitFor();
  t.equal(posts, 1);
});

t.test(
  'a form that is sent before the script has run keeps its fields, and puts none into the address',
  async (t) => {
    const { page } = await opened(t);
    await page.route('**/*.js', (route) => route.fulfill({ contentType: 'text/javascript', body: '' }));
    await page.goto('/settings/payroll-codes?employer_id=acme');
    await typeCode(page, 'M1');
    const address = page.url();
    await page.getByRole('button', { name: 'Save payroll codes' }).click();
    t.equal(page.url(), address);
    t.equal(await page.getByLabel('Code, row 1').inputValue(), 'M1');
  },
);

t.test('a second user sees what the first one saved, and keeps their input', async (t) => {
  const { stage, page } = await opened(t);
  const open = (other: Page) => other.goto('/settings/payroll-codes?employer_id=acme');
  await open(page);
  await typeCode(page, 'MINE');
  const codes = [{ line_of_coverage: 'dental', side: 'employee', code: 'THEIRS' }];
  await stage.call({ method: 'PUT', url: CODES, body: { codes } });
  const save = page.getByRole('button', { name: 'Save payroll codes' });
  await save.click();
  const said = page.getByRole('alert').filter({ hasText: 'changed since you opened this page' });
  await said.getByRole('cell', { name: 'THEIRS' }).waitFor();
  t.equal(await page.getByLabel('Code, row 1').inputValue(), 'MINE');
  t.match((await stage.call({ url: CODES })).json.codes, codes, 'nothing was undone');
  await page.setViewportSize({ width: 360, height: 800 });
  await assertFits(t, page, 'codes that changed in the meantime');
  await save.click();
  await page.getByText('Saved.').waitFor();
  t.match((await stage.call({ url: CODES })).json.codes, [{ code: 'MINE' }]);
});

t.test('a pay schedule that changed in the meantime is neither overwritten nor deleted', async (t) => {
  const { stage, page } = await opened(t);
  await setSchedules(stage.db, [schedule()]);
  await page.goto('/settings?employer_id=acme');
  await page.getByRole('link', { name: 'Edit', exact: true }).click();
  const theirs = { ...schedule(), pay_group: 'night' };
  await setSchedules(stage.db, [theirs]);
  page.on('dialog', (dialog) => dialog.accept());
  await page.getByRole('button', { name: 'Delete pay schedule' }).click();
  await page.getByText('The pay schedule was deleted.').waitFor();
  await page.goto('/settings/pay-schedule?employer_id=acme&year=2026&pay_frequency=biweekly&pay_group=night');
  await page.getByLabel('Pay group').fill('mine');
  await setSchedules(stage.db, [{ ...theirs, pay_dates: theirs.pay_dates.slice(1) }]);
  await page.getByRole('button', { name: 'Save pay schedule' }).click();
  await page.getByText('Not saved: the pay schedule changed since you opened this page').waitFor();
  t.equal(await page.getByRole('textbox', { name: 'Pay group' }).inputValue(), 'mine');
  const { json } = await stage.call({ url: '/v1/employers/acme/pay-schedules/2026' });
  t.match(json.schedules, [{ pay_group: 'night' }]);
  t.equal(json.schedules[0].pay_dates.length, theirs.pay_dates.length - 1);
});

t.test('removing a row moves the focus to the next one, or to the button that adds one', async (t) => {
  const { page } = await opened(t);
  await page.goto('/settings/pay-schedule?employer_id=acme');
  await page.getByText('Paste rows from a spreadsheet').click();
  await page.getByLabel('Rows to add').fill('2026-01-02\n2026-01-09\n2026-01-16');
  await page.getByRole('button', { name: 'Add these rows' }).click();
  const focused = () =>
    page.evaluate(
      () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent,
    );
  const now = (expected: string) => eventually('the focus', focused, expected);
  await now('Pay date, row 1');
  for (const [row, next] of Object.entries({ 1: 'Remove row 1', 2: 'Add a row' })) {
    const button = page.getByRole('button', { name: `Remove row ${row}` });
    await button.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: `Remove row ${4 - Number(row)}` }).waitFor({ state: 'detached' });
    await now(next);
  }
  t.equal(await page.getByLabel('Pay date, row 1').inputValue(), '2026-01-09');
});

t.test('a page whose stream is rejected retries less and less often', async (t) => {
  const page = await (await openConsole(t)).signedIn({ refusals: true });
  let asked = 0;
  // On a busy machine seconds pass between two steps, so only `runFor` moves the page's clock.
  await page.clock.install({ time: 0 });
  // The clock runs until here, and pausing it at an earlier time fails.
  await page.clock.pauseAt(3_600_000);
  await page.route('**/live', async (route) => {
    asked += 1;
    await route.fulfill({ status: 503, contentType: 'text/html', body: '' });
  });
  await page.goto('/');
  for (const times of [1, 2, 3]) {
    const waitMs = 5_000 * 2 ** times;
    await eventually('asked', () => asked, times);
    await page.locator('#lost:not([hidden])').waitFor();
    await page.clock.runFor(waitMs - 1_000);
    t.equal(asked, times, `not yet ${waitMs} ms later`);
    await page.clock.runFor(1_000);
  }
  await eventually('asked', () => asked, 4);
});
