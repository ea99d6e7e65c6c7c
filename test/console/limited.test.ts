/** The console for a person who may not open every page. */
import t, { type Test } from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { ROLES } from '../../src/security/scopes.ts';
import { deliver, eventOf } from '../api/deliver.ts';
import { deduct, EMPLOYER, LATELY, setPolicy } from '../support/payroll.ts';
import { openPayroll } from './runs-stage.ts';
import { follow } from './stage.ts';

type Stage = Awaited<ReturnType<typeof openPayroll>>;

const LINK = /(?:href|hx-get)="(\/(?!assets|docs)[^"#]*)/g;

/** Opens the pages that pages link from Home on. Returns their texts by address, and fails for a page that a user may not open. */
async function crawl(t: Test, { base, cookie }: Stage, token: string): Promise<Map<string, string>> {
  const headers = { cookie: await cookie(token) };
  const linkedOn = new Map([['/', 'nothing']]);
  const bodies = new Map<string, string>();
  for (const [url, page] of linkedOn) {
    const response = await fetch(base + url, { headers, redirect: 'manual' });
    const body = await response.text();
    if (response.status !== 200) t.equal(response.status, 303, `${url}, which ${page} links`);
    bodies.set(url, body);
    const next = response.headers.get('location');
    for (const link of [...(next === null ? [] : [next]), ...linksOf(body)])
      if (!linkedOn.has(link)) linkedOn.set(link, url);
  }
  return bodies;
}

const linksOf = (body: string) =>
  [...body.matchAll(LINK)].map(([, link = '']) => link.replaceAll('&amp;', '&'));

t.test('a person who is limited to some employers can set up only those employers', async (t) => {
  const { opened, tokenFor } = await openPayroll(t);
  const scopes = ROLES['payroll-specialist'];
  const page = await opened('/', { token: await tokenFor([EMPLOYER, 'birch'], ...scopes) });
  t.equal(await page.getByLabel(/^New employer/).count(), 0);
  t.equal(await page.getByRole('link', { name: `Set up ${EMPLOYER}` }).count(), 0, 'it is known');
  await follow(page, page.getByRole('link', { name: 'Set up birch' }));
  await page.getByText('This employer is not known yet. Upload its census first.').waitFor();
});

t.test('a person can open every page that a page links', async (t) => {
  const stage = await openPayroll(t);
  const { db, call, put, finalized, tokenFor, tokenWith } = stage;
  await setPolicy(db, { open_items: 'include' });
  await finalized('before', '2026-07-03');
  await deduct(db, 'evt-late', { id: 'ded-1', employee_id: 'emp-1', member_contribution: '151.00' });
  await deliver(db, [eventOf('evt-broken', 'employee.deduction-updated', {})], LATELY);
  await put('r', '2026-07-17');
  const left = { employee_id: 'emp-1', termination_date: '2026-12-31' };
  const { status } = await call({ method: 'POST', url: '/v1/employee-changes/termination', body: left });
  t.equal(status, 202);
  const paused = { state: 'paused', next_probe_at: LATELY, paused_at: LATELY, reason: 'a secret' } as const;
  await transact(db, (trx) => trx.updateTable('circuit_breaker').set(paused).execute());
  const bodies = await crawl(t, stage, await tokenFor([EMPLOYER], 'all'));
  t.notMatch([...bodies.values()].join(), 'a secret');
  for (const path of [`/census/${EMPLOYER}`, '/employees/emp-1', '/runs/r']) t.ok(bodies.has(path), path);
  for (const path of ['/census', '/changes']) t.match(bodies.get(path), 'Sending is paused');
  t.ok([...bodies.keys()].some((path) => /^\/changes\/[0-9a-f-]{36}$/.test(path)));
  t.match(
    [...bodies.values()].join(),
    /Because of<.*evt-late/,
    'a line names the event that it is because of',
  );
  for (const [start, scopes, employers] of [
    ['/runs', ['runs:read']],
    ['/audit', ['audit:read']],
    ['/census', ['census:read'], [EMPLOYER]],
    ['/sessions', ['metrics:read'], [EMPLOYER]],
  ] as const) {
    const token = employers === undefined ? await tokenWith(...scopes) : await tokenFor(employers, ...scopes);
    t.ok((await crawl(t, stage, token)).has(start), scopes.join());
  }
});
