import { sql } from 'kysely';
import t, { type Test } from 'tap';
import type { Db, Trx } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { verifyRuns } from '../../../src/payroll/lifecycle/verify.ts';
import { hashOf } from '../../../src/payroll/records/basis.ts';
import { verifyRunRecords } from '../../../src/payroll/records/verify-run-records.ts';
import { scratch } from '../../database/scratch.ts';
import { differencesOf } from '../../support/differences.ts';
import { pastTriggers } from '../../support/past-triggers.ts';
import {
  BIWEEKLY,
  body,
  dateOf,
  employment,
  event,
  finalized,
  LATELY,
  learn,
  linesOf,
  schedule,
  send,
  setCode,
  setCodes,
  setPolicy,
  setSchedules,
  verified,
  voided,
} from '../../support/payroll.ts';
import { storeOpening } from '../compute/model-item-steps.ts';

const each = (sent: string, changes: Parameters<typeof event>[2] = {}, id = 'a') =>
  event(id, sent, { employee_id: 'e', member_contribution: '150.00', ...changes });

/** Two finalized runs, the second with a change, an end, adjustments and a termination. */
async function staged(t: Test): Promise<Db> {
  const { db } = await scratch(t);
  await learn(db, ...['e', 'f', 'g', 'h'].map((id) => employment(id)));
  await setSchedules(db, [schedule({ pay_dates: [...BIWEEKLY, dateOf('2026-12-31', 7)] })]);
  await setCode(db, 'medical');
  for (const id of ['e', 'f', 'g']) await send(db, each('2025-12-01', { employee_id: id }, `d-${id}`));
  // Its amount covers the refund.
  await send(db, each('2025-12-01', { employee_id: 'f', line_of_coverage: 'dental' }, 'd-f2'));
  await setPolicy(db, { open_items: 'include', recoup: { method: 'all' } });
  await finalized(db, 'r2', body(2));
  await send(db, each('2026-01-29', { employee_id: 'e', member_contribution: '160.00' }, 'd-e'));
  await send(db, each('2026-01-29', { employee_id: 'f', effective_end: '2026-01-20' }, 'd-f'));
  await learn(db, employment('g', { termination_date: '2026-01-29' }));
  await send(db, each('2026-01-31', { employee_id: 'g', member_contribution: '1' }, 'd-g'));
  await finalized(db, 'r3', body(3));
  return db;
}

const change = (
  db: Db,
  runId: string,
  employee_id: string,
  row: { lines?: string; roster_position?: number | null },
) =>
  pastTriggers(db, (trx) =>
    trx
      .updateTable('run_employees')
      .set(row)
      .where(
        'freeze_id',
        'in',
        (eb) => eb.selectFrom('payroll_runs').select('freeze_id').where('run_id', '=', runId) as never,
      )
      .where('employee_id', '=', employee_id)
      .execute(),
  );

t.test('a run stays identical, whatever happens after it', async (t) => {
  const db = await staged(t);
  t.strictSame(await verified(db, 'r2'), { identical: true, lines: 4, differences: [], difference_count: 0 });
  t.strictSame(await verified(db, 'r3'), { identical: true, lines: 6, differences: [], difference_count: 0 });
  const both = async (what: string) => {
    t.match(await verified(db, 'r2'), { identical: true }, `r2 after ${what}`);
    t.match(await verified(db, 'r3'), { identical: true }, `r3 after ${what}`);
  };
  await send(db, each('2025-11-01', { employee_id: 'e', member_contribution: '7' }, 'd-e'));
  const moved = each('2026-01-01', { employee_id: 'h' }, 'd-e');
  await send(db, moved, each('2025-12-01', { employee_id: 'h' }, 'new'));
  await both('late and new events');
  await learn(
    db,
    employment('e', { pay_frequency: 'weekly' }),
    employment('f', { employer_id: 'other' }),
    employment('i'),
  );
  await both('another roster');
  await setSchedules(db, []);
  await setCodes(db, []);
  await both('other schedules and codes');
  await finalized(db, 'r4', body(4));
  await transact(db, (trx) =>
    trx
      .insertInto('taken_reports')
      .values({ run_id: 'r2', report: 1, recorded_at: 'now', line_count: 0 })
      .execute(),
  );
  await both('a later run and a report');
  await voided(db, 'r2');
  await both('a void of the previous run');
  await voided(db, 'r3');
  await both('its own void');
  t.match(await verified(db, 'r4'), { identical: true }, 'a run that adjusted a voided run is identical');
});

