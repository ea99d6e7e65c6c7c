import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse } from 'csv-parse/sync';
import type { Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import type { LineRecord } from '../../src/payroll/calculation/line.ts';
import type { PayDate } from '../../src/payroll/settings/schedules.ts';
import { onEitherEngine } from '../support/engine.ts';
import {
  BIWEEKLY,
  bodyOn,
  daysAfter,
  deduct,
  EMPLOYER,
  employ,
  hireMany,
  setPolicy,
} from '../support/payroll.ts';
import { settled } from '../support/settled.ts';
import { listenerObserving, type Payroll, RUNS, startPayroll } from './payroll-stage.ts';
import { FIRST_TOKEN, type Logged } from './start.ts';

const test = onEitherEngine.with(startPayroll);

const CSV = { headers: { accept: 'text/csv' } };
const NDJSON = { headers: { accept: 'application/x-ndjson' } };

/** Several lines per employee, so that pages end inside an employee. */
async function several(db: Db): Promise<void> {
  for (const line of ['dental', 'vision', 'life', 'hsa'])
    await deduct(db, `evt-${line}`, { id: `ded-${line}`, employee_id: 'emp-1', line_of_coverage: line });
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

test('pages of any size have each line once, even if they end inside an employee', async (t, payroll) => {
  await several(payroll.db);
  await payroll.put('r');
  const [whole = []] = await pages(payroll, '');
  t.equal(whole.length, 6);
  for (const state of ['open', 'finalized']) {
    for (const limit of [1, 2, 3, 4, 5, 6]) {
      const seen = await pages(payroll, `limit=${limit}`);
      t.strictSame(seen.flat(), whole, `${state}, ${limit} a page`);
      for (const page of seen.slice(0, -1)) t.equal(page.length, limit, 'every page except the last is full');
    }
    await payroll.finalize('r');
  }
});

test('the download of a file of a final run is recorded, and the run shows the last one', async (t, payroll) => {
  const { get, put, call, finalize, finalized, personWith } = payroll;
  await put('r');
  const download = (token?: string) =>
    get('/r/lines?download=true', { ...CSV, ...(token !== undefined && { token }) });
  await download();
  t.equal((await get('/r')).json.last_download, null, 'the run is open');
  const { audit_head } = (await finalize('r')).json;
  await get('/r/lines', CSV);
  await get('/r/lines?download=true');
  t.equal((await get('/r/outline')).json.last_download, null, 'a page, or a file without a record');
  await download();
  t.equal((await download(await personWith('ann@example.com', 'runs:read'))).status, 200);
  const { data } = (await call({ url: '/v1/audit?action=run.download' })).json;
  t.match(data, [{ resource_id: 'r', employer_id: EMPLOYER }, { actor: { id: 'API_TOKEN' } }]);
  t.equal(data.length, 2);
  await finalized('later', bodyOn('2026-07-31'));
  await get('/later/lines?download=true', CSV);
  const last_download = { by: data[0].actor, at: data[0].recorded_at };
  t.match((await get('/r')).json, { last_download, audit_head }, 'not of another run');
  const { json } = await call({ url: '/v1/payrolls-due' });
  t.match(json.data, [{ state: 'finalized', final: { downloaded_at: data[0].recorded_at } }]);
});

test('a list begun before the run was finalized at another position must start over', async (t, world) => {
  const { put, get, finalize, db } = world;
  await put('r');
  const { next_cursor } = (await get('/r/lines?limit=1')).json;
  const changed = { id: 'ded-2', employee_id: 'emp-2', line_of_coverage: 'dental', member_contribution: '1' };
  await deduct(db, 'evt-3', changed, '2026-07-01T00:00:00Z');
  await finalize('r');
  const { status, json } = await get(`/r/lines?limit=1&cursor=${next_cursor}`);
  t.equal(status, 409);
  t.match(json.detail, /was finalized while the list was read/);
});

test('the same lines are available as CSV and as newline-delimited JSON', async (t, payroll) => {
  const { get, finalize, put } = payroll;
  await several(payroll.db);
  await put('r');
  for (const state of ['open', 'finalized']) {
    const lines = (await pages(payroll, '')).flat();
    const ndjson = await get('/r/lines', NDJSON);
    t.match(ndjson.headers['content-type'], /^application\/x-ndjson/, state);
    const parsed = JSON.parse(`[${ndjson.text.trimEnd().replaceAll('\n', ',')}]`);
    t.strictSame(parsed, lines, state);
    const csv = await get('/r/lines', CSV);
    t.match(csv.headers['content-type'], /^text\/csv/, state);
    const rows = parse(csv.text, { columns: true }) as Record<string, string>[];
    const picked = rows.map((row) => [row.run_id, row.deduction_id, row.member_amount]);
    const expected = lines.map((line) => ['r', line.deduction_id, line.member_amount]);
    t.strictSame(picked, expected);
    t.equal(csv.headers.vary, 'accept');
    await finalize('r');
  }
  const { etag } = (await get('/r')).json;
  for (const more of [{}, CSV, NDJSON]) t.equal((await get('/r/lines', more)).headers.etag, `"${etag}"`);
});

test('a run without lines has an empty page, a CSV header, or an empty text', async (t, { put, get, db }) => {
  await employ(db, 'emp-3');
  await put('r', { employee_ids: ['emp-3'] });
  t.strictSame((await get('/r/lines')).json, { data: [], has_more: false, next_cursor: null });
  t.match((await get('/r/lines', CSV)).text, /^run_id,[a-z_,]+\r\n$/);
  t.equal((await get('/r/lines', NDJSON)).text, '');
});

test('an unavailable type is 406, and files have no pages', async (t, { put, get }) => {
  await put('r');
  const html = await get('/r/lines', { headers: { accept: 'text/html' } });
  t.equal(html.status, 406);
  t.match(html.json.detail, 'text/csv');
  const { status, json } = await get('/r/lines?limit=1&cursor=x', CSV);
  t.equal(status, 400);
  t.equal(json.errors.map(({ path }: { path: string }) => path).join(), 'cursor,limit');
  t.equal((await get('/r/lines', { method: 'HEAD' })).status, 405, 'only file routes have HEAD');
});

test('a file of a run that can no longer be computed is rejected before it begins', async (t, world) => {
  const { put, get, call } = world;
  await put('r');
  const moved = { pay_frequency: 'biweekly', pay_dates: BIWEEKLY.map(aDayLater) };
  const url = `/v1/employers/${EMPLOYER}/pay-schedules/2026`;
  t.equal((await call({ method: 'PUT', url, body: { schedules: [moved] } })).status, 200);
  for (const more of [{}, CSV, NDJSON]) {
    const { status, json } = await get('/r/lines', more);
    t.equal(status, 422);
    t.match(json.errors, [{ path: 'pay_date', rule: /must be a date of the pay schedule/ }]);
  }
});

test('lines are filtered by kind, change or flag, in pages and as a file', async (t, payroll) => {
  const { db, put, get, post, finalized } = payroll;
  await finalized('before', bodyOn('2026-07-03'));
  await post('/before/taken', { lines: [{ employee_id: 'emp-2', amount: '0' }] });
  await several(db);
  await setPolicy(db, { open_items: 'include', recoup: { method: 'all' } });
  await put('r');
  const found = async (query: string) => (await get(`/r/lines?${query}`)).json.data;
  t.equal((await found('')).length, 11);
  t.equal((await found('kind=adjustment')).length, 4, 'the previous run lacks the late ones');
  t.match(await found('kind=arrears'), [{ employee_id: 'emp-2', kind: 'arrears', member_amount: '69.23' }]);
  t.equal((await found('flag=missed_check&employee_id=emp-2')).length, 0);
  t.strictSame(ids(await found('change=same')), ['ded-1', 'ded-2']);
  t.strictSame(await found('change=ended'), []);
  const paged = await pages(payroll, 'change=new&limit=3');
  t.strictSame(paged.map(ids), [['ded-dental', 'ded-hsa', 'ded-life'], ['ded-vision']]);
  const rows = parse((await get('/r/lines?change=new', CSV)).text, { columns: true });
  t.equal(rows.length, 4);
  t.equal((await get('/r/lines?change=other')).status, 400);
});

function aDayLater({ pay_date }: PayDate) {
  const day = daysAfter(pay_date, 1);
  return { pay_date: day, period_start: day, period_end: day };
}

/** Long enough that a page of lines is larger than the socket buffers of both ends. */
const DESCRIPTION = 'x'.repeat(4_000);

/** A finalized run of many employees, on a listener that reports each read of frozen lines. */
async function listening(t: Test, employees: number, onRead: (reads: number) => void = () => {}) {
  const staged = await startPayroll(t);
  await hireMany(staged.db, employees, { description: DESCRIPTION });
  await staged.finalized('r');
  let reads = 0;
  const { app } = listenerObserving(t, staged, 'run_employees', () => onRead(++reads));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { port, reads: () => reads, logged: staged.logged as readonly Logged[], app };
}

/**
 * Requests the lines and returns when the first have arrived, which stay unread. The connection is new, because reading
 * a response enlarges the buffer of its socket, up to 32 MB.
 */
async function ask(port: number, accept: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${FIRST_TOKEN}`, accept };
  const asked = request({ port, path: `${RUNS}/r/lines`, headers, agent: false }).end();
  return new Promise((resolve, reject) => asked.on('error', reject).once('response', resolve));
}

onEitherEngine('lines are not read ahead of a slow client, nor after it disconnected', async (t) => {
  const { port, reads, logged } = await listening(t, 3_500);
  for (const accept of ['text/csv', 'application/x-ndjson']) {
    const before = reads();
    const response = await ask(port, accept);
    const early = (await settled(reads)) - before;
    let bytes = 0;
    for await (const part of response) bytes += part.length;
    const all = reads() - before;
    t.equal(all, 10, 'four growing pages, five full ones and a partial one');
    t.ok(early < all - 2, `${accept}: ${early} of ${all} pages read while the client read nothing`);
    t.ok(bytes > 3_500 * DESCRIPTION.length, `${bytes} bytes`);
  }
  const [before, lines] = [reads(), logged.length];
  const response = await ask(port, 'text/csv');
  await settled(reads);
  response.on('error', () => {}).destroy();
  t.ok((await settled(reads)) - before < 8);
  t.equal(logged.length, lines, 'a disconnection is not logged as an error');
});

onEitherEngine('a file that fails midway is cut off without an end, and the cause is logged', async (t) => {
  const { port, logged } = await listening(t, 600, (reads) => {
    if (reads > 1) throw new Error('gone');
  });
  const response = await ask(port, 'text/csv');
  await t.rejects(async () => {
    for await (const _ of response);
  });
  t.match(logged.at(-1), {
    level: 'error',
    fields: { route: 'GET /v1/payroll-runs/:run_id/lines', cause: /^Error at / },
    message: 'a response was interrupted',
  });
});
