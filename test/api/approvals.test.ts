/** Second approval: a run is finalized and voided only as another person approved it. */
import type { Test } from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { voidRun } from '../../src/payroll/records/runs.ts';
import { APPROVAL_SETTING } from '../../src/payroll/settings/approval.ts';
import { finalizeChecked } from '../../src/readiness/run-report.ts';
import { cliActor } from '../../src/security/audit.ts';
import { revokeToken } from '../../src/security/tokens.ts';
import { verifyFact } from '../../src/security/verify-facts.ts';
import { adopt, told } from '../notifications/parts.ts';
import { acting } from '../support/audit.ts';
import { differencesOf } from '../support/differences.ts';
import { onEitherEngine } from '../support/engine.ts';
import {
  BIWEEKLY,
  deduct,
  EMPLOYER,
  etagOf,
  LATELY,
  NOW,
  QUESTION,
  schedule,
  setSchedules,
} from '../support/payroll.ts';
import { PAY_DATE, RUNS, startPayroll } from './payroll-stage.ts';

const SETTING = `/v1/employers/${EMPLOYER}/second-approval`;
const PROBLEM = 'urn:benefits-sidecar:problem:';
const REASON = { reason: 'a test' };

/** A run of an employer that requires approvals, and two persons who may do everything. */
async function startApproving(t: Test, options: Parameters<typeof startPayroll>[1] = {}) {
  const payroll = await startPayroll(t, options);
  const { call, db, put, tokenWith, personWith } = payroll;
  const tokens = {
    ann: await personWith('ann@example.com', 'all'),
    bob: await personWith('bob@example.com', 'all'),
    program: await tokenWith('all'),
  };
  type Who = keyof typeof tokens;
  const set = (who: Who, required: boolean) =>
    call({ method: 'PUT', url: SETTING, body: { required, ...REASON }, token: tokens[who] });
  await put('r');
  await set('ann', true);
  const readiness = async (run = 'r') =>
    (await call({ url: `${RUNS}/${run}/readiness` })).headers.etag as string;
  return {
    ...payroll,
    tokens,
    set,
    readiness,
    /** Approves the current lines and findings. */
    approve: async (who: Who, fields: object = {}, etag?: string, run = 'r') => {
      const body = { action: 'finalize', ...REASON, ...fields };
      const headers = { 'if-match': etag ?? (await readiness(run)) };
      return call({ method: 'POST', url: `${RUNS}/${run}/approval`, body, token: tokens[who], headers });
    },
    finalize: (who: Who, body: object = {}) => payroll.finalize('r', body, { token: tokens[who] }),
    finalizeBy: (token?: string, run = 'r') =>
      payroll.finalize(run, {}, token === undefined ? {} : { token }),
    voidRun: (who: Who) => call({ method: 'POST', url: `${RUNS}/r/void`, body: REASON, token: tokens[who] }),
    approveVoid: (who: Who, headers = {}) => {
      const body = { action: 'void', ...REASON };
      return call({ method: 'POST', url: `${RUNS}/r/approval`, body, token: tokens[who], headers });
    },
    /** Adds a deduction, which changes the lines, or overlaps with another one, which fails a check. */
    change: (event: string) =>
      deduct(db, event, { id: event, employee_id: 'emp-1', line_of_coverage: 'vision' }),
    overlap: () => deduct(db, 'evt-9', { id: 'ded-9', employee_id: 'emp-1' }, LATELY),
  };
}

const MISSING = { status: 409, json: { type: `${PROBLEM}approval-missing` } };

