/** A token limited to one employer, and employees who move to another. */
import { sql } from 'kysely';
import type { Test } from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { recordFacts } from '../../src/ledger/roster.ts';
import { REASON_COLUMNS } from '../../src/operations/reasons.ts';
import { verifyRows } from '../../src/operations/verify.ts';
import { eraseReason } from '../../src/security/reasons.ts';
import { deduction, newHire } from '../contract/samples.ts';
import { ACTING } from '../support/audit.ts';
import { differencesOf } from '../support/differences.ts';
import { onEitherEngine } from '../support/engine.ts';
import { pastTriggers } from '../support/past-triggers.ts';
import { bodyOn, EMPLOYER, setPolicy } from '../support/payroll.ts';
import { deductionOf, deliver } from './deliver.ts';
import { OPENING, RUNS, startPayroll } from './payroll-stage.ts';

const OTHER = 'globex';

/** One employee `mover`, two employers with a limited token each, and a clock. */
async function startMoving(t: Test) {
  let now = new Date('2026-07-01T09:00:00.000Z');
  const payroll = await startPayroll(t, { now: () => now });
  const { db, call, tokenFor } = payroll;
  const tokens: Record<string, string> = {
    [EMPLOYER]: await tokenFor([EMPLOYER], 'all'),
    [OTHER]: await tokenFor([OTHER], 'all'),
  };
  const at = (day: string) => {
    now = new Date(`${day}T09:00:00.000Z`);
  };
  const as = (employer: string) => {
    const token = tokens[employer] as string;
    return {
      get: (url: string) => call({ url, token }),
      post: (url: string, body: object, headers = {}) => call({ method: 'POST', url, body, token, headers }),
    };
  };
  const change = (kind: string, fields: object, token?: string) => {
    const body = { employee_id: 'mover', ...fields };
    return call({ method: 'POST', url: `/v1/employee-changes/${kind}`, body, ...(token && { token }) });
  };
  const hire = (employer_id: string, hire_date: string, token?: string) =>
    change('new-hire', { ...newHire, employee_id: 'mover', employer_id, hire_date }, token);
  const leave = (termination_date: string, token?: string) =>
    change('termination', { termination_date }, token);
  return {
    ...payroll,
    ...{ at, as, tokens, change, hire, leave },
    /** Reports that the employee moves to the other employer on August 1. */
    move: async () => {
      await leave('2026-07-31');
      await hire(OTHER, '2026-08-01');
    },
    /** The amounts of the versions of `ded-m` that an employer sees. */
    amounts: async (employer: string) =>
      (await as(employer).get(`${DEDUCTION}/versions`)).json.data.map(
        (version: { member_contribution: string }) => version.member_contribution,
      ),
    /** Receives a version of the deduction `ded-m` on today's date. */
    elect: (amount: string, more: object = {}) => {
      const id = `evt-m-${now.toISOString().slice(0, 10)}`;
      const fields = { id: 'ded-m', employee_id: 'mover', member_contribution: amount, ...more };
      return deliver(db, [deductionOf(id, fields, now.toISOString())], now.toISOString());
    },
  };
}

const DEDUCTION = '/v1/deductions/ded-m';
const EMPLOYEE = '/v1/employees/mover';

onEitherEngine('a deduction is hidden until a hire names its employee', async (t) => {
  const { as, elect, hire } = await startMoving(t);
  await elect('10.00');
  for (const employer of [EMPLOYER, OTHER]) {
    t.equal((await as(employer).get(DEDUCTION)).status, 404, employer);
    t.equal((await as(employer).get(EMPLOYEE)).status, 404, employer);
  }
  await hire(OTHER, '2026-07-01');
  t.equal((await as(EMPLOYER).get(DEDUCTION)).status, 404);
  t.match((await as(OTHER).get(DEDUCTION)).json, { member_contribution: '10.00', employer_id: OTHER });
  const { json } = await as(EMPLOYER).get('/v1/deductions');
  t.notOk(json.data.some(({ id }: { id: string }) => id === 'ded-m'));
});

