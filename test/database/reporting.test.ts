import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import type { Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { engineOf, onEachEngine, onPostgres } from '../support/engine.ts';
import { body, employment, event, finalized, learn, put, send, voided } from '../support/payroll.ts';
import { scratch } from './scratch.ts';

const EXAMPLES = [
  ...readFileSync(new URL('../../db/README.md', import.meta.url), 'utf8').matchAll(/^```sql\n(.*?);\n```/gms),
].map(([, text = '']) => text);

async function rowsOf(db: Db, text: string): Promise<Record<string, unknown>[]> {
  return (await sql.raw<Record<string, unknown>>(text).execute(db)).rows;
}

/** A corrected deduction, one finalized run with a line of 12.35 and of 7.00, one voided run and one open run. */
async function reported(t: Test): Promise<Db> {
  const { db } = await scratch(t);
  await learn(db, employment('e'), employment('f'));
  const medical = { employee_id: 'e', period: 'biweekly', line_of_coverage: 'medical' } as const;
  await send(
    db,
    event('ded_medical', '2025-12-01', { ...medical, member_contribution: '10.00' }),
    event('ded_medical', '2025-12-02', { ...medical, member_contribution: '12.35' }),
    event('ded_dental', '2025-12-01', {
      ...{ employee_id: 'f', period: 'biweekly', line_of_coverage: 'dental' },
      ...{ member_contribution: '7.00', employer_contribution: '3.01' },
    }),
  );
  await finalized(db, 'r1', body(0));
  await finalized(db, 'r2', body(1));
  await voided(db, 'r2');
  await put(db, 'r3', body(2));
  return db;
}

const test = onEachEngine.with(reported);

test('the example queries of db/README.md return the stored data', async (t, db) => {
  t.equal(EXAMPLES.length, 3);
  const [inEffect = '', history = '', totals = ''] = EXAMPLES;
  const counted = (await rowsOf(db, inEffect)).map((row) => ({ ...row, deductions: Number(row.deductions) }));
  t.strictSame(counted, [
    { line_of_coverage: 'dental', deductions: 1 },
    { line_of_coverage: 'medical', deductions: 1 },
  ]);
  const late = engineOf(t) === 'sqlite' ? 0 : false;
  t.match(await rowsOf(db, history), [
    { version: 1, member_contribution: '10.00', late },
    { version: 2, member_contribution: '12.35', late },
  ]);
  const sums = (await rowsOf(db, totals)).map(({ run_id, line_of_coverage, ...rest }) =>
    [run_id, line_of_coverage, ...Object.values(rest).map(Number)].join(' '),
  );
  t.strictSame(sums, ['r1 dental 1 700 301', 'r1 medical 1 1235 0'], 'a voided or open run does not count');
});

test('finalized and voided runs are listed', async (t, db) => {
  const runs = await rowsOf(db, 'select run_id, state, void_reason from reporting_runs order by run_id');
  const texts = runs.map((run) => Object.values(run).join());
  t.strictSame(texts, ['r1,finalized,', 'r2,voided,a mistake']);
  t.equal((await rowsOf(db, "select 1 from reporting_run_lines where run_id = 'r2'")).length, 2);
});

onPostgres.with(reported)(
  'the views have native types, and a date of the year 0000 is null',
  async (t, db) => {
    await send(db, event('ded_zero', '2025-12-01', { effective_start: '0000-01-01' }));
    const [types] = await rowsOf(
      db,
      `select pg_typeof(member_contribution) as amount, pg_typeof(starts_on) as day, pg_typeof(event_time) as time,
       (select pg_typeof(member_amount) from reporting_run_lines limit 1) as line_amount
     from reporting_deductions where deduction_id = 'ded_medical'`,
    );
    const time = 'timestamp with time zone';
    t.match(types, { amount: 'numeric', day: 'date', time, line_amount: 'numeric' });
    const zero = await rowsOf(
      db,
      "select starts_on from reporting_deductions where deduction_id = 'ded_zero'",
    );
    t.match(zero, [{ starts_on: null }]);
  },
);
