import type { Db } from '../../../src/database/tables.ts';
import {
  type CutOverList,
  compareCutOver,
  signCutOver,
} from '../../../src/payroll/reconciliation/cut-over.ts';
import { scratch } from '../../database/scratch.ts';
import { refusedFor } from '../../formats/read.ts';
import { acting } from '../../support/audit.ts';
import { onEitherEngine } from '../../support/engine.ts';
import { deduct, EMPLOYER, employ, type Given, LATELY, rowsOf } from '../../support/payroll.ts';

const test = onEitherEngine.with(scratch);

const TODAY = '2026-07-10';

/** Deductions of emp-1: medical with an ID, and dental from a list without IDs. emp-2 has none. */
async function staged(db: Db): Promise<void> {
  await employ(db, 'emp-1');
  await employ(db, 'emp-2');
  await employ(db, 'emp-gone', { termination_date: '2026-06-30' });
  await deduct(db, 'e1', { id: 'ded-1', employee_id: 'emp-1' });
  const dental = { employee_id: 'emp-1', line_of_coverage: 'dental', employer_contribution: '0' };
  await deduct(db, 'e2', { ...dental, id: 'placeholder:emp-1:dental:pre_tax' });
}

const compare = (db: Db, list: CutOverList, ...rows: Given[]) =>
  compareCutOver(db, { employerId: EMPLOYER, list, today: TODAY, viewer: null }, rowsOf(...rows));

const briefly = async (db: Db, list: CutOverList, ...rows: Given[]) =>
  (await compare(db, list, ...rows)).shown.map(({ difference, employee_id, line_of_coverage, here, file }) =>
    [difference, employee_id, line_of_coverage, here, file].filter((value) => value).join(' | '),
  );

const MEDICAL = {
  ...{ employee_id: 'emp-1', line_of_coverage: 'medical', taxability: 'pre_tax', period: 'monthly' },
  ...{ member_contribution: '150', employer_contribution: '350.00' },
};

test('people are compared with the roster of today', async (t, { db }) => {
  await staged(db);
  t.strictSame(await briefly(db, 'people', { employee_id: 'emp-1' }, { employee_id: 'emp-gone' }), [
    'only_here | emp-2',
    'only_in_file | emp-gone',
  ]);
});

test('deductions are compared by employee, line of coverage and taxability, added up', async (t, { db }) => {
  await staged(db);
  const half = { ...MEDICAL, member_contribution: '75.00', employer_contribution: '175' };
  t.strictSame(await briefly(db, 'deductions', half, half), ['missing_id | emp-1 | dental | 150.00 monthly']);
  const rows = [
    { ...MEDICAL, member_contribution: '150.01' },
    { ...MEDICAL, employee_id: 'emp-2', employer_contribution: '' },
    {
      ...MEDICAL,
      employee_id: 'emp-2',
      line_of_coverage: 'vision',
      member_contribution: '0',
      employer_contribution: '0',
    },
    { ...MEDICAL, employee_id: 'emp-9' },
  ].map(({ employer_contribution, ...row }) =>
    employer_contribution === '' ? row : { ...row, employer_contribution },
  );
  const { shown: _, etag: __, ...counts } = await compare(db, 'deductions', ...rows);
  t.match(counts, { rows: 4, same: 1, differences: 3, missing_ids: 1, unknown_employees: 1 });
  t.strictSame(await briefly(db, 'deductions', ...rows), [
    'differs | emp-1 | medical | 150.00 plus employer 350.00 monthly | 150.01 plus employer 350.00 monthly',
    'missing_id | emp-1 | dental | 150.00 monthly',
    'only_in_file | emp-2 | medical | 150.00 monthly',
  ]);
});

test('an export of the service is compared by ID', async (t, { db }) => {
  await staged(db);
  t.strictSame(await briefly(db, 'service', { ...MEDICAL, id: 'ded-2' }), [
    'missing_id | emp-1 | dental | 150.00 monthly',
    'only_here | emp-1 | medical | 150.00 plus employer 350.00 monthly',
    'only_in_file | emp-1 | medical | 150.00 plus employer 350.00 monthly',
  ]);
  t.strictSame(await refusedFor(() => compare(db, 'service', MEDICAL)), ['lines[0].id: is required']);
});

test('people are signed off first, deductions once no ID is missing, and each as it was reviewed', async (t, {
  db,
}) => {
  await staged(db);
  const sign = async (list: CutOverList, row: Given, etag?: string) => {
    const compared = await compare(db, list, row);
    const reviewed = { etag: etag ?? compared.etag, reason: 'reviewed' };
    return signCutOver(db, EMPLOYER, compared, reviewed, acting(LATELY));
  };
  await t.rejects(sign('deductions', MEDICAL), { code: 'CONFLICT', message: /^1 deductions? / });
  await deduct(db, 'e3', { id: 'ded-3', employee_id: 'emp-1', line_of_coverage: 'dental' });
  await t.rejects(sign('deductions', MEDICAL), { code: 'CONFLICT', message: /people first/ });
  await t.rejects(sign('people', { employee_id: 'emp-1' }, 'another'), { code: 'PRECONDITION_FAILED' });
  await sign('people', { employee_id: 'emp-1' });
  await sign('deductions', MEDICAL);
  const records = await db
    .selectFrom('audit_records')
    .select(['resource_id', 'employer_id', 'reason', 'details'])
    .where('action', '=', 'cut-over.sign')
    .orderBy('record_id')
    .execute();
  t.match(records, [
    { resource_id: 'acme/people', employer_id: 'acme', reason: 'reviewed', details: /"differences":1/ },
    { resource_id: 'acme/deductions', details: /"missing_ids":0/ },
  ]);
});

test('a difference that is signed off stays known until it changes', async (t, { db }) => {
  await employ(db, 'emp-1');
  await employ(db, 'emp-2');
  const people = async (...ids: string[]) =>
    compare(db, 'people', ...ids.map((employee_id) => ({ employee_id })));
  const first = await people('emp-1');
  t.match(first, { differences: 1, signed_off: 0, signed_at: null });
  await signCutOver(db, EMPLOYER, first, { etag: first.etag, reason: 'starts in May' }, acting(LATELY));
  const { shown, ...again } = await people('emp-1', 'emp-3');
  t.match(again, { differences: 1, signed_off: 1, signed_at: LATELY });
  t.match(shown, [
    { employee_id: 'emp-3', signed_off: false },
    { employee_id: 'emp-2', signed_off: true },
  ]);
  const deductions = () => compare(db, 'deductions', MEDICAL);
  const missing = await deductions();
  await signCutOver(db, EMPLOYER, missing, { etag: missing.etag, reason: 'begins in May' }, acting(LATELY));
  t.match(await deductions(), { differences: 0, signed_off: 1 });
  await deduct(db, 'e1', { id: 'ded-1', employee_id: 'emp-1', member_contribution: '151.00' });
  t.match(await deductions(), { differences: 1, signed_off: 0 }, 'another difference of the same deduction');
});

test('a row counts on the days of its deduction', async (t, { db }) => {
  await staged(db);
  const ended = { ...MEDICAL, effective_start: '2026-01-01', effective_end: '2026-07-09T00:00:00Z' };
  const later = { ...MEDICAL, effective_start: '2026-07-11' };
  t.match(await compare(db, 'deductions', ended, later, { ...MEDICAL, effective_end: TODAY }), {
    ...{ rows: 3, same: 1 },
  });
});
