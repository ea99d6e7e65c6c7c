import type { Db } from '../../../src/database/tables.ts';
import type { RequestedRun, RunBody } from '../../../src/payroll/records/body.ts';
import { readinessOfRun } from '../../../src/readiness/run-report.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  BIWEEKLY,
  bodyOn,
  deduct,
  employ,
  finalize,
  put,
  putOn,
  QUESTION,
  readyEmployer,
  runOn,
  schedule,
  setPolicy,
  setSchedules,
  storedRun,
} from '../../support/payroll.ts';

const test = onEitherEngine.with(readyEmployer);

/** Returns the findings of a check. */
async function named(db: Db, id: string, run: RequestedRun) {
  const { checks } = await readinessOfRun(db, run, null, QUESTION);
  return checks.find((check) => check.id === id)?.findings.map(({ text }) => text) ?? [];
}

async function paid(db: Db, payDate: string, fields: object = {}): Promise<void> {
  const { run_id } = await putOn(db, payDate, fields);
  await finalize(db, run_id);
  const { state } = await storedRun(db, run_id);
  if (state !== 'finalized') throw new Error(`${run_id} is ${state}`);
}

test('only the first run of a year without a pay schedule says so', async (t, db) => {
  await setSchedules(db, []);
  const both = async (payDate: string, fields: object = {}) => [
    await named(db, 'no-pay-schedule', runOn(payDate, fields)),
    await named(db, 'employees-not-scheduled', runOn(payDate, fields)),
  ];
  const even = 'biweekly, 2026: 1/26 of the year on each check';
  t.strictSame(await both('2026-07-03'), [[even], ['emp-1', 'emp-2']]);
  await paid(db, '2026-07-03');
  t.strictSame(await both('2026-07-17'), [[], []]);
  await employ(db, 'emp-3');
  await deduct(db, 'evt-3', { id: 'ded-3', employee_id: 'emp-3' });
  t.strictSame(await both('2026-07-17'), [[], ['emp-3']], 'an employee whom no run had');
  await setSchedules(db, [schedule({ pay_frequency: 'weekly', pay_dates: BIWEEKLY })]);
  t.match(await both('2026-07-17'), [[], ['emp-1', 'emp-2', 'emp-3']], 'a schedule that has none of them');
});

test('only the first run of two elections that are normal names them', async (t, db) => {
  const elect = (id: string) =>
    deduct(db, `evt-${id}`, { id, employee_id: 'emp-1', line_of_coverage: 'accident' });
  await elect('ded-3');
  await elect('ded-4');
  const overlaps = (payDate: string) => named(db, 'overlap', runOn(payDate));
  t.strictSame(await overlaps('2026-07-03'), ['emp-1: accident 69.23, accident 69.23']);
  await paid(db, '2026-07-03');
  t.strictSame(await overlaps('2026-07-17'), []);
  await elect('ded-5');
  t.equal((await overlaps('2026-07-17')).length, 2, 'the pairs with a third election');
});

test('the first run of a deduction names the months that premiums a month ahead leave out', async (t, db) => {
  await setPolicy(db, { applies_on: 'next_month' });
  await paid(db, '2026-06-05');
  const first = (payDate: string) => named(db, 'first-month-ahead', runOn(payDate));
  t.strictSame(await first('2026-06-19'), []);
  const vision = { id: 'ded-3', employee_id: 'emp-1', line_of_coverage: 'vision' };
  await deduct(db, 'evt-3', { ...vision, effective_start: '2026-07-01' });
  t.strictSame(await first('2026-06-19'), [], 'an earlier run looked at its start');
  await deduct(db, 'evt-4', { ...vision, effective_start: '2026-05-01' });
  t.strictSame(await first('2026-06-19'), [
    'emp-1: vision 69.23 (ded-3) a check, from 2026-05-01; the first run looks at 2026-07-01',
  ]);
  await paid(db, '2026-06-19');
  t.strictSame(await first('2026-07-03'), []);
});

test('an off-cycle run that pays a missed check adds nothing to the year', async (t, db) => {
  await paid(db, '2026-07-03', { employee_ids: ['emp-1'] });
  const fields: Partial<RunBody> = { kind: 'off_cycle', employee_ids: ['emp-2'], deductions: ['ded-2'] };
  const adds = () => named(db, 'off-cycle-adds', runOn('2026-07-03', fields));
  t.strictSame(await adds(), []);
  await put(db, 'off-cycle', bodyOn('2026-07-03', fields));
  await finalize(db, 'off-cycle');
  t.strictSame(await adds(), ['1 employee, 69.23'], 'the check is paid already');
});

const VISION = { id: 'ded-3', employee_id: 'emp-1', line_of_coverage: 'vision' };

/** Sends a vision election in windows, one after the other. */
async function electVision(db: Db, ...windows: readonly object[]): Promise<void> {
  for (const [index, window] of windows.entries())
    await deduct(db, `evt-vision-${index}`, { ...VISION, ...window }, `2026-06-0${index + 1}T00:00:00Z`);
}

/** Facts that stay the same in later runs, by the check that warns of them. The first run is on 2026-07-17. */
const LASTING: Record<string, (db: Db) => Promise<void>> = {
  'termination-contradicted': async (db) => {
    await employ(db, 'emp-2', { termination_date: '2026-07-01' });
    await employ(db, 'emp-2');
  },
  'transfer-unknown': (db) => employ(db, 'emp-2', { employer_id: 'globex', termination_date: '2026-07-08' }),
  'paid-after-termination': async (db) => {
    await paid(db, '2026-07-03');
    await employ(db, 'emp-1', { termination_date: '2026-06-10' });
  },
  'start-moved': (db) =>
    electVision(
      db,
      { effective_start: '2026-07-01' },
      { effective_start: '2026-09-01', member_contribution: '99.00' },
    ),
  'start-corrected': (db) =>
    electVision(db, { effective_start: '2026-07-01' }, { effective_start: '2026-09-01' }),
  'renewal-erased': (db) =>
    electVision(
      db,
      { effective_start: '2026-01-01' },
      { effective_start: '2026-09-01', member_contribution: '20.00' },
      { effective_start: '2026-01-01', effective_end: '2026-08-31', member_contribution: '12.00' },
    ),
};

for (const [check, happen] of Object.entries(LASTING))
  test(`only the first run names what ${check} warns of`, async (t, db) => {
    await happen(db);
    t.equal((await named(db, check, runOn('2026-07-17'))).length, 1);
    await paid(db, '2026-07-17');
    t.strictSame(await named(db, check, runOn('2026-07-31')), []);
  });
