import t from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { deductionOf, deliver, eventOf, quarantine, receive } from '../api/deliver.ts';
import { cells, click, openPayroll } from './runs-stage.ts';
import { HOSTILE, openConsole, type Page, type Stage } from './stage.ts';

const SOON = '2026-01-31T00:00:00.000Z';

/** One event of every state, and a conflict. */
async function oneOfEach({ db }: Stage): Promise<void> {
  const applied = (employee_name: string) =>
    deductionOf('evt_applied', { id: 'd1', employee_name, ssn: '123-45-6789' });
  await deliver(db, [applied('Jo Public')]);
  await deliver(db, [eventOf('evt_ignored', 'moon.landed', {})]);
  const hostile = { '<b>x</b>': '<script>alert(3)</script>' };
  await deliver(db, [eventOf(HOSTILE, 'employee.deduction-updated', hostile)], SOON);
  await receive(db, [applied('Jo Other')], SOON);
  await receive(db, [deductionOf('evt_pending', { id: 'd2' })], SOON);
}

const shown = (page: Page) => page.locator('#events td.small').allTextContents();
const all = ['evt_pending', HOSTILE, 'evt_ignored', 'evt_applied'];

t.test('events are listed newest first, and filtered in the address', async (t) => {
  const stage = await openConsole(t);
  await oneOfEach(stage);
  const page = await stage.opened('/events');
  t.strictSame(await shown(page), all);
  const show = () => page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByLabel('State').selectOption('ignored');
  await show();
  await page.waitForURL(/state=ignored/);
  t.strictSame(await shown(page), ['evt_ignored']);
  await page.getByRole('link', { name: 'Show all' }).click();
  await page.waitForURL('**/events');
  await page.getByLabel('Type').fill('moon.landed');
  await page.getByLabel('Received before').fill('2026-01-31T00:00');
  await show();
  await page.waitForURL(/event_type=moon/);
  t.strictSame(await shown(page), ['evt_ignored']);
  await page.goto('/events?conflict=true');
  t.strictSame(await shown(page), ['evt_applied']);
});

t.test('a row shows employee, line of coverage, amount and effect', async (t) => {
  const stage = await openConsole(t);
  await oneOfEach(stage);
  const late = { id: 'd1', employee_id: 'emp-1', member_contribution: '99' };
  const events = [
    deductionOf('evt_late', late, '2025-01-01T00:00:00Z'),
    eventOf('evt_asks', 'employee-census.sync-request', { employer_id: 'acme' }),
    deductionOf('evt_unset', { id: 'd9', employee_id: 'emp-4' }, '0001-01-01T00:00:00Z'),
    deductionOf('evt_number', { employee_id: 'emp-2', member_contribution: 12.5 }),
  ];
  await deliver(stage.db, events, SOON);
  await receive(stage.db, [deductionOf('evt_waits', { id: 'd3', employee_id: 'emp-3' })], SOON);
  const page = await stage.opened('/events');
  const rows = (await cells(page, 'Events, newest first')).map(([, , ...row]) => row);
  const rejected = /^quarantined: not applied.*member_contribution/;
  t.match(rows, [
    ['emp-3', 'medical', '$150.00monthly', 'pending: not applied yet', 'evt_waits'],
    ['emp-2', 'medical', '$12.50monthly', rejected, 'evt_number'],
    ['emp-4', 'medical', '$150.00monthly', /^applied +time ignored$/, 'evt_unset'],
    ['acme', 'census request', '', 'applied: census requested', 'evt_asks'],
    ['emp-1', 'medical', '$99.00monthly', 'late: no effect', 'evt_late'],
    ['emp-1', 'medical', '$150.00monthly', 'applied', 'evt_pending'],
    ['–', 'deduction', '', /^quarantined: not applied/, HOSTILE],
    ['–', 'moon.landed', '', /^ignored: no effect.*not handled/, 'evt_ignored'],
    ['emp-1', 'medical', '$150.00monthly', 'applied', 'evt_applied'],
  ]);
  const other = await stage.opened('/events', { token: await stage.tokenWith('events:read') });
  const [hidden] = await cells(other, 'Events, newest first');
  const shown = ['not read yet', 'pending: not applied yet', 'evt_waits'];
  t.strictSame(hidden?.slice(1), shown, 'without ledger:read');
});

