/**
 * Payroll cases over HTTP, from a census and reported changes to the lines of a run. Every expected amount was computed by
 * hand from docs/amounts.md.
 */
import type { Test } from 'tap';
import { createChangeSenders } from '../../src/employment/bodies.ts';
import type { PayDate } from '../../src/payroll/settings/schedules.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { type Answer, start } from '../api/start.ts';
import { organization, person } from '../census/parts.ts';
import { compensationChange, newHire, payRate } from '../contract/samples.ts';
import { encryptor, sendAll, sendLoop, setClock } from '../outbox/parts.ts';
import { json as respond, stubService } from '../outbox/stub-service.ts';
import { every } from '../payroll/calendars.ts';
import { onEitherEngine } from '../support/engine.ts';
import { dateOf, EMPLOYER } from '../support/payroll.ts';

type Fields = Record<string, unknown>;
// biome-ignore lint/suspicious/noExplicitAny: call() checks every response against the reference.
type Json = any;

/** No census sync is completed in these worlds; each finalize accepts this failure by name. */
const NO_SYNC = 'census-completed';

/** 26 Fridays: January 9 to December 25. */
const BIWEEKLY = {
  pay_frequency: 'biweekly',
  pay_dates: every(14, '2026-01-09', 26).map((date) => dateOf(date)),
};

/** An employer's payroll with a database and a clock of its own. */
async function begin(t: Test, now = '2026-05-25') {
  const clock = setClock(new Date(`${now}T09:00:00.000Z`));
  const { db, call } = await start(t, { now: clock, encryptor });
  const service = await stubService(t, (response) => respond(response, 200));
  const loop = sendLoop(t, db, service.url, clock, { senders: createChangeSenders(encryptor) });
  let events = 0;
  const ok = (answer: Answer): Json => {
    if (answer.status >= 300) throw new Error(answer.text);
    return answer.json;
  };
  const runPath = (id: string) => `/v1/payroll-runs/${id}`;
  const world = {
    service,
    /** Moves the clock to 9:00 of a day. */
    on(day: string) {
      clock.advance(Date.parse(`${day}T09:00:00.000Z`) - clock().getTime());
    },
    async schedule(...schedules: { pay_frequency: string; pay_dates: PayDate[] }[]) {
      const url = `/v1/employers/${EMPLOYER}/pay-schedules/2026`;
      ok(await call({ method: 'PUT', url, body: { schedules } }));
    },
    /** Stages a census of biweekly employees, unless their fields state another frequency. */
    async census(people: Record<string, Fields>, employer = EMPLOYER) {
      const employees = Object.entries(people).map(([id, fields]) =>
        person(id, { pay_frequency: 'biweekly', ...fields }),
      );
      const url = `/v1/employers/${employer}/census`;
      ok(await call({ method: 'PUT', url, body: { organization, employees } }));
    },
    /** Reports an employment change and waits until the service has accepted it. */
    async report(kind: string, body: object) {
      ok(await call({ method: 'POST', url: `/v1/employee-changes/${kind}`, body }));
      await sendAll(loop);
    },
    /** Delivers a version of a deduction: biweekly, and without an employer amount. */
    async deduct(id: string, fields: Fields) {
      events += 1;
      const plain = { id, employee_id: 'emp-1', period: 'biweekly', employer_contribution: '0.00' };
      const at = clock().toISOString();
      await deliver(db, [deductionOf(`evt-${events}`, { ...plain, ...fields }, at)], at);
    },
    put: (id: string, payDate: string, fields: Fields = {}) =>
      call({
        method: 'PUT',
        url: runPath(id),
        body: { employer_id: EMPLOYER, pay_frequency: 'biweekly', ...dateOf(payDate), ...fields },
      }).then(ok),
    run: (id: string) => call({ url: runPath(id) }).then(ok),
    lines: async (id: string): Promise<Json[]> => ok(await call({ url: `${runPath(id)}/lines` })).data,
    readiness: (id: string) => call({ url: `${runPath(id)}/readiness` }).then(ok),
    /** Creates a run and finalizes it, if only `NO_SYNC` fails. Returns its lines. */
    async paid(id: string, payDate: string, fields: Fields = {}): Promise<Json[]> {
      await world.put(id, payDate, fields);
      const { checks, etag } = await world.readiness(id);
      const failed = checks.filter(({ result }: Json) => result === 'fail').map((one: Json) => one.id);
      t.strictSame(failed, [NO_SYNC], `failed checks of ${id}`);
      const headers = { 'if-match': `"${etag}"` };
      const body = { accept: failed, reason: 'a test' };
      ok(await call({ method: 'POST', url: `${runPath(id)}/finalize`, body, headers }));
      return world.lines(id);
    },
  };
  return world;
}

/** Returns each line as its deduction, its change or the adjusted run, and the employee amount. */
const brief = (lines: Json[]) =>
  lines.map(
    (line) =>
      `${line.deduction_id} ${line.kind === 'regular' ? line.change : line.adjustment_for} ${line.member_amount}`,
  );

