import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import t from 'tap';
import { recordUpload } from '../../src/census/staged.ts';
import { completeSyncs, failSyncs, uploadDelivered, uploadStarted } from '../../src/census/syncs.ts';
import { transact } from '../../src/database/transaction.ts';
import { NOW } from '../api/start.ts';
import { askSync, CENSUS_FORMAT, needOf, person } from '../census/parts.ts';
import { employee, organization } from '../contract/samples.ts';
import { eventually } from '../support/eventually.ts';
import { cells, click } from './runs-stage.ts';
import { assertGood, csrfOf, HOSTILE, openConsole, type Page, type Stage } from './stage.ts';

const hoursAgo = (hours: number) => new Date(NOW.getTime() - hours * 3_600_000).toISOString();
const jsonFile = (employees: readonly object[]) => ({
  name: 'census.json',
  mimeType: 'application/json',
  buffer: Buffer.from(JSON.stringify({ organization, employees })),
});

/** Stages a census through the API and returns its id. */
async function bring({ call }: Stage, employerId: string, employees: readonly object[]): Promise<string> {
  const url = `/v1/employers/${encodeURIComponent(employerId)}/census`;
  return (await call({ method: 'PUT', url, body: { organization, employees } })).json.id;
}

/** Records a sync request from the service and returns the id of the upload. */
const asked = async ({ db }: Stage, employerId: string, eventId: string, now: string) =>
  String((await askSync(db, employerId, eventId, now)).request_id);

/** Returns the id of the staged census, or null. */
async function stagedOf({ call }: Stage, employerId: string): Promise<string | null> {
  const { json } = await call({ url: `/v1/censuses?employer_id=${encodeURIComponent(employerId)}` });
  return json.data[0]?.id ?? null;
}

const choose = (page: Page, file: Parameters<ReturnType<Page['getByLabel']>['setInputFiles']>[0]) =>
  page.getByLabel('Census (JSON, CSV or Excel file)').setInputFiles(file);
t.test('an employer without a census has a page to upload the first', async (t) => {
  const stage = await openConsole(t);
  const page = await stage.opened('/census');
  await page.getByText('No census and no sync yet').waitFor();
  await page.goto('/census?employer_id=..');
  await page.getByText('No census and no sync for “..” yet').waitFor();
  t.equal(await page.getByRole('link', { name: 'Upload the census' }).count(), 0, 'this id has no page');
  await page.getByLabel('Employer ID').fill('nobody');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Upload the census of this employer' }).click();
  await page.getByText('No census of this employer is staged').waitFor();
  await bring(stage, 'maple-bakery', [employee]);
  await page.goto('/census');
  t.match(await cells(page, 'Censuses'), [
    [/maple-bakery$/, '', '', '1', /just now/, 'none yet', '', 'Sync now'],
  ]);
});

t.test('the changes of a file format are shown before the census is staged', async (t) => {
  const stage = await openConsole(t);
  const header = CENSUS_FORMAT.columns.map((column) => `My ${column.header}`);
  const columns = CENSUS_FORMAT.columns.map(({ field }, at) => ({
    ...{ header: header[at], field },
    rules: field === 'dob' ? ['date-month-first'] : [],
  }));
  const body = { columns, organization };
  t.equal(
    (await stage.call({ method: 'PUT', url: '/v1/employers/oak/file-formats/census', body })).status,
    200,
  );
  const row =
    '1,Ana,Ruiz,4/5/1980,1 Main St,Boston,MA,02108,2020-02-03,a@example.org,40,1.00,hourly,2026-01-01,full_time';
  const page = await stage.opened('/census/oak');
  const file = { name: 'export.csv', mimeType: 'text/csv', buffer: Buffer.from(`${header}\n${row}\n`) };
  await choose(page, file);
  await click(page, 'Check');
  await page.getByText('No problems in 1 employee').waitFor();
  const [changed] = await cells(page, 'Values that are read differently');
  t.match(changed, ['My dob', 'dob', 'date month first', '1', /^Line 2: /]);
  t.equal(await stagedOf(stage, 'oak'), null);
  await click(page, 'Stage this census');
  await eventually(
    'the census is staged',
    () => stagedOf(stage, 'oak'),
    (id) => id !== null,
  );
});