/** The sentence of an event's page. */
const CONSEQUENCES = {
  evt_first:
    /replaced Payroll deducted \$150\.00 monthly from emp-1 for medical through Jul 9, 2026\. A newer/,
  evt_raise: /applied Payroll deducts \$200\.00 monthly from emp-1 for medical from Jul 10, 2026 on\./,
  evt_late: /late: no effect No paycheck changes: a newer event/,
  evt_old: /quarantined: not applied No paycheck depends on this event: a newer event/,
  evt_number:
    /Paychecks of emp-1 are still computed from \$200\.00 for medical: the change to \$210\.50 monthly in/,
  evt_upgrade:
    /Paychecks of emp-1 are still computed from \$200\.00 for medical: the change to \$220\.00 monthly/,
  evt_asks: /No paycheck changes: the benefits service requested the census of acme\./,
  evt_done: /No paycheck changes: the benefits service has read the census of acme\./,
  evt_moon: /No paycheck changes: this event type is not handled\./,
  evt_text: /Paychecks may miss a change: this event could not be applied\./,
};
/** The action that a page offers first. */
const ACTIONS: Record<string, string> = { evt_old: 'Dismiss', evt_upgrade: 'Reprocess' };

t.test('an event starts with its consequence for paychecks and the action that helps', async (t) => {
  const { db, signedIn, opened, tokenWith } = await openPayroll(t);
  const deduction = (id: string, sent: string, fields: object = {}) =>
    deductionOf(id, { id: 'ded-1', employee_id: 'emp-1', ...fields }, `${sent}T00:00:00Z`);
  const effective_start = '2026-07-10';
  await deliver(db, [
    deduction('evt_first', '2026-06-02'),
    deduction('evt_raise', '2026-07-05', { member_contribution: '200.00', effective_start }),
    deduction('evt_late', '2026-05-01', { member_contribution: '1.00' }),
    deduction('evt_old', '2026-05-02', { member_contribution: 1, effective_start }),
    deduction('evt_number', '2026-07-06', { member_contribution: 210.5 }),
    eventOf('evt_asks', 'employee-census.sync-request', { employer_id: 'acme' }),
    eventOf('evt_done', 'employee-census.sync-complete', { employer_id: 'acme' }),
    eventOf('evt_moon', 'moon.landed', {}),
    { eventId: 'evt_text', body: Buffer.from('not JSON') },
  ]);
  await quarantine(db, deduction('evt_upgrade', '2026-07-06', { member_contribution: '220.00' }));
  const page = await signedIn();
  for (const [id, sentence] of Object.entries(CONSEQUENCES)) {
    await page.goto(`/events/${id}`);
    const lead = (await page.locator('main .lead').textContent()) ?? '';
    t.match(lead.replace(/\s+/g, ' ').trim(), sentence, id);
    const first = page.getByRole('region', { name: 'What helps' }).getByRole('button').first();
    if (id in ACTIONS) t.equal(await first.textContent(), ACTIONS[id], id);
  }
  await page.goto('/events/evt_number');
  t.match(
    await page.getByRole('region', { name: 'What helps' }).textContent(),
    /evt_number.* It contains 210\.5\./,
  );
  await page.goto('/events/evt_old');
  t.match(await page.getByRole('region', { name: 'Contents' }).innerText(), /Starts\s+Jul 10, 2026/);
  const specialist = await opened('/events/evt_number', { token: await tokenWith('events:read') });
  const main = await specialist.getByRole('main').textContent();
  t.match(main, 'Paychecks may miss a change: this event could not be applied.');
  t.match(main, 'Ask the benefits service to send a corrected event.');
  t.match(main, 'lacks the scope events:write');
});

