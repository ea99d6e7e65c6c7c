import { linesInUse } from '../../src/ledger/lines-in-use.ts';
import { scratch } from '../database/scratch.ts';
import { onEitherEngine } from '../support/engine.ts';
import { deduct, EMPLOYER, employ } from '../support/payroll.ts';

onEitherEngine('the lines of coverage in use are those of an employer that have not ended', async (t) => {
  const { db } = await scratch(t);
  await employ(db, 'emp-1');
  await employ(db, 'emp-2');
  await employ(db, 'elsewhere', { employer_id: 'other' });
  await employ(db, 'moved', { termination_date: '2026-06-30' });
  await employ(db, 'moved', { employer_id: 'other', hire_date: '2026-07-01' });
  const lines = [
    ['vision', 'emp-1', {}],
    ['vision', 'emp-2', {}],
    ['dental', 'emp-1', { effective_end: '2026-07-13' }],
    ['hsa', 'emp-1', { effective_end: '2026-07-12' }],
    ['life', 'elsewhere', {}],
    ['voluntary_critical_illness', 'moved', {}],
  ] as const;
  for (const [place, [line_of_coverage, employee_id, dates]] of lines.entries())
    await deduct(db, `evt-${place}`, { id: `ded-${place}`, line_of_coverage, employee_id, ...dates });
  // The deduction moves to an employee of the other employer.
  await deduct(
    db,
    'evt-moved',
    { id: 'ded-0', line_of_coverage: 'accident', employee_id: 'elsewhere' },
    '2026-02-01T00:00:00Z',
  );
  t.strictSame(await linesInUse(db, EMPLOYER, '2026-07-13'), ['dental', 'vision']);
  t.strictSame(await linesInUse(db, 'other', '2026-07-13'), [
    'accident',
    'life',
    'voluntary_critical_illness',
  ]);
});