t.test('a run stays identical if a deduction later names the employee of an opening item', async (t) => {
  const db = await staged(t);
  const item = { id: 'o', employer: 'acme', employee: 'h', deduction: 'd-e', coverage: 'medical' };
  const amounts = { member: 1_500n, employer: 0n };
  await storeOpening(db, { ...item, taxability: 'pre_tax', amounts, payDate: '2025-06-01' }, LATELY);
  await send(db, each('2026-02-01', { coverage_type: 'member_family' }, 'd-e'));
  await finalized(db, 'r4', body(4));
  const ofH = (await linesOf(db, 'r4')).filter(({ employee_id }) => employee_id === 'h');
  t.match(ofH, [{ member_amount: '15.00', coverage_type: null }]);
  await send(db, each('2026-02-10', { employee_id: 'h' }, 'd-e'));
  t.match(await verified(db, 'r4'), { identical: true });
});

t.test('a changed field of a line is named with its stored and its computed value', async (t) => {
  const db = await staged(t);
  const [line] = (await linesOf(db, 'r2')).filter((one) => one.employee_id === 'e');
  const changes = {
    member_amount: '0.01',
    employer_amount: '0.01',
    version: 7,
    flags: ['overlap'],
    payroll_code: 'X',
  };
  for (const [field, value] of Object.entries(changes)) {
    await change(db, 'r2', 'e', { lines: JSON.stringify([{ ...line, [field]: value }]) });
    const { differences } = await verified(db, 'r2');
    const expected = [{ employee_id: 'e', line: 'regular d-e', frozen: { [field]: value }, computed: line }];
    t.match(differences, expected, field);
  }
});

t.test('a removed or added line, or a changed flag, is named', async (t) => {
  const db = await staged(t);
  const lines = await linesOf(db, 'r3');
  const of = (id: string) => lines.filter((line) => line.employee_id === id);
  await change(db, 'r3', 'e', { lines: '[]' });
  t.match(await verified(db, 'r3'), {
    difference_count: 2,
    differences: [
      { line: 'regular d-e', frozen: null },
      { line: /^adjustment:r2:e:d-e:/, frozen: null },
    ],
  });
  await change(db, 'r3', 'e', { lines: JSON.stringify(of('e')) });
  await change(db, 'r3', 'h', { lines: JSON.stringify(of('e')) });
  const expected = { difference_count: 2, differences: [{ employee_id: 'h', computed: null }, {}] };
  t.match(await verified(db, 'r3'), expected);
  await change(db, 'r3', 'h', { lines: '[]' });
  const flagged = of('f').map((line) =>
    line.kind === 'adjustment' ? { ...line, flags: ['retro_refund'] } : line,
  );
  await change(db, 'r3', 'f', { lines: JSON.stringify(flagged) });
  t.match(await verified(db, 'r3'), {
    difference_count: 1,
    differences: [{ line: /^adjustment:r2:f:d-f:/ }],
  });
});

t.test('a changed roster row and a removed or added employee are named', async (t) => {
  const db = await staged(t);
  await change(db, 'r2', 'h', { roster_position: 99 });
  t.match(await verified(db, 'r2'), {
    identical: false,
    differences: [{ employee_id: 'h', line: null, frozen: 99, computed: 4 }],
  });
  await change(db, 'r2', 'h', { roster_position: 4 });
  t.match(await verified(db, 'r2'), { identical: true });
  await pastTriggers(db, (trx) => trx.deleteFrom('run_employees').where('employee_id', '=', 'h').execute());
  t.match(await verified(db, 'r2'), {
    differences: [{ employee_id: 'h', line: null, frozen: null, computed: 4 }],
  });
  const row = await db
    .selectFrom('run_employees')
    .selectAll()
    .where('employee_id', '=', 'e')
    .executeTakeFirstOrThrow();
  await transact(db, (trx) =>
    trx
      .insertInto('run_employees')
      .values({ ...row, employee_id: 'z' })
      .execute(),
  );
  t.match(await verified(db, 'r2'), { difference_count: 3 });
});

