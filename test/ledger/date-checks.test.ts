import { CompiledQuery } from 'kysely';
import t from 'tap';
import { oddlyDatedDeductions } from '../../src/ledger/history.ts';
import { readReadiness } from '../../src/readiness/report.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { onEitherEngine } from '../support/engine.ts';
import { LATELY, QUESTION, readyEmployer } from '../support/payroll.ts';

/** The dates of a deduction's latest state → the check that names it. Today is 2026-07-13. */
const DATES: readonly [start: string | null, end: string | null, named?: string][] = [
  ['2026-07-02', '2026-07-01', 'never-in-effect: 2026-07-02 to 2026-07-01'],
  ['2027-06-30T00:00:00Z', '2026-07-01T00:00:00Z', 'never-in-effect: 2027-06-30 to 2026-07-01'],
  ['2026-07-01', '0001-01-01T00:00:00Z', 'never-in-effect: 2026-07-01 to 0001-01-01'],
  [null, '1970-01-01', 'never-in-effect: until 1970-01-01'],
  ['0001-01-01', '0001-01-01', 'never-in-effect: 0001-01-01 to 0001-01-01'],
  ['3026-07-01', null, 'starts-far-ahead: from 3026-07-01'],
  ['2028-07-14', '2029-07-13', 'starts-far-ahead: from 2028-07-14'],
  ['2028-07-13', null],
  ['2026-07-01', '2026-07-01'],
  ['0001-01-01', '9999-12-31'],
  ['2026-07-01', '2000-01-01', 'never-in-effect: 2026-07-01 to 2000-01-01'],
  [null, '2000-01-01'],
];

onEitherEngine('a deduction whose dates keep it out of every run is named', async (t) => {
  const db = await readyEmployer(t);
  const named = async (employerId?: string) => {
    const { checks } = await readReadiness(db, { ...QUESTION, employerId });
    return checks
      .filter(({ id }) => id === 'never-in-effect' || id === 'starts-far-ahead')
      .flatMap(({ id, findings }) => findings.map(({ text }) => `${id}: ${text?.split(', ')[1]}`));
  };
  for (const [index, [effective_start, effective_end, expected]] of DATES.entries()) {
    const dates = { id: 'ded-dates', employee_id: 'emp-1', effective_start, effective_end };
    const createdAt = new Date(Date.parse('2026-06-01') + index).toISOString();
    await deliver(db, [deductionOf(`evt-dates-${index}`, dates, createdAt)], LATELY);
    t.strictSame(
      await named(),
      expected === undefined ? [] : [expected],
      `${effective_start} ${effective_end}`,
    );
    t.strictSame(await named('acme'), await named(), 'also in the report of the employer');
    t.strictSame(await named('globex'), [], 'but not in the report of another one');
  }
  await deliver(
    db,
    [deductionOf('evt-late', { id: 'ded-dates', effective_end: '0001-01-01' }, '2026-05-01T00:00:00Z')],
    LATELY,
  );
  t.strictSame(await named(), [], 'an older state does not count');
});

t.test('the search for such dates reads no other versions', async (t) => {
  const db = await readyEmployer(t);
  const query = oddlyDatedDeductions(db, undefined).compile();
  const plan = await db.executeQuery(
    CompiledQuery.raw(`explain query plan ${query.sql}`, [...query.parameters]),
  );
  t.match(JSON.stringify(plan.rows), 'SCAN deduction_versions USING INDEX deduction_versions_odd_dates');
});
