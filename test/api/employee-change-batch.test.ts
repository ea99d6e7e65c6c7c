import { request as httpRequest } from 'node:http';
import { newHire, termination } from '../contract/samples.ts';
import { onEitherEngine } from '../support/engine.ts';
import { FIRST_TOKEN, type Running, start } from './start.ts';

const test = onEitherEngine.with(start);

const URL = '/v1/employee-changes/batch';
const NDJSON = { 'content-type': 'application/x-ndjson' };

const batch = ({ call }: Running, body: unknown, headers: Record<string, string> = {}) =>
  call({ method: 'POST', url: URL, body, headers });
const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const accepted = async ({ db }: Running) =>
  db
    .selectFrom('outbox')
    .select(['request_id', 'kind', 'subject_type', 'subject_id', 'is_next'])
    .orderBy('seq')
    .execute();

const hire = { kind: 'new-hire', ...newHire };
const leave = { kind: 'termination', ...termination };
const leaveOf = (employee_id: string) => ({ ...leave, employee_id });

test('an invalid line has its problems and affects no other', async (t, running) => {
  const good = JSON.stringify(leave);
  const text = [
    good,
    '{"kind":"termination"',
    JSON.stringify({ ...leave, termination_date: '2026-02-29', reason: 'x' }),
    '',
    JSON.stringify({ ...leave, kind: 'census' }),
    JSON.stringify(termination),
    '[]',
    JSON.stringify({ ...leaveOf('e'), employee_id: 'x'.repeat(2 * 1024 * 1024) }),
    good.replace('{', '{"kind":"termination",'),
    JSON.stringify({ ...leave, idempotency_key: 'k'.repeat(1024) }),
    JSON.stringify({ ...hire, idempotency_key: 7, dob: '' }),
    JSON.stringify(leaveOf('emp-2')),
  ].join('\n');
  const { status, text: answer, headers } = await batch(running, text, NDJSON);
  t.equal(status, 200);
  t.match(headers['content-type'], /^application\/x-ndjson/);
  const results = linesOf(answer);
  const shown = results.map(({ line, status, errors = [] }) =>
    [line, status, ...errors.map(({ path }: { path: string }) => path)].join(' '),
  );
  t.strictSame(shown, [
    ...['1 accepted', '2 refused line', '3 refused reason termination_date', '5 refused kind'],
    ...['6 refused kind', '7 refused line', '8 refused line', '9 refused line'],
    ...['10 refused idempotency_key', '11 refused idempotency_key dob', '12 accepted'],
  ]);
  t.match(results[6].errors[0].rule, 'must be at most 256 KiB');
  t.equal((await accepted(running)).map(({ subject_id }) => subject_id).join(), 'emp-1,emp-2');
});

test('a line with a key is accepted once, and an invalid key rejects its line', async (t, running) => {
  const [a, b] = [leaveOf('a'), leaveOf('b')];
  const keyed = [
    { ...a, idempotency_key: '1' },
    { idempotency_key: '1', ...a },
    { ...b, idempotency_key: '1' },
    { ...b, idempotency_key: 'a b' },
  ];
  t.match((await batch(running, keyed)).json.results, [
    { status: 'accepted' },
    { status: 'repeated' },
    { status: 'conflict', errors: [{ path: 'idempotency_key', rule: /^was already used/ }] },
    { status: 'refused', errors: [{ path: 'idempotency_key' }] },
  ]);
});

test('10,000 changes are accepted, and a larger batch is rejected as a whole', async (t, running) => {
  const text = Array.from({ length: 10_000 }, (_, at) => JSON.stringify(leaveOf(`e${at % 4_000}`)));
  const { text: answer } = await batch(running, text.join('\n'), NDJSON);
  const results = linesOf(answer);
  const rows = await accepted(running);
  t.equal(results.length, 10_000);
  const ids = results.map(({ change_id }) => change_id).join();
  t.equal(ids, rows.map(({ request_id }) => request_id).join());
  t.equal(rows.filter(({ is_next }) => is_next === 1).length, 4_000, 'one request at the front per employee');
  const refused = await batch(running, [...text, text[0]].join('\n'), NDJSON);
  t.equal(refused.status, 400);
  t.match(refused.json.errors, [{ path: 'body', rule: /at most 10000 changes/ }]);
  t.equal((await accepted(running)).length, 10_000);
});

test('a malformed batch is rejected as a whole', async (t, running) => {
  const line = JSON.stringify(leave);
  const cases: [string, unknown, Record<string, string>, number][] = [
    ['nothing', '', NDJSON, 400],
    ['an empty array', '[]', {}, 400],
    ['one change, no array', line, {}, 400],
    ['an array without end', `[${line},`, {}, 400],
    ['another type', line, { 'content-type': 'text/csv' }, 415],
    ['another charset', line, { 'content-type': 'application/x-ndjson; charset=utf-16' }, 415],
    ['compressed', line, { ...NDJSON, 'content-encoding': 'gzip' }, 415],
    ['UTF-16', Buffer.from(`[${line}]`, 'utf16le'), {}, 400],
    ['a key of the whole batch', line, { ...NDJSON, 'idempotency-key': 'all' }, 400],
    ['more than 16 MiB', `${line}\n${' '.repeat(16 * 1024 * 1024)}`, NDJSON, 413],
  ];
  for (const [name, body, headers, expected] of cases)
    t.equal((await batch(running, body, headers)).status, expected, name);
  t.strictSame(await accepted(running), []);
});

test('a batch without an announced length is read to its limit, and not further', async (t, running) => {
  const address = await running.app.listen({ host: '127.0.0.1', port: 0 });
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { ...NDJSON, authorization: `Bearer ${FIRST_TOKEN}`, 'transfer-encoding': 'chunked' };
    const request = httpRequest(`${address}${URL}`, { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    // The listener closes the connection after its response.
    request.on('error', reject);
    request.write(`${JSON.stringify(leave)}\n`);
    for (let mebibytes = 0; mebibytes < 16; mebibytes += 1) request.write(' '.repeat(1024 * 1024));
  });
  t.equal(status, 413);
  t.strictSame(await accepted(running), []);
});
