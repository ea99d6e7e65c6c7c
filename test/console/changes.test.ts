import t, { type Test } from 'tap';
import { stageCensus } from '../../src/census/staging.ts';
import { transact } from '../../src/database/transaction.ts';
import { pauseSending } from '../../src/outbox/circuit-breaker.ts';
import { startPilot } from '../../src/outbox/pilot.ts';
import { censusOf, contentOf, person } from '../census/parts.ts';
import { report, service } from '../employment/stage.ts';
import { encryptor, START } from '../outbox/parts.ts';
import { acting, readsOf } from '../support/audit.ts';
import { assertGood, follow, HOSTILE, openConsole, type Page } from './stage.ts';

const SECRET = 'Marker-7f3a';

async function staged(t: Test) {
  const stage = await openConsole(t, { encryptor, now: () => START });
  return { ...stage, ...(await service(t, stage.db)) };
}
type Staged = Awaited<ReturnType<typeof staged>>;

/** A rejected hire, and two changes of the same employee that wait for it. */
async function held({ db, answers, send, clock }: Staged, employee: string) {
  const hire = await report(db, 'new-hire', employee, {
    fields: { email: `${SECRET}@example.com`, ssn: '987-65-4321' },
  });
  clock.advance(1_000);
  const move = await report(db, 'demographic', employee, { clock });
  clock.advance(1_000);
  const raise = await report(db, 'compensation-change', employee, { clock });
  answers.set(hire, 422);
  await send();
  return { hire, move, raise };
}

const click = (page: Page, name: string) => follow(page, page.getByRole('button', { name, exact: true }));
const stateOf = async ({ call }: Staged, id: string): Promise<string> =>
  (await call({ url: `/v1/employee-changes/${id}` })).json.state;
const names = (page: Page) => page.locator('main tbody th').allTextContents();

t.test('changes are listed newest first and filtered by state, kind, employee and time', async (t) => {
  const stage = await staged(t);
  const { db, answers, send, clock } = stage;
  const page = await stage.opened('/changes');
  await page.getByText('No employment changes yet').waitFor();
  await held(stage, HOSTILE);
  clock.advance(60_000);
  const lost = await report(db, 'termination', 'lee', { clock });
  answers.set(lost, null);
  await send();
  await page.getByText('the service may have received it').waitFor();
  t.equal((await names(page)).join(), 'Termination,Pay or status change,Address change,New hire');
  t.equal(await page.getByText('waiting for another change').count(), 2);
  t.equal(await page.getByText('blocks others').count(), 1);
  t.equal(await page.title(), 'Employment changes · benefits-sidecar');
  t.equal(await page.locator('main img, main script').count(), 0);

  await page.goto(`/changes?state=rejected&kind=new-hire`);
  t.strictSame(await names(page), ['New hire']);
  await page.goto('/changes');
  await page.getByLabel('Accepted from').fill('2026-01-31T09:31');
  await click(page, 'Show');
  t.strictSame(await names(page), ['Termination']);
  await page.getByLabel('Employee, by name or ID').fill('nobody');
  await click(page, 'Find');
  await page.getByText('No employee has this name or ID.').waitFor();
});

t.test('a rejected hire shows the changes that it blocks, and a retry sends all of them', async (t) => {
  const stage = await staged(t);
  const { hire, raise } = await held(stage, HOSTILE);
  const page = await stage.opened(`/changes/${hire}`);
  t.equal(await page.getByText('later changes of the employee wait for it.').count(), 1);
  const waiting = page.getByRole('table', { name: 'Changes waiting for this one' });
  const kinds = await waiting.locator('th[scope=row]').allTextContents();
  t.strictSame(kinds, ['Pay or status change', 'Address change']);
  const attempts = page.getByRole('table', { name: 'Attempts' }).locator('tbody');
  t.match(await attempts.textContent(), /422.*The service found invalid data in it \(status 422\)/);
  t.equal(await page.locator('main img, main script').count(), 0);
  await assertGood(t, page, 'a rejected hire');
  stage.answers.delete(hire);
  await click(page, 'Retry');
  await page.getByText('It is sent automatically').waitFor();
  await stage.send();
  await page.getByText('The service accepted it.').waitFor();
  t.equal(await stateOf(stage, raise), 'delivered');
  t.equal(await page.getByRole('heading', { name: 'Actions' }).count(), 0, 'no actions remain');
});

t.test('changes blocked by a rejected hire can be released', async (t) => {
  const stage = await staged(t);
  const { hire, move } = await held(stage, 'ines');
  const page = await stage.opened(`/changes/${move}`);
  await page.getByRole('link', { name: 'another change of the employee' }).click();
  await click(page, 'Release waiting changes');
  await page.getByText('The service rejected it. Payroll runs count it already.').waitFor();
  await stage.send();
  t.strictSame([await stateOf(stage, hire), await stateOf(stage, move)], ['rejected', 'delivered']);
});

