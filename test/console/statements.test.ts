/** Tests what pages state, without a browser: each text says only what is so. */
import t from 'tap';
import { runFixes } from '../../src/console/elements/checks.ts';
import { lacksScope } from '../../src/console/elements/format.ts';
import { transact } from '../../src/database/transaction.ts';
import { deduct, LATELY } from '../support/payroll.ts';
import { openPayroll } from './runs-stage.ts';

async function reading(t: Parameters<typeof openPayroll>[0]) {
  const stage = await openPayroll(t);
  const headers = { cookie: await stage.cookie() };
  const opened = async (path: string, requested: Record<string, string> = headers) =>
    fetch(stage.base + path, { headers: requested });
  const text = async (path: string, requested?: Record<string, string>) =>
    (await (await opened(path, requested)).text()).replaceAll(/\s+/g, ' ');
  return { ...stage, opened, text };
}

t.test('a run page names what the run waits for and who accepted a finding', async (t) => {
  const { db, call, put, text, opened } = await reading(t);
  await put('r', '2026-07-17');
  t.match(await text('/runs/r/readiness'), 'Ready to finalize');
  t.match((await opened('/runs/r/lines.csv')).headers.get('content-disposition'), '"r-open.csv"');
  await deduct(db, 'evt-second', { id: 'ded-9', employee_id: 'emp-1' });
  const { etag } = (await call({ url: '/v1/payroll-runs/r/readiness' })).headers;
  const body = { accept: ['overlap'], reason: 'both are right' };
  const headers = { 'if-match': String(etag) };
  const { status } = await call({ method: 'POST', url: '/v1/payroll-runs/r/finalize', headers, body });
  t.equal(status, 200);
  t.match((await opened('/runs/r/lines.csv')).headers.get('content-disposition'), '"r.csv"');
  await put('next', '2026-07-31');
  const remembered = await text('/runs/next/readiness');
  t.match(remembered, /Accepted by [^[:<]+: .*both are right/);
  t.notMatch(remembered, '[object Object]');
  const required = { required: true, reason: 'two people' };
  await call({ method: 'PUT', url: '/v1/employers/acme/second-approval', body: required });
  const waiting = await text('/runs/next/readiness');
  t.match(waiting, 'Waiting for approval');
  t.notMatch(waiting, /Ready to finalize|readiness good/);
  t.match(await text('/runs/r/taken'), 'the payroll policy decides whether later runs take it');
});

t.test('a rejected change of an unknown person is on Home, and no run counts it', async (t) => {
  const { db, call, text, put } = await reading(t);
  await put('r', '2026-07-17');
  t.match(await text('/'), /Computing <span class="soft">1</, 'before its first computation');
  const report = async (employee_id: string) => {
    const headers = { 'idempotency-key': employee_id };
    const body = { employee_id, termination_date: '2026-07-10' };
    await call({ method: 'POST', url: '/v1/employee-changes/termination', headers, body });
    const rejected = { state: 'rejected', is_next: 0, finished_at: LATELY } as const;
    await transact(db, (trx) =>
      trx.updateTable('outbox').set(rejected).where('subject_id', '=', employee_id).execute(),
    );
    return (await call({ url: `/v1/employee-changes?employee_id=${employee_id}` })).json.data[0].id;
  };
  const unknown = await report('nobody');
  t.match(await text('/'), '<a href="/changes?state=rejected">Rejected employment changes</a>');
  t.notMatch(await text(`/changes/${unknown}`), 'count it already');
  t.match(await text(`/changes/${await report('emp-1')}`), 'Payroll runs count it already');
  t.match(await text(`/changes/${unknown}?saved=true`), /Saved\.<.*href="\/changes\?state=rejected"/);
});

t.test('the next step is one that the user can take', async (t) => {
  const { text, put, finalized, cookie, tokenWith } = await reading(t);
  await finalized('r', '2026-07-17');
  t.notMatch(await text('/census/acme?staged=1'), 'the payroll of Jul 17');
  const reader = { cookie: await cookie(await tokenWith('runs:read')) };
  await put('next', '2026-07-31');
  t.notMatch(await text('/runs/r?finalized=true', reader), 'Next payroll');
});

t.test('a finding links only what it is about, and a missing scope only roles that have it', (t) => {
  t.equal(runFixes({ id: 'r', employer_id: 'acme' })['census-syncs']?.all, '/census/acme');
  t.match(lacksScope('To see it', 'pii:read'), /which no role has\.$/);
  t.end();
});
