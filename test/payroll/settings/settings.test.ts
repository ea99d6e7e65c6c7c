import type { Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { isAppError } from '../../../src/errors.ts';
import { resolveBasis, runUnder } from '../../../src/payroll/compute/basis.ts';
import { planWith, scheduleOf } from '../../../src/payroll/compute/calendar.ts';
import type { Run, StatedRun } from '../../../src/payroll/records/body.ts';
import { deleteRun } from '../../../src/payroll/records/runs.ts';
import { CODES, putCodes, readCodes } from '../../../src/payroll/settings/codes.ts';
import { POLICY, putPolicy, readPolicies } from '../../../src/payroll/settings/policy.ts';
import { checkSchedules, putSchedules, readSchedules } from '../../../src/payroll/settings/schedules.ts';
import { cliActor, tokenActor } from '../../../src/security/audit.ts';
import { scratch } from '../../database/scratch.ts';
import { acting } from '../../support/audit.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  BIWEEKLY,
  body,
  dateOf,
  EMPLOYER,
  employment,
  event,
  LATELY,
  learn,
  put,
  runOn,
  schedule,
  send,
  setSchedules,
  view,
} from '../../support/payroll.ts';
import fc from '../../support/seeded.ts';

const test = onEitherEngine.with(scratch);

/** Returns the problems of a body's schedules as `path: rule`. */
function wrongSchedules(...list: unknown[]): string[] {
  const read = checkSchedules({ schedules: list }, '2026');
  return read.ok ? [] : read.problems.map(({ path, rule }) => `${path}: ${rule}`);
}

function wrongCodes(...list: object[]): string[] {
  const read = CODES.check({
    codes: list.map((one) => ({ line_of_coverage: 'dental', side: 'employee', code: 'D1', ...one })),
  });
  return read.ok ? [] : read.problems.map(({ path, rule }) => `${path}: ${rule}`);
}

/** Returns a schedule with the date at an index replaced. */
const changed = (index: number, fields: object) =>
  schedule({ pay_dates: BIWEEKLY.map((date, at) => (at === index ? { ...date, ...fields } : date)) });

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
  for (const body of [null, [], 'x', {}]) t.equal(checkSchedules(body, '2026').ok, false);
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
    wrongCodes({}, { taxability: 'post_tax' }, { taxability: null }, { side: 'employer' }, {}),
    [2, 4].map(
      (at) => `codes[${at}]: must not have the line_of_coverage, taxability and side of a code before it`,
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
  t.strictSame(wrongCodes(...Array(121).fill({})), ['codes: must be a list of at most 120 payroll codes']);
  for (const body of [null, [], 'x', {}]) t.equal(CODES.check(body).ok, false);
});

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
    { line_of_coverage: 'hsa', taxability: null, side: 'employer', code: 'H', treatment: 'memo' },
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
    { line_of_coverage: 'medical', taxability: null, side: 'employee', code: text, treatment: null } as const,
  ];
  const policy = (remainder: 'spread' | 'none') => {
    const checked = POLICY.check({ effective_from: '2026-01-01', remainder });
    if (!checked.ok) throw new Error(JSON.stringify(checked.problems));
    return checked.value;
  };
  const [first, second] = ['2026-03-01T00:00:00.000Z', '2026-04-01T00:00:00.000Z'] as const;
  await transact(db, async (trx) => {
    await putCodes(trx, EMPLOYER, code('A'), acting(first));
    await putSchedules(trx, EMPLOYER, [schedule()], acting(first));
    await putPolicy(trx, EMPLOYER, policy('spread'), acting(first));
    await putCodes(trx, EMPLOYER, code('B'), acting(second));
    await putSchedules(trx, EMPLOYER, [], acting(second));
    await putPolicy(trx, EMPLOYER, policy('none'), acting(second));
  });
  const readAt = async (knownAt?: string) => ({
    code: (await readCodes(db, EMPLOYER, knownAt))[0]?.code,
    schedules: (await readSchedules(db, EMPLOYER, knownAt)).length,
    policies: (await POLICY.view(db, EMPLOYER, knownAt)).versions.map(({ remainder }) => remainder),
  });
  t.strictSame(await readAt('2026-02-28T00:00:00.000Z'), { code: undefined, schedules: 0, policies: [] });
  t.strictSame(await readAt(first), { code: 'A', schedules: 1, policies: ['spread'] });
  t.strictSame(await readAt(second), { code: 'B', schedules: 0, policies: ['none', 'spread'] });
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
async function refusal(db: Db, run: StatedRun): Promise<string> {
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
  t.equal(scheduleOf(run(null), [weekly, a]), a, 'the only one of its frequency');
  t.equal(scheduleOf(run(null), [a, b]), null, 'not certain which');
  t.equal(scheduleOf(run(null), [weekly]), null);
});

