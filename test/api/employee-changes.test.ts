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
import { encryptor, sendAll, sendLoop, setClock } from '../outbox/parts.ts';
import { json as respond, stubService } from '../outbox/stub-service.ts';
import { acting } from '../support/audit.ts';
import { onEachEngine, onEitherEngine } from '../support/engine.ts';
import { type Answer, call, NOW, type Running, start } from './start.ts';

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

const DAY_MS = 86_400_000;
const later = (day: string, days: number) =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);

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
    census: async (...employees: object[]) =>
      ok(
        await running.call({
          method: 'PUT',
          url: '/v1/employers/acme/census',
          body: { organization, employees },
        }),
      ),
    report: (kind: string, body: object, headers: Record<string, string> = {}) =>
      running.call({ method: 'POST', url: `/v1/employee-changes/${kind}`, body, headers }),
    employee: async (id: string) => ok(await running.call({ url: `/v1/employees/${id}` })),
    /** Returns the employees with a regular line for a deduction in effect, in the run of a pay date. */
    async paidOn(frequency: 'weekly' | 'biweekly', pay_date: string): Promise<string[]> {
      const url = `/v1/payroll-runs/${frequency}-${pay_date}`;
      const days = frequency === 'weekly' ? 7 : 14;
      const period = { period_start: later(pay_date, 1 - days), period_end: pay_date, pay_date };
      const body = { employer_id: 'acme', pay_frequency: frequency, ...period };
      ok(await running.call({ method: 'PUT', url, body }));
      const { data } = ok(await running.call({ url: `${url}/lines` }));
      return data.map((line: { employee_id: string }) => line.employee_id);
    },
  };
}

onEachEngine(
  'an effective date and a pay group are kept with changes and census rows, and never sent to the service',
  async (t) => {
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
    const sender = createCensusSender({
      db,
      encryptor,
      sharedNow: async () => clock(),
      source: null,
      maxAgeMs: 365 * DAY_MS,
    });
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
  },
);

onEachEngine('the same key with another effective date or pay group is another change', async (t) => {
  const { report } = await begin(t, '2026-03-01T09:00:00.000Z');
  const headers = { 'idempotency-key': 'one' };
  const body = { ...termination, effective_on: '2026-03-31' };
  const first = await report('termination', body, headers);
  t.strictSame((await report('termination', body, headers)).json, first.json);
  for (const other of [termination, { ...termination, effective_on: '2026-04-01' }]) {
    t.equal((await report('termination', other, headers)).status, 409);
  }
  const raise = { 'idempotency-key': 'two' };
  await report('compensation-change', { ...compensationChange, pay_group: 'north' }, raise);
  const moved = await report('compensation-change', { ...compensationChange, pay_group: 'south' }, raise);
  t.equal(moved.status, 409);
});

onEachEngine(
  'a census counts as newer than earlier reports, whatever the clock of its sidecar',
  async (t) => {
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
  },
);
