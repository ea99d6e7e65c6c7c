import { parse } from 'csv-parse/sync';
import type { Db } from '../../src/database/tables.ts';
import type { LineRecord } from '../../src/payroll/calculation/line.ts';
import { onEitherEngine } from '../support/engine.ts';
import { bodyOn, deduct, EMPLOYER, employ } from '../support/payroll.ts';
import { type Payroll, startPayroll } from './payroll-stage.ts';

const CSV = { headers: { accept: 'text/csv' } };
const NDJSON = { headers: { accept: 'application/x-ndjson' } };

/** Several lines per employee, so that pages end inside an employee. */
async function several(db: Db): Promise<void> {
  for (const line of ['dental', 'vision', 'life', 'hsa']) {
    await deduct(db, `evt-${line}`, { id: `ded-${line}`, employee_id: 'emp-1', line_of_coverage: line });
  }
}

const ids = (lines: readonly LineRecord[]) => lines.map((line) => line.deduction_id);

/** Reads all pages and runs `between` after each. */
async function pages(
  { get }: Payroll,
  query: string,
  between: (page: number) => Promise<unknown> = async () => {},
): Promise<LineRecord[][]> {
  const seen: LineRecord[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, text, json } = await get(`/r/lines?${query}${cursor && `&cursor=${cursor}`}`);
    if (status !== 200) throw new Error(text);
    seen.push(json.data);
    cursor = json.next_cursor;
    await between(seen.length);
  }
  return seen;
}

onEitherEngine('a line has every field of the reference', async (t) => {
  const { put, get } = await startPayroll(t);
  await put('r');
  const { status, json, headers } = await get('/r/lines');
  t.equal(status, 200);
  t.match(headers['content-type'], /^application\/json/);
  t.equal(headers.etag, undefined, 'an open run has none yet');
  t.strictSame(json.data[0], {
    employee_id: 'emp-1',
    deduction_id: 'ded-1',
    version: 1,
    line_of_coverage: 'medical',
    coverage_type: null,
    taxability: 'pre_tax',
    payroll_code: null,
    employer_payroll_code: null,
    employer_treatment: null,
    description: null,
    period: 'monthly',
    member_contribution: '150.00',
    employer_contribution: '350',
    member_amount: '69.23',
    employer_amount: '161.53',
    kind: 'regular',
    adjustment_for: null,
    change: 'new',
    previous_amount: null,
    amount_change: null,
    member_difference: null,
    employer_difference: null,
    flags: [],
    explanation: json.data[0].explanation,
    unapplied: null,
  });
  t.strictSame(ids(json.data), ['ded-1', 'ded-2']);
  t.equal(json.next_cursor, null);
});

onEitherEngine('pages of any size have each line once, even if they end inside an employee', async (t) => {
  const payroll = await startPayroll(t);
  await several(payroll.db);
  await payroll.put('r');
  const [whole = []] = await pages(payroll, '');
  t.equal(whole.length, 6);
  for (const state of ['open', 'finalized']) {
    for (const limit of [1, 2, 3, 4, 5, 6]) {
      const seen = await pages(payroll, `limit=${limit}`);
      t.strictSame(seen.flat(), whole, `${state}, ${limit} a page`);
      t.ok(
        seen.slice(0, -1).every((page) => page.length === limit),
        'every page except the last is full',
      );
    }
    await payroll.post('/r/finalize');
  }
});

onEitherEngine('a list begun before the run was finalized at another position must start over', async (t) => {
  const { put, get, post, db } = await startPayroll(t);
  await put('r');
  const { next_cursor } = (await get('/r/lines?limit=1')).json;
  const changed = { id: 'ded-2', employee_id: 'emp-2', line_of_coverage: 'dental', member_contribution: '1' };
  await deduct(db, 'evt-3', changed, '2026-07-01T00:00:00Z');
  await post('/r/finalize');
  const { status, json } = await get(`/r/lines?limit=1&cursor=${next_cursor}`);
  t.equal(status, 409);
  t.match(json.detail, /was finalized while the list was read/);
});

onEitherEngine('the lines of one employee can be requested, in pages and as a file', async (t) => {
  const payroll = await startPayroll(t);
  await several(payroll.db);
  await payroll.put('r');
  for (const state of ['open', 'finalized']) {
    t.strictSame(ids((await pages(payroll, 'employee_id=emp-2')).flat()), ['ded-2'], state);
    t.equal((await pages(payroll, 'employee_id=emp-1&limit=2')).flat().length, 5, state);
    t.equal(
      (await payroll.get('/r/lines?employee_id=emp-2', CSV)).text.trim().split('\r\n').length,
      2,
      state,
    );
    await payroll.post('/r/finalize');
  }
});

