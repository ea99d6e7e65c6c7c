import { report } from '../employment/stage.ts';
import { encryptor } from '../outbox/parts.ts';
import { onEitherEngine } from '../support/engine.ts';
import { bodyOn, deduct, employ, hireMany, NOW } from '../support/payroll.ts';
import { deductionOf, deliver } from './deliver.ts';
import { listenerObserving, PAY_DATE, RUNS, startPayroll } from './payroll-stage.ts';
import { type Running, start } from './start.ts';

const EMPLOYEES = '/v1/employees';
const clock = () => NOW;

const show = async ({ call }: Running, id: string, token?: string) =>
  call({ url: `${EMPLOYEES}/${encodeURIComponent(id)}`, ...(token !== undefined && { token }) });

onEitherEngine('a token sees the parts it has scopes for, and which parts need another scope', async (t) => {
  const payroll = await startPayroll(t, { encryptor });
  await report(payroll.db, 'demographic', 'emp-1', { clock });
  const some = await show(payroll, 'emp-1', await payroll.tokenWith('ledger:read', 'runs:read'));
  t.strictSame(some.json.left_out, [{ part: 'changes', scope: 'changes:read' }]);
  t.notOk('changes' in some.json);
  t.strictSame(some.json.open_items, []);
  const least = await show(payroll, 'emp-1', await payroll.tokenWith('ledger:read'));
  const parts = least.json.left_out.map(({ part }: { part: string }) => part);
  t.strictSame(parts, ['changes', 'open_items']);
  t.notOk('open_items' in least.json);
  t.equal((await show(payroll, 'emp-1', await payroll.tokenWith('changes:read', 'runs:read'))).status, 403);
});

onEitherEngine('any payroll id is found, percent-encoded', async (t) => {
  const running = await start(t, { encryptor });
  for (const id of ['a/b', 'a b', 'a.b', '..x', 'Zoë 🙂', '50%', 'a+b', "o'neill", 'a\\b', '%2F', 'x?y#z']) {
    await employ(running.db, id);
    const { status, json } = await show(running, id);
    t.equal(status, 200, id);
    t.equal(json.id, id);
    t.equal(json.deductions.url, `/v1/deductions?employee_id=${encodeURIComponent(id)}`);
    t.equal((await running.call({ url: json.changes.url })).status, 200);
  }
});

onEitherEngine('an employee with a fact, a deduction or a change is known; any other is 404', async (t) => {
  const running = await start(t, { encryptor });
  const { db, tokenWith } = running;
  await deliver(db, [deductionOf('evt-1', { employee_id: 'deducted' })]);
  await report(db, 'demographic', 'moved');
  const unmatched = { employer_id: null, roster: [], deductions: { data: [{ employer_id: null }] } };
  t.match((await show(running, 'deducted')).json, unmatched);
  t.match((await show(running, 'moved')).json, { roster: [], changes: { data: [{}] } });
  t.equal((await show(running, 'nobody')).status, 404);
  const hidden = await show(running, 'moved', await tokenWith('ledger:read'));
  t.equal(hidden.status, 404, 'the token may see no part');
});

onEitherEngine('the first deductions and changes are shown, and cursors continue their lists', async (t) => {
  const running = await start(t, { encryptor });
  const { db, call } = running;
  const many = Array.from({ length: 130 }, (_, index) => index);
  const events = many.map((n) => deductionOf(`evt-${n}`, { id: `d-${n}`, employee_id: 'e' }));
  await deliver(db, events);
  for (const _ of many.slice(0, 101)) await report(db, 'demographic', 'e');
  const { json } = await show(running, 'e');
  for (const [part, left] of [
    ['deductions', 30],
    ['changes', 1],
  ] as const) {
    const { data, next_cursor, url } = json[part];
    t.equal(data.length, 100);
    t.equal((await call({ url: `${url}&cursor=${next_cursor}` })).json.data.length, left, part);
  }
});

const LATER = '2026-07-09T00:00:00Z';
/** The deduction of emp-1 is 150.00. The event breaks the contract. */
const NEWER = { member_contribution: '175.00', taxability: 'untaxed' };
const MESSAGE = 'A newer amount for medical arrived on July 10 and is not applied: 150.00 → 175.00';

