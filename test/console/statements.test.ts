/** Tests what pages state, without a browser: each text says only what is so. */
import t from 'tap';
import { actionOn, type Finding, findingIn, placeOf } from '../../src/console/elements/finding.ts';
import { lacksScope } from '../../src/console/elements/format.ts';
import { renderPart } from '../../src/console/html.ts';
import { transact } from '../../src/database/transaction.ts';
import { ROLES } from '../../src/security/scopes.ts';
import { deduct, employment, LATELY, learn, schedule, setSchedules, sync } from '../support/payroll.ts';
import { openPayroll } from './runs-stage.ts';
import { csrfOf } from './stage.ts';

async function reading(t: Parameters<typeof openPayroll>[0]) {
  const stage = await openPayroll(t);
  const headers = { cookie: await stage.cookie() };
  const opened = async (path: string, requested: Record<string, string> = headers) =>
    fetch(stage.base + path, { headers: requested });
  const text = async (path: string, requested?: Record<string, string>) =>
    (await (await opened(path, requested)).text()).replaceAll(/\s+/g, ' ');
  /** Sends a form as the page does. Returns the page that the browser opens next. */
  const acted = async (path: string, form: Record<string, string> = {}, user = headers) => {
    const sent = { ...user, ...(await csrfOf(stage.base, user.cookie)), 'hx-request': 'true' };
    const body = new URLSearchParams(form);
    const response = await fetch(stage.base + path, { method: 'POST', headers: sent, body });
    const next = response.headers.get('hx-redirect');
    return next === null ? (await response.text()).replaceAll(/\s+/g, ' ') : text(next, user);
  };
  /** Accepts the findings of checks as it finalizes a run. */
  const accept = async (run: string, checks: string[], reason: string) => {
    const url = `/v1/payroll-runs/${run}`;
    const { etag } = (await stage.call({ url: `${url}/readiness` })).headers;
    const body = { accept: checks, reason };
    const ifMatch = { 'if-match': String(etag) };
    return stage.call({ method: 'POST', url: `${url}/finalize`, headers: ifMatch, body });
  };
  return { ...stage, opened, text, acted, accept };
}