onEitherEngine('the same lines are available as CSV and as newline-delimited JSON', async (t) => {
  const payroll = await startPayroll(t);
  const { get, post, put } = payroll;
  await several(payroll.db);
  await put('r');
  for (const state of ['open', 'finalized']) {
    const lines = (await pages(payroll, '')).flat();
    const ndjson = await get('/r/lines', NDJSON);
    t.match(ndjson.headers['content-type'], /^application\/x-ndjson/, state);
    const texts = ndjson.text.trimEnd().split('\n');
    t.strictSame(
      texts.map((text) => JSON.parse(text)),
      lines,
      state,
    );
    const csv = await get('/r/lines', CSV);
    t.match(csv.headers['content-type'], /^text\/csv/, state);
    const rows = parse(csv.text, { columns: true }) as Record<string, string>[];
    t.match(
      rows,
      lines.map((line) => ({
        run_id: 'r',
        deduction_id: line.deduction_id,
        member_amount: line.member_amount,
      })),
    );
    t.equal(rows.length, lines.length);
    t.equal(csv.headers.vary, 'accept');
    await post('/r/finalize');
  }
});

onEitherEngine('frozen lines have the ETag of their run, in every content type', async (t) => {
  const { finalized, get } = await startPayroll(t);
  const { etag } = (await finalized('r')).json;
  for (const more of [{}, CSV, NDJSON]) t.equal((await get('/r/lines', more)).headers.etag, `"${etag}"`);
});

onEitherEngine('a run without lines has an empty page, a CSV header, or an empty text', async (t) => {
  const { put, get, db } = await startPayroll(t);
  await employ(db, 'emp-3');
  await put('r', { employee_ids: ['emp-3'] });
  t.strictSame((await get('/r/lines')).json, { data: [], has_more: false, next_cursor: null });
  t.match((await get('/r/lines', CSV)).text, /^run_id,[a-z_,]+\r\n$/);
  t.equal((await get('/r/lines', NDJSON)).text, '');
});

onEitherEngine('an unavailable type is 406, and files have no pages', async (t) => {
  const { put, get } = await startPayroll(t);
  await put('r');
  const html = await get('/r/lines', { headers: { accept: 'text/html' } });
  t.equal(html.status, 406);
  t.match(html.json.detail, 'text/csv');
  const { status, json } = await get('/r/lines?limit=1&cursor=x', CSV);
  t.equal(status, 400);
  t.strictSame(
    json.errors.map((error: { path: string }) => error.path),
    ['cursor', 'limit'],
  );
  t.equal((await get('/r/lines', { method: 'HEAD' })).status, 405, 'only file routes have HEAD');
});

onEitherEngine('a file of a run that can no longer be computed is rejected before it begins', async (t) => {
  const { put, get, call } = await startPayroll(t);
  await put('r');
  const moved = { pay_frequency: 'biweekly', pay_dates: bodyDates(1) };
  const url = `/v1/employers/${EMPLOYER}/pay-schedule`;
  t.equal((await call({ method: 'PUT', url, body: { schedules: [moved] } })).status, 200);
  for (const more of [{}, CSV, NDJSON]) {
    const { status, json } = await get('/r/lines', more);
    t.equal(status, 422);
    t.match(json.errors, [{ path: 'pay_date', rule: /must be a date of the pay schedule/ }]);
  }
});

onEitherEngine('lines are filtered by kind, change or flag, in pages and as a file', async (t) => {
  const payroll = await startPayroll(t);
  const { db, put, get, post, finalized } = payroll;
  await finalized('before', bodyOn('2026-07-03'));
  await post('/before/taken', { lines: [{ employee_id: 'emp-2', amount: '0' }] });
  await several(db);
  await put('r');
  const found = async (query: string) => (await get(`/r/lines?${query}`)).json.data;
  t.equal((await found('')).length, 11);
  t.equal((await found('kind=adjustment')).length, 4, 'the previous run lacks the late ones');
  t.match(await found('kind=arrears'), [{ employee_id: 'emp-2', kind: 'arrears', member_amount: '69.23' }]);
  t.match(await found('flag=reported&employee_id=emp-2'), [{ kind: 'arrears' }]);
  t.strictSame(ids(await found('change=same')), ['ded-1', 'ded-2']);
  t.strictSame(await found('change=ended'), []);
  const paged = await pages(payroll, 'change=new&limit=3');
  t.strictSame(paged.map(ids), [['ded-dental', 'ded-hsa', 'ded-life'], ['ded-vision']]);
  const rows = parse((await get('/r/lines?change=new', CSV)).text, { columns: true });
  t.equal(rows.length, 4);
  t.equal((await get('/r/lines?change=other')).status, 400);
});

/** The schedule with shifted dates. */
function bodyDates(days: number) {
  const moved = (day: string) => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
  return Array.from({ length: 26 }, (_, index) => {
    const day = moved(new Date(Date.parse('2026-01-02') + index * 14 * 86_400_000).toISOString());
    return { pay_date: day, period_start: moved(day), period_end: moved(day) };
  });
}
