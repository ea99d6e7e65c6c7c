import type { Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { isAppError, type Problem } from '../../../src/errors.ts';
import { resolveBasis, runUnder } from '../../../src/payroll/compute/basis.ts';
import { scheduleOf } from '../../../src/payroll/compute/calendar.ts';
import type { RequestedRun, Run } from '../../../src/payroll/records/body.ts';
import { CODES, codeFinder, putCodes, readCodes } from '../../../src/payroll/settings/codes.ts';
import { POLICY, putPolicy, readPolicies } from '../../../src/payroll/settings/policy.ts';
import { checkSchedules, putSchedules, readSchedules } from '../../../src/payroll/settings/schedules.ts';
import { cliActor, tokenActor } from '../../../src/security/audit.ts';
import { scratch } from '../../database/scratch.ts';
import { acting } from '../../support/audit.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  BIWEEKLY,
  dateOf,
  daysAfter,
  EMPLOYER,
  employment,
  event,
  LATELY,
  learn,
  runOn,
  schedule,
  send,
  setSchedules,
} from '../../support/payroll.ts';
import fc from '../../support/seeded.ts';

const test = onEitherEngine.with(scratch);

/** Returns the problems for which a check refuses a setting. */
function problemsOf(check: () => unknown): readonly Problem[] {
  try {
    check();
    return [];
  } catch (error) {
    if (isAppError(error, 'SETTINGS_REFUSED')) return error.problems;
    throw error;
  }
}

/** Returns the problems of a body's schedules as `path: rule`. */
function wrongSchedules(...list: unknown[]): string[] {
  const problems = problemsOf(() => checkSchedules({ schedules: list }, '2026'));
  return problems.map(({ path, rule }) => `${path}: ${rule}`);
}

function wrongCodes(...list: object[]): string[] {
  const codes = list.map((one) => ({ line_of_coverage: 'dental', side: 'employee', code: 'D1', ...one }));
  return problemsOf(() => CODES.check({ codes })).map(({ path, rule }) => `${path}: ${rule}`);
}

/** Returns a schedule with the date at an index replaced. */
const changed = (index: number, fields: object) =>
  schedule({ pay_dates: BIWEEKLY.map((date, at) => (at === index ? { ...date, ...fields } : date)) });

onEitherEngine('a value of a setting is refused with the one that was probably meant', async (t) => {
  const [first] = BIWEEKLY;
  const dated = { pay_frequency: 'Bi-Weekly', pay_dates: [{ ...first, pay_date: '1/2/2026' }] };
  const code = { line_of_coverage: 'Medical', taxability: 'Pre-Tax', side: 'Employee', code: 'MED' };
  const checks = [() => checkSchedules({ schedules: [dated] }, '2026'), () => CODES.check({ codes: [code] })];
  t.strictSame(
    checks.flatMap(problemsOf).map(({ hint }) => hint),
    ['biweekly', '2026-01-02', 'medical', 'pre_tax', 'employee'].map((meant) => `did you mean ${meant}?`),
  );
});

onEitherEngine('an invalid schedule is rejected with the field', async (t) => {
  const [first] = BIWEEKLY;
  t.strictSame(wrongSchedules({ ...schedule(), pay_frequency: 'daily', nickname: 'x' }), [
    'schedules[0].nickname: is not a field of the interface',
    'schedules[0].pay_frequency: must be one of weekly, biweekly, semimonthly, monthly',
  ]);
  t.strictSame(wrongSchedules({ pay_frequency: 'weekly' }), ['schedules[0].pay_dates: is required']);
  t.strictSame(wrongSchedules(schedule({ pay_dates: [] })), [
    'schedules[0].pay_dates: must have at least 1 element',
  ]);
  t.strictSame(wrongSchedules({ ...schedule(), pay_dates: Array(54).fill(first) }), [
    'schedules[0].pay_dates: must be a list of at most 53 pay dates',
  ]);
  t.strictSame(wrongSchedules(...Array(101).fill(schedule())), [
    'schedules: must be a list of at most 100 pay schedules',
  ]);
  t.strictSame(wrongSchedules(changed(3, { pay_date: '2026-02-30', period_end: 5 })), [
    'schedules[0].pay_dates[3].pay_date: must be a real date, YYYY-MM-DD',
    'schedules[0].pay_dates[3].period_end: must be a real date, YYYY-MM-DD',
  ]);
  for (const body of [null, [], 'x', {}])
    t.throws(() => checkSchedules(body, '2026'), { code: 'SETTINGS_REFUSED' });
});