onEitherEngine('a change names the near match of an unknown employee to a token that sees it', async (t) => {
  const { hire, call, tokens } = await startMoving(t);
  await hire(OTHER, '2026-07-01');
  const body = { employee_id: 'Mover ', termination_date: '2026-07-31' };
  const leave = (token?: string, employee_id = 'MOVER') =>
    call({
      method: 'POST',
      url: '/v1/employee-changes/termination',
      body: { ...body, employee_id },
      ...(token && { token }),
    });
  t.equal((await leave(tokens[EMPLOYER])).status, 404, 'an employee of another employer');
  const rule = 'is not an employee of an employer of this token. The census has mover';
  const errors = [{ path: 'employee_id', rule }];
  t.match(await leave(tokens[OTHER]), { status: 422, json: { errors } });
  t.match(await leave(), { status: 202, json: { near_employee_id: 'mover' } });
  const known = await leave(undefined, 'mover');
  t.notOk('near_employee_id' in known.json);
  t.notOk('near_employee_id' in (await leave(undefined, 'nobody')).json);
  const batch = (token?: string) =>
    call({
      method: 'POST',
      url: '/v1/employee-changes/batch',
      body: [
        { kind: 'termination', ...body },
        { kind: 'new-hire', ...newHire, employee_id: 'MOVER', employer_id: OTHER },
      ],
      ...(token && { token }),
    });
  t.match((await batch(tokens[OTHER])).json.results, [{ status: 'refused', errors }, { status: 'accepted' }]);
  const [refused] = (await batch(tokens[EMPLOYER])).json.results;
  t.notMatch(refused.errors[0].rule, /mover/);
});

onEitherEngine(
  'after a move, each employer sees its own facts, and the new one the deductions',
  async (t) => {
    const { at, as, call, elect, hire, change, move, amounts } = await startMoving(t);
    await hire(EMPLOYER, '2026-07-01');
    await elect('10.00');
    const before = (await change('demographic', { address: newHire.address })).json.id;
    at('2026-07-15');
    await move();
    const [first, second] = [as(EMPLOYER), as(OTHER)];
    t.match((await first.get(DEDUCTION)).json, { member_contribution: '10.00', employer_id: EMPLOYER });
    t.equal((await second.get(DEDUCTION)).status, 404, 'before the first day');
    at('2026-08-02');
    await elect('20.00');
    const after = (await change('demographic', { address: newHire.address })).json.id;

    for (const url of [DEDUCTION, `${DEDUCTION}/versions`, `${DEDUCTION}?on=2026-07-15`])
      t.equal((await first.get(url)).status, 404, url);
    for (const url of ['/v1/deductions?employee_id=mover', '/v1/deductions?on=2026-07-15&employee_id=mover'])
      t.strictSame((await first.get(url)).json.data, [], url);
    t.match((await second.get(DEDUCTION)).json, { member_contribution: '20.00', employer_id: OTHER });
    t.strictSame(await amounts(OTHER), ['10.00', '20.00']);

    const [left, came] = [(await first.get(EMPLOYEE)).json, (await second.get(EMPLOYEE)).json];
    t.match(left, { employer_id: null, employments: [{ employer_id: EMPLOYER }], deductions: { data: [] } });
    t.match(came, { employer_id: OTHER, employments: [{ employer_id: OTHER }] });
    t.notMatch(JSON.stringify(left), OTHER);
    t.notMatch(JSON.stringify(came), EMPLOYER);
    const shown = ({ changes }: typeof left) => changes.data.map(({ id }: { id: string }) => id);
    t.ok(shown(left).includes(before) && !shown(left).includes(after));
    t.ok(shown(came).includes(after) && !shown(came).includes(before));
    const statuses = [];
    for (const { get } of [first, second])
      for (const id of [before, after])
        statuses.push((await get(`/v1/employee-changes/${id}?body=true`)).status);
    t.strictSame(statuses, [200, 404, 404, 200]);
    const waiting = came.changes.data.find(({ id }: { id: string }) => id === after);
    t.notOk(waiting.earlier_change_id === before, 'the earlier change of the first employer is not named');

    const end = (employee_id: string) =>
      first.post('/v1/employee-changes/termination', { employee_id, termination_date: '2026-08-31' });
    const [moved, unknown] = [await end('mover'), await end('nobody')];
    t.strictSame([moved.status, moved.text], [unknown.status, unknown.text]);
    t.equal(moved.status, 404);
    t.equal((await call({ url: DEDUCTION })).json.member_contribution, '20.00', 'other tokens see all of it');
  },
);

