/** Every route leaves one record of the action that it declares. */
import type { Test } from 'tap';
import { requestSync } from '../../src/census/syncs.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import type { Action } from '../../src/security/audit.ts';
import { beginSession, sessionId } from '../../src/security/sessions.ts';
import { census, compensationChange, demographic, newHire, termination } from '../contract/samples.ts';
import { report } from '../employment/stage.ts';
import { encryptor } from '../outbox/parts.ts';
import { onEitherEngine } from '../support/engine.ts';
import { bodyOn, EMPLOYER, LATELY, NOW } from '../support/payroll.ts';
import { apply, deductionOf, deliver } from './deliver.ts';
import { PAY_DATE, type Payroll, startPayroll } from './payroll-stage.ts';
import { FIRST_TOKEN, type Request } from './start.ts';

/** The URL of a request has the route's parameters replaced. `records`: 2 for an action of several transactions. */
type Step = { route: string; action: Action; url?: string; body?: unknown; records?: number; token?: string };

const OVERRIDE = '/v1/payroll-runs/:run_id/overrides/:employee_id/:deduction_id';
const setting = '/v1/employers/:employer_id';
const OPENING = {
  ...{ id: 'o', employee_id: 'emp-1', line_of_coverage: 'medical', taxability: 'pre_tax' },
  ...{ member_amount: '1.00', employer_amount: '0.00', pay_date: '2025-06-01' },
};
const settings = (name: string) => `/v1/employers/${EMPLOYER}/${name}`;

/** Requests in an order in which each succeeds. A function prepares the next one. */
async function stepsOf({ db, personWith }: Payroll): Promise<(Step | (() => Promise<unknown>))[]> {
  const hire = await report(db, 'new-hire', 'ann');
  const move = await report(db, 'demographic', 'ann');
  const sync = { employerId: EMPLOYER, eventId: 'evt-sync', now: '2026-01-01T00:00:00.000Z' };
  await transact(db, (trx) => requestSync(trx, sync));
  const { sync_id } = await db
    .selectFrom('census_syncs')
    .select('sync_id')
    .where('event_id', '=', 'evt-sync')
    .executeTakeFirstOrThrow();
  const begin = () => transact(db, (trx) => beginSession(trx, FIRST_TOKEN, NOW));
  const [secret] = [await begin(), await begin()];
  const run = (end: string) => `/v1/payroll-runs/r${end}`;
  const change = (end: string) => `/v1/employee-changes/${end}`;
  const dismissed = `/v1/census-syncs/${sync_id}/dismiss`;
  const body = bodyOn(PAY_DATE);
  const reason = { reason: 'a test' };
  const codes = [{ line_of_coverage: 'medical', side: 'employee', code: 'MED' }];
  return [
    {
      route: 'POST /v1/census-syncs/:sync_id/dismiss',
      action: 'census-sync.dismiss',
      url: dismissed,
      body: reason,
    },
    {
      route: `PUT ${setting}/payroll-policy`,
      action: 'policy.put',
      url: settings('payroll-policy'),
      body: { effective_from: '2026-01-01', remainder: 'spread' },
    },
    { route: 'PUT /v1/payroll-runs/:run_id', action: 'run.create', url: run(''), body },
    { route: 'DELETE /v1/payroll-runs/:run_id', action: 'run.delete', url: run('') },
    { route: 'PUT /v1/payroll-runs/:run_id', action: 'run.create', url: run(''), body },
    {
      route: `PUT ${OVERRIDE}`,
      action: 'run.override',
      url: run('/overrides/emp-1/ded-1'),
      body: { member_amount: '1.00', employer_amount: '0.00', ...reason },
    },
    { route: `DELETE ${OVERRIDE}`, action: 'run.remove-override', url: run('/overrides/emp-1/ded-1') },
    { route: 'POST /v1/payroll-runs/:run_id/finalize', action: 'run.finalize', url: run('/finalize') },
    {
      route: 'POST /v1/payroll-runs/:run_id/taken',
      action: 'run.taken',
      url: run('/taken'),
      body: { lines: [{ employee_id: 'emp-1', amount: '1.00' }] },
    },
    {
      route: 'POST /v1/payroll-runs/:run_id/approval',
      action: 'run.approve',
      url: run('/approval'),
      body: { action: 'void', ...reason },
      token: await personWith('ann@example.com', 'runs:approve'),
    },
    { route: 'POST /v1/payroll-runs/:run_id/void', action: 'run.void', url: run('/void'), body: reason },
    {
      route: `PUT ${setting}/second-approval`,
      action: 'approval-setting.put',
      url: settings('second-approval'),
      body: { required: true, ...reason },
    },
    {
      route: 'POST /v1/payroll-runs',
      action: 'run.create',
      body: { employer_id: EMPLOYER, pay_frequency: 'biweekly', pay_date: PAY_DATE },
    },
    {
      route: `POST ${setting}/opening-items`,
      action: 'item.open',
      url: settings('opening-items'),
      body: { items: [OPENING] },
    },
    {
      route: `POST ${setting}/open-items/decisions`,
      action: 'item.decide',
      url: settings('open-items/decisions'),
      body: { decisions: [{ employee_id: 'emp-1', action: 'hold' }], ...reason },
    },
    {
      route: `PUT ${setting}/payroll-codes`,
      action: 'codes.put',
      url: settings('payroll-codes'),
      body: { codes },
    },
    () => deliver(db, moved(), LATELY),
    {
      route: 'POST /v1/deductions/:deduction_id/start-decision',
      action: 'deduction.decide-start',
      url: '/v1/deductions/ded-moved/start-decision',
      body: { version: 1, decision: 'drop', ...reason },
    },
    {
      route: 'PUT /v1/deductions/:deduction_id/employer',
      action: 'deduction.assign',
      url: '/v1/deductions/ded-moved/employer',
      body: { employer_id: EMPLOYER, effective_on: '2027-01-01', ...reason },
    },
    () => deliver(db, [deductionOf('evt-bad', { member_contribution: 'much' })], LATELY),
    {
      route: 'POST /v1/events/:event_id/dismiss',
      action: 'event.dismiss',
      url: '/v1/events/evt-bad/dismiss',
      body: reason,
    },
    {
      route: 'POST /v1/events/:event_id/reprocess',
      action: 'event.reprocess',
      url: '/v1/events/evt-bad/reprocess',
    },
    () => apply(db, LATELY),
    { route: 'POST /v1/events/reprocess', action: 'event.reprocess', body: { state: 'quarantined' } },
    () => reject(db, hire),
    {
      route: 'POST /v1/employee-changes/:change_id/release',
      action: 'change.release',
      url: change(`${hire}/release`),
    },
    {
      route: 'POST /v1/employee-changes/:change_id/retry',
      action: 'change.retry',
      url: change(`${hire}/retry`),
    },
    {
      route: 'POST /v1/employee-changes/:change_id/cancel',
      action: 'change.cancel',
      url: change(`${move}/cancel`),
      body: reason,
    },
    { route: `POST ${setting}/census/sync`, action: 'census-sync.request', url: settings('census/sync') },
    {
      route: `PUT ${setting}/pay-schedules/:year`,
      action: 'schedule.put',
      url: settings('pay-schedules/2027'),
      body: { schedules: [{ pay_frequency: 'monthly', pay_dates: MONTHLY_2027 }] },
    },
    {
      route: `DELETE ${setting}/pay-schedules/:year`,
      action: 'schedule.delete',
      url: settings('pay-schedules/2027'),
    },
    ...payrollData,
    {
      route: 'DELETE /v1/sessions/:session_id',
      action: 'session.end',
      url: `/v1/sessions/${sessionId(secret)}`,
    },
    { route: 'DELETE /v1/sessions', action: 'session.end' },
  ];
}