t.test('the first of many differences are named and all are counted', async (t) => {
  const { db } = await scratch(t);
  const ids = Array.from({ length: 120 }, (_, index) => `e${index}`);
  await learn(db, ...ids.map((id) => employment(id)));
  await finalized(db, 'r', body(2));
  await pastTriggers(db, (trx) => trx.updateTable('run_employees').set({ roster_position: 0 }).execute());
  const { difference_count, differences } = await verified(db, 'r');
  t.equal(difference_count, 120);
  t.equal(differences.length, 100);
});

t.test('ids in byte order are not a difference', async (t) => {
  const { db } = await scratch(t);
  const ids = ['a', 'Z', '\u{ff5e}', '\u{1f600}'];
  await learn(db, ...ids.map((id) => employment(id)));
  await finalized(db, 'r', body(2, { employee_ids: ids }));
  t.match(await verified(db, 'r'), { identical: true });
  await finalized(db, 'all', body(3));
  t.match(await verified(db, 'all'), { identical: true });
});

const findings = async (db: Db) =>
  (await differencesOf((on) => verifyRuns(db, on))).map(({ table, field }) => `${table}.${field}`);

const PAY_DATE_WITHOUT_AMOUNTS = sql<string>`replace(basis, '2026-12-04', '2026-12-05')`;
const ALTERED: Record<string, (trx: Trx) => { execute(): Promise<unknown> }> = {
  'run_settlements.settles: its amount': (trx) =>
    trx.updateTable('run_settlements').set({ member_amount: '0.01' }),
  'run_settlements.settles: it is removed': (trx) =>
    trx.deleteFrom('run_settlements').where('employee_id', '=', 'e'),
  'payroll_runs.basis: an input is voided': (trx) => trx.updateTable('run_inputs').set({ is_voided: 1 }),
  'payroll_runs.basis: its inputs are removed': (trx) => trx.deleteFrom('run_inputs'),
  'payroll_runs.basis: its previous run': (trx) =>
    trx.updateTable('payroll_runs').set({ previous_run_id: null }).where('run_id', '=', 'r3'),
  'payroll_runs.basis: a pay date that affects no amount': (trx) =>
    trx.updateTable('payroll_runs').set({ basis: PAY_DATE_WITHOUT_AMOUNTS }),
  'payroll_runs.outcome_hash: its results with their hash': (trx) =>
    trx.updateTable('payroll_runs').set({ outcome: '{}', outcome_hash: hashOf('{}') }),
  'payroll_runs.outcome_hash: its rules': (trx) =>
    trx.updateTable('payroll_runs').set({ rules_version: 'x' }),
};

t.test(
  'a changed settlement, input, previous run, pay date, result or version of the rules is named',
  async (t) => {
    for (const [name, change] of Object.entries(ALTERED)) {
      const db = await staged(t);
      t.strictSame(await findings(db), []);
      await pastTriggers(db, async (trx) => void (await change(trx).execute()));
      t.ok((await findings(db)).includes(name.split(':')[0] as string), name);
    }
  },
);

t.test('a run that changes while it is verified is no difference', async (t) => {
  const db = await staged(t);
  let isChanged = false;
  const changing = db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      const isOfRuns = result.rows.some((row) => 'voided_at' in row && row.run_id === 'r3');
      if (isOfRuns && !isChanged) {
        isChanged = true;
        await voided(db, 'r3');
      }
      return result;
    },
  });
  t.strictSame(await differencesOf((on) => verifyRunRecords(changing, on)), []);
  t.ok(isChanged);
});
