/** Changes that cost money, each over HTTP in a world of its own. Every expected amount was computed by hand. */

import { amountOf, centsOf } from '../../src/money.ts';
import { newHire } from '../contract/samples.ts';
import { every } from '../payroll/calendars.ts';
import { onEitherEngine } from '../support/engine.ts';
import { dateOf, EMPLOYER } from '../support/payroll.ts';
import { BIWEEKLY, begin, type Json, periodOf } from './payroll-world.ts';

const MONTHLY = { period: 'monthly', member_contribution: '150.00' };
const FRIDAYS = every(14, '2026-01-02', 26).map((date) => dateOf(date, 14, 4));
/** Friday, January 1, 2027 is a holiday: its payday is December 31. */
const NEW_YEAR = dateOf('2026-12-31', 14, 3);
const list = (pay_dates: typeof FRIDAYS) => ({ pay_frequency: 'biweekly', pay_dates });

const amounts = (lines: Json[]) => lines.map(({ member_amount }) => member_amount);

// 25 checks are final; the rest of the year is 1,800.00 − 25 × 69.23 = 69.25, or − 25 × 66.66 = 133.50.
const YEARS = {
  'added in December': {
    before: FRIDAYS,
    after: [...FRIDAYS, NEW_YEAR],
    each: '69.23',
    rest: ['34.61', '34.64'],
    words: '69.23 until now; 69.25 left of 1,800.00, on 2 checks; 34.61',
  },
  'dropped in December': {
    before: [...FRIDAYS, NEW_YEAR],
    after: FRIDAYS,
    each: '66.66',
    rest: ['133.50'],
    words: '66.66 until now; 133.50 left of 1,800.00, on 1 check; 133.50',
  },
};
for (const [name, { before, after, each, rest, words }] of Object.entries(YEARS)) {
  onEitherEngine(`a pay date that is ${name} leaves the amount of the year as it is`, async (t) => {
    const { schedule, census, deduct, paid, put, found, finalize } = await begin(t, '2026-01-01');
    await census({ 'emp-1': {} });
    await schedule(list(before));
    await deduct('ded-1', MONTHLY);
    for (const { takes: _, ...date } of before.slice(0, 25))
      t.strictSame(amounts(await paid(date.pay_date, date.pay_date, date)), [each]);
    await schedule(list(after));
    for (const [index, { takes: _, ...date }] of after.slice(25).entries()) {
      await put(date.pay_date, date.pay_date, date);
      const differs = (await found(date.pay_date))['calendar-differs'];
      if (index === 0) t.match(differs, { result: 'fail', findings: [{ text: words }] });
      t.strictSame(amounts(await finalize(date.pay_date, index === 0 ? ['calendar-differs'] : [])), [
        rest[index],
      ]);
    }
  });
}

onEitherEngine('a final check takes the rest of the month, and a voided one frees its dates', async (t) => {
  const { schedule, census, deduct, paid, on, report, put, post, lines } = await begin(t, '2026-09-01');
  const weeks = every(7, '2026-01-02', 52).map((date) => dateOf(date, 7, 0));
  await census({ 'emp-1': { pay_frequency: 'weekly' } });
  await schedule({ pay_frequency: 'weekly', pay_dates: weeks });
  const weekly = { period: 'weekly', effective_start: '2026-01-01', effective_end: '2026-12-31' };
  await deduct('medical', { ...weekly, member_contribution: '30.00' });
  await deduct('dental', {
    ...{ ...weekly, line_of_coverage: 'dental', member_contribution: '5.00' },
    effective_end: '9999-12-31',
  });
  await deduct('fsa', { ...weekly, line_of_coverage: 'healthcare_fsa', member_contribution: '10.00' });
  const week = (pay_date: string) => ({ pay_frequency: 'weekly', ...periodOf(pay_date, 7, 0) });
  await paid('w1', '2026-09-04', week('2026-09-04'));
  on('2026-09-09');
  await report('termination', { employee_id: 'emp-1', termination_date: '2026-09-09' });
  const final = { final_checks: ['emp-1'] };
  const taken = await paid('w2', '2026-09-11', { ...week('2026-09-11'), ...final });
  // September 11, 18 and 25.
  const right = ['dental 15.00', 'fsa 10.00', 'medical 90.00'];
  const shown = (all: Json[]) => all.map((line) => `${line.deduction_id} ${line.member_amount}`).toSorted();
  t.strictSame(shown(taken), right);
  await post('w2/void', { reason: 'a test' });
  await put('w3', '2026-09-18', { ...week('2026-09-18'), ...final });
  t.strictSame(shown(await lines('w3')), right);
});