onEitherEngine('the records of changes belong to the employer that the changes are about', async (t) => {
  const { at, as, hire, change, move } = await startMoving(t);
  await hire(EMPLOYER, '2026-07-01');
  const { id } = (await change('demographic', { address: newHire.address })).json;
  await as(EMPLOYER).get(`/v1/employee-changes/${id}?body=true`);
  at('2026-08-01');
  await move();
  await change('compensation-change', { pay_frequency: 'monthly' });
  await as(EMPLOYER).post(`/v1/employee-changes/${id}/cancel`, { reason: 'a test' });
  const actions = async (employer: string) =>
    (await as(employer).get('/v1/audit?employee_id=mover&order=oldest_first')).json.data.map(
      (record: { action: string; employer_id: string }) => [record.action, record.employer_id],
    );
  const ofChanges = ['report', 'report', 'read', 'report', 'cancel'].map((verb) => `change.${verb}`);
  const expected = ofChanges.map((action) => [action, EMPLOYER]);
  t.strictSame(await actions(EMPLOYER), expected);
  t.strictSame(await actions(OTHER), Array(2).fill(['change.report', OTHER]));
});

onEitherEngine('a limited token lists changes of its own employers only', async (t) => {
  const { as, change, hire } = await startMoving(t);
  await hire(EMPLOYER, '2026-07-01');
  await hire(OTHER, '2026-07-01');
  await change('demographic', { address: newHire.address });
  const listed = async (employer: string) =>
    (await as(EMPLOYER).get(`/v1/employee-changes?employer_id=${employer}`)).json.data.map(
      ({ kind }: { kind: string }) => kind,
    );
  t.strictSame(await listed(EMPLOYER), ['demographic', 'new-hire'], 'an employee of both');
  t.strictSame(await listed(OTHER), []);
});

onEitherEngine('an action on an employee with two employers has a record for each of them', async (t) => {
  const { as, change, db, hire } = await startMoving(t);
  await hire(EMPLOYER, '2026-07-01');
  await hire(OTHER, '2026-07-01');
  const { id } = (await change('demographic', { address: newHire.address })).json;
  await as(OTHER).get(`/v1/employee-changes/${id}?body=true`);
  await as(EMPLOYER).post(`/v1/employee-changes/${id}/cancel`, { reason: 'a test' });

  const records = async (employer: string) =>
    as(employer).get('/v1/audit?employee_id=mover&order=oldest_first');
  const verbs = ['change.report', 'change.report', 'change.read', 'change.cancel'];
  for (const employer of [EMPLOYER, OTHER]) {
    const { json, text } = await records(employer);
    const actions = json.data.map(({ action }: { action: string }) => action);
    t.strictSame(actions, verbs);
    t.notMatch(text, employer === OTHER ? EMPLOYER : OTHER);
  }
  const canceled = async (employer: string) =>
    (await records(employer)).json.data.find(({ action }: { action: string }) => action === 'change.cancel');
  const recordId = Number((await canceled(OTHER)).id);
  await transact(db, (trx) => eraseReason(trx, recordId, { ...ACTING, reason: 'a test' }, REASON_COLUMNS));
  t.match(await canceled(EMPLOYER), { reason: null }, 'an erased reason is erased for both');

  t.strictSame(await differencesOf((on) => verifyRows(db, null, on)), []);
});

onEitherEngine('after a move, lines of the runs of the first employer still show its amounts', async (t) => {
  const { at, as, elect, hire, put, move } = await startMoving(t);
  await hire(EMPLOYER, '2026-07-01');
  await elect('10.00');
  at('2026-08-01');
  await move();
  await put('late', bodyOn('2026-07-17', { employee_ids: ['mover'] }));
  const { data } = (await as(EMPLOYER).get(`${RUNS}/late/lines`)).json;
  t.match(data, [{ deduction_id: 'ded-m' }]);
  t.equal((await as(EMPLOYER).get(DEDUCTION)).status, 404);
  const named = {
    kind: 'off_cycle',
    employee_ids: ['mover'],
    final_checks: ['mover'],
    deductions: ['ded-m'],
  };
  const preview = await as(EMPLOYER).post(`${RUNS}/preview`, bodyOn('2026-07-17', named));
  t.equal(preview.status, 200, 'its final check may name the deduction');
});