onEitherEngine('a run is finalized by a person after another person approved its lines', async (t) => {
  const payroll = await startApproving(t);
  const { approve, finalize, get, call, personWith, put } = payroll;
  t.match(await finalize('ann'), MISSING, 'nobody approved');
  await put('other', { kind: 'off_cycle', employee_ids: ['emp-1'] });
  t.equal((await approve('bob', {}, undefined, 'other')).status, 201);
  t.match(await finalize('ann'), MISSING, 'another run is approved');
  const { json: approval } = await approve('bob');
  t.match(approval, { run_id: 'r', action: 'finalize', approved_by: { kind: 'token' }, accepted_checks: [] });
  t.match(await finalize('bob'), MISSING, 'the same person');
  const token = await personWith('bob@example.com', 'all');
  t.match(await payroll.finalizeBy(token), MISSING, 'by another token');
  for (const [by, is_yours] of [
    [token, true],
    [payroll.tokens.ann, false],
  ] as const) {
    t.match((await call({ url: `${RUNS}/r/approvals`, token: by })).json, { approvals: [{ is_yours }] });
    const due = { data: [{ run_id: 'r', approval: is_yours ? 'yours' : 'given' }] };
    t.match((await call({ url: '/v1/payrolls-due', token: by })).json, due);
    const seen = { approval: { state: due.data[0]?.approval, approved_by: approval.approved_by } };
    t.match((await call({ url: `${RUNS}/r/readiness`, token: by })).json, seen);
  }
  t.match(await finalize('program'), MISSING, 'a token without a person');
  const { status, json } = await finalize('ann');
  t.equal(status, 200);
  const finalized_by = { kind: 'token', name: 'token 1', acting_user: null, issuer: null };
  const approved = { approval_id: approval.id, approved_by: approval.approved_by };
  const nobody = { accepted_by: null, voided_by: null, void_approved_by: null };
  t.match(json, { ...approved, finalized_by, ...nobody }, 'it shows who did what');
  t.strictSame((await get('/r/approvals')).json.approvals, [
    { ...approval, is_yours: false, no_longer_counts: null },
  ]);
  t.match((await get('/r/verify')).json, { identical: true });
  const url = '/v1/audit?resource_type=run&resource_id=r&order=oldest_first';
  const { json: records } = await call({ url });
  t.match(records.data, [
    { action: 'run.create' },
    { action: 'run.approve', id: approval.id, reason: 'a test', details: { person: 'bob@example.com' } },
    { action: 'run.finalize', details: { approval_id: approval.id } },
  ]);
});

onEitherEngine('an approval ends when a line changes, and not before', async (t) => {
  const { approve, finalize, change, call, get } = await startApproving(t);
  await approve('bob');
  await change('ded-new');
  t.match((await get('/r/readiness')).json, { approval: { state: 'missing', approved_by: null } });
  t.match(await finalize('ann'), MISSING);
  t.match((await get('/r/approvals')).json.approvals, [{ no_longer_counts: 'lines_changed' }]);
  const override = { member_amount: '1.00', employer_amount: '0.00', ...REASON };
  await call({ method: 'PUT', url: `${RUNS}/r/overrides/emp-1/ded-1`, body: override });
  await approve('bob');
  t.equal((await finalize('ann')).status, 200);
});

onEitherEngine('an approval does not count while its run cannot be computed', async (t) => {
  const { approve, db, get } = await startApproving(t);
  await approve('bob');
  await setSchedules(db, [
    schedule({ pay_dates: BIWEEKLY.filter(({ pay_date }) => pay_date !== '2026-07-17') }),
  ]);
  t.equal((await get('/r')).status, 422);
  t.match((await get('/r/approvals')).json.approvals, [{ no_longer_counts: 'lines_changed' }]);
});

onEitherEngine('an approval ends when its giver withdraws it', async (t) => {
  const { tokens, approve, approveVoid, finalize, voidRun, call, get } = await startApproving(t);
  const withdraw = async (who: keyof typeof tokens) =>
    (await call({ method: 'DELETE', url: `${RUNS}/r/approval`, token: tokens[who] })).status;
  const endings = async () =>
    (await get('/r/approvals')).json.approvals.map(
      (approval: { ended_at: string | null }) => approval.ended_at,
    );
  t.equal(await withdraw('bob'), 409, 'nothing was approved');
  await approve('bob');
  t.equal(await withdraw('ann'), 409, 'another person approved');
  t.equal(await withdraw('program'), 403, 'a token without a person');
  t.strictSame(await endings(), [null]);
  t.equal(await withdraw('bob'), 204);
  t.match(await endings(), [String]);
  t.match(await finalize('ann'), MISSING);
  t.equal(await withdraw('bob'), 409, 'it ended before');
  await approve('bob');
  t.equal((await finalize('ann')).status, 200);
  await approveVoid('bob');
  t.equal(await withdraw('bob'), 204);
  t.match(await voidRun('ann'), MISSING);
});

for (const ending of ['revoked', 'expired'])
  onEitherEngine(`an approval ends when the token that gave it is ${ending}`, async (t) => {
    let now = NOW;
    const { approve, finalize, db, get } = await startApproving(t, { now: () => now });
    await approve('bob');
    const { id } = (await get('/r/approvals')).json.approvals[0].approved_by;
    const ended =
      ending === 'revoked' ? { revoked_at: NOW.toISOString() } : { expires_at: NOW.toISOString() };
    await transact(db, (trx) => trx.updateTable('tokens').set(ended).where('token_id', '=', id).execute());
    now = new Date(NOW.getTime() + 1);
    t.match((await get('/r/approvals')).json.approvals, [
      { ended_at: NOW.toISOString(), no_longer_counts: 'ended' },
    ]);
    t.match(await finalize('ann'), MISSING);
  });

