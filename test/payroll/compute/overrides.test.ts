import type { Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { amountOf, parseAmount } from '../../../src/money.ts';
import type { LineRecord } from '../../../src/payroll/calculation/line.ts';
import { OVERRIDE_OUTDATED } from '../../../src/payroll/checks/overrides.ts';
import { beginComputation } from '../../../src/payroll/compute/computation.ts';
import { OVERRIDE } from '../../../src/payroll/facts/overrides.ts';
import { deleteOpenRun, dropOverride, overrideAmounts } from '../../../src/payroll/lifecycle/overrides.ts';
import { summarize } from '../../../src/payroll/lifecycle/summary.ts';
import type { RunBody } from '../../../src/payroll/records/body.ts';
import { bodyOf } from '../../../src/payroll/records/runs.ts';
import { verifyFact } from '../../../src/security/verify-facts.ts';
import { scratch } from '../../database/scratch.ts';
import { ACTING } from '../../support/audit.ts';
import { differencesOf } from '../../support/differences.ts';
import { onEitherEngine } from '../../support/engine.ts';
import { pastTriggers } from '../../support/past-triggers.ts';
import {
  BIWEEKLY,
  body,
  dateOf,
  election,
  employment,
  finalize,
  finalized,
  itemsIn,
  learn,
  lines,
  linesOf,
  put,
  schedule,
  send,
  setSchedules,
  storedRun,
  textsOf,
  verified,
  voided,
} from '../../support/payroll.ts';

/** An employee with 10.00 a check, and an open run `r` of June 19. */
async function staged(t: Test): Promise<Db> {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(db, election('2025-12-01', { employer_contribution: '4.00' }));
  await put(db, 'r', body(12));
  return db;
}

const test = onEitherEngine.with(staged);

const override = (db: Db, member: string, employer: string, deductionId = 'a', runId = 'r') =>
  overrideAmounts(
    db,
    { runId, employeeId: 'e', deductionId },
    { member: parseAmount(member) as bigint, employer: parseAmount(employer) as bigint, reason: 'agreed' },
    ACTING,
  );
const brief = ({ deduction_id, member_amount, employer_amount, flags, change, amount_change }: LineRecord) =>
  [deduction_id, member_amount, employer_amount, ...flags, change, amount_change].join(' ');
const taken = async (db: Db, runId = 'r') => (await linesOf(db, runId)).map(brief);
const due = async (db: Db, index = 13, fields: Partial<RunBody> = {}) =>
  (await itemsIn(db, body(index, fields))).map(
    ({ identity, outstanding }) => `${identity.line_of_coverage} ${amountOf(outstanding.member)}`,
  );
const outdated = async (db: Db, runId: string) => {
  const computation = await beginComputation(db, runId, bodyOf(await storedRun(db, runId)));
  return textsOf(OVERRIDE_OUTDATED, (await summarize(db, computation)).found);
};

test('an override replaces both amounts, and the line states what it replaced', async (t, db) => {
  t.match(await override(db, '3', '0'), {
    outcome: 'created',
    override: { member_amount: '3.00', regular_member_amount: '10.00', regular_employer_amount: '4.00' },
  });
  const [line] = await linesOf(db, 'r');
  t.match(line, { member_amount: '3.00', employer_amount: '0.00', flags: ['overridden'] });
  t.equal(line?.explanation, 'override: 3.00 instead of 10.00; plus employer 0.00 instead of 4.00');
  t.match(await override(db, '3.00', '0.00'), { outcome: 'same' });
  t.match(await override(db, '-2', '0'), { outcome: 'replaced' });
  t.strictSame(await taken(db), ['a -2.00 0.00 overridden negative new ']);
  await override(db, '0', '-1');
  t.strictSame(await taken(db), ['a 0.00 -1.00 overridden negative new ']);
  await override(db, '0', '0');
  t.strictSame(await taken(db), ['a 0.00 0.00 overridden new ']);
  const overridden = { runId: 'r', employeeId: 'e', deductionId: 'a' };
  await dropOverride(db, overridden, ACTING);
  await t.rejects(dropOverride(db, overridden, ACTING), { code: 'NOT_FOUND', message: /override of this/ });
  t.strictSame(await taken(db), ['a 10.00 4.00 new ']);
});

test('a run takes an override where it has no line, and the next run stops it', async (t, db) => {
  await send(
    db,
    election('2025-12-02', { line_of_coverage: 'dental', effective_start: '2026-08-01' }, 'later'),
    election('2025-12-02', { line_of_coverage: 'vision', effective_end: '2026-05-31' }, 'ended'),
  );
  await override(db, '5', '0', 'later');
  await override(db, '7', '1', 'ended');
  t.strictSame(await taken(db), [
    'later 5.00 0.00 overridden new ',
    'a 10.00 4.00 new ',
    'ended 7.00 1.00 overridden new ',
  ]);
  t.match((await linesOf(db, 'r'))[0], { explanation: 'override: 5.00 instead of no line' });
  await finalize(db, 'r');
  t.match(await verified(db, 'r'), { identical: true });
  t.strictSame(await due(db), [], 'the override was due');
  t.strictSame((await lines(db, body(13), 'regular')).map(brief), [
    'later 0.00 0.00 ended changed',
    'a 10.00 4.00 same same',
    'ended 0.00 0.00 ended changed',
  ]);
});

test('an override has the content of its day, and no flag of a year that is partly covered', async (t, db) => {
  await setSchedules(db, [schedule({ pay_dates: BIWEEKLY.map(({ pay_date }) => dateOf(pay_date, 14, 1)) })]);
  const partly = { period: 'monthly', effective_start: '2026-06-10', line_of_coverage: 'dental' } as const;
  await send(
    db,
    election('2025-12-02', partly, 'm'),
    election('2025-12-03', { ...partly, line_of_coverage: 'vision', effective_start: '2026-08-01' }, 'm'),
  );
  const ofM = async () => {
    const line = (await linesOf(db, 'r')).find(({ deduction_id }) => deduction_id === 'm');
    return [line?.line_of_coverage, ...(line?.flags ?? [])].join(' ');
  };
  t.equal(await ofM(), 'dental partial_cycle');
  await override(db, '3', '0', 'm');
  t.equal(await ofM(), 'dental overridden');
});

test('an override of a deduction that is another employee’s now has its last content', async (t, db) => {
  await learn(db, employment('f'));
  await send(db, election('2026-05-01', { employee_id: 'f', line_of_coverage: 'dental' }));
  await override(db, '3', '0');
  const shown = (await linesOf(db, 'r')).map(({ employee_id, line_of_coverage, member_amount }) =>
    [employee_id, line_of_coverage, member_amount].join(' '),
  );
  t.strictSame(shown, ['e medical 3.00', 'f dental 10.00']);
});

test('an override is returned when the deduction becomes another employee’s', async (t, db) => {
  await override(db, '3', '4');
  await finalize(db, 'r');
  await send(db, election('2026-06-20', { employee_id: 'f' }));
  t.strictSame(await due(db), ['medical -3.00']);
});

test('an override is due, in the line of coverage and taxability of today', async (t, db) => {
  await override(db, '3', '4');
  await finalize(db, 'r');
  t.strictSame((await lines(db, body(13))).map(brief), ['a 10.00 4.00 same override']);
  await send(db, election('2026-06-20', { member_contribution: '12.00', employer_contribution: '4.00' }));
  t.strictSame(await due(db), [], 'a later change of the amount adjusts nothing');
  await send(
    db,
    election('2026-06-21', {
      member_contribution: '12.00',
      employer_contribution: '4.00',
      taxability: 'post_tax',
    }),
  );
  t.strictSame(await due(db), ['medical 3.00', 'medical -3.00']);
  t.match(await verified(db, 'r'), { identical: true });
});

test('facts that change what an override replaced are named, also after the run', async (t, db) => {
  await override(db, '3', '0');
  t.strictSame(await outdated(db, 'r'), []);
  await send(db, election('2026-06-01', { member_contribution: '12.00', employer_contribution: '4.00' }));
  const text =
    'e: a on 2026-06-19 would be 12.00 plus employer 4.00; it was 10.00 plus employer 4.00 when overridden';
  t.strictSame(await outdated(db, 'r'), [text]);
  await finalize(db, 'r');
  await send(db, election('2026-06-02', { member_contribution: '13.00', employer_contribution: '4.00' }));
  await put(db, 'next', body(13));
  t.match(await outdated(db, 'next'), [/would be 13\.00 plus employer 4\.00; it was 10\.00 /]);
  await finalize(db, 'next');
  await put(db, 'after', body(14));
  t.strictSame(await outdated(db, 'after'), [], 'once');
  await voided(db, 'next');
  await voided(db, 'r');
  t.strictSame(await outdated(db, 'after'), [], 'a voided run took nothing');
});

test('an override of a final check is not compared with the shares that remain later', async (t, db) => {
  await setSchedules(db, [schedule({ pay_dates: BIWEEKLY.map(({ pay_date }) => dateOf(pay_date, 14, 1)) })]);
  await learn(db, employment('e', { termination_date: '2026-07-01' }));
  await put(db, 'final', body(13, { final_checks: ['e'] }));
  t.match(await override(db, '3', '0', 'a', 'final'), { override: { regular_member_amount: '30.00' } });
  await finalize(db, 'final');
  await put(db, 'next', body(14, { final_checks: ['e'] }));
  t.strictSame(await outdated(db, 'next'), []);
});

test('an override of a final check is due if a pay date of the last month takes the deduction', async (t, db) => {
  await setSchedules(db, [schedule({ pay_dates: BIWEEKLY.map(({ pay_date }) => dateOf(pay_date, 14, 1)) })]);
  await learn(db, employment('e', { termination_date: '2026-07-01' }));
  await finalize(db, 'r');
  const endingOn = (effective_end: string) => ({ employer_contribution: '4.00', effective_end });
  await send(db, election('2026-06-20', endingOn('2026-07-20')));
  await put(db, 'final', body(15, { final_checks: ['e'] }));
  t.match(await override(db, '3', '0', 'a', 'final'), { override: { regular_member_amount: '20.00' } });
  await finalize(db, 'final');
  const next = () => due(db, 16, { final_checks: ['e'] });
  t.strictSame(await next(), []);
  await send(db, election('2026-08-01', endingOn('2026-06-30')));
  t.strictSame(await next(), ['medical -3.00'], 'no more');
});

test('an override of a deduction that ended is returned with the date of its end', async (t, db) => {
  await override(db, '3', '4');
  await finalize(db, 'r');
  await send(db, election('2026-06-20', { effective_end: '2026-06-10' }));
  const items = await itemsIn(db, body(13));
  t.match(
    items.map(({ line }) => line.explanation),
    [
      /^Paycheck of June 19: medical should have been 0\.00 \(ended June 10, received .*\); 3\.00 was taken; 3\.00 back\./,
    ],
  );
});

test('an override of an employee who leaves the run takes nothing and is named', async (t, db) => {
  await override(db, '3', '0');
  await learn(db, employment('e', { termination_date: '2026-01-31' }));
  t.strictSame(await taken(db), []);
  t.match(await outdated(db, 'r'), [/^e: a on 2026-06-19 would be no line; it was 10\.00 /]);
  await finalize(db, 'r');
  await learn(db, employment('e'));
  t.strictSame(await due(db), ['medical 10.00'], 'the missed check is due without the override');
});

test('only amounts of an employee in an open run are overridden', async (t, db) => {
  await learn(db, employment('f'));
  await send(db, election('2025-12-01', { employee_id: 'f' }, 'of-f'));
  const wrong = (path: string) => ({ code: 'OVERRIDE_REFUSED', problems: [{ path }] });
  await t.rejects(override(db, '1', '0', 'of-f'), wrong('deduction_id'));
  await put(db, 'narrow', body(13, { employee_ids: ['f'] }));
  await t.rejects(override(db, '1', '0', 'a', 'narrow'), wrong('employee_id'));
  await t.rejects(override(db, '1', '0', 'a', 'no-run'), { code: 'NOT_FOUND' });
  await finalize(db, 'r');
  const isFinal = { code: 'CONFLICT', message: /no longer open/ };
  await t.rejects(override(db, '1', '0'), isFinal);
  await t.rejects(dropOverride(db, { runId: 'r', employeeId: 'e', deductionId: 'a' }, ACTING), isFinal);
});

test('a final run keeps its overrides, and a deleted run has none', async (t, db) => {
  await override(db, '3', '0');
  await finalize(db, 'r');
  for (const query of [
    db.deleteFrom('run_overrides'),
    db.updateTable('run_overrides').set({ member_amount: '4.00' }),
  ])
    await t.rejects(
      transact(db, (trx) => trx.executeQuery(query.compile())),
      { message: /overrides of a finalized run/ },
    );
  await put(db, 'open', body(13));
  await override(db, '3', '0', 'a', 'open');
  await transact(db, (trx) => deleteOpenRun(trx, 'open', ACTING));
  const deleted = transact(db, (trx) => deleteOpenRun(trx, 'r', ACTING));
  await t.rejects(deleted, { code: 'CONFLICT' });
  t.match(await db.selectFrom('run_overrides').select('run_id').execute(), [{ run_id: 'r' }]);
  await finalized(db, 'later', body(14));
  t.strictSame(await taken(db, 'later'), ['a 10.00 4.00 same override']);
});

test('an override that was removed or restored without its audit record is reported', async (t, db) => {
  const differences = async () =>
    (await differencesOf((on) => verifyFact(db, OVERRIDE, on))).map(({ rule }) => rule);
  const stored = () => db.selectFrom('run_overrides').selectAll().execute();
  const overridden = { runId: 'r', employeeId: 'e', deductionId: 'a' };
  const steps = [
    () => override(db, '3', '0'),
    () => override(db, '2', '0'),
    () => dropOverride(db, overridden, ACTING),
    () => override(db, '3', '0'),
    () => transact(db, (trx) => deleteOpenRun(trx, 'r', ACTING)),
    () => put(db, 'r', body(12)),
    () => override(db, '4', '0'),
  ];
  for (const [index, step] of steps.entries()) {
    const before = await stored();
    await step();
    t.strictSame(await differences(), [], `step ${index}`);
    const after = await stored();
    if (after.length > 0) {
      await pastTriggers(db, (trx) => trx.deleteFrom('run_overrides').execute());
      t.match(await differences(), [/no row/], `removed after step ${index}`);
    }
    if (before.length > 0 && index !== 4) {
      await pastTriggers(db, (trx) => trx.insertInto('run_overrides').values(before).execute());
      const missing = after.length > 0 ? [/no row/] : [];
      t.match(await differences(), [...missing, /not the last/], `restored after step ${index}`);
      await pastTriggers(db, (trx) => trx.deleteFrom('run_overrides').execute());
    }
    if (after.length > 0)
      await pastTriggers(db, (trx) => trx.insertInto('run_overrides').values(after).execute());
  }
});