onEitherEngine(
  'a deduction that another employer takes is as unknown to a limited token as any',
  async (t) => {
    const { at, as, call, elect, hire } = await startMoving(t);
    await hire(EMPLOYER, '2026-07-01');
    await hire(OTHER, '2026-07-01');
    await elect('10.00');
    at('2026-07-02');
    const body = { employer_id: EMPLOYER, reason: 'a test' };
    await call({ method: 'PUT', url: `${DEDUCTION}/employer`, body });
    const naming = (employer: string, id: string) => ({
      [`${RUNS}/preview`]: {
        ...bodyOn('2026-07-17', { kind: 'off_cycle', employee_ids: ['mover'], deductions: [id, 'none'] }),
        employer_id: employer,
      },
      [`/v1/employers/${employer}/opening-items`]: {
        items: [{ ...OPENING, employee_id: 'mover', deduction_id: id }],
      },
      [`/v1/deductions/import?employer_id=${employer}`]: {
        deductions: [{ ...deduction, id, employee_id: 'mover' }],
      },
    });
    const unknown = Object.entries(naming(OTHER, 'ded-u'));
    for (const [index, [url, body]] of Object.entries(naming(OTHER, 'ded-m')).entries()) {
      const hidden = await as(OTHER).post(url, body);
      t.equal(hidden.status, 422, url);
      const refusal = (await as(OTHER).post(url, unknown[index]?.[1] as object)).text;
      t.equal(hidden.text.replaceAll('ded-m', 'ded-u'), refusal, url);
    }
    const [[previewUrl, run], [openingUrl, items]] = Object.entries(naming(EMPLOYER, 'ded-m')) as [
      [string, object],
      [string, object],
    ];
    const { json } = await as(EMPLOYER).post(previewUrl, run);
    t.match(json.errors[0].rule, /unknown: none$/, 'the employer that takes it knows it');
    t.equal((await as(EMPLOYER).post(openingUrl, items)).status, 201);
  },
);

onEitherEngine('of an employee with two employers, a token sees what is assigned to its own', async (t) => {
  const { at, as, call, elect, hire, amounts, put, tokens } = await startMoving(t);
  await hire(EMPLOYER, '2026-07-01');
  await elect('10.00');
  await hire(OTHER, '2026-07-01');
  at('2026-07-02');
  await elect('11.00', { effective_start: '2027-01-01' });
  at('2026-07-03');
  await elect('12.00', { effective_end: '2026-12-31' });
  await put('mine', bodyOn('2026-07-17'));
  const statuses = async () => {
    const shown = [];
    for (const employer of [EMPLOYER, OTHER]) shown.push((await as(employer).get(DEDUCTION)).status);
    return shown;
  };
  const assign = (employer_id: string, token?: string, more = {}) => {
    const body = { employer_id, reason: 'a test', ...more };
    return call({ method: 'PUT', url: `${DEDUCTION}/employer`, body, ...(token && { token }) });
  };
  t.strictSame(await statuses(), [404, 404], 'it belongs to neither');
  const { text } = await as(OTHER).get(`/v1/readiness?employer_id=${OTHER}`);
  t.match(text, 'employees-with-two-employers');
  t.notMatch(text, 'ded-m');
  const { json } = await as(EMPLOYER).get(`${RUNS}/mine/readiness`);
  for (const check of ['employees-with-two-employers', 'renewal-erased']) {
    const { findings } = json.checks.find(({ id }: { id: string }) => id === check);
    t.strictSame(findings, [{ check, count: 1 }], 'the report only counts the finding');
  }
  t.equal(
    (await assign(OTHER, tokens[OTHER])).status,
    201,
    'both jobs were reported by a token that sees both',
  );
  t.strictSame(await statuses(), [404, 200]);
  t.strictSame(await amounts(OTHER), ['10.00', '11.00', '12.00']);
  const away = await assign(EMPLOYER, tokens[EMPLOYER]);
  t.match(away, { status: 409, json: { type: /employee-elsewhere/, errors: [{ path: 'employer_id' }] } });
  t.equal((await assign(EMPLOYER)).status, 201);
  for (const employer of [EMPLOYER, OTHER]) {
    const { data } = (await as(employer).get('/v1/audit?action=deduction.assign')).json;
    t.equal(data.length, 2, `both assignments are recorded at ${employer}`);
  }
  await put('theirs', bodyOn('2026-07-17', { employer_id: OTHER }));
  const override = (runId: string, employer: string) => {
    const body = { member_amount: '1.00', employer_amount: '0.00', reason: 'a test' };
    const url = `${RUNS}/${runId}/overrides/mover/ded-m`;
    return call({ method: 'PUT', url, body, token: tokens[employer] as string });
  };
  const refusal = { status: 422, json: { errors: [{ path: 'deduction_id' }] } };
  t.match(
    await override('theirs', OTHER),
    refusal,
    'no override brings it into the run of the other employer',
  );
  t.equal((await override('mine', EMPLOYER)).status, 201);
});

