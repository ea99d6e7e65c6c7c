import { onEitherEngine } from '../support/engine.ts';
import { bodyOn, deduct, hireMany } from '../support/payroll.ts';
import { listenerObserving, PAY_DATE, RUNS, startPayroll } from './payroll-stage.ts';

const LATER = '2026-07-09T00:00:00Z';
/** The deduction of emp-1 is 150.00. The event breaks the contract. */
const NEWER = { member_contribution: '175.00', taxability: 'untaxed' };
const MESSAGE = 'A newer amount for medical arrived on July 10 and is not applied: 150.00 → 175.00';

type Line = { employee_id: string; unapplied: { message: string; member_contribution: string } | null };
const marksOf = (lines: readonly Line[]) =>
  lines.map(({ employee_id, unapplied }) => [employee_id, unapplied?.message ?? null]);

onEitherEngine('lines, previews, the employee and readiness show a change that is not applied', async (t) => {
  const { db, put, get, post, call } = await startPayroll(t);
  await put('r');
  await deduct(db, 'evt-3', NEWER, LATER);
  const marks = [
    ['emp-1', MESSAGE],
    ['emp-2', null],
  ];
  const { data } = (await get('/r/lines')).json;
  t.strictSame(marksOf(data), marks);
  t.match(data[0].unapplied, { member_contribution: '175.00', current_member_contribution: '150.00' });
  const { text } = await get('/r/lines', { headers: { accept: 'application/x-ndjson' } });
  t.strictSame(
    marksOf(
      text
        .trim()
        .split('\n')
        .map((row) => JSON.parse(row)),
    ),
    marks,
  );
  const preview = await post('/preview', bodyOn(PAY_DATE, { employee_ids: ['emp-1', 'emp-2'] }));
  t.strictSame(marksOf(preview.json.lines), marks);
  const employee = async (id: string) => (await call({ url: `/v1/employees/${id}` })).json;
  t.match((await employee('emp-1')).unapplied, [{ event_id: 'evt-3', message: MESSAGE }]);
  t.strictSame((await employee('emp-2')).unapplied, []);
  for (const url of [`${RUNS}/r/readiness`, '/v1/readiness', '/v1/readiness?employer_id=acme']) {
    const { checks } = (await call({ url })).json;
    const found = checks.find(({ id }: { id: string }) => id === 'events-quarantined');
    t.match(found, {
      result: 'fail',
      examples: ['evt-3: emp-1, medical'],
      unapplied: [{ message: MESSAGE }],
    });
  }
});

onEitherEngine('without ledger:read, a change that is not applied is shown without amounts', async (t) => {
  const { db, put, get, post, tokenWith } = await startPayroll(t);
  await put('r');
  await deduct(db, 'evt-3', NEWER, LATER);
  const token = await tokenWith('runs:read');
  const readiness = await get('/r/readiness', { token });
  const lines = await get('/r/lines', { token });
  const ndjson = await get('/r/lines', { token, headers: { accept: 'application/x-ndjson' } });
  const preview = await get('/preview', {
    ...{ method: 'POST', token, body: bodyOn(PAY_DATE, { employee_ids: ['emp-1'] }) },
  });
  for (const { status, text } of [readiness, lines, ndjson, preview]) {
    t.equal(status, 200);
    t.match(text, 'A newer amount for medical arrived on July 10 and is not applied"');
    t.notMatch(text, '175');
  }
  const { etag } = (await get('/r/readiness')).json;
  t.equal(readiness.json.etag, etag, 'the scope does not change what is reviewed');
  t.equal((await post('/r/finalize')).status, 409);
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
