import type { Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import { assignmentsOf } from '../../../src/ledger/assignments.ts';
import { assignDeduction } from '../../../src/payroll/lifecycle/assign.ts';
import { scratch } from '../../database/scratch.ts';
import { acting } from '../../support/audit.ts';
import { onEitherEngine } from '../../support/engine.ts';
import { body, election, employment, finalized, LATELY, learn, send, voided } from '../../support/payroll.ts';

const OTHER = 'other';

/** An employee of acme who begins a second job on February 1. */
async function begin(t: Test) {
  const { db } = await scratch(t);
  await learn(db, employment('e'), employment('f', { employer_id: 'third' }));
  await send(db, election('2025-12-01'));
  return db;
}

const test = onEitherEngine.with(begin);

const hire = (db: Db) => learn(db, employment('e', { employer_id: OTHER, hire_date: '2026-02-01' }));

function assign(
  db: Db,
  employerId: string,
  effectiveOn: string | null,
  { deductionId = 'a', reason = 'elected in this job' } = {},
) {
  const assigning = { deductionId, employerId, effectiveOn, reason };
  return assignDeduction(db, assigning, acting(LATELY));
}

const NOT_EMPLOYED = { code: 'ASSIGNMENT_REFUSED', problems: [{ path: 'employer_id' }] };
const takenBy = (runs: string) => ({ code: 'CONFLICT', message: new RegExp(`: ${runs}\\. Assign it`) });

test('an assignment has a ledger position, and begins today without a date', async (t, db) => {
  await hire(db);
  t.match(await assign(db, OTHER, null), {
    isNew: true,
    assignment: { position: 5, employer_id: OTHER, effective_on: LATELY.slice(0, 10), recorded_at: LATELY },
  });
  t.match(await assign(db, 'acme', '2026-07-20'), { assignment: { position: 6 } });
  t.equal((await assignmentsOf(db, ['a'])).get('a')?.length, 2, 'the first one is kept');
});

test('the latest assignment again changes nothing', async (t, db) => {
  await hire(db);
  await assign(db, OTHER, null);
  await finalized(db, 'r', body(14, { employer_id: OTHER }));
  t.match(await assign(db, OTHER, null), { isNew: false, assignment: { position: 5 } });
  await t.rejects(assign(db, OTHER, null, { reason: 'a corrected contract' }), takenBy('r'));
  await assign(db, 'acme', '2026-12-01');
  t.match(await assign(db, OTHER, '2026-12-01'), { isNew: true }, 'no longer the latest');
});

test('an unknown deduction and an employer without a job are refused', async (t, db) => {
  await t.rejects(assign(db, 'acme', null, { deductionId: 'b' }), { code: 'NOT_FOUND' });
  await send(db, election('2025-12-01', { employee_id: 'nobody' }, 'of-nobody'));
  await t.rejects(assign(db, 'acme', null, { deductionId: 'of-nobody' }), NOT_EMPLOYED);
  for (const employer of [OTHER, 'third'])
    await t.rejects(assign(db, employer, null), NOT_EMPLOYED, employer);
  await learn(db, employment('e', { employer_id: OTHER, hire_date: '2026-08-01' }));
  await t.rejects(assign(db, OTHER, '2026-07-31'), NOT_EMPLOYED);
  t.match(await assign(db, OTHER, '2026-08-01'), { isNew: true }, 'the job begins by then');
  await learn(db, employment('e', { termination_date: '2026-07-01' }));
  t.match(await assign(db, 'acme', '2026-08-01'), { isNew: true }, 'a job that ended');
});

test('an assignment that contradicts a finalized run is refused until its void', async (t, db) => {
  await finalized(db, 'r1', body(1));
  await finalized(db, 'r2', body(2));
  await hire(db);
  await finalized(db, 'r3', body(3));
  // The periods of the runs end on January 15 and 29, and on February 12.
  await t.rejects(assign(db, OTHER, '2026-01-15'), takenBy('r1, r2'));
  const later = { line_of_coverage: 'dental', effective_start: '2026-07-01' } as const;
  await send(db, election('2026-06-01', later, 'b'));
  const ofLater = await assign(db, OTHER, '2026-01-15', { deductionId: 'b' });
  t.match(ofLater, { isNew: true }, 'the runs took no part of it');
  await t.rejects(assign(db, OTHER, '2026-01-16'), takenBy('r2'));
  await voided(db, 'r2');
  t.match(await assign(db, OTHER, '2026-01-16'), { isNew: true }, 'run 3 took it in neither');
});

test('a run that only stopped the deduction contradicts no assignment', async (t, db) => {
  await finalized(db, 'r1', body(1));
  await send(db, election('2026-01-16', { effective_end: '2026-01-15' }));
  await finalized(db, 'r2', body(2));
  await hire(db);
  t.match(await assign(db, OTHER, '2026-01-16'), { isNew: true });
});

test('an assignment that replaces a later one is recorded at its employer too', async (t, db) => {
  await learn(db, employment('e', { employer_id: OTHER, hire_date: '2026-09-01' }));
  await assign(db, OTHER, '2026-09-01');
  await assign(db, 'acme', '2026-08-01');
  const records = db.selectFrom('audit_records').select(['employer_id', 'details']);
  const assigned = await records.where('action', '=', 'deduction.assign').orderBy('record_id').execute();
  const employers = assigned.filter(({ details }) => details?.includes('2026-08-01'));
  t.strictSame(employers.map(({ employer_id }) => employer_id).sort(), ['acme', OTHER]);
});