onEitherEngine('a payroll waits for approval until the present lines of its run are approved', async (t) => {
  let now = NOW;
  const { approve, change, overlap, call, post, db } = await startApproving(t, { now: () => now });
  const state = async () => {
    now = new Date(now.getTime() + 60_000);
    t.match(await post('/r/computation'), { status: 200, json: { problem: null } });
    return (await call({ url: '/v1/payrolls-due' })).json.data[0].state;
  };
  t.equal(await state(), 'waiting_for_approval');
  await approve('bob');
  t.equal(await state(), 'ready');
  await change('evt-7');
  t.equal(await state(), 'waiting_for_approval');
  await overlap();
  t.equal(await state(), 'needs_review');
  t.equal((await approve('bob', { accept: ['overlap'] })).status, 201);
  t.equal(await state(), 'ready', 'the approval accepts the check that fails');
  const wrong = { id: 'ded-2', employee_id: 'emp-2', member_contribution: 'much' };
  const accept = ['overlap', 'events-quarantined'];
  await deduct(db, 'evt-bad', wrong);
  t.equal((await approve('bob', { accept })).status, 201);
  t.equal(await state(), 'ready');
  await deduct(db, 'evt-worse', { ...wrong, member_contribution: 'more' });
  t.equal(await state(), 'needs_review', 'a new finding of an accepted check');
});

onEitherEngine('an approval covers the findings that it names, and no other', async (t) => {
  const { approve, finalize, overlap, readiness, db, get } = await startApproving(t);
  await overlap();
  t.match(await approve('bob'), { status: 409, json: { type: `${PROBLEM}readiness-failed` } });
  const bogus = { status: 400, json: { errors: [{ path: 'accept' }] } };
  t.match(await approve('bob', { accept: ['bogus'] }), bogus);
  t.match(await approve('bob', { accept: ['overlap'] }, '"another"'), { status: 412 });
  t.equal((await approve('bob', { accept: ['overlap'] })).status, 201);
  const wrong = { id: 'ded-2', employee_id: 'emp-2', member_contribution: 'much' };
  await deduct(db, 'evt-bad', wrong);
  t.match(await finalize('ann'), MISSING, 'an event is quarantined since');
  const etag = await readiness();
  t.equal((await approve('bob', { accept: ['overlap', 'events-quarantined'] }, etag)).status, 201);
  const ends = [{ no_longer_counts: null }, { no_longer_counts: 'finding_failed' }];
  t.match((await get('/r/approvals')).json.approvals, ends);
  const { status, json } = await finalize('ann');
  t.equal(status, 200);
  t.match(json, {
    accepted_checks: ['events-quarantined', 'overlap'],
    accept_reason: 'a test',
    accepted_by: { name: json.approved_by.name },
  });
});

onEitherEngine('an approval stays when a finding disappears', async (t) => {
  const { approve, finalize, db, call } = await startApproving(t);
  await deduct(db, 'evt-bad', { id: 'ded-2', employee_id: 'emp-2', member_contribution: 'much' });
  t.equal((await approve('bob', { accept: ['events-quarantined'] })).status, 201);
  await call({ method: 'POST', url: '/v1/events/evt-bad/dismiss', body: REASON });
  t.match(await finalize('ann'), { status: 200, json: { accepted_checks: [], accepted_by: null } });
});

onEitherEngine('voiding needs its own approval', async (t) => {
  const { approve, finalize, voidRun, approveVoid } = await startApproving(t);
  t.equal((await approveVoid('bob')).status, 409, 'the run is open');
  await approve('bob');
  await finalize('ann');
  t.match(await voidRun('ann'), MISSING);
  t.equal((await approveVoid('bob', { 'if-match': '"another"' })).status, 412);
  t.equal((await approveVoid('bob')).status, 201);
  t.match(await voidRun('bob'), MISSING);
  t.match(await voidRun('program'), MISSING);
  const who = { voided_by: { name: 'token 1' }, void_approved_by: { name: 'token 2' } };
  t.match(await voidRun('ann'), { status: 200, json: who }, 'it shows who voided it, and who approved that');
});