onEitherEngine('a transfer inside a period keeps the last check at the old employer', async (t) => {
  const world = await begin(t);
  const { schedule, trySchedule, census, deduct, paid, on, report, put, lines } = world;
  await census({ 'emp-1': {} });
  await census({ 'emp-b': {} }, 'birch');
  await schedule(BIWEEKLY);
  await trySchedule({ schedules: [BIWEEKLY] }, 'birch');
  await deduct('ded-1', { member_contribution: '20.00', effective_start: '2026-01-01' });
  await paid('r1', '2026-05-29');
  on('2026-06-04');
  // The period ends on June 7.
  await report('termination', { employee_id: 'emp-1', termination_date: '2026-06-03' });
  const hire = { ...newHire, employee_id: 'emp-1', employer_id: 'birch', hire_date: '2026-06-04' };
  await report('new-hire', { ...hire, pay_frequency: 'biweekly' });
  const birch = { employer_id: 'birch' };
  for (const [payDate, old, now] of [
    ['2026-06-12', ['20.00'], ['0.00']],
    ['2026-06-26', [], ['20.00']],
  ] as const) {
    await put(`old-${payDate}`, payDate);
    await put(`new-${payDate}`, payDate, birch);
    const after = await lines(`new-${payDate}`);
    const left = (await lines(`old-${payDate}`)).filter(({ member_amount }) => member_amount !== '0.00');
    t.strictSame([amounts(left), amounts(after)], [old, now], payDate);
    t.equal(after[0].flags.includes('taken_elsewhere'), payDate === '2026-06-12');
  }
});

const total = (lines: Json[]) =>
  amountOf(lines.reduce((sum, { member_amount }) => sum + centsOf(member_amount), 0n));

const REISSUES = {
  'of another taxability': {
    ...{ finalized: ['2026-06-12', '2026-06-26'], from: '2026-06-11', to: '2026-06-10' },
    ...{ was: '80.00', fields: { taxability: 'post_tax' }, next: '80.00' },
  },
  // 6 × 5.00 more, within a cap of 80.00.
  'of another amount': {
    finalized: ['2026-05-01', '2026-05-15', '2026-05-29', '2026-06-12', '2026-06-26', '2026-07-10'],
    ...{ from: '2026-05-01', to: '2026-04-30', was: '75.00', fields: {}, next: '110.00' },
  },
};
for (const [name, { finalized, from, to, was, fields, next }] of Object.entries(REISSUES)) {
  onEitherEngine(`a correction ${name} under a new id takes the difference once it is decided`, async (t) => {
    const world = await begin(t, '2026-04-01');
    const { schedule, policy, census, deduct, paid, on, put, lines, takeItems, finalize } = world;
    await census({ 'emp-1': {} });
    await schedule(BIWEEKLY);
    await policy({ open_items: 'include' });
    const of = { effective_start: '2026-01-01', member_contribution: was };
    await deduct('ded-1', of);
    for (const date of finalized) await paid(date, date);
    on('2026-07-11');
    await deduct('ded-1', { ...of, effective_end: to });
    await deduct('ded-2', { ...fields, effective_start: from, member_contribution: '80.00' });
    await put('next', '2026-07-24');
    t.equal(total(await lines('next')), '80.00', 'it waits for a decision');
    await takeItems();
    t.equal(total(await lines('next')), next);
    await finalize('next', finalized.includes('2026-07-10') ? [] : ['pay-date-skipped']);
    await put('later', '2026-08-07');
    t.equal(total(await lines('later')), '80.00');
  });
}