onEitherEngine('pay dates increase, periods end after they start, and do not overlap', async (t) => {
  const at = 'schedules[0].pay_dates';
  t.strictSame(wrongSchedules(changed(1, { pay_date: '2026-01-02' })), [
    `${at}[1].pay_date: must be later than the pay date before it`,
  ]);
  t.strictSame(wrongSchedules(changed(1, { period_end: '2025-12-28' })), [
    `${at}[1].period_end: must not be before period_start`,
  ]);
  t.strictSame(wrongSchedules(changed(1, { period_start: '2025-12-28' })), [
    `${at}[1].period_start: must be after the end of the period before it`,
  ]);
  t.strictSame(wrongSchedules(changed(1, { period_start: '2025-12-30' })), [], 'periods may have gaps');
});

onEitherEngine('a schedule covers its year and has no date outside it', async (t) => {
  const at = 'schedules[0].pay_dates';
  t.strictSame(wrongSchedules(schedule({ pay_dates: BIWEEKLY.slice(0, 13) })), [
    `${at}: must cover 2026: 25 to 27 biweekly pay dates, not 13`,
  ]);
  const gap = BIWEEKLY.filter(({ pay_date }) => pay_date !== '2026-05-08');
  t.strictSame(wrongSchedules(schedule({ pay_dates: gap })), [
    `${at}: must cover 2026: there is no biweekly pay date between 2026-04-24 and 2026-05-22`,
  ]);
  t.strictSame(wrongSchedules(schedule({ pay_dates: [...BIWEEKLY, dateOf('2027-01-01')] })), [
    `${at}[26].pay_date: must be in 2026`,
  ]);
  t.strictSame(wrongSchedules({ ...schedule(), pay_frequency: 'weekly' }), [
    `${at}: must cover 2026: 51 to 53 weekly pay dates, not 26`,
  ]);
});

onEitherEngine('what a date takes is stated, and one date of a schedule takes all', async (t) => {
  t.match(
    checkSchedules(
      { schedules: [{ ...schedule(), pay_dates: BIWEEKLY.map(({ takes: _, ...date }) => date) }] },
      '2026',
    ),
    { schedules: [schedule()], untaken: false },
  );
  const takes = (...given: string[]) =>
    wrongSchedules({
      ...schedule(),
      pay_dates: BIWEEKLY.map((date, at) => ({ ...date, takes: given[at] ?? given[0] })),
    });
  t.strictSame(takes('own_period', 'none', 'all'), []);
  t.strictSame(takes('own_period', 'none'), [
    'schedules[0].pay_dates: must have a date that takes all deductions',
  ]);
  t.strictSame(takes('all', 'some'), [
    'schedules[0].pay_dates[1].takes: must be one of all, own_period, none',
  ]);
});

onEitherEngine('a pay period belongs to its pay date and is not too long', async (t) => {
  const at = 'schedules[0].pay_dates[0].period_end';
  const wrong = (pay_frequency: string, days: number, period_end: string) => {
    const period = { pay_date: '2026-06-19', period_start: daysAfter(period_end, 1 - days), period_end };
    return wrongSchedules({ pay_frequency, pay_dates: [period], year_in_fewer_checks: true });
  };
  t.strictSame(wrong('biweekly', 14, '2026-04-18'), [], '62 days before');
  t.strictSame(wrong('biweekly', 14, '2026-04-17'), [
    `${at}: must be at most 62 days before pay_date, not 63`,
  ]);
  t.strictSame(wrong('biweekly', 14, '2026-08-03'), [], '45 days after');
  t.strictSame(wrong('biweekly', 14, '2026-08-04'), [
    `${at}: must be at most 45 days after pay_date, not 46`,
  ]);
  const longest = { weekly: 14, biweekly: 21, semimonthly: 22, monthly: 45 };
  for (const [frequency, days] of Object.entries(longest)) {
    t.strictSame(wrong(frequency, days, '2026-06-14'), []);
    const rule = `must end a ${frequency} pay period of at most ${days} days; this one has ${days + 1}`;
    t.strictSame(wrong(frequency, days + 1, '2026-06-14'), [`${at}: ${rule}`]);
  }
});