/** The data that payroll sends. */
const payrollData: Step[] = [
  ...Object.entries({
    'new-hire': newHire,
    termination,
    demographic,
    'compensation-change': compensationChange,
  }).map(
    ([kind, fields]): Step => ({
      route: `POST /v1/employee-changes/${kind}`,
      action: 'change.report',
      body: { ...fields, employee_id: 'zoe' },
    }),
  ),
  {
    route: 'POST /v1/employee-changes/batch',
    action: 'change.report',
    body: [{ kind: 'demographic', ...demographic, employee_id: 'zoe' }],
  },
  {
    route: 'PUT /v1/employers/:employer_id/census',
    action: 'census.stage',
    url: settings('census'),
    body: census,
    records: 2,
  },
];

const MONTHLY_2027 = Array.from({ length: 12 }, (_, month) => {
  const day = `2027-${String(month + 1).padStart(2, '0')}`;
  return { pay_date: `${day}-28`, period_start: `${day}-01`, period_end: `${day}-27` };
});

function moved() {
  const election = { id: 'ded-moved', employee_id: 'emp-1', line_of_coverage: 'vision' };
  return [
    deductionOf('evt-m1', { ...election, effective_start: '2027-07-01' }, '2026-06-01T00:00:00Z'),
    deductionOf(
      'evt-m2',
      { ...election, member_contribution: '99.00', effective_start: '2027-08-01' },
      '2026-06-20T00:00:00Z',
    ),
  ];
}

/** Makes a new hire rejected, so that the employee's later changes wait for it. */
function reject(db: Db, requestId: string) {
  const rejected = { state: 'rejected', is_next: 0, holds_later: 1, finished_at: LATELY } as const;
  return transact(db, (trx) =>
    trx.updateTable('outbox').set(rejected).where('request_id', '=', requestId).execute(),
  );
}

async function recordsIn(db: Db) {
  return db.selectFrom('audit_records').selectAll().orderBy('record_id').execute();
}

function methodOf(route: string): NonNullable<Request['method']> {
  return route.split(' ')[0] as NonNullable<Request['method']>;
}

