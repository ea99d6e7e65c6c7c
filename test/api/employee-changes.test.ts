import { createApi } from '../../src/api/server.ts';
import { currentCensus } from '../../src/census/staged.ts';
import { CHANGE_KINDS, type ChangeKind } from '../../src/outbox/manual.ts';
import { organization, person } from '../census/parts.ts';
import { compensationChange, demographic, newHire, termination } from '../contract/samples.ts';
import { SAMPLES } from '../employment/stage.ts';
import { encryptor, setClock } from '../outbox/parts.ts';
import { onEachEngine, onEitherEngine } from '../support/engine.ts';
import { call as callOn, NOW, type Running, start } from './start.ts';

const post = (
  { call }: Pick<Running, 'call'>,
  kind: ChangeKind,
  body: unknown,
  headers: Record<string, string> = {},
) => call({ method: 'POST', url: `/v1/employee-changes/${kind}`, body, headers });

onEitherEngine('each kind of change is accepted, queued and signaled to the send loop', async (t) => {
  const running = await start(t);
  for (const [index, kind] of CHANGE_KINDS.entries()) {
    const { status, json } = await post(running, kind, SAMPLES[kind]);
    const change = { kind, employee_id: 'emp-1', state: 'pending', created_at: NOW.toISOString() };
    t.strictSame([status, json], [202, { id: json.id, ...change }]);
    t.equal(running.woken.send, index + 1);
    t.match((await running.call({ url: `/v1/employee-changes/${json.id}` })).json, json);
    t.match(running.logged[index], { fields: { request_id: json.id, kind, token: 'API_TOKEN' } });
  }
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
  for (const key of ['', 'two words', 'k\u00e9', 'k'.repeat(1024)]) {
    const { status, json } = await post(running, 'termination', termination, { 'idempotency-key': key });
    t.equal(status, 400, key);
    t.match(json.errors, [{ path: 'Idempotency-Key', rule: /^must be 1 to 255 visible ASCII characters/ }]);
  }
});

onEitherEngine('a change shows its effective date and pay group, which no body has', async (t) => {
  const { call } = await start(t, { encryptor });
  for (const [kind, body] of Object.entries({ 'compensation-change': compensationChange, demographic })) {
    const own = { effective_on: '2026-08-03', ...(kind !== 'demographic' && { pay_group: 'south' }) };
    const { json } = await post({ call }, kind as ChangeKind, { ...body, ...own });
    const shown = (await call({ url: `/v1/employee-changes/${json.id}?body=true` })).json;
    t.match(shown, { pay_group: null, ...own }, kind);
    t.strictSame(shown.body, body);
  }
});

onEitherEngine('the same key with another effective date or pay group is another change', async (t) => {
  const running = await start(t);
  const report = (kind: ChangeKind, body: object) => post(running, kind, body, { 'idempotency-key': kind });
  const body = { ...termination, effective_on: '2026-03-31' };
  const first = await report('termination', body);
  t.strictSame((await report('termination', body)).json, first.json);
  for (const other of [termination, { ...termination, effective_on: '2026-04-01' }])
    t.equal((await report('termination', other)).status, 409);
  await report('compensation-change', { ...compensationChange, pay_group: 'north' });
  const moved = await report('compensation-change', { ...compensationChange, pay_group: 'south' });
  t.equal(moved.status, 409);
});

onEachEngine('a census is newer than earlier reports, whatever the clock of its sidecar', async (t) => {
  const now = setClock(new Date('2026-07-01T09:00:00.000Z'));
  const running = await start(t, { now, encryptor });
  const { db, parts, call } = running;
  const behind = createApi({ ...parts, now: () => new Date(now().getTime() - 86_400_000) });
  t.teardown(() => behind.close());
  const put = (app: typeof behind, pay_frequency: string) => {
    const body = { organization, employees: [person('emp-1', { pay_frequency })] };
    return callOn(app, { method: 'PUT', url: '/v1/employers/acme/census', body });
  };
  t.equal((await put(running.app, 'weekly')).status, 200);
  now.advance(60_000);
  t.equal((await post(running, 'compensation-change', compensationChange)).status, 202);
  now.advance(60_000);
  t.equal((await put(behind, 'biweekly')).status, 200);
  const { json } = await call({ url: '/v1/employees/emp-1' });
  t.match(json, { employments: [{ pay_frequency: 'biweekly' }] });
  t.match(await currentCensus(db, 'acme'), { staged_at: now().toISOString() });
});
