import type { ChangeKind } from '../../src/outbox/manual.ts';
import { CHANGE_KINDS } from '../../src/outbox/manual.ts';
import { compensationChange, demographic, newHire, termination } from '../contract/samples.ts';
import { onEitherEngine } from '../support/engine.ts';
import { deductionOf, deliver } from './deliver.ts';
import { NOW, type Running, start } from './start.ts';

const BODIES: Record<ChangeKind, { employee_id: string }> = {
  'new-hire': newHire,
  termination,
  demographic,
  'compensation-change': compensationChange,
};

const post = ({ call }: Running, kind: ChangeKind, body: unknown, headers: Record<string, string> = {}) =>
  call({ method: 'POST', url: `/v1/employee-changes/${kind}`, body, headers });

onEitherEngine('each kind of change is accepted, queued and signaled to the send loop', async (t) => {
  const running = await start(t);
  for (const [index, kind] of CHANGE_KINDS.entries()) {
    const { status, json } = await post(running, kind, BODIES[kind]);
    t.equal(status, 202);
    t.strictSame(json, {
      id: json.id,
      kind,
      employee_id: 'emp-1',
      state: 'pending',
      created_at: NOW.toISOString(),
    });
    t.equal(running.woken.send, index + 1);
    const found = await running.call({ url: `/v1/employee-changes/${json.id}` });
    t.match(found.json, json, 'it can be read by its id');
    t.match(running.logged[index], { fields: { request_id: json.id, kind, token: 'API_TOKEN' } });
  }
  const owed = await running.db
    .selectFrom('outbox')
    .select(['kind', 'subject_type', 'subject_id', 'is_next'])
    .orderBy('seq')
    .execute();
  t.strictSame(
    owed,
    CHANGE_KINDS.map((kind, index) => ({
      kind,
      subject_type: 'employee',
      subject_id: 'emp-1',
      is_next: index === 0 ? 1 : 0,
    })),
    'in order of acceptance',
  );
});

onEitherEngine('the same key with the same change returns the first response', async (t) => {
  const running = await start(t);
  const headers = { 'idempotency-key': 'hire-1' };
  const first = await post(running, 'new-hire', newHire, headers);
  const again = await post(running, 'new-hire', newHire, headers);
  t.equal(again.status, 202);
  t.strictSame(again.json, first.json);
  const { employee_id, ...rest } = newHire;
  const reordered = await post(running, 'new-hire', { ...rest, employee_id }, headers);
  t.strictSame(reordered.json, first.json, 'in any order of its fields');
  t.equal(running.woken.send, 1, 'nothing new is enqueued');
  t.equal((await running.call({ url: '/v1/employee-changes' })).json.data.length, 1);
});

onEitherEngine('the same key with another change is 409, and the first change remains', async (t) => {
  const running = await start(t);
  const headers = { 'idempotency-key': 'k' };
  await post(running, 'termination', termination, headers);
  const other = await post(
    running,
    'termination',
    { ...termination, termination_date: '2026-04-01' },
    headers,
  );
  t.equal(other.status, 409);
  t.match(other.json, {
    type: 'urn:benefits-sidecar:problem:conflict',
    detail: /send a new change with a new key/,
  });
  const otherKind = await post(running, 'demographic', demographic, headers);
  t.equal(otherKind.status, 409, 'even for another kind');
  t.equal((await post(running, 'termination', termination, headers)).status, 202);
  t.equal((await running.call({ url: '/v1/employee-changes' })).json.data.length, 1);
});

onEitherEngine('without a key each request is a new change', async (t) => {
  const running = await start(t);
  const one = await post(running, 'termination', termination);
  const other = await post(running, 'termination', termination);
  t.not(one.json.id, other.json.id);
});

onEitherEngine('an invalid key is rejected by name', async (t) => {
  const running = await start(t);
  const keys = ['', 'k'.repeat(256), 'k'.repeat(1024), 'two words', 'k\u00e9', 'a, b'];
  for (const key of keys) {
    const { status, json } = await post(running, 'termination', termination, { 'idempotency-key': key });
    t.equal(status, 400, key);
    t.match(json.errors, [{ path: 'Idempotency-Key', rule: /^must be 1 to 255 visible ASCII characters/ }]);
  }
  for (const key of ['k'.repeat(255), '!~/"\\']) {
    t.equal(
      (await post(running, 'termination', { ...termination, employee_id: key }, { 'idempotency-key': key }))
        .status,
      202,
    );
  }
});