test('a run for all groups is rejected if each pay group has its own schedule', async (t, { db }) => {
  await setSchedules(db, [schedule({ pay_group: 'a' }), schedule({ pay_group: 'b' })]);
  const run = runOn('2026-07-17');
  t.match(await refusal(db, run), /^pay_group: is required unless pay_dates is given/);
  t.equal(await refusal(db, { ...run, pay_group: 'a' }), '');
  t.equal(await refusal(db, { ...run, pay_dates: BIWEEKLY.map(({ pay_date }) => pay_date) }), '');
  const ofGroup = { ...runUnder(run, []), pay_group: 'c' };
  const { calendarAssumed } = planWith(ofGroup, await readSchedules(db, EMPLOYER));
  t.equal(calendarAssumed, true, 'a group without a schedule is stepped, and readiness warns');
});

const PAYROLL = tokenActor({ tokenId: 'tok_1', name: 'payroll' }, null);

async function set(db: Db, fields: object, actor = PAYROLL): Promise<void> {
  const asked = POLICY.check({ effective_from: '2026-01-01', ...fields });
  if (!asked.ok) throw new Error(JSON.stringify(asked.problems));
  await transact(db, (trx) => putPolicy(trx, 'acme', asked.value, { now: LATELY, actor }));
}

async function staged(t: Test): Promise<Db> {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(db, event('a', '2025-12-01', { employee_id: 'e' }));
  return db;
}

onEitherEngine('a policy has defaults for omitted options', async (t) => {
  t.strictSame(POLICY.check({ effective_from: '2026-01-01', scheme: 'month-even' }), {
    ok: true,
    value: {
      ...{ effective_from: '2026-01-01', scheme: 'month-even', applies_on: 'pay_date', remainder: 'last' },
      ...{ extra_paycheck: 'take', adjustments: 'decided', arrears: 'decided', recoup: { method: 'all' } },
    },
  });
  t.match(POLICY.check({ adjustments: 'report', rounding: 'up' }), {
    ok: false,
    problems: [
      { path: 'effective_from' },
      { path: 'rounding' },
      { path: 'adjustments', rule: 'must be decided or include' },
    ],
  });
});

onEitherEngine('the history of a policy records who set each version and when', async (t) => {
  const db = await staged(t);
  await set(db, { scheme: 'month-even' });
  await set(db, { scheme: 'month-even' });
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
  await set(db, { effective_from: '2026-07-20', scheme: 'first-checks' });
  await set(db, { effective_from: '2026-06-20', scheme: 'month-even' });
  const policies = await readPolicies(db, 'acme');
  const schemes = ['2026-06-19', '2026-07-03', '2026-07-31'].map(
    (day) => runUnder(runOn(day), policies).scheme,
  );
  t.strictSame(schemes, ['annualized', 'month-even', 'first-checks']);
});

onEitherEngine('an option that differs from the policy needs a reason', async (t) => {
  const db = await staged(t);
  const stated = { ...body(2), scheme: 'month-even' } as const;
  const problems = async () => {
    try {
      await view(db, 'r');
      return [];
    } catch (error) {
      if (isAppError(error, 'RUN_REFUSED')) return error.problems;
      throw error;
    }
  };
  await put(db, 'r', stated);
  const needed = [
    {
      path: 'policy_reason',
      rule: "is required to differ from the employer's payroll policy in scheme (annualized)",
    },
  ];
  t.strictSame(await problems(), needed);
  await set(db, { scheme: 'month-even' });
  t.strictSame(await problems(), [], 'the policy has the same value');
  await set(db, { scheme: 'annualized' });
  t.strictSame(await problems(), needed, 'refused at computation');
  await transact(db, (trx) => deleteRun(trx, 'r', acting(LATELY)));
  await put(db, 'with-reason', { ...stated, policy_reason: 'agreed with the broker' });
  t.match((await view(db, 'with-reason')).run, { scheme: 'month-even', policy_reason: /broker/ });
});
