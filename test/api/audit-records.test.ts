/** Every route leaves one record of the action that it declares. */
import type { Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { compareCutOver } from '../../src/payroll/reconciliation/cut-over.ts';
import type { Action } from '../../src/security/audit.ts';
import { beginSession, sessionId } from '../../src/security/sessions.ts';
import { CENSUS_FORMAT, heldSync } from '../census/parts.ts';
import { census, deduction, demographic } from '../contract/samples.ts';
import { report, SAMPLES } from '../employment/stage.ts';
import { tellTest } from '../notifications/parts.ts';
import { encryptor } from '../outbox/parts.ts';
import { onEitherEngine } from '../support/engine.ts';
import { bodyOn, deduct, EMPLOYER, employ, LATELY, NOW, rowsOf, sync } from '../support/payroll.ts';
import { apply, deductionOf, deliver } from './deliver.ts';
import { OPENING, PAY_DATE, type Payroll, startPayroll } from './payroll-stage.ts';
import { FIRST_TOKEN, type Request } from './start.ts';

type Step = {
  route: string;
  action: Action;
  body?: unknown;
  /** The values of the parameters of the route, by default `IDS`. */
  ids?: Record<string, string>;
  /** 2 for an action of several transactions. */
  records?: number;
  token?: string;
  query?: string;
};

const step = (route: string, action: Action, body?: unknown, more: Partial<Step> = {}): Step => ({
  route,
  action,
  body,
  ...more,
});

const RUN = '/v1/payroll-runs/:run_id';
const OVERRIDE = `${RUN}/overrides/:employee_id/:deduction_id`;
const CHANGE = '/v1/employee-changes';
const OF_EMPLOYER = '/v1/employers/:employer_id';
const REASON = { reason: 'a test' };
const WAITING = `sync-${EMPLOYER}-waiting-${LATELY}`;
const IDS = {
  ...{ employer_id: EMPLOYER, run_id: 'r', employee_id: 'emp-1', deduction_id: 'ded-moved' },
  ...{ event_id: 'evt-bad', year: '2027', kind: 'census' },
};

/** Requests in an order in which each succeeds. A function prepares the next one. */
async function stepsOf({ db, personWith }: Payroll): Promise<(Step | (() => Promise<unknown>))[]> {
  const hire = { change_id: await report(db, 'new-hire', 'ann') };
  const move = { change_id: await report(db, 'demographic', 'ann') };
  await sync(db, { state: 'waiting' });
  const held = { sync_id: await heldSync(db, () => NOW, 'held-co') };
  const begin = () => transact(db, (trx) => beginSession(trx, FIRST_TOKEN, NOW));
  const [secret] = [await begin(), await begin()];
  const body = bodyOn(PAY_DATE);
  const ofOverride = { ids: { deduction_id: 'ded-1' } };
  const payroll = { employer_id: EMPLOYER, pay_frequency: 'biweekly', pay_date: PAY_DATE };
  const onHold = { decisions: [{ employee_id: 'emp-1', action: 'hold' }], ...REASON };
  const assigned = { employer_id: EMPLOYER, effective_on: '2027-01-01', ...REASON };
  const approving = { token: await personWith('ann@example.com', 'runs:approve') };
  const codes = [{ line_of_coverage: 'medical', side: 'employee', code: 'MED' }];
  const people = { rows: [{ employee_id: 'emp-1' }] };
  const cutOver = {
    employerId: EMPLOYER,
    list: 'people',
    today: NOW.toISOString().slice(0, 10),
    viewer: null,
  } as const;
  const { etag } = await compareCutOver(db, cutOver, rowsOf(...people.rows));
  const signing = { token: await personWith('eve@example.com', 'runs:write') };
  const searching = { token: await personWith('sam@example.com', 'ledger:read', 'names:read') };
  const schedules = [{ pay_frequency: 'monthly', pay_dates: MONTHLY_2027 }];
  const told = { notification_id: '' };
  const ofZoe = { kind: 'demographic', ...demographic, employee_id: 'zoe' };
  return [
    step(`POST ${OF_EMPLOYER}/cut-over/:list/sign`, 'cut-over.sign', people, {
      ...{ ids: { list: 'people' }, query: `?etag=${etag}&reason=reviewed` },
      ...signing,
    }),
    step('POST /v1/census-syncs/:sync_id/dismiss', 'census-sync.dismiss', REASON, {
      ids: { sync_id: WAITING },
    }),
    step('POST /v1/census-syncs/:sync_id/release', 'census-sync.release', REASON, { ids: held }),
    step(`PUT ${OF_EMPLOYER}/payroll-policy`, 'policy.put', POLICY),
    step(`PUT ${RUN}`, 'run.create', body),
    step(`DELETE ${RUN}`, 'run.delete'),
    step(`PUT ${RUN}`, 'run.create', body),
    step(`PUT ${OVERRIDE}`, 'run.override', { ...AMOUNTS, ...REASON }, ofOverride),
    step(`DELETE ${OVERRIDE}`, 'run.remove-override', undefined, ofOverride),
    () => deduct(db, 'evt-two', { id: 'ded-two', employee_id: 'emp-1' }, LATELY),
    step(`POST ${RUN}/acceptances`, 'run.accept-findings', { accept: ['overlap'], ...REASON }),
    step(`POST ${RUN}/finalize`, 'run.finalize'),
    step(`POST ${RUN}/taken`, 'run.taken', {
      lines: [{ employee_id: 'emp-1', deduction_id: 'ded-1', amount: '1.00' }],
    }),
    step(`POST ${RUN}/approval`, 'run.approve', { action: 'void', ...REASON }, approving),
    step(`DELETE ${RUN}/approval`, 'run.approval-withdraw', undefined, approving),
    step(`POST ${RUN}/void`, 'run.void', REASON),
    step(`PUT ${OF_EMPLOYER}/second-approval`, 'approval-setting.put', { required: true, ...REASON }),
    step('POST /v1/payroll-runs', 'run.create', payroll),
    step(`POST ${OF_EMPLOYER}/opening-items`, 'item.open', { items: [OPENING] }),
    step(`POST ${OF_EMPLOYER}/open-items/decisions`, 'item.decide', onHold),
    step(`PUT ${OF_EMPLOYER}/payroll-codes`, 'codes.put', { codes }),
    step(`PUT ${OF_EMPLOYER}/file-formats/:kind`, 'file-format.put', CENSUS_FORMAT),
    () =>
      deliver(
        db,
        [deductionOf('evt-m', { id: 'ded-moved', employee_id: 'emp-1', line_of_coverage: 'vision' })],
        LATELY,
      ),
    step('PUT /v1/deductions/:deduction_id/employer', 'deduction.assign', assigned),
    () => deliver(db, [deductionOf('evt-bad', { member_contribution: 'much' })], LATELY),
    step('POST /v1/events/:event_id/dismiss', 'event.dismiss', REASON),
    step('POST /v1/events/:event_id/reprocess', 'event.reprocess'),
    () => apply(db, LATELY),
    step('POST /v1/events/reprocess', 'event.reprocess', { state: 'quarantined' }),
    () => reject(db, hire.change_id),
    step(`POST ${CHANGE}/:change_id/release`, 'change.release', undefined, { ids: hire }),
    step(`POST ${CHANGE}/:change_id/retry`, 'change.retry', undefined, { ids: hire }),
    step(`POST ${CHANGE}/:change_id/cancel`, 'change.cancel', REASON, { ids: move }),
    step(`POST ${OF_EMPLOYER}/census/sync`, 'census-sync.request'),
    step(`PUT ${OF_EMPLOYER}/pay-schedules/:year`, 'schedule.put', { schedules }),
    step(`DELETE ${OF_EMPLOYER}/pay-schedules/:year`, 'schedule.delete'),
    ...Object.entries(SAMPLES).map(([kind, fields]) =>
      step(`POST ${CHANGE}/${kind}`, 'change.report', { ...fields, employee_id: 'zoe' }),
    ),
    step(`POST ${CHANGE}/batch`, 'change.report', [ofZoe]),
    step(`POST ${OF_EMPLOYER}/export`, 'employer.export'),
    step('POST /v1/names', 'name.show', { employee_ids: ['zoe'] }),
    step('POST /v1/search', 'name.show', { text: 'zoe' }, searching),
    step('POST /v1/deductions/import', 'deduction.import', [{ ...deduction, id: 'ded-old' }], { records: 2 }),
    step(`PUT ${OF_EMPLOYER}/census`, 'census.stage', census, { records: 2 }),
    step(`POST ${OF_EMPLOYER}/export`, 'employer.export'),
    () => employ(db, 'gone-1', { employer_id: 'gone', termination_date: '2025-12-31' }),
    step(`DELETE ${OF_EMPLOYER}/census`, 'census.erase', REASON, { ids: { employer_id: 'gone' } }),
    step('DELETE /v1/sessions/:session_id', 'session.end', undefined, {
      ids: { session_id: sessionId(secret) },
    }),
    step('DELETE /v1/sessions', 'session.end'),
    async () => {
      told.notification_id = await tellTest(db);
    },
    step('POST /v1/notifications/test', 'notification.test'),
    step('POST /v1/notifications/:notification_id/retry', 'notification.retry', undefined, { ids: told }),
  ];
}

const POLICY = { effective_from: '2026-01-01', applies_on: 'period_end' };
const AMOUNTS = { member_amount: '1.00', employer_amount: '0.00' };
const MONTHLY_2027 = Array.from({ length: 12 }, (_, month) => {
  const day = `2027-${String(month + 1).padStart(2, '0')}`;
  return { pay_date: `${day}-28`, period_start: `${day}-01`, period_end: `${day}-27` };
});

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

/** Returns the URL of a route with values of its parameters. */
function urlOf(route: string, idOf: (name: string) => string): string {
  return (route.split(' ')[1] as string).replace(/:([a-z_]+)/g, (_, name: string) => idOf(name));
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
  const ifMatchOf = async (url: string) =>
    /\/(finalize|acceptances)$/.test(url) && {
      'if-match': (await call({ url: url.replace(/\/\w+$/, '/readiness') })).headers.etag as string,
    };
  for (const step of await stepsOf(running)) {
    if (typeof step === 'function') {
      await step();
      continue;
    }
    const { route, action, body, records = 1, token, query = '' } = step;
    const ids: Record<string, string> = { ...IDS, ...step.ids };
    const url = urlOf(route, (name) => encodeURIComponent(ids[name] as string)) + query;
    const before = (await recordsIn(db)).length;
    const headers = { 'x-acting-user': 'Zoë', ...(await ifMatchOf(url)) };
    const request = { method: methodOf(route), url, headers: latin1(headers), body };
    const { status, text } = await call({ ...request, ...(token && { token }) });
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
  refusable.delete(`PUT ${OF_EMPLOYER}/census`);
  for (const route of refusable) {
    const url = urlOf(route, () => 'unknown');
    const { status } = await call({ method: methodOf(route), url, body: {} });
    t.ok(status >= 400 && status < 500, `${route}: ${status}`);
  }
  const long = { 'x-acting-user': 'x'.repeat(256) };
  const request = { method: 'PUT', url: '/v1/payroll-runs/r', body: bodyOn(PAY_DATE) } as const;
  const refused = await call({ ...request, headers: long });
  t.match(refused, { status: 400, json: { errors: [{ path: 'X-Acting-User' }] } });
  t.equal((await recordsIn(db)).length, before);
});

onEitherEngine('a request that changes nothing leaves no record', async (t: Test) => {
  const { call, put, db } = await startPayroll(t);
  const repeat = async () => {
    t.ok((await put('r')).status < 300);
    const url = `/v1/employers/${EMPLOYER}/payroll-policy`;
    t.equal((await call({ method: 'PUT', url, body: POLICY })).status, 200);
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
  const accepted = { accepted_checks: ['overlap'] };
  t.match(json.data, [
    { action: 'run.create', resource_id: 'r', employer_id: EMPLOYER, details: { pay_date: PAY_DATE } },
    { action: 'run.finalize', actor: by, reason: 'both are right', details: accepted },
    { action: 'run.void', reason: 'x', actor: { name: 'token 1' } },
  ]);
  t.equal(json.data.length, 3);
});