t.test('syncs that need a person come first; an employer has the time of each step', async (t) => {
  const stage = await openConsole(t);
  const { db } = stage;
  const oak = await asked(stage, 'oak', 'evt-1', hoursAgo(50));
  await transact(db, async (trx) => {
    await uploadStarted(trx, oak, hoursAgo(49));
    await uploadDelivered(trx, oak, { began: hoursAgo(49), now: hoursAgo(48) });
    const completed = { employerId: 'oak', eventId: 'done', receivedAt: hoursAgo(47) };
    await completeSyncs(trx, { ...completed, now: hoursAgo(47) });
  });
  await asked(stage, 'maple', 'evt-2', hoursAgo(30));
  await asked(stage, 'oak', 'evt-3', hoursAgo(0));
  await bring(stage, 'birch', [employee]);
  const page = await stage.opened('/census');
  const rows = async (list: string) => (await cells(page, list)).map((row) => row.slice(0, 2).join(': '));
  t.match(await rows('Censuses'), [/^maple: requested overdue/, /^oak: requested/, /birch: $/]);
  await page.getByLabel('Sync state').selectOption('overdue');
  await click(page, 'Show');
  t.strictSame(await rows('Syncs, newest first'), ['maple: requested overdue']);
  await page.goto('/census/oak');
  const steps = await page
    .locator('.steps > *')
    .evaluateAll((all) => all.map((step) => [...step.children].map((part) => part.textContent).join(' ')));
  t.strictSame(steps, [
    ...['requested Feb 1, 2026, 12:00:00 PM', 'upload in progress', 'completed not yet'],
    ...['requested Jan 30, 2026, 10:00:00 AM', 'uploaded Jan 30, 2026, 12:00:00 PM'],
    'completed Jan 30, 2026, 1:00:00 PM',
  ]);
});

/** As the sender stores it, also for people at a command line. */
const FAILED =
  'the service responded with 422; read its response with "census show --response" or in the console';

t.test('a sync that failed states what to do, and is dismissed with a reason', async (t) => {
  const stage = await openConsole(t);
  const upload = await asked(stage, 'maple', 'evt-1', hoursAgo(0));
  await transact(stage.db, (trx) => failSyncs(trx, upload, needOf(FAILED)));
  const page = await stage.opened('/census');
  await page
    .getByText('The service found invalid data in it (status 422). Show its response, correct the census')
    .waitFor();
  await page.getByRole('link', { name: 'maple' }).click();
  await page.getByText('Dismiss …').click();
  await assertGood(t, page, 'the form to dismiss a sync');
  await page.getByLabel('Reason for dismissing').fill(HOSTILE);
  await click(page, 'Dismiss');
  await page.locator('.sync .headline').getByText('dismissed').waitFor();
  t.match(await page.locator('.sync').textContent(), HOSTILE);
  t.equal(await page.getByText('Dismiss …').count(), 0);
});

