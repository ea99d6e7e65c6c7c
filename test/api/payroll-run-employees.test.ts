/** Tests the employees of a run, compared with the previous run. */
import { beginRun } from '../../src/payroll/lifecycle/begin.ts';
import type { ComputedRun } from '../../src/payroll/lifecycle/summary.ts';
import { runOf } from '../../src/payroll/records/body.ts';
import { createRunReviews } from '../../src/readiness/run-reviews.ts';
import { readHead } from '../../src/security/audit-chain.ts';
import { census, employee } from '../contract/samples.ts';
import { acting } from '../support/audit.ts';
import { onEachEngine, onEitherEngine } from '../support/engine.ts';
import { bodyOn, deduct, employ, LATELY, setCode, setCodes, storedRun } from '../support/payroll.ts';
import { PAY_DATE, type Payroll, startPayroll } from './payroll-stage.ts';

const test = onEitherEngine.with(startPayroll);

const NEXT = '2026-07-31';

/** Returns rows such as `emp-1 69.23 → 92.30: changed medical 23.07`. */
async function rowsOf({ get }: Payroll, runId: string, query = ''): Promise<string[]> {
  const { json } = await get(`/${runId}/employees${query}`);
  return json.data.map(
    // biome-ignore lint/suspicious/noExplicitAny: the reference has checked the response.
    ({ id, previous_member_amount, member_amount, reasons }: any) =>
      `${id} ${previous_member_amount} → ${member_amount}: ${reasons
        // biome-ignore lint/suspicious/noExplicitAny: as above.
        .map((why: any) =>
          [why.reason, why.line_of_coverage, why.member_difference].filter(Boolean).join(' '),
        )
        .join(', ')}`,
  );
}

/** A finalized run, and an open one with a raise, a new employee, one who left, and one as before. */
async function compared(payroll: Payroll): Promise<void> {
  const { db, put, finalized } = payroll;
  for (const name of ['leaver', 'same']) {
    await employ(db, name);
    await deduct(db, `evt-${name}`, { id: `ded-${name}`, employee_id: name });
  }
  await finalized('before');
  await employ(db, 'leaver', { termination_date: '2026-07-05' });
  await employ(db, 'newcomer', { hire_date: '2026-07-13' });
  // In neither run, so that no row names this employee.
  await employ(db, 'elsewhere', { pay_frequency: 'weekly' });
  await deduct(db, 'evt-new', { id: 'ded-new', employee_id: 'newcomer' });
  const raised = { id: 'ded-1', member_contribution: '200.00', effective_start: '2026-07-20' };
  await deduct(db, 'evt-raised', raised, '2026-07-09T00:00:00Z');
  await put('r', { pay_date: NEXT, period_start: '2026-07-13', period_end: '2026-07-26' });
}

const ROWS = [
  'leaver 69.23 → 0.00: left -69.23, ended medical -69.23',
  'newcomer 0.00 → 69.23: joined 69.23, new medical 69.23',
  'emp-1 69.23 → 92.30: changed medical 23.07',
  'emp-2 69.23 → 69.23: ',
  'same 69.23 → 69.23: ',
];

test('the largest difference comes first, also once the run is final', async (t, payroll) => {
  await compared(payroll);
  t.strictSame(await rowsOf(payroll, 'r'), ROWS);
  const { data: _, ...page } = (await payroll.get('/r/employees?different=true&limit=1')).json;
  t.match(page, { has_more: true, total: 3, employees: 5, different: 3 });
  type Reason = { reason: string; employees: number };
  const reasons = page.reasons.map(({ reason, employees }: Reason) => `${reason} ${employees}`);
  t.equal(reasons.join(), 'joined 1,left 1,new 1,changed 1,ended 1');
  await payroll.accept('r');
  t.strictSame(await rowsOf(payroll, 'r'), ROWS);
});

test('employees are searched, filtered and counted in pages', async (t, payroll) => {
  await compared(payroll);
  for (const [query, places] of [
    ['?search=EMP', [2, 3]],
    ['?different=false', [3, 4]],
    ['?reason=joined', [1]],
    ['?flag=negative', []],
    ['?limit=2', [0, 1]],
    ['?limit=2&page=2', [2, 3]],
  ] as const)
    t.strictSame(
      await rowsOf(payroll, 'r', query),
      places.map((place) => ROWS[place]),
      query,
    );
  const { next_cursor } = (await payroll.get('/r/employees?limit=4')).json;
  t.strictSame(await rowsOf(payroll, 'r', `?cursor=${next_cursor}`), [ROWS[4]]);
});

test('a kept computation is not used after a fact or a setting has changed', async (t, payroll) => {
  const { db, get, put, call } = payroll;
  await put('r');
  t.equal((await get('/r/employees')).json.total, 2);
  await employ(db, 'late');
  t.equal((await get('/r/employees')).json.total, 3);
  const { etag } = (await get('/r')).json;
  const codes = [{ line_of_coverage: 'medical', side: 'employee', code: 'MED' }];
  await call({ method: 'PUT', url: '/v1/employers/acme/payroll-codes', body: { codes } });
  t.not((await get('/r')).json.etag, etag);
});