onEitherEngine('a year in fewer checks need not cover its year', async (t) => {
  const school = schedule({ pay_dates: BIWEEKLY.slice(0, 20), year_in_fewer_checks: true });
  t.strictSame(wrongSchedules(school), []);
});

onEitherEngine('each frequency and pay group has one schedule', async (t) => {
  const rule = 'must not have the pay_frequency and pay_group of a schedule before it';
  const office = schedule({ pay_group: 'office' });
  t.strictSame(wrongSchedules(schedule(), office, { ...schedule(), pay_group: undefined }, office), [
    `schedules[2]: ${rule}`,
    `schedules[3]: ${rule}`,
  ]);
});

onEitherEngine('invalid codes are rejected with the field', async (t) => {
  t.strictSame(
    wrongCodes(
      {},
      { taxability: 'post_tax' },
      { taxability: null },
      { side: 'employer' },
      {},
      { coverage_type: 'member' },
      { coverage_type: 'member', taxability: 'post_tax' },
      { coverage_type: 'member' },
    ),
    [2, 4, 7].map(
      (at) =>
        `codes[${at}]: must not have the line_of_coverage, taxability, coverage_type and side of a code before it`,
    ),
  );
  t.strictSame(wrongCodes({ treatment: 'memo' }, { side: 'employer', treatment: 'memo' }), [
    'codes[0].treatment: is only for the side employer',
  ]);
  t.strictSame(wrongCodes({ side: 'employer', treatment: 'gift', taxability: 'taxed', nickname: 1 }), [
    'codes[0].nickname: is not a field of the interface',
    'codes[0].taxability: must be one of pre_tax, post_tax',
    'codes[0].treatment: must be one of deposit, memo',
  ]);
  t.match(wrongCodes({ line_of_coverage: 'pet' }), [
    /^codes\[0\]\.line_of_coverage: must be one of accident, /,
  ]);
  t.strictSame(wrongCodes(...Array(721).fill({})), ['codes: must be a list of at most 720 payroll codes']);
  for (const body of [null, [], 'x', {}]) t.throws(() => CODES.check(body), { code: 'SETTINGS_REFUSED' });
});

onEitherEngine(
  'the code that names most of a line wins, and a taxability comes before a coverage type',
  async (t) => {
    const codes = CODES.check({
      codes: [
        { code: 'ANY' },
        { code: 'FAMILY', coverage_type: 'member_family' },
        { code: 'POST', taxability: 'post_tax' },
        { code: 'POST-CHILD', taxability: 'post_tax', coverage_type: 'member_child' },
      ].map((code) => ({ line_of_coverage: 'medical', side: 'employee', ...code })),
    });
    const codesOf = codeFinder(codes);
    for (const [taxability, coverage_type, code] of [
      ['pre_tax', 'member', 'ANY'],
      ['pre_tax', null, 'ANY'],
      ['pre_tax', 'member_family', 'FAMILY'],
      ['post_tax', 'member_family', 'POST'],
      ['post_tax', null, 'POST'],
      ['post_tax', 'member_child', 'POST-CHILD'],
    ] as const) {
      const line = { line_of_coverage: 'medical', taxability, coverage_type };
      t.equal(codesOf(line).payroll_code, code, `${taxability} ${coverage_type}`);
    }
    const dental = { line_of_coverage: 'dental', taxability: 'pre_tax', coverage_type: 'member_family' };
    t.equal(codesOf(dental).payroll_code, null);
  },
);

onEitherEngine('a code must be printable and not a formula', async (t) => {
  const isTaken = (code: string) => wrongCodes({ code }).length === 0;
  for (const code of ['', ' A', 'A ', '=1', '+1', '-1', '@A', 'A\tB', 'A\n', 'é', 'A'.repeat(65)])
    t.equal(isTaken(code), false, JSON.stringify(code));
  for (const code of ['A', '0', "'", '"', ',;', 'a=b+c-d@e', 'A B', 'A'.repeat(64)])
    t.ok(isTaken(code), code);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 70 }), (code) => {
      const isPrintable = [...code].every((one) => one >= ' ' && one <= '~');
      const isCell = code.length <= 64 && code === code.trim() && !/^[=+@-]|^$/.test(code);
      return isTaken(code) === (isPrintable && isCell);
    }),
  );
});