t.test('a held census is released where it is listed, and what is typed survives a refresh', async (t) => {
  const stage = await openConsole(t);
  const id = await bring(stage, 'maple', [employee]);
  await asked(stage, 'maple', 'evt-1', hoursAgo(0));
  const holds = [{ cause: 'employees-missing', count: 300, employee_ids: ['gone-1', HOSTILE] }];
  const held = { state: 'held', held_census_id: id, held_for: JSON.stringify(holds) } as const;
  await transact(stage.db, (trx) => trx.updateTable('census_syncs').set(held).execute());
  const page = await stage.opened('/census/maple');
  await page.getByText('Dismiss …').click();
  await page.getByText('Release …').click();
  await page.getByText('Missing employees (300)').click();
  await page.getByRole('link', { name: 'gone-1' }).waitFor();
  await page.getByText('The first 2 are shown.').waitFor();
  await page.getByText('may treat employees missing from the census as terminated').waitFor();
  await assertGood(t, page, 'the forms to release and to dismiss a sync');
  await page.getByLabel('Reason for the release').fill('all of them left');
  await transact(stage.db, (trx) =>
    trx.updateTable('census_syncs').set({ reason: 'checked again' }).execute(),
  );
  await page.evaluate(() => document.body.dispatchEvent(new Event('news')));
  await page.getByText('Checked again').waitFor();
  t.equal(await page.getByLabel('Reason for the release').inputValue(), 'all of them left');
  await click(page, 'Release this census');
  await page.getByText('Saved.', { exact: true }).waitFor();
  t.equal(await page.getByText('Release …').count(), 0);
});

t.test('the problems of a failed sync are listed by row, field and rule', async (t) => {
  const stage = await openConsole(t);
  const upload = await asked(stage, HOSTILE, HOSTILE, hoursAgo(2));
  const problems = [
    {
      path: 'employees[17].address.state',
      rule: 'must be the code of one of the 50 states or DC: the service accepts no others',
    },
    { path: `organization.${HOSTILE}`, rule: HOSTILE },
  ];
  const reason = `the census breaks the contract ${HOSTILE}`;
  await transact(stage.db, (trx) =>
    failSyncs(trx, upload, needOf(reason), { problemCount: 1_402, problems }),
  );
  const page = await stage.opened('/census');
  t.match((await cells(page, 'Censuses'))[0]?.[6], '1,402 problems in the census');
  t.equal(await page.locator('main img, main script').count(), 0);
  await page.goto(`/census/${encodeURIComponent(HOSTILE)}`);
  await page.getByText('1,402 problems in the census').click();
  t.strictSame(await cells(page, 'Problems by row and field'), [
    ['18', 'address.state', 'must be the code of one of the 50 states or DC: the service accepts no others'],
    ['organization', HOSTILE, HOSTILE],
  ]);
  t.equal(await page.getByText('1,400 more are not shown').count(), 1);
  t.match(await page.title(), /^Census.* · benefits-sidecar$/s);
  t.equal(await page.locator('main img, main script').count(), 0);
});

t.test('a file is compared with the last upload, without values, and then staged', async (t) => {
  const stage = await openConsole(t);
  const last = await bring(stage, 'a / b', [person('ann'), person('bob'), person('cid')]);
  await transact(stage.db, (trx) => recordUpload(trx, 'a / b', last, hoursAgo(30)));
  const page = await stage.opened(`/census/${encodeURIComponent('a / b')}`);
  await choose(page, jsonFile([person('ann', { last_name: 'CANARY' }), person('bob'), person(HOSTILE)]));
  await click(page, 'Check');
  await page.getByRole('heading', { name: 'No problems in 3 employees' }).waitFor();
  const tally = (await page.locator('.tally > div').allTextContents()).map((one) => one.replace(/\s+/g, ''));
  t.strictSame(tally, ['added1', 'changed1', 'absent1', 'unchanged1']);
  t.strictSame(await page.locator('.outcome .ids li').allTextContents(), ['Grace Murray cid', HOSTILE]);
  t.strictSame(await cells(page, 'Changed employees and fields'), [['Grace Murray ann', 'last_name']]);
  t.notMatch(await page.content(), 'CANARY');
  t.equal(await stagedOf(stage, 'a / b'), last, 'checking keeps nothing');
  const focused = await page.evaluate(() => document.activeElement?.id);
  t.equal(focused, 'outcome-title', 'the focus moves to the result');
  await assertGood(t, page, 'the changes in a census');

  await click(page, 'Stage this census');
  await page.getByText('Your census is staged.').waitFor();
  const staged = await stagedOf(stage, 'a / b');
  t.not(staged, last);
  t.match(page.url(), `/settings/setup?employer_id=a+%2F+b&staged=${staged}`);
  t.match(stage.woken, { send: 2 }, 'waiting syncs continue');
});

