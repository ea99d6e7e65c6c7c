/** Late events on a deduction with so long a history that reading it would exceed the statement timeout. */
import { sql } from 'kysely';
import t from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { recordDeductions } from '../../src/ledger/record.ts';
import { startApplying } from '../inbox/applying.ts';
import { deduction, deductionBody } from '../inbox/bodies.ts';
import { incoming, RECEIVED } from '../ledger/incoming.ts';
import { onEachEngine } from '../support/engine.ts';
import { countingReads } from '../support/reads.ts';

t.setTimeout(600_000);

const VERSIONS = 1_000_000;
/** The event time of version n: one nanosecond after the version before. */
const TIME = `'2026-03-01T12:00:00.' || substr(cast(1000000000 + n as text), 2) || 'Z'`;
const timeOf = (n: number) => `2026-03-01T12:00:00.${String(n).padStart(9, '0')}Z`;

/** One deduction, `long`, with all its versions in order. */
const HISTORY = [
  `with recursive series (n) as (select 1 union all select n + 1 from series where n < ${VERSIONS})
   insert into deduction_versions (position, deduction_id, version, previous_position, event_id, employee_id, line_of_coverage,
     member_contribution, employer_contribution, period, taxability, created_at, event_time, ordered_by, late,
     tie_changed, future_dated, recorded_at)
   select n, 'long', n, case when n > 1 then n - 1 end, 'history-' || n, 'emp-1', 'medical', '1.00', '2.00', 'monthly',
     'pre_tax', ${TIME}, ${TIME}, 'created_at', 0, 0, 0, '${RECEIVED}' from series`,
  `insert into deductions (deduction_id, position, event_time, employee_id, version_count, last_received_position)
   values ('long', ${VERSIONS}, '${timeOf(VERSIONS)}', 'emp-1', ${VERSIONS}, ${VERSIONS})`,
  `insert into deduction_employees (employee_id, deduction_id) values ('emp-1', 'long')`,
  `update ledger_head set position = ${VERSIONS}`,
];

onEachEngine('late events on a deduction with 1,000,000 versions read one version each', async (t) => {
  const { db, store, loop, states } = await startApplying(t);
  await transact(
    db,
    async (trx) => {
      for (const statement of HISTORY) await sql.raw(statement).execute(trx);
    },
    { isTimeLimited: false },
  );
  await store(['late', deductionBody({ id: 'long' }, { created_at: timeOf(10) })], deduction('other'), [
    'oldest',
    deductionBody({ id: 'long' }, { created_at: '2026-03-01T11:59:59Z' }),
  ]);
  t.match(await loop.runOnce(), { applied: 3 });
  t.strictSame(await states(), ['late: applied', 'other: applied', 'oldest: applied']);
  const versions = await db
    .selectFrom('deduction_versions')
    .select(['event_id', 'version', 'late', 'ordered_by', 'tie_changed'])
    .where('position', '>', VERSIONS)
    .orderBy('position')
    .execute();
  t.match(versions, [
    { event_id: 'late', version: VERSIONS + 1, late: 1, ordered_by: 'tie', tie_changed: 1 },
    { event_id: 'other', version: 1, late: 0 },
    { event_id: 'oldest', version: VERSIONS + 2, late: 1, ordered_by: 'created_at' },
  ]);
  const late = [20, 21, 22].map((n) => incoming(`late-${n}`, timeOf(n), { id: 'long' }));
  const rows = await transact(db, async (trx) => {
    const counted = countingReads(trx);
    await recordDeductions(counted.db, late, RECEIVED);
    return counted.reads.rows;
  });
  t.equal(rows, 5, 'the position, the latest state and the three versions at their times');
});