test('schedules and codes are returned as set and replaced as a whole', async (t, { db }) => {
  t.strictSame([await readSchedules(db, EMPLOYER), await readCodes(db, EMPLOYER)], [[], []]);
  const codes = [
    {
      line_of_coverage: 'hsa',
      taxability: null,
      coverage_type: null,
      side: 'employer',
      code: 'H',
      treatment: 'memo',
    },
  ] as const;
  await transact(db, async (trx) => {
    await putSchedules(trx, EMPLOYER, [schedule(), schedule({ pay_group: 'x' })], acting(LATELY));
    await putCodes(trx, EMPLOYER, codes, acting(LATELY));
  });
  t.strictSame(await readSchedules(db, EMPLOYER), [schedule(), schedule({ pay_group: 'x' })]);
  t.strictSame(await readCodes(db, EMPLOYER), codes);
  await setSchedules(db, [schedule()]);
  t.strictSame(await readSchedules(db, EMPLOYER), [schedule()]);
});

test('settings are read as they were set by a time', async (t, { db }) => {
  const code = (text: string) => [
    {
      line_of_coverage: 'medical',
      taxability: null,
      coverage_type: null,
      side: 'employee',
      code: text,
      treatment: null,
    } as const,
  ];
  const policy = (applies_on: string) => POLICY.check({ effective_from: '2026-01-01', applies_on });
  const [first, second] = ['2026-03-01T00:00:00.000Z', '2026-04-01T00:00:00.000Z'] as const;
  await transact(db, async (trx) => {
    await putCodes(trx, EMPLOYER, code('A'), acting(first));
    await putSchedules(trx, EMPLOYER, [schedule()], acting(first));
    await putPolicy(trx, EMPLOYER, policy('period_end'), acting(first));
    await putCodes(trx, EMPLOYER, code('B'), acting(second));
    await putSchedules(trx, EMPLOYER, [], acting(second));
    await putPolicy(trx, EMPLOYER, policy('next_month'), acting(second));
  });
  const readAt = async (knownAt?: string) => ({
    code: (await readCodes(db, EMPLOYER, knownAt))[0]?.code,
    schedules: (await readSchedules(db, EMPLOYER, knownAt)).length,
    policies: (await POLICY.view(db, EMPLOYER, knownAt)).versions.map(({ applies_on }) => applies_on),
  });
  t.strictSame(await readAt('2026-02-28T00:00:00.000Z'), { code: undefined, schedules: 0, policies: [] });
  t.strictSame(await readAt(first), { code: 'A', schedules: 1, policies: ['period_end'] });
  t.strictSame(await readAt(second), { code: 'B', schedules: 0, policies: ['next_month', 'period_end'] });
  t.strictSame(await readAt(), await readAt(second));
});

test('the same codes or schedules set again are neither a version nor a record', async (t, { db }) => {
  for (const _ of [1, 2])
    await transact(db, async (trx) => {
      await putSchedules(trx, EMPLOYER, [schedule()], acting(LATELY));
      await putCodes(trx, EMPLOYER, [], acting(LATELY));
    });
  for (const table of ['payroll_codes', 'pay_schedules', 'audit_records'] as const)
    t.equal((await db.selectFrom(table).selectAll().execute()).length, table === 'audit_records' ? 2 : 1);
});

/** Returns why a run is rejected, as `path: rule`; '' if it is not. */
async function refusal(db: Db, run: RequestedRun): Promise<string> {
  try {
    await resolveBasis(db, null, run);
    return '';
  } catch (error) {
    if (!isAppError(error, 'RUN_REFUSED')) throw error;
    return error.problems.map(({ path, rule }) => `${path}: ${rule}`).join();
  }
}