t.test('only the checked file can be staged', async (t) => {
  const stage = await openConsole(t);
  const page = await stage.opened('/census/maple', { refusals: true });
  await choose(page, jsonFile([person('ann')]));
  await click(page, 'Check');
  await page.getByRole('heading', { name: /^No problems/ }).waitFor();
  await choose(page, jsonFile([person('bob')]));
  await click(page, 'Stage this census');
  await page.locator('#message').getByText('This is not the file that was checked.').waitFor();
  t.equal(await stagedOf(stage, 'maple'), null);
  t.strictSame(await stage.db.selectFrom('staged_censuses').selectAll().execute(), []);
  for (const { level } of stage.logged) t.not(level, 'error');
  await choose(page, { name: 'census.pdf', mimeType: 'application/zip', buffer: Buffer.alloc(3_000_000) });
  await click(page, 'Check');
  await page.locator('#message').getByText('Choose a .json, .csv or .xlsx file.').waitFor();
  await page.getByText('For a CSV or Excel file: add the organization').click();
  const large = { ...jsonFile([]), buffer: Buffer.alloc(2_000_000, ' ') };
  await page.getByLabel('Organization (JSON file)').setInputFiles(large);
  await click(page, 'Check');
  await page.locator('#message').getByText('The organization file is larger than 1 MiB.').waitFor();
  await page.getByLabel('Organization (JSON file)').setInputFiles([]);
  await choose(page, jsonFile([person('bob')]));
  await click(page, 'Check');
  await page.getByRole('heading', { name: /^No problems/ }).waitFor();
  await page.locator('#message:empty').waitFor({ state: 'attached' });
  t.equal(await page.locator('#message').textContent(), '', 'the earlier message is removed');
});

t.test('the upload page shows where censuses come from', async (t) => {
  for (const censusFrom of ['push', 'dir'] as const) {
    const stage = await openConsole(t, { censusFrom });
    await bring(stage, 'acme', [employee]);
    const page = await stage.opened('/census/acme');
    const note = page.getByRole('note');
    t.equal(await note.count(), censusFrom === 'push' ? 0 : 1, censusFrom);
    if (censusFrom === 'push') continue;
    const said = await note.textContent();
    t.match(said, 'Censuses come from a folder.');
    t.match(said, 'replaces one that was uploaded here');
    const [notice, form] = [await note.boundingBox(), await page.locator('#file-form').boundingBox()];
    t.ok(notice && form && notice.y < form.y, 'before the form');
  }
});