onEitherEngine('every invalid or unknown field is named, and nothing is accepted', async (t) => {
  const running = await start(t);
  const bad: [ChangeKind, unknown, string[]][] = [
    [
      'termination',
      { employee_id: '', termination_date: '2026-02-29', reason: 'x' },
      ['employee_id', 'reason', 'termination_date'],
    ],
    ['termination', {}, ['employee_id', 'termination_date']],
    ['termination', [termination], ['body']],
    ['termination', null, ['body']],
    ['termination', { ...termination, employee_id: 7 }, ['employee_id']],
    ['new-hire', { ...newHire, pay_rate: newHire.pay_rate[0] }, ['pay_rate']],
    [
      'new-hire',
      { ...newHire, employer: '', address: { ...newHire.address, state: 'XX' } },
      ['address.state', 'employer'],
    ],
    ['new-hire', { ...newHire, phone_number: '555-555-5555', email: 'x' }, ['email', 'phone_number']],
    ['new-hire', { ...newHire, employment_status: 'variable_hours' }, ['employment_status']],
    [
      'demographic',
      { employee_id: 'e', address: {} },
      ['address.city', 'address.line1', 'address.state', 'address.zip_code'],
    ],
    ['compensation-change', { employee_id: 'e' }, ['body']],
    ['compensation-change', { employee_id: 'e', pay_rate: [] }, ['pay_rate']],
    [
      'compensation-change',
      { employee_id: 'e', pay_rate: { amount: '-1', period: 'weekly', effective_start: '2025-02-29' } },
      ['pay_rate.amount', 'pay_rate.effective_start', 'pay_rate.period'],
    ],
  ];
  for (const [kind, body, paths] of bad) {
    const { status, json } = await post(running, kind, body);
    t.equal(status, 422, JSON.stringify(json));
    t.equal(json.type, 'urn:benefits-sidecar:problem:change-refused');
    t.strictSame(json.errors.map((error: { path: string }) => error.path).sort(), paths);
  }
  t.equal((await running.call({ url: '/v1/employee-changes' })).json.data.length, 0);
  t.strictSame(running.logged, [], 'nothing is logged as an error');
});

onEitherEngine('February 29 exists in leap years only', async (t) => {
  const running = await start(t);
  const on = (termination_date: string) => post(running, 'termination', { ...termination, termination_date });
  for (const day of ['2024-02-29', '2028-02-29', '2000-02-29']) t.equal((await on(day)).status, 202, day);
  for (const day of ['2025-02-29', '2026-02-29', '1900-02-29', '2100-02-29', '2024-02-30']) {
    const { status, json } = await on(day);
    t.equal(status, 422, day);
    t.match(json.errors, [{ path: 'termination_date', rule: 'must be a real date, YYYY-MM-DD' }]);
  }
});

onEitherEngine('a body that is not JSON in UTF-8, or is ambiguous, is rejected', async (t) => {
  const running = await start(t);
  const text = JSON.stringify(termination);
  const utf16 = Buffer.from(text, 'utf16le');
  const latin1 = Buffer.from(text.replace('emp-1', 'J\u00fcrgen'), 'latin1');
  const cases: [string, unknown, Record<string, string>, number][] = [
    ['another type', text, { 'content-type': 'text/plain' }, 415],
    ['a form', 'employee_id=1', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['newline-delimited', text, { 'content-type': 'application/x-ndjson' }, 415],
    ['another charset', latin1, { 'content-type': 'application/json; charset=iso-8859-1' }, 415],
    ['another charset, in quotes', utf16, { 'content-type': 'application/json;charset="UTF-16"' }, 415],
    ['another undeclared encoding', utf16, {}, 400],
    ['undeclared Latin-1', latin1, {}, 400],
    ['compressed', text, { 'content-encoding': 'gzip' }, 415],
    ['cut off', text.slice(0, -1), {}, 400],
    ['a field given twice', text.replace('{', '{"employee_id":"a",'), {}, 400],
    ['a NUL character', text.replace('emp-1', 'emp\\u0000'), {}, 400],
    ['half a surrogate pair', text.replace('emp-1', '\\ud800'), {}, 400],
    ['__proto__', text.replace('{', '{"__proto__":{"x":1},'), {}, 400],
    ['too much', text.replace('emp-1', 'e'.repeat(300_000)), {}, 413],
  ];
  for (const [name, body, headers, expected] of cases) {
    t.equal((await post(running, 'termination', body, headers)).status, expected, name);
  }
  const good = { 'content-type': 'application/json; charset=UTF-8' };
  t.equal((await post(running, 'termination', text, good)).status, 202);
});

onEitherEngine('ids may contain slashes, spaces, dots and any letter', async (t) => {
  const running = await start(t);
  for (const id of ['a/b', '../..', '. .', 'Zo\u00eb \u5c71', '\u{1F600}', '%2F', '"', "'", '\u202e']) {
    const { status, json } = await post(running, 'termination', { ...termination, employee_id: id });
    t.equal(status, 202);
    t.equal(json.employee_id, id);
    const listed = await running.call({ url: `/v1/employee-changes?employee_id=${encodeURIComponent(id)}` });
    t.equal(listed.json.data.length, 1, id);
  }
});

onEitherEngine(
  'deductions of an unknown employee match automatically when the employee is hired',
  async (t) => {
    const running = await start(t);
    await deliver(running.db, [deductionOf('e1', { id: 'd1', employee_id: 'emp-1' })]);
    const matched = async (is: boolean) =>
      (await running.call({ url: `/v1/deductions?matched=${is}` })).json.data;
    t.match(await matched(false), [{ id: 'd1', employer_id: null }]);
    await post(running, 'new-hire', newHire);
    t.strictSame(await matched(false), []);
    t.match(await matched(true), [{ id: 'd1', employer_id: newHire.employer_id }]);
  },
);

onEitherEngine(
  'the employer is forwarded if given, and no personal value is in a response or the log',
  async (t) => {
    const running = await start(t);
    const canary = 'canary-7f3a';
    const { text } = await post(running, 'new-hire', {
      ...newHire,
      ssn: canary,
      employer: canary,
      first_name: canary,
    });
    const bad = await post(running, 'new-hire', { ...newHire, dob: canary, [canary]: canary, email: canary });
    t.equal(bad.status, 422);
    t.notMatch(text + bad.text + JSON.stringify(running.logged), canary);
  },
);
