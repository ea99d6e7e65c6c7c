/** Tests the list of payrolls that are due, and the computations that it shows. */
import { onEachEngine, onEitherEngine } from '../support/engine.ts';
import { BIWEEKLY, deduct, schedule, setCode, setSchedules, sync } from '../support/payroll.ts';
import { type Payroll, RUNS, startPayroll } from './payroll-stage.ts';

const DUE = '/v1/payrolls-due';

async function due({ call }: Payroll, query = '') {
  return (await call({ url: DUE + query })).json.data;
}

const compute = ({ post }: Payroll, runId: string) => post(`/${runId}/computation`);

/** Both dates of July are after today, July 13. */
const [FIRST, SECOND] = ['2026-07-17', '2026-07-31'];

onEachEngine('a payroll goes from not started over review to ready and final', async (t) => {
  const payroll = await startPayroll(t);
  const { put, post, accept } = payroll;
  const [row] = await due(payroll);
  t.match(row, {
    id: 'acme biweekly',
    ...{ pay_date: FIRST, period_start: '2026-06-29', period_end: '2026-07-12', next_pay_date: SECOND },
    ...{ state: 'not_started', run_id: null, voided_run_id: null, computation: null },
    missing: ['payroll_codes', 'payroll_policy'],
    undelivered_changes: { waiting: 0, rejected: 0 },
  });
  await put('r');
  t.match(await due(payroll), [{ state: 'needs_review', run_id: 'r', computation: null }]);
  const result = {
    employees: 2,
    lines: 2,
    member_amount: '138.46',
    member_difference: null,
    open_items: 0,
    failed: [],
  };
  t.match(await compute(payroll, 'r'), { status: 200, json: result });
  t.match(await due(payroll), [{ state: 'ready', computation: { ...result, is_outdated: false } }]);
  await deduct(payroll.db, 'evt-9', { id: 'ded-9', employee_id: 'emp-1' });
  t.match(await due(payroll), [{ state: 'ready', computation: { is_outdated: true } }]);
  t.match((await compute(payroll, 'r')).json, result, 'at most once a minute');
  await accept('r');
  t.match(await due(payroll), [{ state: 'finalized', pay_date: FIRST, run_id: 'r', computation: null }]);
  t.equal((await compute(payroll, 'r')).status, 409);
  await put('again');
  t.match(await due(payroll), [{ state: 'finalized', run_id: 'r' }], 'although another run is open');
  await payroll.call({ method: 'DELETE', url: `${RUNS}/again` });
  await post('/r/void', { reason: 'a test' });
  t.match(await due(payroll), [{ state: 'not_started', run_id: null, voided_run_id: 'r' }]);
  await put('repeated');
  t.match(await due(payroll), [{ run_id: 'repeated', voided_run_id: null }]);
});

onEitherEngine('a pay date that passed after a finalized one is overdue', async (t) => {
  let now = new Date('2026-07-13T09:00:00.000Z');
  const payroll = await startPayroll(t, { now: () => now });
  await payroll.finalized('r', { pay_date: FIRST });
  now = new Date('2026-07-18T09:00:00.000Z');
  t.match(await due(payroll), [{ state: 'not_started', pay_date: SECOND }]);
  now = new Date('2026-07-31T23:59:00.000Z');
  t.match(await due(payroll), [{ state: 'not_started', pay_date: SECOND }], 'not on the date itself');
  now = new Date('2026-08-01T09:00:00.000Z');
  t.match(await due(payroll), [{ state: 'overdue', pay_date: SECOND, run_id: null }]);
  // The last pay date is December 18.
  now = new Date('2026-10-18T09:00:00.000Z');
  t.match(await due(payroll), [{ missing: ['payroll_codes', 'payroll_policy'] }]);
  now = new Date('2026-10-19T09:00:00.000Z');
  t.match(await due(payroll), [{ missing: ['next_pay_dates', 'payroll_codes', 'payroll_policy'] }]);
});

onEitherEngine('a voided first run is due until it is repeated, or a later run is final', async (t) => {
  let now = new Date('2026-07-13T09:00:00.000Z');
  const payroll = await startPayroll(t, { now: () => now });
  await payroll.finalized('r', { pay_date: FIRST });
  now = new Date('2026-07-20T09:00:00.000Z');
  await payroll.post('/r/void', { reason: 'a test' });
  t.match(await due(payroll), [{ state: 'overdue', pay_date: FIRST, run_id: null, voided_run_id: 'r' }]);
  await payroll.put('repeated', { pay_date: FIRST });
  t.match(await due(payroll), [{ state: 'overdue', pay_date: FIRST, run_id: 'repeated' }]);
  await payroll.call({ method: 'DELETE', url: `${RUNS}/repeated` });
  await payroll.finalized('later', { pay_date: SECOND });
  t.match(await due(payroll), [{ state: 'finalized', pay_date: SECOND }]);
});

onEitherEngine('an open run of a passed date comes first, and its computation ages', async (t) => {
  let now = new Date('2026-07-18T09:00:00.000Z');
  const payroll = await startPayroll(t, { now: () => now });
  await payroll.put('r', { pay_date: FIRST });
  await compute(payroll, 'r');
  const overdue = { state: 'overdue', pay_date: FIRST, run_id: 'r' };
  t.match(await due(payroll), [{ ...overdue, computation: { is_outdated: false } }]);
  now = new Date('2026-07-18T09:05:00.001Z');
  t.match(await due(payroll), [{ ...overdue, computation: { is_outdated: true } }]);
  await compute(payroll, 'r');
  t.match(await due(payroll), [{ ...overdue, computation: { is_outdated: false } }]);
  await setCode(payroll.db, 'medical');
  t.match(await due(payroll), [{ ...overdue, computation: { is_outdated: true } }], 'a setting changed');
});

onEitherEngine('employers that need a setup come last, with what they lack in order', async (t) => {
  const payroll = await startPayroll(t);
  const { db } = payroll;
  await sync(db, { employer_id: 'new' });
  await setCode(db, 'medical');
  await setSchedules(db, [schedule({ pay_dates: BIWEEKLY.slice(0, 2) })], 'over');
  const rows = await due(payroll);
  t.match(rows, [
    { employer_id: 'acme', missing: ['payroll_policy'] },
    {
      employer_id: 'new',
      state: 'needs_setup',
      missing: ['census', 'pay_schedule', 'payroll_codes', 'payroll_policy'],
    },
    {
      employer_id: 'over',
      state: 'needs_setup',
      last_pay_date: '2026-01-16',
      missing: ['census', 'next_pay_dates', 'payroll_codes', 'payroll_policy'],
    },
  ]);
  const { json } = await payroll.call({ url: `${DUE}?limit=2` });
  t.strictSame([...json.data, ...(await due(payroll, `?cursor=${json.next_cursor}`))], rows);
  t.match(await due(payroll, '?employer_id=new'), [{ employer_id: 'new' }]);
});

onEitherEngine('the computation of a run that lost its pay date names the field', async (t) => {
  const payroll = await startPayroll(t);
  await payroll.put('r', { pay_date: FIRST });
  await setSchedules(payroll.db, [
    schedule({ pay_dates: BIWEEKLY.filter(({ pay_date }) => pay_date !== FIRST) }),
  ]);
  const problem = /must be a date of the pay schedule; next to 2026-07-17 are 2026-07-03 and 2026-07-31/;
  t.match((await compute(payroll, 'r')).json, { problem, member_amount: null });
  t.equal((await payroll.call({ method: 'DELETE', url: `${RUNS}/r` })).status, 204);
});
