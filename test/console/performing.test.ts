import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { dismissEvent } from '../../src/api/operations/event-work.ts';
import { listPayrollRunLines } from '../../src/api/operations/payroll-run-lines.ts';
import { html } from '../../src/console/html.ts';
import { type Console, createConsole } from '../../src/console/page.ts';
import { countOf } from '../../src/telemetry/metric.ts';
import { FIRST_TOKEN, start } from '../api/start.ts';
import { openConsole } from './stage.ts';

const asToken = (token: string) => ({ authorization: `Bearer ${token}` });

t.test('a page logs once what its operations refuse, and shows it', async (t) => {
  const { base, logged, tokenFor } = await openConsole(t);
  const headers = asToken(await tokenFor(['acme'], 'ledger:read', 'runs:read'));
  const page = await fetch(`${base}/deductions/ded-elsewhere`, { headers });
  t.match(await page.text(), 'There is no deduction with the ID ded-elsewhere');
  const route = 'GET /v1/deductions/:deduction_id';
  const refused = logged.filter(({ message }) => message === 'a caller was refused');
  t.match(refused, [{ fields: { route, status: 404, address: '127.0.0.1' } }]);
  t.equal(refused.length, 1);
});

t.test('a page checks the body of an operation as the listener does', async (t) => {
  const { base } = await openConsole(t);
  const send = async (reason: string) => {
    const body = new URLSearchParams({ reason });
    const headers = { ...asToken(FIRST_TOKEN), 'hx-request': 'true' };
    const response = await fetch(`${base}/events/evt_1/dismiss`, { method: 'POST', headers, body });
    return [response.status, await response.text()] as const;
  };
  t.match(await send('a\0b'), [400, 'has a NUL character in a string']);
  t.match(await send('x'.repeat(1_001)), [400, 'reason']);
  // Each character has six in JSON.
  t.match(await send('\u0001'.repeat(50_000)), [413, 'exceeds the size limit']);
});

t.test('a browser cannot send the password of the reference to a page', async (t) => {
  const { base } = await openConsole(t);
  const authorization = `Basic ${Buffer.from(`:${FIRST_TOKEN}`).toString('base64')}`;
  for (const path of ['/', '/operations']) {
    const { status } = await fetch(base + path, { headers: { authorization }, redirect: 'manual' });
    t.equal(status, 303, path);
  }
});

/** Starts a listener with one more page. */
async function withPages(t: Test, add: (pages: Console) => void) {
  const running = await start(t, {}, (app, parts) => {
    const read = { isSendingOff: async () => false, readMark: async () => '' };
    const more = { openId: null, environment: 'sandbox', ...read } as const;
    app.register(async (pages) => add(createConsole(pages, { ...parts, ...more })));
  });
  return { ...running, base: await running.app.listen({ host: '127.0.0.1', port: 0 }) };
}

t.test('a page that shows something performs nothing that changes something', async (t) => {
  const { base } = await withPages(t, ({ page }) =>
    page('/shows', 'events:write', async ({ api }) => {
      await api.perform(dismissEvent, { params: { event_id: 'evt_1' }, body: { reason: 'no' } });
      return { go: '/' };
    }),
  );
  t.equal((await fetch(`${base}/shows`, { headers: asToken(FIRST_TOKEN) })).status, 500);
});

const LINE = 'x'.repeat(64 * 1024);

t.test('a download that is cut off ends with an error', async (t) => {
  const { base, logged } = await withPages(t, ({ csv }) => {
    csv('/cut.csv', linesFrom(cut), async () => ({ params: { run_id: 'r1' }, filename: 'cut.csv' }));
  });
  const response = await fetch(`${base}/cut.csv`, { headers: asToken(FIRST_TOKEN) });
  t.equal(response.headers.get('content-disposition'), 'attachment; filename="cut.csv"');
  await t.rejects(response.text());
  t.match(logged, [
    { message: 'a response was interrupted', fields: { route: 'GET /v1/payroll-runs/:run_id/lines' } },
  ]);
});

t.test('a download is produced as it is read, until the user leaves', async (t) => {
  const ended = Promise.withResolvers<number>();
  const { base } = await withPages(t, ({ csv }) => {
    const input = { params: { run_id: 'r1' }, filename: 'endless.csv' };
    csv(
      '/endless.csv',
      linesFrom(() => endless(ended.resolve)),
      async () => input,
    );
  });
  const leaving = new AbortController();
  const response = await fetch(`${base}/endless.csv`, {
    headers: asToken(FIRST_TOKEN),
    signal: leaving.signal,
  });
  await response.body?.getReader().read();
  leaving.abort();
  t.ok((await ended.promise) < 1_000, 'buffers are bounded');
});

t.test('work on runs is measured for pages and downloads too', async (t) => {
  const { base, parts } = await withPages(t, ({ page, csv }) => {
    const params = { run_id: 'r1' };
    csv('/lines.csv', linesFrom(whole), async () => ({ params, filename: 'lines.csv' }));
    page('/lines', 'runs:read', async ({ api }) => {
      await api.perform({ ...linesFrom(whole), run: async () => null as never }, { params });
      return { title: 'Lines', body: html`<p>Lines</p>` };
    });
  });
  const headers = asToken(FIRST_TOKEN);
  const measured = () => countOf(parts.counts.runs.lines);
  await fetch(`${base}/lines`, { headers });
  t.equal(measured(), 1);
  t.equal(await (await fetch(`${base}/lines.csv`, { headers })).text(), LINE);
  // The listener measures until the client has the last byte.
  for (let turns = 0; measured() === 1 && turns < 100_000; turns += 1) await setImmediate();
  t.equal(measured(), 2);
});

type Rows = AsyncGenerator<{ text: string }[]>;

/** Returns the operation of lines with other lines. */
function linesFrom(rows: () => Rows): typeof listPayrollRunLines {
  const files = { rows: rows(), csv: (pages: Rows) => Readable.from(textsOf(pages), { objectMode: false }) };
  return { ...listPayrollRunLines, employers: 'none', files: async () => files as never };
}

async function* textsOf(pages: AsyncIterable<readonly { text: string }[]>): AsyncGenerator<string> {
  for await (const rows of pages) yield rows.map(({ text }) => text).join('');
}

async function* whole(): Rows {
  yield [{ text: LINE }];
}

async function* cut(): Rows {
  yield [{ text: LINE }];
  throw new Error('the database is gone');
}

async function* endless(ended: (pages: number) => void): Rows {
  let pages = 0;
  try {
    for (;;) {
      pages += 1;
      yield [{ text: LINE }];
      await setImmediate();
    }
  } finally {
    ended(pages);
  }
}