onEitherEngine('only a person approves, and a forged name of a user is no person', async (t) => {
  const { call, readiness, tokenWith, personWith } = await startApproving(t);
  const approve = async (token: string) => {
    const headers = { 'if-match': await readiness(), 'x-acting-user': 'bob@example.com' };
    const body = { action: 'finalize', ...REASON };
    return call({ method: 'POST', url: `${RUNS}/r/approval`, body, token, headers });
  };
  t.match(await approve(await tokenWith('all')), { status: 403, json: { detail: /token of a person/ } });
  const specialist = await personWith('cy@example.com', 'runs:read', 'runs:write');
  t.match(await approve(specialist), { status: 403, json: { detail: /runs:approve/ } });
});

onEitherEngine('a new run with the id of a deleted one is not approved', async (t) => {
  const { approve, finalize, call, put } = await startApproving(t);
  await approve('bob');
  t.equal((await call({ method: 'DELETE', url: `${RUNS}/r` })).status, 204);
  await put('r');
  t.match(await finalize('ann'), MISSING);
});

onEitherEngine('one person switches second approval on, and two switch it off', async (t) => {
  const { set, finalize } = await startApproving(t);
  t.match(await set('program', false), { status: 403 });
  const asked = { required: true, switching_off: { requested_by: { kind: 'token' } } };
  t.match((await set('ann', false)).json, asked);
  t.match((await set('ann', false)).json, { required: true }, 'the same person again');
  t.match(await finalize('ann'), MISSING);
  t.match((await set('program', true)).json, { required: true, switching_off: null }, 'withdrawn');
  await set('ann', false);
  t.match((await set('bob', false)).json, { required: false, switching_off: null });
  t.equal((await finalize('program')).status, 200);
  t.match((await set('program', true)).json, { required: true, switching_off: null }, 'a program');
  t.match((await set('ann', false)).json, { required: true, switching_off: { requested_by: {} } });
  t.match((await set('ann', false)).json, { required: true }, 'the same person again');
  t.match((await set('bob', false)).json, { required: false, switching_off: null });
});

onEitherEngine(
  'payroll is told once of a run that waits for another person, until one approves it',
  async (t) => {
    const payroll = await startApproving(t);
    const { db, approve, approveVoid, finalize, voidRun, set, change, post } = payroll;
    await adopt(db);
    const run = { employer_id: EMPLOYER, run_id: 'r', pay_date: PAY_DATE };
    const waits = (action: string) => ['approval.requested', { ...run, action }];
    await post('/r/computation');
    await finalize('ann');
    await finalize('program');
    t.match(await told(db), [waits('finalize')], 'not told again');
    await approve('bob');
    await post('/r/computation');
    await change('evt-new');
    await finalize('ann');
    t.match(await told(db), [waits('finalize'), waits('finalize')], 'the approval ended');
    await approve('bob');
    await finalize('ann');
    await voidRun('ann');
    await voidRun('ann');
    await approveVoid('bob');
    await set('ann', false);
    t.match((await told(db)).slice(2), [
      ['run.finalized', Object],
      waits('void'),
      [
        'approval.requested',
        { employer_id: EMPLOYER, action: 'stop-requiring', run_id: null, pay_date: null },
      ],
    ]);
  },
);

onEitherEngine('a request to switch second approval off ends with its token', async (t) => {
  const { set, db, call } = await startApproving(t);
  await set('ann', false);
  const ofAnn = db.selectFrom('tokens').select('name').where('person', '=', 'ann@example.com');
  const { name } = await ofAnn.executeTakeFirstOrThrow();
  await transact(db, (trx) => revokeToken(trx, name, acting(LATELY)));
  const waiting = (await call({ url: `/v1/employers/${EMPLOYER}/second-approval` })).json;
  t.match(waiting, { required: true, switching_off: null });
  t.match((await set('bob', false)).json, { required: true, switching_off: { requested_by: {} } });
  t.match((await set('bob', false)).json, { required: true }, 'the same person again');
  t.strictSame(await differencesOf((on) => verifyFact(db, APPROVAL_SETTING, on)), []);
});

onEitherEngine('the command line finalizes and voids only what a person approved', async (t) => {
  const { approve, approveVoid, db } = await startApproving(t);
  const actor = cliActor('root');
  const ifMatch = await etagOf(db, 'r');
  const how = { ifMatch, accept: null, actor, question: QUESTION, sharedNow: async () => NOW };
  const finalize = () => finalizeChecked(db, 'r', how);
  const voidIt = () => transact(db, (trx) => voidRun(trx, 'r', { ...REASON, actor, now: LATELY }));
  await t.rejects(finalize(), { code: 'APPROVAL_MISSING' });
  await approve('bob');
  t.match(await finalize(), { outcome: 'finalized' });
  await t.rejects(voidIt(), { code: 'APPROVAL_MISSING' });
  await approveVoid('bob');
  await voidIt();
});