onEitherEngine('a run uses the schedule of its pay group, or the one for all groups', async (t) => {
  const [all, a, b] = [schedule(), schedule({ pay_group: 'a' }), schedule({ pay_group: 'b' })];
  const weekly = schedule({ pay_frequency: 'weekly' });
  const run = (pay_group: string | null): Run => ({ ...runUnder(runOn('2026-07-17'), []), pay_group });
  t.equal(scheduleOf(run(null), [a, weekly, all]), all);
  t.equal(scheduleOf(run('a'), [all, a, b]), a);
  t.equal(scheduleOf(run('c'), [a, all, b]), all, 'without its own schedule, the one without a group');
  t.equal(scheduleOf(run('c'), [a]), null, 'the schedule of another group does not apply');
  t.equal(scheduleOf(run(null), [a]), null, 'a run for all groups has no list but the one without a group');
  t.equal(scheduleOf(run(null), [weekly]), null);
});

test('a regular run is on a date of its list, and without a list there is no calendar', async (t, { db }) => {
  await setSchedules(db, [schedule({ pay_group: 'a' })]);
  const run = { ...runOn('2026-07-17'), pay_date: '2026-07-16' };
  t.equal(
    await refusal(db, { ...run, pay_group: 'a' }),
    'pay_date: must be a date of the pay schedule; next to 2026-07-16 are 2026-07-03 and 2026-07-17',
  );
  t.equal((await resolveBasis(db, null, run)).calendar, null);
  t.equal(
    (await resolveBasis(db, null, { ...run, pay_date: '2026-07-17', pay_group: 'a' })).calendar?.length,
    26,
  );
});

const PAYROLL = tokenActor({ tokenId: 'tok_1', name: 'payroll' }, null);

async function set(db: Db, fields: object, actor = PAYROLL): Promise<void> {
  const policy = POLICY.check({ effective_from: '2026-01-01', ...fields });
  await transact(db, (trx) => putPolicy(trx, 'acme', policy, { now: LATELY, actor }));
}

async function staged(t: Test): Promise<Db> {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(db, event('a', '2025-12-01', { employee_id: 'e' }));
  return db;
}

onEitherEngine('a policy has three options, with defaults for omitted ones', async (t) => {
  t.strictSame(POLICY.check({ effective_from: '2026-01-01', applies_on: 'next_month' }), {
    ...{ effective_from: '2026-01-01', applies_on: 'next_month', open_items: 'decided' },
    recoup: { method: 'multiple', value: '1' },
  });
  t.throws(() => POLICY.check({ open_items: 'report', rounding: 'up', applies_on: 'today' }), {
    code: 'SETTINGS_REFUSED',
    problems: [
      { path: 'effective_from' },
      { path: 'rounding' },
      { path: 'applies_on', rule: 'must be one of pay_date, period_end, next_month' },
      { path: 'open_items', rule: 'must be decided or include' },
    ],
  });
});

onEitherEngine('the history of a policy records who set each version and when', async (t) => {
  const db = await staged(t);
  await set(db, { open_items: 'include' });
  await set(db, { open_items: 'include' });
  await set(db, { effective_from: '2025-01-01' }, cliActor('root'));
  t.match((await POLICY.view(db, 'acme')).versions, [
    { version: 1, effective_from: '2026-01-01', created_at: LATELY, created_by: PAYROLL },
    { version: 2, effective_from: '2025-01-01', created_by: { kind: 'cli', name: 'root' } },
  ]);
  const changed = transact(db, (trx) =>
    trx.updateTable('payroll_policies').set({ effective_from: 'x' }).execute(),
  );
  await t.rejects(changed, /append-only/);
  const removing = transact(db, (trx) => trx.deleteFrom('payroll_policies').execute());
  await t.rejects(removing, /append-only/);
});

onEitherEngine('a run uses the policy version in effect on its pay date', async (t) => {
  const db = await staged(t);
  await set(db, { effective_from: '2026-07-20', applies_on: 'next_month' });
  await set(db, { effective_from: '2026-06-20', applies_on: 'period_end' });
  const policies = await readPolicies(db, 'acme');
  const options = ['2026-06-19', '2026-07-03', '2026-07-31'].map(
    (day) => runUnder(runOn(day), policies).applies_on,
  );
  t.strictSame(options, ['pay_date', 'period_end', 'next_month']);
});