/** The declared action of each route that records one. */
const declaredIn = ({ app }: Payroll) =>
  new Map(
    app.routeTable.routes
      .filter(({ action }) => action !== 'none')
      .flatMap(({ methods, url, action }) => methods.map((method) => [`${method} ${url}`, action] as const)),
  );

onEitherEngine('every route that declares an action leaves exactly one record of it', async (t: Test) => {
  const running = await startPayroll(t, { encryptor });
  const { call, db } = running;
  const covered = new Map<string, Action>();
  for (const step of await stepsOf(running)) {
    if (typeof step === 'function') {
      await step();
      continue;
    }
    const { route, action, body, url = route.split(' ')[1] as string, records = 1, token } = step;
    const before = (await recordsIn(db)).length;
    const headers = { 'x-acting-user': 'Zoë' };
    const { status, text } = await call({
      method: methodOf(route),
      url,
      headers: latin1(headers),
      body,
      ...(token && { token }),
    });
    t.ok(status >= 200 && status < 300, `${route}: ${status} ${status < 300 ? '' : text}`);
    const made = (await recordsIn(db)).slice(before);
    const isFirst = token === undefined && { actor_id: 'API_TOKEN' };
    const actor = { actor_kind: 'token', ...isFirst, acting_user: 'Zoë' };
    const recorded_at = running.parts.now().toISOString();
    t.match(made, Array(records).fill({ action, ...actor, recorded_at }), route);
    t.equal(made.length, records, route);
    covered.set(route, action);
  }
  t.strictSame(new Map([...covered].sort()), new Map([...declaredIn(running)].sort()));
});

/** Node sends header values as Latin-1, so the bytes of UTF-8 are passed on. */
function latin1(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
  );
}

onEitherEngine('a refused request leaves no record', async (t: Test) => {
  const running = await startPayroll(t, { mayFetch: async () => false });
  const { call, db } = running;
  const before = (await recordsIn(db)).length;
  const refusable = new Set(declaredIn(running).keys());
  // It changes nothing for a caller without sessions, and a census leaves records of its start and its end.
  refusable.delete('DELETE /v1/sessions');
  refusable.delete(`PUT ${setting}/census`);
  for (const route of refusable) {
    const url = (route.split(' ')[1] as string).replace(/:[a-z_]+/g, 'unknown');
    const { status } = await call({ method: methodOf(route), url, body: {} });
    t.ok(status >= 400 && status < 500, `${route}: ${status}`);
  }
  const long = { 'x-acting-user': 'x'.repeat(256) };
  const refused = await call({
    method: 'PUT',
    url: `/v1/payroll-runs/r`,
    body: bodyOn(PAY_DATE),
    headers: long,
  });
  t.match(refused, { status: 400, json: { errors: [{ path: 'X-Acting-User' }] } });
  t.equal((await recordsIn(db)).length, before);
});

onEitherEngine('a request that changes nothing leaves no record', async (t: Test) => {
  const { call, put, db } = await startPayroll(t);
  const policy = { effective_from: '2026-01-01', remainder: 'spread' };
  const repeat = async () => {
    t.ok((await put('r')).status < 300);
    const url = settings('payroll-policy');
    t.equal((await call({ method: 'PUT', url, body: policy })).status, 200);
    const schedules = settings('pay-schedules/2026');
    const { json } = await call({ url: schedules });
    t.equal((await call({ method: 'PUT', url: schedules, body: json })).status, 200);
    return (await recordsIn(db)).length;
  };
  const before = await repeat();
  t.equal(await repeat(), before);
});

onEitherEngine('a run shows who finalized, accepted and voided it, and its records', async (t: Test) => {
  const { put, accept, call, db, tokenWith } = await startPayroll(t);
  await put('r');
  await deliver(db, [deductionOf('evt-9', { id: 'ded-9', employee_id: 'emp-1' })], LATELY);
  const finalized = await accept('r', 'both are right');
  const by = { kind: 'token', id: 'API_TOKEN', name: 'API_TOKEN', acting_user: null, issuer: null };
  t.match(finalized.json, { finalized_by: by, accepted_by: by, voided_by: null });
  const token = await tokenWith('runs:approve');
  const voided = await call({ method: 'POST', url: '/v1/payroll-runs/r/void', body: { reason: 'x' }, token });
  t.match(voided.json, { finalized_by: by, voided_by: { kind: 'token', name: 'token 1' } });
  const { json } = await call({ url: '/v1/audit?resource_type=run&resource_id=r&order=oldest_first' });
  t.match(json.data, [
    { action: 'run.create', resource_id: 'r', employer_id: EMPLOYER, details: { pay_date: PAY_DATE } },
    {
      action: 'run.finalize',
      actor: by,
      reason: 'both are right',
      details: { accepted_checks: ['overlap'] },
    },
    { action: 'run.void', reason: 'x', actor: { name: 'token 1' } },
  ]);
  t.equal(json.data.length, 3);
});