t.test('an event shows its effect, and its body hides personal fields', async (t) => {
  const stage = await openConsole(t);
  await oneOfEach(stage);
  const page = await stage.opened('/events');
  await page.getByRole('link', { name: 'evt_applied' }).click();
  await page.waitForURL('**/events/evt_applied');
  const text = (await page.getByRole('main').textContent()) ?? '';
  for (const personal of ['Jo Public', 'Jo Other', '123-45-6789']) t.notOk(text.includes(personal), personal);
  t.match(text, '"employee_name": •••');
  const marked = await page.locator('mark').allTextContents();
  for (const line of marked) t.equal(line.trim(), '≠     "employee_name": •••,');
  t.equal(marked.length, 2);
  await page.getByRole('link', { name: 'd1' }).click();
  await page.waitForURL('**/deductions/d1');
});

t.test('the other bodies of an event are compared page by page', async (t) => {
  const stage = await openConsole(t);
  await oneOfEach(stage);
  const others = Array.from({ length: 22 }, (_, nth) => deductionOf('evt_applied', { id: `other-${nth}` }));
  await receive(stage.db, others, SOON);
  const page = await stage.opened('/events/evt_applied');
  const summary = await page.locator('#event').textContent();
  t.match(summary, '20 other bodies with the same ID. Compare them below, then dismiss.');
  t.match(summary, '3 later deliveries with further bodies were not stored');
  const bodies = page.getByRole('region', { name: 'Other body' });
  t.equal(await bodies.count(), 5);
  t.match(await bodies.last().textContent(), 'other-3');
  await page.getByRole('link', { name: 'Next page' }).click();
  await page.waitForURL(/cursor=/);
  t.match(await bodies.first().textContent(), 'other-4');
  await page.getByLabel('Reason for dismissing').fill('seen');
  await page.keyboard.press('Enter');
  await page.getByText('20 other bodies, dismissed: seen').waitFor();
});

t.test('an event can be dismissed with a reason', async (t) => {
  const stage = await openConsole(t);
  await oneOfEach(stage);
  const page = await stage.opened(`/events/${encodeURIComponent(HOSTILE)}`);
  t.match(await page.locator('pre.body').textContent(), '<script>alert(3)</script>', 'markup is text');
  await page.getByText('Other actions').click();
  await page.getByLabel('Reason for dismissing').fill('sent <i>by</i> mistake');
  await page.keyboard.press('Enter');
  await page.getByText('M: sent <i>by</i> mistake').waitFor();
  t.equal(await page.getByRole('button', { name: 'Dismiss' }).count(), 0, 'it can no longer be dismissed');
});

t.test('selected events are reprocessed, and the list does not refresh during a selection', async (t) => {
  const stage = await openConsole(t);
  await oneOfEach(stage);
  const page = await stage.signedIn({ refusals: true });
  const listening = page.waitForResponse('**/live');
  await page.goto('/events');
  await listening;
  const button = page.getByRole('button', { name: 'Reprocess selected' });
  await button.click();
  await page.getByRole('alert').getByText('Select at least one event.').waitFor();
  await page.getByLabel('Select evt_ignored').check();
  await page.getByLabel('Select evt_applied').check();
  const refreshes = page.evaluate(async () => {
    let heard = 0;
    document.body.addEventListener('news', () => {
      heard += 1;
    });
    const own = new EventSource('/live');
    await new Promise((resolve) => own.addEventListener('news', resolve));
    own.close();
    return heard;
  });
  await deliver(stage.db, [eventOf('evt_new', 'x', {})]);
  t.equal(await refreshes, 0, 'the stream sent news, but the list did not refresh');
  t.strictSame(await shown(page), all);
  await page.getByLabel('Select evt_applied').uncheck();
  await page.getByLabel('Select evt_ignored').uncheck();
  await receive(stage.db, [eventOf('evt_newer', 'x', {})]);
  await page.getByRole('link', { name: 'evt_newer' }).waitFor();
  await page.getByLabel('Select evt_ignored').check();
  await button.click();
  await page.getByText('Reprocessing 1 event.').waitFor();
  t.match(await page.getByRole('row', { name: /evt_ignored/ }).textContent(), 'pending');
});

