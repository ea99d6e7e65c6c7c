/** The console for a person who is limited to employers. */
import t from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { deliver, eventOf } from '../api/deliver.ts';
import { EMPLOYER, LATELY } from '../support/payroll.ts';
import { openPayroll } from './runs-stage.ts';

const LINK = /(?:href|hx-get)="(\/(?!assets|docs)[^"#]*)/g;

t.test('a person limited to employers can open every page that a page links', async (t) => {
  const { base, db, call, cookie, put, finalized, tokenFor } = await openPayroll(t);
  await finalized('before', '2026-07-03');
  await deliver(db, [eventOf('evt-broken', 'employee.deduction-updated', {})], LATELY);
  await put('r', '2026-07-17');
  const left = { employee_id: 'emp-1', termination_date: '2026-12-31' };
  const { status } = await call({ method: 'POST', url: '/v1/employee-changes/termination', body: left });
  t.equal(status, 202);
  const paused = { state: 'paused', next_probe_at: LATELY, paused_at: LATELY, reason: 'a secret' } as const;
  await transact(db, (trx) => trx.updateTable('circuit_breaker').set(paused).execute());
  const headers = { cookie: await cookie(await tokenFor([EMPLOYER], 'all')) };
  const linkedOn = new Map([['/', 'nothing']]);
  const bodies = new Map<string, string>();
  for (const [url, page] of linkedOn) {
    const response = await fetch(base + url, { headers, redirect: 'manual' });
    const body = await response.text();
    if (response.status !== 200) t.equal(response.status, 303, `${url}, which ${page} links`);
    t.notMatch(body, 'a secret', url);
    bodies.set(url, body);
    for (const [, link = ''] of body.matchAll(LINK)) {
      const linked = link.replaceAll('&amp;', '&');
      if (!linkedOn.has(linked)) linkedOn.set(linked, url);
    }
  }
  for (const path of [`/census/${EMPLOYER}`, '/employees/emp-1', '/runs/r']) t.ok(bodies.has(path), path);
  for (const path of ['/census', '/changes']) t.match(bodies.get(path), 'Sending is paused');
  t.ok([...bodies.keys()].some((path) => /^\/changes\/[0-9a-f-]{36}$/.test(path)));
});
