import type { Test } from 'tap';
import { createApi } from '../../src/api/server.ts';
import { createCensusSender } from '../../src/census/census-sender.ts';
import { currentCensus } from '../../src/census/staged.ts';
import { requestSyncManually } from '../../src/census/syncs.ts';
import { transact } from '../../src/database/transaction.ts';
import { createChangeSenders } from '../../src/employment/bodies.ts';
import { CHANGE_KINDS, type ChangeKind } from '../../src/outbox/manual.ts';
import { organization, person } from '../census/parts.ts';
import { compensationChange, demographic, newHire, termination } from '../contract/samples.ts';
import { SAMPLES } from '../employment/stage.ts';
import { encryptor, sendAll, sendLoop, setClock } from '../outbox/parts.ts';
import { json as respond, stubService } from '../outbox/stub-service.ts';
import { acting } from '../support/audit.ts';
import { onEachEngine, onEitherEngine } from '../support/engine.ts';
import { type Answer, call, NOW, type Running, start } from './start.ts';

const post = ({ call }: Running, kind: ChangeKind, body: unknown, headers: Record<string, string> = {}) =>
  call({ method: 'POST', url: `/v1/employee-changes/${kind}`, body, headers });

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
  const owed = await running.db.selectFrom('outbox').selectAll().orderBy('seq').execute();
  const ofEmployee = { subject_type: 'employee', subject_id: 'emp-1' };
  const expected = CHANGE_KINDS.map((kind, index) => ({ kind, ...ofEmployee, is_next: index === 0 ? 1 : 0 }));
  t.match(owed, expected, 'in order of acceptance');
  t.equal(owed.length, expected.length);
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
  const unkeyed = await post(running, 'new-hire', newHire);
  t.not(unkeyed.json.id, first.json.id, 'without a key it is a new change');
  t.equal((await running.call({ url: '/v1/employee-changes' })).json.data.length, 2);
  for (const key of ['', 'two words', 'k\u00e9', 'k'.repeat(1024)]) {
    const { status, json } = await post(running, 'termination', termination, { 'idempotency-key': key });
    t.equal(status, 400, key);
    t.match(json.errors, [{ path: 'Idempotency-Key', rule: /^must be 1 to 255 visible ASCII characters/ }]);
  }
});

onEitherEngine('no personal value of a change is in a response or the log', async (t) => {
  const running = await start(t);
  const canary = 'canary-7f3a';
  const good = { ...newHire, ssn: canary, employer: canary, first_name: canary };
  const bad = { ...newHire, dob: canary, [canary]: canary, email: canary };
  const changes = [good, bad, { ...bad, kind: canary }, { ...good, idempotency_key: canary }];
  for (const [response, status] of [
    [await post(running, 'new-hire', good), 202],
    [await post(running, 'new-hire', bad), 422],
    [await running.call({ method: 'POST', url: '/v1/employee-changes/batch', body: changes }), 200],
  ] as const) {
    t.equal(response.status, status);
    t.notMatch(response.text + JSON.stringify(running.logged), canary);
  }
});

const DAY_MS = 86_400_000;
async function begin(t: Test, now: string) {
  const clock = setClock(new Date(now));
  const running = await start(t, { now: clock, encryptor });
  const ok = (answer: Answer) => {
    if (answer.status >= 300) throw new Error(answer.text);
    return answer.json;
  };
  return {
    ...running,
    clock,
    census: async (...employees: object[]) => {
      const body = { organization, employees };
      return ok(await running.call({ method: 'PUT', url: '/v1/employers/acme/census', body }));
    },
    report: (kind: string, body: object, headers: Record<string, string> = {}) =>
      running.call({ method: 'POST', url: `/v1/employee-changes/${kind}`, body, headers }),
    employee: async (id: string) => ok(await running.call({ url: `/v1/employees/${id}` })),
  };
}