type Line = { employee_id: string; unapplied: { message: string; member_contribution: string } | null };
const marksOf = (lines: readonly Line[]) =>
  lines.map(({ employee_id, unapplied }) => [employee_id, unapplied?.message ?? null]);

onEitherEngine('without ledger:read, a change that is not applied is shown without amounts', async (t) => {
  const { db, put, get, finalize, tokenWith } = await startPayroll(t);
  await put('r');
  await deduct(db, 'evt-3', NEWER, LATER);
  const token = await tokenWith('runs:read');
  const readiness = await get('/r/readiness', { token });
  const lines = await get('/r/lines', { token });
  const ndjson = await get('/r/lines', { token, headers: { accept: 'application/x-ndjson' } });
  const preview = await get('/preview', {
    method: 'POST',
    token,
    body: bodyOn(PAY_DATE, { employee_ids: ['emp-1'] }),
  });
  for (const { status, text } of [readiness, lines, ndjson, preview]) {
    t.equal(status, 200);
    t.match(text, 'A newer amount for medical arrived on July 10 and is not applied"');
    t.notMatch(text, '175');
  }
  const { etag } = (await get('/r/readiness')).json;
  t.equal(readiness.json.etag, etag, 'the scope does not change what is reviewed');
  t.equal((await finalize('r')).status, 409);
});

onEitherEngine('a finalized run does not show changes that arrive later', async (t) => {
  const { db, finalized, get } = await startPayroll(t);
  await finalized('r');
  await deduct(db, 'evt-3', NEWER, LATER);
  t.strictSame(marksOf((await get('/r/lines')).json.data), [
    ['emp-1', null],
    ['emp-2', null],
  ]);
});

onEitherEngine('quarantined events are read once for all lines of a run', async (t) => {
  const staged = await startPayroll(t);
  const [first] = await hireMany(staged.db, 300);
  await staged.put('r');
  await deduct(staged.db, 'evt-3', { id: `ded-${first}`, employee_id: first, ...NEWER }, LATER);
  let reads = 0;
  const { call } = listenerObserving(t, staged, 'inbox', () => {
    reads += 1;
  });
  const { text } = await call({ url: `${RUNS}/r/lines`, headers: { accept: 'application/x-ndjson' } });
  t.equal(text.trim().split('\n').length, 302);
  t.match(text, MESSAGE);
  t.equal(reads, 1);
});

onEitherEngine('paychecks are the lines of finalized runs, with what was taken', async (t) => {
  const { finalized, post, call, tokenWith } = await startPayroll(t);
  for (const date of ['2026-06-05', '2026-06-19', '2026-07-03']) await finalized(date, bodyOn(date));
  await finalized('r', {});
  await post('/r/void', { reason: 'a mistake' });
  for (const amount of ['10.00', '50.00'])
    await post('/2026-07-03/taken', { lines: [{ employee_id: 'emp-1', amount }] });
  const list = async (query = '', token?: string) =>
    call({ url: `${EMPLOYEES}/emp-1/paychecks${query}`, ...(token !== undefined && { token }) });
  const { json } = await list('?limit=2');
  t.match(json.data, [
    {
      ...{ run_id: '2026-07-03', pay_date: '2026-07-03', member_amount: '69.23', employer_amount: '161.53' },
      lines: [{ deduction_id: 'ded-1', taken: '50.00', explanation: /check 14 of 26/ }],
    },
    { run_id: '2026-06-19', lines: [{ taken: null }] },
  ]);
  const rest = await list(`?limit=2&cursor=${json.next_cursor}`);
  t.match(rest.json, { data: [{ run_id: '2026-06-05' }], has_more: false });
  t.equal(rest.json.data.length, 1);
  t.equal((await list('', await tokenWith('ledger:read'))).status, 403);
});

onEitherEngine(
  'an unknown employee has no lists, and one with deductions alone has empty ones',
  async (t) => {
    const { db, call } = await startPayroll(t);
    await deliver(db, [deductionOf('evt-unmatched', { id: 'ded-9', employee_id: 'unmatched' })]);
    for (const list of ['paychecks', 'open-items']) {
      t.equal((await call({ url: `${EMPLOYEES}/nobody/${list}` })).status, 404, list);
      t.strictSame((await call({ url: `${EMPLOYEES}/unmatched/${list}` })).json.data, [], list);
    }
  },
);