onEitherEngine('a refund that does not fit waits, and comes back whole by a decision', async (t) => {
  const { schedule, policy, census, deduct, put, lines, found, opening, takeItems } = await begin(t);
  await census({ 'emp-1': {} });
  await schedule(BIWEEKLY);
  await policy({ open_items: 'include' });
  await deduct('ded-1', { member_contribution: '100.00', effective_start: '2026-01-01' });
  const item = { employee_id: 'emp-1', line_of_coverage: 'medical', pay_date: '2025-06-13' };
  await opening({ id: 'o-1', ...item, member_amount: '-1804.01' });
  await put('r', '2026-05-29');
  t.strictSame(amounts(await lines('r')), ['100.00']);
  t.match((await found('r'))['refund-waits'], {
    result: 'warn',
    findings: [{ text: 'emp-1: medical -1804.01 (paycheck of 2025-06-13)' }],
  });
  await takeItems();
  t.strictSame(amounts(await lines('r')), ['100.00', '-1804.01']);
  t.match((await found('r'))['negative-total'], { result: 'fail', findings: [{ text: /^emp-1/ }] });
});

onEitherEngine('a canceled check is refunded by its overridden amount', async (t) => {
  const { schedule, census, deduct, put, override, finalize, items, on } = await begin(t);
  await census({ 'emp-1': {} });
  await schedule(BIWEEKLY);
  const of = { member_contribution: '20.00', effective_start: '2026-01-01' };
  await deduct('ded-1', of);
  await put('r', '2026-06-12');
  await override('r', 'emp-1', 'ded-1', '30.00');
  await finalize('r');
  on('2026-06-15');
  await deduct('ded-1', { ...of, effective_end: '2026-05-31' });
  t.match(await items(), [{ run_id: 'r', outstanding_member_amount: '-30.00', needs_decision: true }]);
});

onEitherEngine('a retroactive pre-tax change waits for a decision, also of transit', async (t) => {
  const { schedule, policy, census, deduct, paid, on, put, lines, found } = await begin(t);
  await census({ 'emp-1': {} });
  await schedule(BIWEEKLY);
  await policy({ open_items: 'include' });
  const transit = { line_of_coverage: 'commuter_transit', effective_start: '2026-01-01' };
  await deduct('ded-1', { ...transit, member_contribution: '50.00' });
  for (const date of ['2026-06-12', '2026-06-26']) await paid(date, date);
  on('2026-07-01');
  await deduct('ded-1', { ...transit, member_contribution: '60.00' });
  await put('r', '2026-07-10');
  t.strictSame(amounts(await lines('r')), ['60.00']);
  t.match((await found('r'))['retro-pre-tax'], { result: 'warn' });
});

onEitherEngine('a renewal that a correction of this year erased is named until it fails', async (t) => {
  const { schedule, trySchedule, census, deduct, put, on, found } = await begin(t, '2026-10-01');
  await census({ 'emp-1': {} });
  await schedule(BIWEEKLY);
  const next = every(14, '2027-01-08', 26).map((date) => dateOf(date));
  await trySchedule({ schedules: [{ pay_frequency: 'biweekly', pay_dates: next }] }, EMPLOYER, 2027);
  const of = (year: number, member_contribution: string) => {
    return { member_contribution, effective_start: `${year}-01-01`, effective_end: `${year}-12-31` };
  };
  await deduct('ded-1', of(2026, '100.00'));
  on('2026-11-10');
  await deduct('ded-1', of(2027, '120.00'));
  on('2026-12-01');
  await deduct('ded-1', of(2026, '105.00'));
  await put('r1', '2026-12-11');
  t.match((await found('r1'))['renewal-erased'], { result: 'warn', findings: [{ text: /emp-1/ }] });
  await put('r2', '2027-01-08');
  t.match((await found('r2'))['renewal-erased'], { result: 'fail', findings: [{ text: /emp-1/ }] });
});

onEitherEngine('an HSA elected twice fails, and an overlap is accepted once for its pair', async (t) => {
  const { schedule, census, deduct, put, on, finalize, found } = await begin(t);
  await census({ 'emp-1': {} });
  await schedule(BIWEEKLY);
  const of = { line_of_coverage: 'hsa', effective_start: '2026-01-01' };
  await deduct('ded-1', { ...of, member_contribution: '100.00' });
  await deduct('ded-2', { ...of, taxability: 'post_tax', member_contribution: '40.00' });
  await put('r1', '2026-06-12');
  t.match((await found('r1')).overlap, { result: 'fail' });
  await finalize('r1', ['overlap']);
  on('2026-06-15');
  await deduct('ded-2', { ...of, taxability: 'post_tax', member_contribution: '45.00' });
  await put('r2', '2026-06-26');
  t.notMatch((await found('r2')).overlap, { result: 'fail' });
});