onEitherEngine('lines, items, evidence and verification hide the ids of hidden events', async (t) => {
  const { at, as, call, change, db, elect, hire, accept, finalized, put } = await startMoving(t);
  await hire(OTHER, '2026-07-01');
  await elect('10.00');
  at('2026-07-11');
  t.equal((await finalized('first', bodyOn('2026-07-31'))).status, 200);
  at('2026-07-14');
  await hire(EMPLOYER, '2026-07-01');
  at('2026-07-15');
  const absent = { employee_id: 'mover', employer_id: OTHER, absent: 1 } as const;
  const census = { source: 'census', source_id: 'secret-census' } as const;
  await transact(db, (trx) => recordFacts(trx, [absent], census, '2026-07-15T09:00:00.000Z'));
  at('2026-08-01');
  await change('termination', { employee_id: 'emp-2', termination_date: '2026-07-31' });
  const again = { employee_id: 'emp-2', employer_id: OTHER, hire_date: '2026-08-01' };
  await change('new-hire', { ...newHire, ...again });
  const ended = { id: 'ded-2', employee_id: 'emp-2', effective_end: '2026-07-01' };
  await deliver(db, [deductionOf('secret-event', ended, '2026-08-02T09:00:00Z')], '2026-08-02T09:00:00.000Z');
  at('2026-08-03');
  await setPolicy(db, { open_items: 'include', recoup: { method: 'all' } });
  await put('second', bodyOn('2026-08-14'));

  for (const url of [
    `/v1/employers/${EMPLOYER}/open-items`,
    `${EMPLOYEE}/open-items`,
    EMPLOYEE,
    '/v1/employees/emp-2/open-items',
    '/v1/payroll-runs/second/lines',
  ]) {
    const limited = (await as(EMPLOYER).get(url)).text;
    t.match((await call({ url })).text, /secret-(event|census)/, url);
    t.notMatch(limited, 'secret', url);
    t.match(limited, '"id":"another employer"', url);
  }
  t.equal((await accept('second')).status, 200);
  for (const url of ['/v1/payroll-runs/second/evidence', `${EMPLOYEE}/paychecks`]) {
    t.match((await call({ url })).text, 'secret-census', url);
    t.notMatch((await as(EMPLOYER).get(url)).text, 'secret', url);
  }
  await pastTriggers(db, (trx) =>
    sql`update run_employees set lines = replace(lines, 'Paycheck of', 'Paycheck on')`.execute(trx),
  );
  const verify = '/v1/payroll-runs/second/verify';
  t.match((await call({ url: verify })).text, /"id":"secret-census".*"id":"secret-census"/);
  const limited = await as(EMPLOYER).get(verify);
  t.match(limited.json, { identical: false });
  t.notMatch(limited.text, 'secret', verify);
});

onEitherEngine('a limited token hires for its own employers only, singly and in a batch', async (t) => {
  const { as, hire, tokens, call } = await startMoving(t);
  const refused = await hire(OTHER, '2026-07-01', tokens[EMPLOYER]);
  const errors = [{ path: 'employer_id', rule: /employer of this token/ }];
  t.match(refused, { status: 422, json: { errors } });
  const batch = await as(EMPLOYER).post('/v1/employee-changes/batch', [
    { kind: 'termination', employee_id: 'mover', termination_date: '2026-07-31' },
    { kind: 'new-hire', ...newHire, employee_id: 'mover', employer_id: OTHER },
    { kind: 'new-hire', ...newHire, employee_id: 'mover', employer_id: EMPLOYER },
    { kind: 'termination', employee_id: 'mover', termination_date: '2026-07-31' },
  ] as object);
  t.match(batch.json.results, [
    { status: 'refused', errors: [{ path: 'employee_id' }] },
    { status: 'refused', errors: [{ path: 'employer_id' }] },
    { status: 'accepted' },
    { status: 'accepted' },
  ]);
  t.equal((await call({ url: EMPLOYEE })).json.employments.length, 1);
});