t.test('a retry that may undo a newer change needs a confirmation', async (t) => {
  const stage = await staged(t);
  const { db, answers, send } = stage;
  const [older, newer] = [await report(db, 'demographic', 'lee'), await report(db, 'demographic', 'lee')];
  answers.set(older, 422);
  await send();
  t.equal(await stateOf(stage, newer), 'delivered');
  const page = await stage.opened(`/changes/${older}`);
  await click(page, 'Retry');
  await page.getByText('Not retried: a newer change of this employee was delivered.').waitFor();
  t.equal(await stateOf(stage, older), 'rejected');
  await click(page, 'Retry anyway');
  await page.getByText('It is sent automatically').waitFor();
  t.equal(await stateOf(stage, older), 'pending');
});

t.test('a change is canceled with a reason, which is kept', async (t) => {
  const stage = await staged(t);
  const { hire } = await held(stage, 'ines');
  const page = await stage.opened(`/changes/${hire}`, { refusals: true });
  await click(page, 'Cancel the change');
  t.equal(await stateOf(stage, hire), 'rejected', 'a reason is required');
  await page.getByLabel('Reason for canceling').fill('   ');
  await click(page, 'Cancel the change');
  await page.locator('#message').getByText('must be a reason').waitFor();
  await page.getByLabel('Reason for canceling').fill(HOSTILE);
  await page.getByLabel('Reason for canceling').press('Enter');
  await page.getByText('It will not be sent').waitFor();
  t.equal(await page.getByText(HOSTILE, { exact: true }).count(), 1);
  t.equal(await stateOf(stage, hire), 'canceled');
  await page.goto('/changes/nobody');
  await page.getByText('There is no employment change with this ID.').waitFor();
});

t.test('personal data of a change is shown on request, and the read is recorded once', async (t) => {
  const stage = await staged(t);
  const { hire } = await held(stage, 'ines');
  const reads = async () => (await readsOf(stage.db)).map(({ resource_id }) => resource_id);
  const page = await stage.opened(`/changes/${hire}`);
  t.notMatch(await page.content(), SECRET);
  t.strictSame(await reads(), []);
  await click(page, 'Show why, and the personal data');
  await page.getByText(SECRET).waitFor();
  t.equal(await page.getByText('***-**-4321').count(), 1);
  t.notMatch(await page.content(), '987-65');
  t.equal(await page.locator('main [hx-trigger]').count(), 0, 'it does not poll');
  t.strictSame(await reads(), [hire]);
  await assertGood(t, page, 'the contents of a change');
});

t.test('paused sending is shown with its reason and time to users who may see it', async (t) => {
  const stage = await staged(t);
  await transact(stage.db, (trx) => pauseSending(trx, `the service responded with 401 ${HOSTILE}`, START));
  const notices = async (...scopes: string[]) => {
    const token = await stage.tokenWith('changes:read', 'census:read', ...scopes);
    const pages = ['/changes', '/census', '/census/maple'].map((path) => stage.html(path, token));
    return (await Promise.all(pages)).map(
      (page) => /<section class="problem paused".*?<\/section>/s.exec(page)?.[0],
    );
  };
  const why = /responded with 401 &lt;img .*2026-01-31.09:30:00/s;
  for (const scope of ['metrics:read', 'ledger:read']) {
    for (const text of await notices(scope)) t.match(text, why, scope);
  }
  t.strictSame(await notices(), [undefined, undefined, undefined]);
});

t.test('each page shows a pilot, and the pages of changes and censuses what it does', async (t) => {
  const { db, html, tokenFor } = await staged(t);
  t.notMatch(await html('/ledger'), /Sending is off/);
  await transact(db, (trx) => startPilot(trx, acting(START)));
  const change = await report(db, 'termination', 'lee');
  for (const path of ['/', '/ledger']) t.match(await html(path), /Sending is off: this is a pilot/, path);
  const limited = await tokenFor(['a'], 'ledger:read', 'census:read', 'changes:read');
  for (const path of ['/changes', '/census', `/changes/${change}`])
    t.match(await html(path), /Syncs end as dismissed, changes as canceled/, path);
  t.match(await html('/census', limited), /Syncs end as dismissed/, 'a limited user sees it too');
  t.match(await html(`/changes/${change}`), /reported while sending was off, so it is never sent/);
  t.match(await html('/operations'), /A pilot: nothing has been sent since/);
  const promises =
    /uploads it|uploaded automatically|uploaded as it is|for the next upload|sent automatically|not uploaded yet/;
  const pages = ['/', '/census', '/census/a', '/census/unknown', '/changes', '/operations'];
  for (const page of [...pages, `/changes/${change}`]) t.notMatch(await html(page), promises, page);
  for (const employer of ['a', 'b'])
    await stageCensus(
      { db, encryptor, sharedNow: async () => START },
      employer,
      contentOf(censusOf([person(`of-${employer}`)])),
    );
  const id = (await db.selectFrom('staged_censuses').select('census_id').executeTakeFirstOrThrow()).census_id;
  for (const page of [...pages, `/census/a?staged=${id}`]) t.notMatch(await html(page), promises, page);
});
