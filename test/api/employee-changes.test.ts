import type { ChangeKind } from '../../src/outbox/manual.ts';
import { CHANGE_KINDS } from '../../src/outbox/manual.ts';
import { compensationChange, demographic, newHire, termination } from '../contract/samples.ts';
import { onEitherEngine } from '../support/engine.ts';
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

onEitherEngine('a key returns the response of its change, and another change under it is 409', async (t) => {
  const running = await start(t);
  const headers = { 'idempotency-key': 'hire-1' };
  const first = await post(running, 'new-hire', newHire, headers);
  const { employee_id, ...rest } = newHire;
  const again = await post(running, 'new-hire', { ...rest, employee_id }, headers);
  t.match([again.status, again.json], [202, first.json]);
  const other = await post(running, 'termination', termination, headers);
  t.equal(other.status, 409);
  t.match(other.json.type, 'urn:benefits-sidecar:problem:conflict');
  t.match(other.json.detail, /send a new change with a new key/);
  t.equal(running.woken.send, 1, 'nothing new is enqueued');
  t.not(
    (await post(running, 'new-hire', newHire)).json.id,
    first.json.id,
    'without a key it is a new change',
  );
  t.equal((await running.call({ url: '/v1/employee-changes' })).json.data.length, 2);
  for (const key of ['', 'two words', 'k\u00e9', 'k'.repeat(1024)]) {
    const { status, json } = await post(running, 'termination', termination, { 'idempotency-key': key });
    t.equal(status, 400, key);
    t.match(json.errors, [{ path: 'Idempotency-Key', rule: /^must be 1 to 255 visible ASCII characters/ }]);
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
    ['termination', [termination], ['body']],
    ['termination', null, ['body']],
    ['new-hire', { ...newHire, address: { ...newHire.address, state: 'XX' } }, ['address.state']],
    ['demographic', { employee_id: 'e' }, ['address']],
    ['compensation-change', { employee_id: 'e' }, ['body']],
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