onEitherEngine('a termination by a limited token ends the employment with its employer only', async (t) => {
  const { call, hire, leave, tokens } = await startMoving(t);
  await hire(EMPLOYER, '2026-07-01');
  await hire(OTHER, '2026-07-01');
  t.equal((await leave('2026-07-31', tokens[EMPLOYER])).status, 202);
  const { employments } = (await call({ url: EMPLOYEE })).json;
  t.match(employments, [
    { employer_id: EMPLOYER, spells: [{ termination_date: '2026-07-31' }] },
    { employer_id: OTHER, spells: [{ termination_date: null }] },
  ]);
});

onEitherEngine('an idempotency key belongs to its limited token', async (t) => {
  const { as } = await startMoving(t);
  const hire = (employer_id: string) =>
    as(employer_id).post(
      '/v1/employee-changes/new-hire',
      { ...newHire, employee_id: `new-${employer_id}`, employer_id },
      { 'idempotency-key': 'key-1' },
    );
  const [first, second] = [await hire(EMPLOYER), await hire(OTHER)];
  t.strictSame([first.status, second.status], [202, 202]);
  t.equal((await hire(EMPLOYER)).json.id, first.json.id, 'a repeat returns the first change');
});

onEitherEngine('readiness counts what belongs to other employers, without their ids', async (t) => {
  const { at, as, change, db, hire, move, put } = await startMoving(t);
  await hire(EMPLOYER, '2026-07-01');
  at('2026-08-01');
  await move();
  at('2026-08-02');
  const { id } = (await change('demographic', { address: newHire.address })).json;
  const rejected = { state: 'rejected', is_next: 0, finished_at: '2026-08-02T09:00:00.000Z' } as const;
  await transact(db, (trx) => trx.updateTable('outbox').set(rejected).where('request_id', '=', id).execute());
  for (const employee_id of ['unknown-1', 'unknown-2'])
    await deliver(db, [deductionOf(`evt-${employee_id}`, { id: `ded-${employee_id}`, employee_id })]);
  const report = async (employer: string) =>
    (await as(employer).get(`/v1/readiness?employer_id=${employer}`)).json.checks as Record<
      string,
      unknown
    >[];
  const checkOf = (checks: Record<string, unknown>[], name: string) =>
    checks.find((check) => check.id === name);
  const [first, second] = [await report(EMPLOYER), await report(OTHER)];
  const unseen = (check: string, count = 1) => [{ check, count }];
  t.match(checkOf(first, 'requests-rejected'), { count: 1, findings: unseen('requests-rejected') });
  t.match(checkOf(second, 'requests-rejected'), { count: 1, findings: [{ change_id: id }] });
  t.match(checkOf(first, 'deductions-unmatched'), { count: 2, findings: unseen('deductions-unmatched', 2) });
  await put('july', bodyOn('2026-07-17'));
  const { json } = await as(EMPLOYER).get(`${RUNS}/july/findings`);
  const found = (check: string) =>
    json.findings.filter((finding: { check: string }) => finding.check === check);
  const hidden = { count: 1, ids: [], acceptable: true, result: 'fail' };
  t.strictSame(found('requests-rejected'), [{ check: 'requests-rejected', ...hidden }]);
  const [stuck] = found('requests-stuck');
  t.match(stuck, { text: /: new-hire, since /, change_id: String, employee_id: 'mover' });
  const counted = { ...hidden, count: 2, acceptable: false, result: 'warn' };
  t.strictSame(found('deductions-unmatched'), [{ check: 'deductions-unmatched', ...counted }]);
  const required = { status: 400, json: { errors: [{ path: 'employer_id' }] } };
  t.match(await as(EMPLOYER).get('/v1/readiness'), required);
});

onEitherEngine('an event that is not applied is counted, without its contents', async (t) => {
  const { as, db, hire } = await startMoving(t);
  await hire(EMPLOYER, '2026-07-01');
  const wrong = { id: 'ded-m', employee_id: 'mover', member_contribution: 'much' };
  await deliver(db, [deductionOf('evt-bad', wrong)], '2026-07-02T09:00:00.000Z');
  const { json, text } = await as(EMPLOYER).get(EMPLOYEE);
  t.match(json, { unapplied: [], unapplied_notice: '1 event could not be applied; ask an operator' });
  t.notMatch(text, 'evt-bad');
});