onEachEngine('an effective date and a pay group are kept, and never sent to the service', async (t) => {
  const { db, call, clock, census, report, employee } = await begin(t, '2026-03-01T09:00:00.000Z');
  const date = '2026-08-03';
  const staged = { ...person('emp-1'), pay_group: 'north', effective_on: '2026-04-01' };
  await census(staged, person('emp-2'));
  const bodies = {
    'new-hire': { ...newHire, employee_id: 'emp-3', employer_id: 'acme' },
    termination: { ...termination, employee_id: 'emp-2' },
    demographic,
    'compensation-change': compensationChange,
  };
  for (const [kind, body] of Object.entries(bodies)) {
    const group = ['new-hire', 'compensation-change'].includes(kind) ? { pay_group: 'south' } : {};
    const { status, json } = await report(kind, { ...body, ...group, effective_on: date });
    t.equal(status, 202, kind);
    const shown = await call({ url: `/v1/employee-changes/${json.id}?body=true` });
    t.match(shown.json, { effective_on: date, pay_group: group.pay_group ?? null });
    t.strictSame(shown.json.body, body);
  }
  t.match((await employee('emp-1')).roster, [
    { effective_on: '2026-04-01', pay_group: 'north' },
    { effective_on: date, pay_frequency: 'monthly', pay_group: 'south' },
  ]);
  t.match((await employee('emp-2')).roster, [{ effective_on: null }, { effective_on: date }]);
  t.match((await employee('emp-3')).roster, [{ effective_on: date, pay_group: 'south' }]);

  const service = await stubService(t, (response) => respond(response, 200));
  await transact(db, (trx) => requestSyncManually(trx, { employerId: 'acme', ...acting(clock()) }));
  const fresh = { sharedNow: async () => clock(), source: null, maxAgeMs: 365 * DAY_MS };
  const sender = createCensusSender({ db, encryptor, ...fresh });
  const senders = { ...createChangeSenders(encryptor), census: sender };
  await sendAll(sendLoop(t, db, service.url, clock, { senders }));
  t.equal(service.received.length, 5);
  for (const { path, body } of service.received) t.notMatch(body, /effective_on|pay_group/, path);
  const compared = await call({
    method: 'POST',
    url: '/v1/employers/acme/census/validate',
    body: { organization, employees: [{ ...staged, effective_on: '2026-05-01' }, person('emp-2')] },
  });
  t.match(compared.json, { valid: true, changes: { changed: { count: 0 }, unchanged: 2 } });
});

onEachEngine('the same key with another effective date or pay group is another change', async (t) => {
  const { report } = await begin(t, '2026-03-01T09:00:00.000Z');
  const headers = { 'idempotency-key': 'one' };
  const body = { ...termination, effective_on: '2026-03-31' };
  const first = await report('termination', body, headers);
  t.strictSame((await report('termination', body, headers)).json, first.json);
  for (const other of [termination, { ...termination, effective_on: '2026-04-01' }])
    t.equal((await report('termination', other, headers)).status, 409);
  const raise = { 'idempotency-key': 'two' };
  await report('compensation-change', { ...compensationChange, pay_group: 'north' }, raise);
  const moved = await report('compensation-change', { ...compensationChange, pay_group: 'south' }, raise);
  t.equal(moved.status, 409);
});

onEachEngine('a census is newer than earlier reports, whatever the clock of its sidecar', async (t) => {
  const { db, parts, clock, census, report, employee } = await begin(t, '2026-07-01T09:00:00.000Z');
  const behind = createApi({ ...parts, now: () => new Date(clock().getTime() - DAY_MS) });
  t.teardown(() => behind.close());
  await census(person('emp-1', { pay_frequency: 'weekly' }));
  clock.advance(60_000);
  t.equal((await report('compensation-change', compensationChange)).status, 202);
  clock.advance(60_000);
  const body = { organization, employees: [person('emp-1', { pay_frequency: 'biweekly' })] };
  t.equal((await call(behind, { method: 'PUT', url: '/v1/employers/acme/census', body })).status, 200);
  t.match(await employee('emp-1'), { employments: [{ pay_frequency: 'biweekly' }] });
  t.match(await currentCensus(db, 'acme'), { staged_at: clock().toISOString() });
});
