import t, { type Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import { EMPLOYED_TWICE } from '../../../src/ledger/checks.ts';
import type { LineRecord } from '../../../src/payroll/calculation/line.ts';
import { assignDeduction } from '../../../src/payroll/lifecycle/assign.ts';
import type { RunBody } from '../../../src/payroll/records/body.ts';
import { finalizeChecked, readinessOfRun } from '../../../src/readiness/run-report.ts';
import { SYSTEM } from '../../../src/security/audit.ts';
import { scratch } from '../../database/scratch.ts';
import { acting } from '../../support/audit.ts';
import { onSqlite } from '../../support/engine.ts';
import {
  body,
  bodyOn,
  dateOf,
  decideItem,
  election,
  employment,
  finalize,
  finalized,
  itemsIn,
  LATELY,
  learn,
  lines,
  linesOf,
  put,
  QUESTION,
  READY,
  run,
  schedule,
  send,
  setSchedules,
  view,
} from '../../support/payroll.ts';
import { every } from '../calendars.ts';

const OTHER = 'other';

/** An employee with two jobs and a deduction that neither employer's runs take. */
async function twoJobs(t: Test, hired = '2020-01-01'): Promise<Db> {
  const { db } = await scratch(t);
  await learn(db, employment('e'), employment('e', { employer_id: OTHER, hire_date: hired }));
  await send(db, election('2025-12-01'));
  return db;
}

const test = onSqlite.with(twoJobs);

async function assign(db: Db, employerId: string, effectiveOn: string, deductionId = 'a'): Promise<void> {
  const assigning = { deductionId, employerId, effectiveOn, reason: 'elected in this job' };
  await assignDeduction(db, assigning, acting(LATELY));
}

const brief = ({ deduction_id, member_amount, kind, change, adjustment_for }: LineRecord) =>
  [deduction_id, member_amount, kind, adjustment_for ?? change].join(' ');
const inRun = async (db: Db, given: RunBody) => (await lines(db, given)).map(brief);
const OFF_CYCLE: Partial<RunBody> = { kind: 'off_cycle', employee_ids: ['e'] };

/** Returns the texts of the findings of a check in a run. */
async function findingsOf(
  db: Db,
  check: string,
  index: number,
  fields: Partial<RunBody> = {},
): Promise<string[]> {
  const { checks } = await readinessOfRun(db, run(index, fields), null, QUESTION);
  return checks.find(({ id }) => id === check)?.findings.map(({ text = '' }) => text) ?? [];
}

const unassigned = (db: Db, index: number, fields: Partial<RunBody> = {}) =>
  findingsOf(db, 'employees-with-two-employers', index, fields);

t.test('an employee active with two employers is in the runs of each, by its own facts', async (t) => {
  const { db } = await scratch(t);
  await learn(db, employment('e'), employment('e', { employer_id: OTHER, pay_frequency: 'weekly' }));
  await put(db, 'r', body(2));
  await put(db, 's', body(2, { employer_id: OTHER }));
  t.equal((await view(db, 'r')).outcome.employees, 1);
  t.equal((await view(db, 's')).outcome.employees, 0, 'paid weekly there');
  await put(db, 'w', body(2, { employer_id: OTHER, pay_frequency: 'weekly' }));
  t.equal((await view(db, 'w')).outcome.employees, 1);
});

test('a deduction of two jobs is in neither run until assigned, and readiness names it', async (t, db) => {
  for (const employer_id of ['acme', OTHER]) {
    t.strictSame(await inRun(db, body(2, { employer_id })), []);
    t.strictSame(await unassigned(db, 2, { employer_id }), ['e: medical, deduction a']);
  }
  await assign(db, OTHER, '2026-01-16');
  t.strictSame(await inRun(db, body(2)), []);
  t.strictSame(await inRun(db, body(2, { employer_id: OTHER })), ['a 10.00 regular new']);
  for (const employer_id of ['acme', OTHER]) t.strictSame(await unassigned(db, 2, { employer_id }), []);
});

test('a finding about a deduction of another employer is only in the runs of that employer', async (t, db) => {
  await assign(db, OTHER, '2026-01-01');
  await send(db, election('2025-12-02', { effective_start: '2026-02-01' }));
  await send(db, election('2025-12-03', { effective_end: '2026-01-31', member_contribution: '12.00' }));
  t.strictSame(await findingsOf(db, 'renewal-erased', 2), []);
  t.match(await findingsOf(db, 'renewal-erased', 2, { employer_id: OTHER }), [/^e: /]);
});

test('a final check takes no share of a deduction of two jobs until it is assigned', async (t, db) => {
  await setSchedules(db, [schedule()]);
  // The last day of the pay period, so that both jobs last to its end.
  await learn(db, employment('e', { termination_date: '2026-01-25' }));
  const last = bodyOn('2026-01-30', { final_checks: ['e'] });
  t.strictSame(await inRun(db, last), []);
  await assign(db, 'acme', '2026-01-01');
  t.strictSame(await inRun(db, last), ['a 10.00 regular new']);
});

test('an off-cycle run names the deductions that it would take', async (t, db) => {
  t.strictSame(await unassigned(db, 2, OFF_CYCLE), []);
  t.strictSame(await unassigned(db, 2, { ...OFF_CYCLE, deductions: ['a'] }), ['e: medical, deduction a']);
});

test('an assignment counts from the period of its date on, and the last one applies', async (t, db) => {
  // The period of run 2 ends on January 29.
  await assign(db, 'acme', '2026-01-29');
  await assign(db, OTHER, '2026-01-30');
  t.strictSame(await inRun(db, body(1)), []);
  t.strictSame(await inRun(db, body(2)), ['a 10.00 regular new']);
  t.strictSame(await inRun(db, body(3)), []);
  t.strictSame(await inRun(db, body(3, { employer_id: OTHER })), ['a 10.00 regular new']);
  await assign(db, 'acme', '2026-01-15');
  t.strictSame(await inRun(db, body(1)), ['a 10.00 regular new'], 'January 15 is in the period of run 1');
  t.strictSame(await inRun(db, body(3)), ['a 10.00 regular new'], 'the last position applies');
});

test('a run that took it in neither is adjusted by the assignment of today', async (t, db) => {
  await finalized(db, 'r1', body(1));
  await finalized(db, 's1', body(1, { employer_id: OTHER }));
  await assign(db, 'acme', '2026-01-15');
  for (const item of await itemsIn(db, body(2))) await decideItem(db, item, { action: 'take' });
  t.strictSame(await inRun(db, body(2)), ['a 10.00 regular new', 'a 10.00 adjustment r1']);
  t.match(await lines(db, body(2), 'adjustment'), [
    { because: { kind: 'decision' }, explanation: /\(assigned to this employer on July 10\)/ },
  ]);
  t.strictSame(await inRun(db, body(2, { employer_id: OTHER })), []);
});

t.test('what one job took stays taken when a second job before it becomes known', async (t) => {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(db, election('2025-12-01'));
  await finalized(db, 'r1', body(1));
  await learn(db, employment('e', { employer_id: OTHER, hire_date: '2025-12-01' }));
  t.strictSame(await inRun(db, body(2)), []);
  t.strictSame(await unassigned(db, 2), ['e: medical, deduction a']);
  t.strictSame(await inRun(db, body(2, OFF_CYCLE)), []);
});

t.test('a deduction assigned to another employer moved, and an unassigned one did not end', async (t) => {
  const db = await twoJobs(t, '2026-02-01');
  await finalized(db, 'r2', body(2));
  t.strictSame(await inRun(db, body(3)), [], 'not assigned');
  await assign(db, OTHER, '2026-02-01');
  const [line] = await lines(db, body(3));
  t.match(line, { change: 'moved', member_amount: '0.00', explanation: /^assigned to another employer;/ });
  await send(db, election('2026-02-01', { effective_end: '2026-01-31' }));
  t.match(await lines(db, body(3)), [{ change: 'ended' }], 'its coverage ended');
});

test('an assigned deduction stays after the job there ends, and readiness names it', async (t, db) => {
  await assign(db, OTHER, '2026-01-01');
  await learn(db, employment('e', { employer_id: OTHER, termination_date: '2026-01-20' }));
  t.strictSame(await inRun(db, body(2)), []);
  t.strictSame(await unassigned(db, 2), ['e: medical, deduction a']);
  await send(db, election('2026-01-21', { effective_start: '2026-01-01', effective_end: '2026-01-25' }));
  t.strictSame(await unassigned(db, 2), [], 'no longer in effect');
  await send(db, election('2026-01-22', { effective_start: '2026-01-01' }));
  await assign(db, 'acme', '2026-01-21');
  t.strictSame(await unassigned(db, 2), []);
  t.strictSame(await inRun(db, body(2)), ['a 10.00 regular new']);
});

test('two elections of one line of coverage overlap only at one employer', async (t, db) => {
  await send(db, election('2025-12-01', {}, 'b'));
  await assign(db, 'acme', '2026-01-01');
  await assign(db, OTHER, '2026-01-01', 'b');
  const overlaps = async (employer_id: string) => {
    const { checks } = await readinessOfRun(db, run(2, { employer_id }), null, QUESTION);
    return checks.find(({ id }) => id === 'overlap')?.result;
  };
  for (const employer_id of ['acme', OTHER]) {
    t.equal((await lines(db, body(2, { employer_id }))).length, 1);
    t.equal(await overlaps(employer_id), 'pass');
  }
  await assign(db, 'acme', '2026-01-01', 'b');
  t.equal(await overlaps('acme'), 'fail');
});

test('an accepted finding is remembered until the employee has another unassigned deduction', async (t, db) => {
  const { id: CHECK } = EMPLOYED_TWICE;
  const found = async (index: number) => {
    const { checks } = await readinessOfRun(db, run(index), null, QUESTION);
    return checks.find(({ id }) => id === CHECK);
  };
  await put(db, 'r1', body(1));
  const { etag, acceptable } = await readinessOfRun(db, run(1), 'r1', QUESTION);
  const accept = {
    checks: acceptable.filter(({ result }) => result === 'fail').map(({ checkId }) => checkId),
    reason: 'asked the employee',
  };
  const finalizing = {
    ifMatch: etag,
    accept,
    actor: SYSTEM,
    sharedNow: async () => new Date(LATELY),
    question: QUESTION,
  };
  t.match(await finalizeChecked(db, 'r1', finalizing), { outcome: 'finalized' });
  t.match(await found(2), { result: 'accepted' });
  await send(db, election('2026-01-02', { line_of_coverage: 'dental' }, 'b'));
  t.match(await found(2), {
    result: 'fail',
    findings: [{ text: 'e: dental, deduction b', employee_id: 'e', deduction_id: 'b' }],
  });
});

test('a run is not made final if a deduction was assigned while it was computed', async (t, db) => {
  await put(db, 'r', body(2));
  const during = finalize(db, 'r', {}, async () => {
    await assign(db, 'acme', '2026-01-01');
    return READY;
  });
  await t.rejects(during, { code: 'CONFLICT', message: /^Payroll data changed/ });
  t.equal((await finalize(db, 'r')).outcome, 'finalized');
  t.strictSame((await linesOf(db, 'r')).map(brief), ['a 10.00 regular new']);
});

t.test(
  'a transfer with one common day has its last check at the old employer, and none of it at the new one',
  async (t) => {
    for (const [ends, hired] of [
      ['2026-01-20', '2026-01-20'],
      ['2026-01-20', '2026-01-21'],
    ] as const) {
      const { db } = await scratch(t);
      for (const employerId of ['acme', OTHER])
        await setSchedules(
          db,
          [schedule({ pay_dates: every(14, '2026-01-02', 26).map((date) => dateOf(date, 14, 1)) })],
          employerId,
        );
      await learn(db, employment('e', { termination_date: ends }));
      await learn(db, employment('e', { employer_id: OTHER, hire_date: hired }));
      await send(db, election('2025-12-01'));
      await send(
        db,
        election('2025-12-01', { effective_start: '2026-01-25', line_of_coverage: 'dental' }, 'b'),
      );
      for (const finals of [{}, { final_checks: ['e'] }])
        t.strictSame(await inRun(db, body(2, finals)), ['a 10.00 regular new'], 'what started by then');
      const there = await lines(db, body(2, { employer_id: OTHER }));
      t.strictSame(
        there.map(({ deduction_id, member_amount, flags }) =>
          [deduction_id, member_amount, ...flags].join(' '),
        ),
        ['b 10.00 partial_cycle', 'a 0.00 taken_elsewhere'],
      );
      t.equal(
        there[1]?.explanation,
        'the employer that the employee left on January 20 takes it until the pay date of January 30; 0.00',
      );
      t.strictSame(await inRun(db, body(3)), [], 'no check follows');
      t.match(await inRun(db, body(3, { employer_id: OTHER })), [/^b 10.00/, /^a 10.00/]);
      await finalized(db, 's2', body(2, { employer_id: OTHER }));
      t.strictSame(await itemsIn(db, body(3, { employer_id: OTHER })), [], 'nothing is due of it');
    }
  },
);

t.test('a final check takes no date of the employer that the employee left before', async (t) => {
  const biweekly = every(14, '2026-01-02', 26).map((date) => dateOf(date));
  const weekly = every(7, '2026-01-02', 52).map((date) => dateOf(date, 7, 0));
  // The last pay date there is March 13, or March 27.
  for (const [left, hired, taken] of [
    ['2026-03-02', '2026-03-03', ['2026-03-20', '2026-03-27']],
    ['2026-03-15', '2026-03-16', null],
  ] as const) {
    const { db } = await scratch(t);
    await setSchedules(db, [schedule({ pay_dates: biweekly })]);
    await setSchedules(db, [schedule({ pay_frequency: 'weekly', pay_dates: weekly })], OTHER);
    await learn(db, employment('e', { termination_date: left }));
    const job = { employer_id: OTHER, pay_frequency: 'weekly', hire_date: hired } as const;
    await learn(db, employment('e', { ...job, termination_date: '2026-03-24' }));
    await send(db, election('2025-12-01', { period: 'monthly' }));
    const runOfWeek = (payDate: string) => {
      const { takes: _, ...date } = dateOf(payDate, 7, 0);
      return { employer_id: OTHER, pay_frequency: 'weekly' as const, ...date };
    };
    await finalized(db, 'first', runOfWeek('2026-01-02'));
    const [line] = await lines(db, { ...runOfWeek('2026-03-27'), final_checks: ['e'] });
    t.strictSame(line?.shares?.map(({ pay_date }) => pay_date) ?? null, taken);
    t.equal(line?.flags.includes('taken_elsewhere'), taken === null);
  }
});

t.test('one employer takes the check of a period in which an employee left and returned', async (t) => {
  const pay_dates = every(14, '2026-01-02', 26).map((date) => dateOf(date, 14, 1));
  const rehired = employment('e', { hire_date: '2026-01-22' });
  const left = (day: string, employer_id = 'acme') => ({ employer_id, termination_date: day });
  for (const [later, taken] of [
    // No run of the old employer has an employee whom its census lacks.
    [
      [rehired, employment('e', { hire_date: null, absent: 1, effective_on: '2026-01-23' })],
      { acme: [], [OTHER]: ['a 10.00'] },
    ],
    // The job that the employee left last is with the other employer.
    [
      [employment('e', { hire_date: null, ...left('2026-01-20', OTHER) }), rehired],
      { acme: ['a 0.00 taken_elsewhere'], [OTHER]: ['a 10.00'] },
    ],
    [
      [
        employment('e', { hire_date: null, ...left('2026-01-20', OTHER) }),
        rehired,
        employment('e', { hire_date: null, ...left('2026-01-25') }),
      ],
      { acme: ['a 0.00 taken_elsewhere'], [OTHER]: ['a 10.00'] },
    ],
  ] as const) {
    const { db } = await scratch(t);
    for (const employerId of ['acme', OTHER]) await setSchedules(db, [schedule({ pay_dates })], employerId);
    await learn(db, employment('e', left('2026-01-18')));
    await learn(db, employment('e', { employer_id: OTHER, hire_date: '2026-01-19' }));
    for (const fact of later) await learn(db, fact);
    await send(db, election('2025-12-01'));
    for (const [employer_id, expected] of Object.entries(taken)) {
      const found = await lines(db, body(2, { employer_id }));
      t.strictSame(
        found.map(({ deduction_id, member_amount, flags }) =>
          [deduction_id, member_amount, ...flags.filter((flag) => flag === 'taken_elsewhere')].join(' '),
        ),
        expected,
        employer_id,
      );
    }
  }
});

t.test('a check that was missed because a transfer was reported late is taken by one employer', async (t) => {
  const { db } = await scratch(t);
  for (const employerId of ['acme', OTHER]) {
    const pay_dates = every(14, '2026-01-02', 26).map((date) => dateOf(date, 14, 1));
    await setSchedules(db, [schedule({ pay_dates })], employerId);
  }
  await learn(db, employment('e', { termination_date: '2026-01-20' }));
  await send(db, election('2025-12-01'));
  await finalized(db, 's2', body(2, { employer_id: OTHER }));
  await learn(db, employment('e', { employer_id: OTHER, hire_date: '2026-01-21' }));
  t.strictSame(await inRun(db, body(2)), ['a 10.00 regular new']);
  t.strictSame(await itemsIn(db, body(3, { employer_id: OTHER })), []);
});

t.test('a run of the old employer is the last check only of whom it includes', async (t) => {
  for (const [frequencies, fields, taken] of [
    [['monthly', 'weekly'], { pay_frequency: null }, '10.00'],
    [[], { pay_frequency: null, pay_group: 'staff' }, '0.00'],
    [[], { pay_frequency: 'weekly' }, '10.00'],
    [[], { pay_group: 'other' }, '10.00'],
    [[], { pay_group: 'staff' }, '0.00'],
  ] as const) {
    const { db } = await scratch(t);
    await setSchedules(
      db,
      frequencies.map((pay_frequency) => schedule({ pay_frequency, pay_dates: [dateOf('2026-12-18')] })),
    );
    await learn(db, employment('e', { ...fields, termination_date: '2026-01-20' }));
    await learn(db, employment('e', { employer_id: OTHER, hire_date: '2026-01-21' }));
    await send(db, election('2025-12-01'));
    await finalized(db, 'last', body(2, frequencies.length === 0 ? { pay_group: 'staff' } : {}));
    const there = await lines(db, body(2, { employer_id: OTHER }));
    t.strictSame(
      there.map(({ member_amount }) => member_amount),
      [taken],
      `${frequencies.length} schedules, ${JSON.stringify(fields)}`,
    );
  }
});