onEitherEngine('a hire reported after two runs pays both missed checks', async (t) => {
  const { schedule, census, deduct, paid, on, report, put, lines, readiness } = await begin(t);
  await census({ 'emp-1': {} });
  await schedule(BIWEEKLY);
  await deduct('ded-1', { member_contribution: '10.00' });
  const missed = { employee_id: 'emp-2', line_of_coverage: 'dental', member_contribution: '70.00' };
  await deduct('ded-2', { ...missed, effective_start: '2026-06-01' });
  await paid('r1', '2026-06-12');
  await paid('r2', '2026-06-26');
  on('2026-07-01');
  const hire = { ...newHire, employee_id: 'emp-2', employer_id: EMPLOYER, hire_date: '2026-05-26' };
  await report('new-hire', { ...hire, pay_frequency: 'biweekly' });
  await put('r3', '2026-07-10', { adjustments: 'include', policy_reason: 'a test' });
  const own = (await lines('r3')).filter(({ employee_id }) => employee_id === 'emp-2');
  t.strictSame(brief(own).toSorted(), ['ded-2 new 70.00', 'ded-2 r1 70.00', 'ded-2 r2 70.00']);
  const { checks } = await readiness('r3');
  const missing = checks.find(({ id }: Json) => id === 'missed-checks');
  t.match(missing, { result: 'warn', examples: ['emp-2'] });
});

onEitherEngine('a pay frequency from August 3 on moves the employee in August', async (t) => {
  const { schedule, census, deduct, paid, on, report, put, lines, service } = await begin(t, '2026-07-01');
  const weekly = every(7, '2026-01-02', 52).map((date) => dateOf(date, 7, 0));
  const biweekly = every(14, '2026-01-02', 26).map((date) => dateOf(date, 14, 0));
  const [weeks, others] = [
    { pay_frequency: 'weekly', pay_dates: weekly },
    { ...BIWEEKLY, pay_dates: biweekly },
  ];
  await census({ 'emp-1': { pay_frequency: 'weekly' }, 'emp-2': { pay_frequency: 'weekly' } });
  await schedule(weeks, others);
  await deduct('ded-1', { period: 'weekly', member_contribution: '20.00' });
  await deduct('ded-2', { employee_id: 'emp-2', period: 'weekly', member_contribution: '5.00' });
  on('2026-07-06');
  const pay_rate = { ...payRate, effective_start: '2026-08-03' };
  const change = { ...compensationChange, pay_frequency: 'biweekly', pay_rate };
  await report('compensation-change', { ...change, effective_on: '2026-08-03' });
  t.notMatch(service.received.map(({ body }) => body).join(), 'effective_on');
  const week = (pay_date: string) => ({ pay_frequency: 'weekly', ...dateOf(pay_date, 7, 0) });
  const first = await paid('w1', '2026-07-31', week('2026-07-31'));
  t.strictSame(brief(first), ['ded-1 new 20.00', 'ded-2 new 5.00']);
  await put('b1', '2026-07-31', dateOf('2026-07-31', 14, 0));
  t.strictSame(await lines('b1'), []);
  const after = await paid('w2', '2026-08-07', week('2026-08-07'));
  t.strictSame(brief(after), ['ded-1 moved 0.00', 'ded-2 same 5.00']);
  t.match(after[0].explanation, 'paid biweekly from August 3;');
  await put('b2', '2026-08-14', dateOf('2026-08-14', 14, 0));
  // 20.00 weekly × 52 = 1,040.00 a year over 26 checks.
  t.strictSame(brief(await lines('b2')), ['ded-1 new 40.00']);
});

onEitherEngine('an employee who leaves for another employer keeps the last check', async (t) => {
  const { schedule, census, deduct, paid, on, report, put, lines, run } = await begin(t);
  await census({ 'emp-1': {} });
  await schedule(BIWEEKLY);
  await census({ 'emp-b': {} }, 'birch');
  await deduct('ded-1', { member_contribution: '20.00', effective_end: '2026-06-30' });
  await paid('r1', '2026-05-29');
  on('2026-06-02');
  await report('termination', { employee_id: 'emp-1', termination_date: '2026-06-03' });
  const hire = { ...newHire, employee_id: 'emp-1', employer_id: 'birch', hire_date: '2026-06-22' };
  await report('new-hire', { ...hire, pay_frequency: 'biweekly' });
  // The periods end on June 7 and June 21.
  await put('r2', '2026-06-12');
  t.strictSame(brief(await lines('r2')), ['ded-1 same 20.00']);
  t.strictSame((await lines('r2'))[0].flags, ['coverage_beyond_last_check']);
  await put('r3', '2026-06-26');
  t.strictSame((await run('r3')).not_in_run, [{ employee_id: 'emp-1', reason: 'terminated' }]);
  // A corrected termination belongs to the employer that the employee left.
  await report('termination', { employee_id: 'emp-1', termination_date: '2026-06-10' });
  t.strictSame(brief(await lines('r3')), ['ded-1 same 20.00']);
});