t.test('a run page names what the run waits for and who accepted a finding', async (t) => {
  const { db, call, put, text, opened, accept } = await reading(t);
  await put('r', '2026-07-17');
  t.match(await text('/runs/r/readiness'), 'Ready to finalize');
  t.match((await opened('/runs/r/lines.csv')).headers.get('content-disposition'), '"r-open.csv"');
  await deduct(db, 'evt-second', { id: 'ded-9', employee_id: 'emp-1' });
  t.equal((await accept('r', ['overlap'], 'both are right')).status, 200);
  t.match((await opened('/runs/r/lines.csv')).headers.get('content-disposition'), '"r.csv"');
  await put('next', '2026-07-31');
  const remembered = await text('/runs/next/readiness');
  t.match(remembered, /Accepted by [^[:<]+: .*both are right/);
  t.notMatch(remembered, '[object Object]');
  const required = { required: true, reason: 'two people' };
  await call({ method: 'PUT', url: '/v1/employers/acme/second-approval', body: required });
  const waiting = await text('/runs/next/readiness');
  t.match(waiting, 'Waiting for approval');
  t.notMatch(waiting, /Ready to finalize|readiness good/);
  t.match(await text('/runs/r/taken'), 'the payroll policy decides whether later runs take it');
});

t.test(
  'a run whose pay date another final run has is not ready anywhere, and nobody can accept it',
  async (t) => {
    const { call, put, text, finalized } = await reading(t);
    await finalized('r', '2026-07-17');
    await put('twin', '2026-07-17', { period_start: '2026-06-15', period_end: '2026-06-28' });
    for (const path of ['readiness', 'review']) {
      const page = await text(`/runs/twin/${path}`);
      t.match(page, /Not ready.*id="check-pay-date-taken".*href="\/runs\/r"/, path);
      t.notMatch(page, /Ready to finalize|type="checkbox"|<button|accept their findings/, path);
    }
    const report = await call({ url: '/v1/payroll-runs/twin/readiness' });
    t.equal(report.json.ready, false);
    const required = { required: true, reason: 'two people' };
    await call({ method: 'PUT', url: '/v1/employers/acme/second-approval', body: required });
    t.notMatch(await text('/runs/twin/approval'), /type="checkbox"|Approve finalizing/);
  },
);

t.test('only a warning that can be remembered has a checkbox', async (t) => {
  const { db, put, text } = await reading(t);
  await put('r', '2026-07-17');
  await deduct(db, 'evt-stray', { id: 'ded-stray', employee_id: 'nobody' });
  const without = await text('/runs/r/review');
  t.match(without, /id="check-deductions-unmatched".*of no known employer/);
  t.notMatch(without, /type="checkbox"|Reason to accept warnings|no%20known/);
  const window = { effective_start: '2026-07-20', effective_end: '2026-07-10' };
  await deduct(db, 'evt-never', { id: 'ded-never', employee_id: 'emp-1', ...window });
  const review = await text('/runs/r/review');
  t.match(review, /id="accept-never-in-effect".*Reason to accept warnings/);
  t.notMatch(review, 'accept-deductions-unmatched');
});

t.test('a rejected change of an unknown person is on Home, and no run counts it', async (t) => {
  const { db, call, text, put } = await reading(t);
  await put('r', '2026-07-17');
  t.match(await text('/'), /Checking <span class="soft">1</, 'before its first computation');
  const report = async (employee_id: string) => {
    const headers = { 'idempotency-key': employee_id };
    const body = { employee_id, termination_date: '2026-07-10' };
    await call({ method: 'POST', url: '/v1/employee-changes/termination', headers, body });
    const rejected = { state: 'rejected', is_next: 0, finished_at: LATELY } as const;
    await transact(db, (trx) =>
      trx.updateTable('outbox').set(rejected).where('subject_id', '=', employee_id).execute(),
    );
    return (await call({ url: `/v1/employee-changes?employee_id=${employee_id}` })).json.data[0].id;
  };
  const unknown = await report('nobody');
  t.match(await text('/'), '<a href="/changes?state=rejected">1 rejected employment change</a>');
  t.notMatch(await text(`/changes/${unknown}`), 'count it already');
  t.match(await text(`/changes/${await report('emp-1')}`), 'Payroll runs count it already');
  t.match(await text(`/changes/${unknown}?saved=true`), /Saved\.<.*href="\/changes\?state=rejected"/);
});

t.test('the next step is one that the user can take', async (t) => {
  const { db, text, finalized, cookie, call, tokenWith, personWith } = await reading(t);
  await finalized('r', '2026-07-17');
  t.notMatch(await text('/census/acme?staged=1'), 'the payroll of Jul 17');
  await learn(db, employment('emp-9', { employer_id: 'globex' }));
  await deduct(db, 'evt-9', { id: 'ded-9', employee_id: 'emp-9' });
  await setSchedules(db, [schedule()], 'globex');
  await sync(db, { employer_id: 'globex' });
  const signedIn = async (token: string) => ({ cookie: await cookie(token) });
  const tokenOf = (name: string, role: keyof typeof ROLES = 'payroll-manager') =>
    personWith(name, ...ROLES[role]);
  const ann = await tokenOf('ann@example.com');
  const users = {
    'the approver': await signedIn(ann),
    'the approver with another token': await signedIn(await tokenOf('Ann@example.com')),
    'another manager': await signedIn(await tokenOf('bob@example.com')),
    'a specialist': await signedIn(await tokenOf('cy@example.com', 'payroll-specialist')),
    'a program': await signedIn(await tokenWith('all')),
    'a reader': await signedIn(await tokenWith('runs:read')),
  };
  const url = '/v1/payroll-runs/globex-biweekly-2026-07-17';
  const offered = async () => {
    const pages = Object.entries(users).map(async ([name, user]) =>
      (await text('/runs/r?finalized=true', user)).includes('Next payroll') ? [name] : [],
    );
    return (await Promise.all(pages)).flat();
  };
  const managers = ['the approver', 'the approver with another token', 'another manager'];
  const writers = [...managers, 'a specialist', 'a program'];
  t.strictSame(await offered(), writers, 'not started');
  const key = { employer_id: 'globex', pay_frequency: 'biweekly', pay_date: '2026-07-17' };
  await call({ method: 'POST', url: '/v1/payroll-runs', body: key });
  t.strictSame(await offered(), writers, 'open');
  const required = { required: true, reason: 'two people' };
  await call({ method: 'PUT', url: '/v1/employers/globex/second-approval', body: required });
  t.strictSame(await offered(), managers, 'waiting for approval, not computed');
  await call({ method: 'POST', url: `${url}/computation` });
  t.strictSame(await offered(), managers, 'waiting for approval');
  const { etag } = (await call({ url: `${url}/readiness` })).headers;
  const headers = { 'if-match': String(etag) };
  const approval = { action: 'finalize', reason: 'reviewed' };
  await call({ method: 'POST', url: `${url}/approval`, token: ann, headers, body: approval });
  t.strictSame(await offered(), ['another manager', 'a specialist'], 'approved');
  for (const name of ['the approver', 'the approver with another token', 'a program'] as const) {
    const bar = await text('/runs/globex-biweekly-2026-07-17/bar', users[name]);
    t.notMatch(bar, 'Finalize …', name);
    t.match(await text('/', users[name]), /waiting.*Waiting for another person/, name);
  }
  t.match(await text('/runs/globex-biweekly-2026-07-17/bar', users['a specialist']), 'Finalize …');
});

t.test('a run that fails a check names who acts next, and offers to finalize it only to them', async (t) => {
  const { db, call, put, text, cookie, personWith } = await reading(t);
  await deduct(db, 'evt-second', { id: 'ded-9', employee_id: 'emp-1' });
  const id = 'acme-biweekly-2026-07-17';
  await put(id, '2026-07-17');
  await call({ method: 'POST', url: `/v1/payroll-runs/${id}/computation` });
  const reads = async (role: keyof typeof ROLES, next: string, isOffered: boolean) => {
    const user = { cookie: await cookie(await personWith(`${role}@example.com`, ...ROLES[role])) };
    const bar = await text(`/runs/${id}/bar`, user);
    t.match(bar, `Next: ${next}`, role);
    t.equal(bar.includes('Finalize …'), isOffered, role);
    return bar;
  };
  const asked = 'ask a payroll manager to accept their findings.';
  await reads('payroll-specialist', `fix the failed checks, or ${asked}`, false);
  t.notMatch(await reads('payroll-manager', 'fix the failed checks, or accept their findings', true), asked);
  t.notMatch(await reads('auditor', 'a payroll specialist fixes the failed checks.', false), asked);
  await call({
    method: 'PUT',
    url: '/v1/employers/acme/second-approval',
    body: { required: true, reason: 'two' },
  });
  await reads(
    'payroll-manager',
    'fix the failed checks, or approve the run and accept their findings.',
    false,
  );
});

t.test('two persons read who must approve, finalize and void a run, and what no longer counts', async (t) => {
  const { db, call, put, text, acted, cookie, personWith, tokenWith } = await reading(t);
  await put('r', '2026-07-17');
  const person = async (name: string, role: keyof typeof ROLES) => ({
    cookie: await cookie(await personWith(`${name}@example.com`, ...ROLES[role])),
  });
  const users = {
    ann: await person('ann', 'payroll-specialist'),
    bob: await person('bob', 'payroll-manager'),
    cyd: await person('cyd', 'payroll-manager'),
    program: { cookie: await cookie(await tokenWith(...ROLES['payroll-manager'])) },
  };
  type User = keyof typeof users;
  const reads = async (user: User, path: string, what: RegExp, not?: RegExp) => {
    const page = await text(`/runs/r${path}`, users[user]);
    t.match(page, what, `${user} ${path}`);
    if (not !== undefined) t.notMatch(page, not, `${user} ${path}`);
  };
  const etagOf = async () =>
    String((await call({ url: '/v1/payroll-runs/r/readiness' })).headers.etag).replaceAll('"', '');
  const approve = (user: User, form: Record<string, string>) =>
    acted('/runs/r/approve', { reason: 'a test', ...form }, users[user]);
  await reads('bob', '/approval', /requires no second approval/, /name="reason"/);
  const required = { required: true, reason: 'two people' };
  await call({ method: 'PUT', url: '/v1/employers/acme/second-approval', body: required });
  await reads('ann', '/readiness', /Waiting for approval/, /One person must approve/);
  await reads('ann', '/bar', /Next: one person must approve this run, and then/);
  await reads('program', '/approval', /your token names none/, /name="reason"/);
  await deduct(db, 'evt-second', { id: 'ded-9', employee_id: 'emp-1' });
  await reads('bob', '/bar', /approve the run and accept their findings/);
  t.match(await approve('bob', { action: 'finalize', etag: 'an.old' }), 'Nothing was approved.');
  const finalize = async () => ({ action: 'finalize', etag: await etagOf(), 'accept-overlap': 'yes' });
  await approve('bob', await finalize());
  await reads('bob', '/bar?approved=finalize', /Another person can now finalize/, /Finalize …/);
  await reads('bob', '/approval', /You approved this run.*Withdraw your approval/, /Approve finalizing/);
  await reads('cyd', '/approval', /approved this run\..*Finalize …/, /Withdraw|Approve finalizing|Waiting/);
  await reads('program', '/bar', /a person must finalize this run: your token names none/);
  await deduct(db, 'evt-third', { id: 'ded-8', employee_id: 'emp-2' });
  await reads('bob', '/bar?approved=finalize', /waiting for approval.*Approve …/, /Another person can now/);
  await reads('ann', '/review', /One person must approve.*A line changed/, /name="reason"/);
  await approve('bob', await finalize());
  await acted('/runs/r/finalize', { etag: await etagOf() }, users.ann);
  await reads('bob', '?approved=finalize', /Approve voiding …/, /Another person can now|>Void …/);
  await reads('program', '', /Compare with payroll/, />Void …/);
  await reads('bob', '/findings', /medical/, /Override one of them/);
  await reads('cyd', '/void', /One person must approve voiding this run/, /name="reason"/);
  t.match(await acted('/runs/r/void', { reason: 'a test' }, users.cyd), 'must approve voiding');
  t.match(await approve('bob', { action: 'void' }), 'so another person must void it');
  await reads('bob', '', /You approved voiding this run, so another person must void it/, />Void …/);
  await reads('bob', '/approve', /Withdraw your approval/, /Approve voiding</);
  await reads('cyd', '', /approved voiding this run\..*/, /Approve voiding …/);
  await acted('/runs/r/void', { reason: 'a test' }, users.cyd);
  await reads('bob', '?approved=void', /Its amounts no longer count/, /Another person can now/);
  await reads('cyd', '', /Approved by.*Voided by.*Voiding approved by/);
  await reads('cyd', '/void', /already voided/, /name="reason"/);
  const stop = { employer_id: 'acme', required: 'false', reason: 'a test' };
  const asked = await acted('/settings/second-approval', stop, users.bob);
  t.match(asked, /You requested to stop requiring it.*Keep requiring it|Keep requiring it.*You requested/);
  t.notMatch(asked, '>Stop requiring it');
  t.match(await text('/settings?employer_id=acme', users.cyd), '>Stop requiring it');
});

t.test('each action says what it did, with a way back', async (t) => {
  const { text, put, finalized, acted, cookie, personWith } = await reading(t);
  const said = async (what: string, page: Promise<string>) => {
    const [status = ''] = /<p class="card" role="status">.*?<\/p>/s.exec(await page) ?? [];
    t.match(status, what);
    t.match(status, /<a href="\//, `${what} has a way back`);
  };
  await cookie();
  const [, session = ''] = /\/sessions\/([^/"]+)\/end"/.exec(await text('/sessions')) ?? [];
  await said('Session ended.', acted(`/sessions/${session}/end`));
  await said('All other sessions ended.', acted('/sessions/end-others'));
  const started = await acted('/payrolls/open-all');
  t.match(started, /<strong>1 payroll started\.<\/strong><\/p>/, 'on Home, so without a way back');
  await said('Run acme-biweekly-2026-07-17 deleted.', acted('/runs/acme-biweekly-2026-07-17/delete'));
  const period = { period_start: '2026-06-29', period_end: '2026-07-12' };
  const options = { employer_id: 'acme', pay_frequency: 'biweekly', kind: 'off_cycle' };
  const run = { run_id: 'off', pay_date: '2026-07-17', 'employee:emp-1': 'yes', 'deduction:ded-1': 'yes' };
  await said('Saved.', acted('/runs/new', { ...options, ...period, ...run, do: 'save' }));
  await put('r', '2026-07-17');
  const override = { employee_id: 'emp-1', deduction_id: 'ded-1' };
  const amounts = { member_amount: '1.00', employer_amount: '0.00', reason: 'a test' };
  await said('Saved.', acted('/runs/r/override', { ...override, ...amounts }));
  await said('Saved.', acted(`/runs/r/remove-override?${new URLSearchParams(override)}`));
  await finalized('off', '2026-07-17', {
    ...options,
    ...period,
    employee_ids: ['emp-1'],
    deductions: ['ded-1'],
  });
  await said('The run was voided.', acted('/runs/off/void', { reason: 'a test' }));
  await said('A sync was requested.', acted('/census/acme/sync'));
  const ann = { cookie: await cookie(await personWith('ann@example.com', 'all')) };
  await acted('/settings/second-approval', { employer_id: 'acme', required: 'true', reason: 'a test' });
  t.match(await text('/settings?employer_id=acme&saved=second-approval', ann), '<strong>Saved.</strong>');
});

t.test('the codes and the policy of another employer are copied to one that has none', async (t) => {
  const { db, call, text, acted } = await reading(t);
  await learn(db, employment('emp-9', { employer_id: 'globex', pay_frequency: 'biweekly' }));
  await setSchedules(db, [schedule()], 'globex');
  const codes = (code: string) => ({ codes: [{ line_of_coverage: 'medical', side: 'employee', code }] });
  const put = (path: string, body: object) => call({ method: 'PUT', url: `/v1/employers/${path}`, body });
  const copy = (copy_from: string) => acted('/settings/setup', { employer_id: 'globex', copy_from });
  const versions = async () =>
    (await call({ url: '/v1/employers/globex/payroll-policy' })).json.versions.map(
      ({ effective_from, open_items }: Record<string, string>) => `${effective_from} ${open_items}`,
    );
  t.notMatch(await text('/settings/setup?employer_id=globex'), 'Copy payroll codes', 'no codes elsewhere');
  await put('acme/payroll-codes', codes('MED1'));
  t.match(await text('/settings/setup?employer_id=globex'), /Copy payroll codes.*value="acme"/);
  t.match(await copy('nobody'), 'is no known employer');
  for (const [effective_from, open_items] of [
    ['2025-01-01', 'decided'],
    ['2026-01-01', 'include'],
    ['2027-01-01', 'decided'],
  ])
    await put('acme/payroll-policy', { effective_from, open_items });
  t.match(await copy('acme'), /Saved\..*1 code/);
  t.strictSame(await versions(), ['2027-01-01 decided', '2026-07-13 include']);
  await put('globex/payroll-codes', codes('OWN'));
  t.match(await copy('acme'), 'that this employer lacks', 'an older form replaces nothing');
  t.match(await text('/settings?employer_id=globex'), 'OWN');
});

t.test('a person limited to employers copies from none of the others', async (t) => {
  const { db, call, text, acted, cookie, tokenFor } = await reading(t);
  await learn(db, employment('emp-9', { employer_id: 'globex' }));
  const body = { codes: [{ line_of_coverage: 'medical', side: 'employee', code: 'SECRET' }] };
  await call({ method: 'PUT', url: '/v1/employers/globex/payroll-codes', body });
  const user = { cookie: await cookie(await tokenFor(['acme'], 'all')) };
  const send = (employer_id: string, copy_from: string) => ({ employer_id, copy_from });
  const copy = (employer_id: string, from: string, path = '/settings/setup') =>
    acted(path, send(employer_id, from), user);
  const shown = [
    await text('/settings/setup?employer_id=acme', user),
    await copy('acme', 'globex', '/settings/setup/preview'),
    await copy('acme', 'globex'),
  ];
  t.match(shown[2], 'is no known employer');
  t.match(await copy('globex', 'acme'), /not found/i);
  t.notMatch(shown[0], 'globex');
  t.notMatch([...shown, await text('/settings?employer_id=acme')].join(), 'SECRET');
});

t.test('a finding links exactly what it is about, however its id is written', (t) => {
  const sight = { may: () => true, caller: null };
  const run = { id: 'r', employer_id: 'acme' };
  const shown = (finding: Finding, inRun?: typeof run) =>
    [findingIn(finding, sight, inRun), actionOn(finding, sight, inRun)]
      .map((part) => (part === null ? '' : renderPart(part).replaceAll(/<\/?span>/g, '')))
      .join(' ');
  const linkTo = (checkId: string, inRun?: typeof run) => {
    const { link } = placeOf(checkId, sight, inRun);
    return link === null ? null : /href="([^"]*)"/.exec(renderPart(link))?.[1]?.replaceAll('&amp;', '&');
  };
  for (const check of ['census-syncs', 'census-held', 'employer-unknown', 'ledger-empty']) {
    t.equal(linkTo(check, run), '/census/acme?run=r', check);
    t.match(
      shown({ check, text: 'a: b: failed', employer_id: 'a: b' }),
      'href="/census/a%3A%20b">a: b</a>: failed',
    );
  }
  for (const [check, state] of [
    ['requests-rejected', 'rejected'],
    ['requests-held', 'pending'],
    ['requests-stuck', 'pending'],
  ] as const) {
    t.equal(linkTo(check, run), `/changes?state=${state}&employer_id=acme&run=r`, check);
    t.match(
      shown({ check, text: 'chg_1: termination, status 422', change_id: 'chg_1' }),
      'href="/changes/chg_1"',
    );
  }
  const missing = 'a: 4 employees of the last upload are missing: 4, e/2, and 2 more';
  const held = { check: 'census-held', text: missing, employer_id: 'a', employee_ids: ['4', 'e/2'] };
  const employees = /missing: <a [^>]*"\/employees\/4">4<\/a>, <a [^>]*e%2F2">e\/2<\/a>, and 2 more/;
  t.match(shown(held), employees, 'every listed employee is a link');
  const [employee_id, deduction_id] = ['x: deduction y', 'ded: 1'];
  const text = `${employee_id}: deduction ${deduction_id}`;
  const unassigned = shown({ check: 'employees-with-two-employers', text, employee_id, deduction_id });
  t.match(unassigned, `href="/employees/${encodeURIComponent(employee_id)}">${employee_id}</a>: deduction`);
  t.match(unassigned, `href="/deductions/${encodeURIComponent(deduction_id)}?assign=true"`);
  t.match(shown({ check: 'overlap', text, employee_id }, run), /href="\/runs\/r\/override\?employee_id=/);
  t.equal(linkTo('open-after-termination', run), '/runs/r?flag=open_after_termination#employees');
  t.match(shown({ check: 'events-quarantined', count: 3 }), '3 that you may not see');
  t.match(lacksScope('To see it', 'pii:read'), /which no role has\.$/);
  t.end();
});