t.test('a CSV is uploaded with its organization, which is asked for if it is missing', async (t) => {
  const stage = await openConsole(t);
  const { address, pay_rate: _, ...plain } = employee;
  const row = {
    ...plain,
    hours_worked: '2080',
    ...Object.fromEntries(Object.entries(address).map(([name, value]) => [`address.${name}`, value])),
    'pay_rate[0].amount': '25.50',
    'pay_rate[0].period': 'hourly',
    'pay_rate[0].effective_start': '2025-01-01',
  };
  const csv = [Object.keys(row), Object.values(row)].map((values) => values.join(',')).join('\n');
  const page = await stage.opened('/census/maple', { refusals: true });
  await choose(page, { name: 'census.CSV', mimeType: 'text/csv', buffer: Buffer.from(csv) });
  await click(page, 'Check');
  await page.getByRole('textbox', { name: 'Legal business name' }).waitFor();
  await page.getByText('For a CSV or Excel file: add the organization').click();
  const utf8 = JSON.stringify({ ...organization, legal_business_name: 'Bäckerei 🙂' }, null, 2);
  const file = { ...jsonFile([]), buffer: Buffer.from(utf8) };
  await page.getByLabel('Organization (JSON file)').setInputFiles(file);
  await click(page, 'Check');
  await page.getByRole('heading', { name: /^No problems in 1 employee/ }).waitFor();
  t.strictSame(await cells(page, 'Problems by row and field'), [
    ['1', 'hours_worked', 'is above the 168 hours of a week (line 2)'],
  ]);
  const wrong = csv.replace(employee.dob, '4/5/1971');
  await choose(page, { name: 'census.csv', mimeType: 'text/csv', buffer: Buffer.from(wrong) });
  await click(page, 'Check');
  await page.getByText('Line 2: 4/5/1971 → 1971-04-05').waitFor();
  await choose(page, { name: 'census.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
  await click(page, 'Check');
  await page.getByRole('heading', { name: /^No problems in 1 employee/ }).waitFor();
  await click(page, 'Stage this census');
  await page.getByText('Your census is staged.').waitFor();
  const { json } = await stage.call({ url: '/v1/employers/maple/census' });
  t.equal(json.organization.legal_business_name, 'Bäckerei 🙂');
});

t.test(
  'an employee with the ID of another person is staged once a user confirms that they are one',
  async (t) => {
    const stage = await openConsole(t);
    await bring(stage, 'oak', [person('ann'), person('bob'), person('cid')]);
    const page = await stage.opened('/census/maple', { refusals: true });
    const moved = { dob: '1990-01-16' };
    await choose(page, jsonFile([person('ann', moved), person('bob', moved)]));
    await click(page, 'Check');
    await page.getByRole('heading', { name: '2 problems in 2 employees' }).waitFor();
    await page.getByText('confirm that they are one person', { exact: false }).first().click();
    await page.getByLabel('Same person (employee IDs)').fill('ann\nbob\n');
    await assertGood(t, page, 'the form to confirm one person');
    await click(page, 'Check');
    await page.locator('#message').getByText('reason: is required with same_person').waitFor();
    await page.getByLabel('Why they are one person').fill('the birth dates were corrected');
    await click(page, 'Check');
    await page.getByRole('heading', { name: 'No problems in 2 employees' }).waitFor();
    await click(page, 'Stage this census');
    await page.getByText('Your census is staged.').waitFor();
    const { json } = await stage.call({ url: '/v1/audit?action=census.stage&employer_id=maple' });
    t.match(json.data[0], {
      reason: 'the birth dates were corrected',
      details: { same_person: ['ann', 'bob'] },
    });
  },
);

t.test('an interrupted upload is not staged, even if the part received is a complete census', async (t) => {
  const stage = await openConsole(t);
  const cookie = await stage.cookie();
  const headers = {
    ...(await csrfOf(stage.base, cookie)),
    cookie,
    'content-type': 'multipart/form-data; boundary=edge',
  };
  const { buffer } = jsonFile([person('ann')]);
  const checked = createHash('sha256').update('json\n\n').update(buffer).digest('base64url');
  const staging = () => stage.db.selectFrom('staged_censuses').selectAll().execute();
  const send = async (isWhole: boolean) => {
    const url = `${stage.base}/census/maple/stage?checked=${checked}`;
    const sent = request(url, { method: 'POST', headers });
    sent.on('error', () => {});
    t.teardown(() => sent.destroy());
    sent.write('--edge\r\ncontent-disposition: form-data; name="file"; filename="a.json"\r\n\r\n');
    await new Promise((done) => sent.write(buffer, done));
    if (isWhole) {
      sent.end('\r\n--edge--\r\n');
      const [answer] = await once(sent, 'response');
      return answer.statusCode;
    }
    await eventually('it is being staged', staging, { length: 1 });
    sent.destroy();
    return null;
  };
  await send(false);
  await eventually('the partial upload is removed', staging, { length: 0 });
  t.equal(await stagedOf(stage, 'maple'), null);
  for (const { level } of stage.logged) t.not(level, 'error');
  t.equal(await send(true), 204, 'a complete upload is staged');
  t.ok(await stagedOf(stage, 'maple'));
});