test('a computation is kept until a fact, a setting or a run of its employer changes', async (t, payroll) => {
  const { db, put, finalized, parts } = payroll;
  await put('r', { pay_date: NEXT, period_start: '2026-07-13', period_end: '2026-07-26' });
  const review = async () => (await parts.runReviews.review(await storedRun(db, 'r'))).computation;
  let known = await review();
  const isKeptAfter = async (change: Promise<unknown>) => {
    await change;
    const now = await review();
    const isKept = now === known;
    known = now;
    return isKept;
  };
  t.equal(await isKeptAfter(employ(db, 'stranger', { employer_id: 'other' })), true);
  t.equal(await isKeptAfter(deduct(db, 'evt-o', { id: 'ded-o', employee_id: 'stranger' })), true);
  t.equal(await isKeptAfter(setCodes(db, [], 'other')), true);
  t.equal(await isKeptAfter(employ(db, 'late')), false);
  t.equal(
    await isKeptAfter(deduct(db, 'evt-raised', { member_contribution: '200.00' }, '2026-07-09T00:00:00Z')),
    false,
  );
  t.equal(await isKeptAfter(finalized('before')), false);
  t.equal(await isKeptAfter(setCode(db, 'medical')), false);
  t.equal(await isKeptAfter(employ(db, 'stranger', { employer_id: 'other', pay_frequency: 'weekly' })), true);
});

test('the first review of a new run is the computation that created it', async (t, { db }) => {
  const reviews = createRunReviews(db);
  const created: ComputedRun[] = [];
  const put = async (runId: string, run: object, meanwhile = async () => {}) => {
    const first = reviews.first();
    await beginRun(db, runId, runOf(bodyOn(PAY_DATE, run)), acting(LATELY), {
      async onPage(...page) {
        await first.onPage(...page);
        await meanwhile();
      },
      created(id, computed) {
        created.push(computed);
        first.created(id, computed);
      },
    });
    return reviews.review(await storedRun(db, runId));
  };
  const ofOther = () => employ(db, 'stranger', { employer_id: 'other' });
  const { computation, employees } = await put('r', {}, ofOther);
  t.equal(computation, created[0]?.computation, 'the same object, not only the same lines');
  t.strictSame(
    employees.map(({ employeeId }) => employeeId),
    ['emp-1', 'emp-2'],
  );
  const late = await put('next', { pay_date: NEXT }, () => employ(db, 'late'));
  t.equal(created.length, 2);
  t.not(late.computation, created[1]?.computation, 'an outdated computation is not kept');
  t.equal(late.employees.length, 3);
});

onEachEngine('a run may be outdated after a change of its employer, and of no other', async (t) => {
  const { accept, call, db, get, put } = await startPayroll(t);
  await put('r');
  await employ(db, 'stranger', { employer_id: 'other' });
  const freshness = async (since?: string) =>
    (await get(`/r/freshness${since === undefined ? '' : `?since=${since}`}`)).json;
  const moved = (fields: object) => deduct(db, `evt-${Object.values(fields)}`, fields);
  let { state } = await freshness();
  const isChangedBy = async (change: Promise<unknown>) => {
    await change;
    const fresh = await freshness(state);
    state = fresh.state;
    return fresh.changed;
  };
  t.equal(await isChangedBy(deduct(db, 'evt-o', { id: 'ded-o', employee_id: 'stranger' })), false);
  t.equal(await isChangedBy(setCode(db, 'medical')), true);
  t.equal(await isChangedBy(setCodes(db, [], 'other')), false);
  t.equal(await isChangedBy(employ(db, 'newcomer')), true);
  t.equal(await isChangedBy(moved({ effective_start: '2026-08-01' })), true);
  t.equal(await isChangedBy(moved({ employee_id: 'stranger' })), true, 'a deduction left an employee');
  const late = { employee_id: 'stranger', effective_start: '2026-07-01' };
  t.equal(await isChangedBy(moved(late)), true, 'it may have left earlier');
  t.equal(await isChangedBy(put('next', { pay_date: NEXT })), true);
  t.equal(await isChangedBy(Promise.resolve()), false);
  t.equal(await isChangedBy(accept('r')), true);
  const url = '/v1/employers/acme/census';
  await call({ method: 'PUT', url, body: { ...census, employees: [{ ...employee, employee_id: 'emp-1' }] } });
  ({ state } = await freshness());
  const reads = {
    evidence: () => get('/r/evidence'),
    names: () => call({ method: 'POST', url: '/v1/names', body: { employee_ids: ['emp-1'] } }),
    export: () => call({ method: 'POST', url: '/v1/employers/acme/export' }),
  };
  for (const [name, read] of Object.entries(reads)) {
    const before = (await readHead(db)).record_id;
    t.equal(await isChangedBy(read()), false, `${name}: a read is no change`);
    t.ok((await readHead(db)).record_id > before, `${name}: a read is recorded`);
  }
});

test('the lines of a final run are read once for its pages', async (t, { db, finalized, parts }) => {
  await finalized('before');
  const rows = async () => parts.runReviews.employeesOf(await storedRun(db, 'before'));
  t.equal(await rows(), await rows(), 'the same list');
});