t.test('all matching events are reprocessed after a confirmation', async (t) => {
  const stage = await openConsole(t);
  await oneOfEach(stage);
  const page = await stage.signedIn();
  const asked: string[] = [];
  let confirms = false;
  page.on('dialog', (dialog) => {
    asked.push(dialog.message());
    return confirms ? dialog.accept() : dialog.dismiss();
  });
  const button = page.getByRole('button', { name: 'Reprocess all' });
  for (const path of ['/events', '/events?state=pending', '/events?state=quarantined&dismissed=true']) {
    await page.goto(path);
    t.equal(await button.count(), 0, path);
  }
  await page.goto('/events?state=quarantined&from=2026-01-31T00:00');
  await button.click();
  const question = 'Reprocess all events in state quarantined, received at 2026-01-31 00:00 UTC or later?';
  t.strictSame(asked, [`${question}\n\nNothing takes effect twice. Dismissed events are skipped.`]);
  confirms = true;
  await button.click();
  await page.getByText('Reprocessing 1 event.').waitFor();
  t.equal((await stage.call({ url: `/v1/events/${encodeURIComponent(HOSTILE)}` })).json.state, 'pending');
  t.equal((await stage.call({ url: '/v1/events/evt_ignored' })).json.state, 'ignored');
});

t.test('an event whose body was deleted shows that and cannot be reprocessed', async (t) => {
  const { html, db } = await openConsole(t);
  await deliver(db, [deductionOf('evt_old', { id: 'd1' })]);
  const deleted = { body: null, body_hash: Buffer.alloc(32, 1) };
  await transact(db, (trx) => trx.updateTable('inbox').set(deleted).execute());
  const page = await html('/events/evt_old');
  t.match(page, /Its SHA-256 was .*0101/);
  t.notMatch(page, 'hides personal fields', 'no masking is mentioned');
  t.notMatch(page, /<button[^>]*>Reprocess/);
});

t.test('times are local to the browser with UTC on hover, in lists and in fields', async (t) => {
  const { opened, db } = await openConsole(t);
  await deliver(db, [deductionOf('evt_1', { id: 'd1' })], '2026-01-31T02:30:00Z');
  const page = await opened('/events', { zone: 'America/New_York' });
  const received = page.getByText('Jan 30, 2026, 9:30:00 PM', { exact: true });
  t.equal(await received.getAttribute('title'), 'Jan 31, 2026, 02:30:00 UTC');
  const from = page.getByLabel('Received from', { exact: true });
  await from.fill('2026-01-30T21:30');
  await click(page, 'Show');
  await page.waitForURL('**/events?*from=2026-01-31T02%3A30%3A00.000Z*');
  t.equal(await from.inputValue(), '2026-01-30T21:30');
  await received.waitFor();
  await from.fill('2026-01-30T21:31');
  await click(page, 'Show');
  await page.getByText('No matching events').waitFor();
  await deliver(db, [deductionOf('evt_2', { id: 'd2' })], '2026-01-31T02:45:00Z');
  await page.getByText('Jan 30, 2026, 9:45:00 PM', { exact: true }).waitFor();
});

t.test('without the script times stay in UTC', async (t) => {
  const { signedIn, db } = await openConsole(t);
  await deliver(db, [deductionOf('evt_1', { id: 'd1' })], '2026-01-31T02:30:00Z');
  const page = await signedIn({ zone: 'America/New_York' });
  await page.route('**/assets/console.*.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: '' }),
  );
  await page.goto('/events');
  await page.getByText('Jan 31, 2026, 02:30:00 UTC', { exact: true }).waitFor();
  await page.getByLabel('Received from (UTC)').waitFor();
});
