import { deepStrictEqual } from 'node:assert/strict';
import type { Db } from '../../../src/database/tables.ts';
import { amountOf, centsOf } from '../../../src/money.ts';
import type { LineRecord } from '../../../src/payroll/calculation/line.ts';
import { AUDIT_ROWS_NAMED, type Audit, auditRun } from '../../../src/payroll/reconciliation/audit.ts';
import { scratch } from '../../database/scratch.ts';
import { refusedFor } from '../../formats/read.ts';
import { onSqlite } from '../../support/engine.ts';
import { EMPLOYER, employ, type Given, rowsOf } from '../../support/payroll.ts';
import fc from '../../support/seeded.ts';
import { recordOf } from '../lines.ts';

async function* pagesOf(...lines: LineRecord[]) {
  for (const [employeeId, own] of Map.groupBy(lines, (line) => line.employee_id))
    yield [{ employeeId, lines: own }];
}

function audited(db: Db, lines: readonly LineRecord[], ...rows: Given[]): Promise<Audit> {
  return auditRun(db, { employerId: EMPLOYER, pages: pagesOf(...lines) }, rowsOf(...rows));
}

/** Counts by category: matched, only here, only in payroll, differs, unknown. */
function counts(audit: Audit): number[] {
  const { matched, only_here, only_in_payroll, amount_differs, employee_unknown } = audit;
  return [matched, only_here, only_in_payroll, amount_differs, employee_unknown].map(
    (category) => category.count,
  );
}

async function employer(t: Parameters<typeof scratch>[0]): Promise<Db> {
  const { db } = await scratch(t);
  await employ(db, 'emp-1');
  await employ(db, 'emp-2');
  await employ(db, 'emp-other', { employer_id: 'another' });
  return db;
}

const test = onSqlite.with(employer);

test('a coarser file is compared with sums of lines, and a finer one is summed up', async (t, db) => {
  const lines = [
    recordOf({ deduction_id: 'a', payroll_code: 'MED', member_amount: '10.00', employer_amount: '5.00' }),
    recordOf({ deduction_id: 'b', payroll_code: 'MED', member_amount: '2.50', employer_amount: '0.50' }),
    recordOf({
      deduction_id: 'a',
      payroll_code: 'MED',
      kind: 'adjustment',
      member_amount: '-0.25',
      employer_amount: '0.00',
    }),
    recordOf({ deduction_id: 'c', payroll_code: 'DEN', line_of_coverage: 'dental', member_amount: '7.00' }),
  ];
  const byCode = await audited(
    db,
    lines,
    { employee_id: 'emp-1', payroll_code: 'MED', member_amount: '12.25', employer_amount: '5.50' },
    { employee_id: 'emp-1', payroll_code: 'DEN', member_amount: '3' },
    { employee_id: 'emp-1', payroll_code: 'DEN', member_amount: '4' },
  );
  t.strictSame(counts(byCode), [2, 0, 0, 0, 0]);
  const byCoverage = await audited(
    db,
    lines,
    { employee_id: 'emp-1', line_of_coverage: 'medical', member_amount: '12.25' },
    { employee_id: 'emp-1', line_of_coverage: 'dental', member_amount: '7' },
  );
  t.strictSame(counts(byCoverage), [2, 0, 0, 0, 0]);
  t.equal(byCode.matched.payroll_employer_amount, '5.50');
  t.equal(byCoverage.matched.payroll_employer_amount, null, 'the file has no employer amounts');
  const byDeduction = await audited(db, lines, {
    employee_id: 'emp-1',
    deduction_id: 'a',
    member_amount: '9.75',
  });
  t.strictSame(counts(byDeduction), [1, 2, 0, 0, 0], 'with its adjustment');
  const byTwo = await audited(
    db,
    lines,
    { employee_id: 'emp-1', deduction_id: 'a', payroll_code: 'MED', member_amount: '9.75' },
    { employee_id: 'emp-1', deduction_id: 'c', payroll_code: 'MED', member_amount: '7' },
  );
  t.strictSame(byTwo.compared_by, ['deduction_id', 'payroll_code']);
  t.strictSame(counts(byTwo), [1, 2, 1, 0, 0], 'another code does not match the line');
});

test('ids with any characters stay separate', async (t, db) => {
  const lines = [
    recordOf({ employee_id: 'emp-1', deduction_id: '","x' }),
    recordOf({ employee_id: 'emp-1"', deduction_id: ',"x' }),
  ];
  const audit = await audited(
    db,
    lines,
    { employee_id: 'emp-1', deduction_id: '","x', member_amount: '69.24' },
    { employee_id: 'emp-1"', deduction_id: ',"x', member_amount: '69.24' },
  );
  t.strictSame(counts(audit), [2, 0, 0, 0, 0]);
});

test('each invalid row is named before any line is read', async (t, db) => {
  const rule = 'must be an amount such as 12.34 or -5: at most 2 decimals, no other signs';
  const rows = [
    { employee_id: 'e', deduction_id: 'd', member_amount: '1' },
    { deduction_id: 'd', member_amount: '1' },
    { employee_id: 'e', deduction_id: 'd' },
    { employee_id: 'e', deduction_id: 'd', member_amount: '1.001' },
    { employee_id: 'e', deduction_id: 'd', member_amount: '1', employer_amount: '1,5' },
    { employee_id: 'e', member_amount: '1' },
    { employee_id: 'e', payroll_code: 'd', member_amount: '1' },
    { employee_id: 'e', deduction_id: 'd', line_of_coverage: 'medical', member_amount: '1' },
    { employee_id: 'e', line_of_coverage: 'Medical', member_amount: '1' },
  ] as Given[];
  const pages = {
    [Symbol.asyncIterator]: () => {
      throw new Error('the lines were read');
    },
  };
  const problems = await refusedFor(() => auditRun(db, { employerId: EMPLOYER, pages }, rowsOf(...rows)));
  t.strictSame(problems, [
    'lines[1].employee_id: is required',
    'lines[2].member_amount: is required',
    `lines[3].member_amount: ${rule}`,
    `lines[4].employer_amount: ${rule}`,
    'lines[5]: must name its deduction or code: deduction_id or payroll_code or line_of_coverage',
    'lines[6]: must use the same columns as the rows before it: deduction_id',
    'lines[7]: must use the same columns as the rows before it: deduction_id',
    'lines[8].line_of_coverage: must be written as in the lines of the run; did you mean medical?',
  ]);
  const empty = await refusedFor(() => auditRun(db, { employerId: EMPLOYER, pages }, []));
  t.strictSame(empty, ['lines: must have at least 1 element']);
});

test('with a code for each side, an employer that pays nothing has no row', async (t, db) => {
  const line = recordOf({ payroll_code: 'MED', member_amount: '7.00', employer_amount: '0.00' });
  const run = { employerId: EMPLOYER, pages: pagesOf(line) };
  const rows = rowsOf({ employee_id: 'emp-1', payroll_code: 'MED', member_amount: '7.00' });
  t.strictSame(counts(await auditRun(db, run, rows, { isBySide: () => true })), [1, 0, 0, 0, 0]);
});

test('more rows than the limit are rejected without reading all', async (t, db) => {
  let given = 0;
  function* many() {
    const [row] = rowsOf({ employee_id: 'e', deduction_id: 'd', member_amount: '1' });
    for (; ; given += 1) yield row as NonNullable<typeof row>;
  }
  const audit = () => auditRun(db, { employerId: EMPLOYER, pages: pagesOf() }, many(), { rowsMax: 5_000 });
  t.strictSame(await refusedFor(audit), ['lines: must have at most 5000 elements']);
  t.ok(given < 7_000, `${given} rows were read`);
});

test('a category names its first rows and counts all', async (t, db) => {
  const rows = Array.from({ length: AUDIT_ROWS_NAMED + 5 }, (_, index) => ({
    employee_id: `e-${String(index).padStart(5, '0')}`,
    deduction_id: 'd',
    member_amount: '1',
  }));
  const { employee_unknown } = await audited(db, [], ...rows.toReversed());
  t.equal(employee_unknown.count, rows.length);
  t.equal(employee_unknown.payroll_member_amount, '1005.00');
  const ids = employee_unknown.rows.map((row) => row.employee_id);
  const expected = rows.slice(0, AUDIT_ROWS_NAMED).map((row) => row.employee_id);
  t.strictSame(ids, expected, 'in order of ids');
});

test('an unknown employee is named with the id in the roster that differs only by zeros or case', async (t, db) => {
  const row = { deduction_id: 'd', member_amount: '1' };
  const { employee_unknown } = await audited(
    db,
    [],
    { employee_id: 'EMP-1', ...row },
    { employee_id: 'x', ...row },
  );
  const named = employee_unknown.rows.map(({ employee_id, near_employee_id }) => [
    employee_id,
    near_employee_id,
  ]);
  t.strictSame(named, [
    ['EMP-1', 'emp-1'],
    ['x', undefined],
  ]);
});

const amounts = fc.integer({ min: -3, max: 3 }).map((cents) => amountOf(BigInt(cents)));
const employees = fc.constantFrom('emp-1', 'emp-2', 'emp-3', 'nobody');
const deductions = fc.constantFrom('a', 'b');
const someLines = fc.array(
  fc.record({
    employee_id: fc.constantFrom('emp-1', 'emp-2', 'emp-3'),
    deduction_id: deductions,
    member_amount: amounts,
    employer_amount: amounts,
  }),
  { maxLength: 12 },
);
const someRows = fc.array(
  fc.record(
    { employee_id: employees, deduction_id: deductions, member_amount: amounts, employer_amount: amounts },
    { requiredKeys: ['employee_id', 'deduction_id', 'member_amount'] },
  ),
  { minLength: 1, maxLength: 12 },
);

test('each employee and deduction is in exactly the category that a direct comparison gives', async (_, db) => {
  await employ(db, 'emp-3');
  const sum = (all: readonly (string | bigint | undefined)[]) =>
    all.reduce<bigint>((total, one) => total + (typeof one === 'bigint' ? one : centsOf(one ?? '0.00')), 0n);
  await fc.assert(
    fc.asyncProperty(someLines, someRows, async (made, rows) => {
      const lines = made
        .map((fields) => recordOf(fields))
        .sort((one, other) => (one.employee_id < other.employee_id ? -1 : 1));
      const audit = await audited(db, lines, ...(rows as Given[]));
      const expected = [0, 0, 0, 0, 0];
      const givesEmployer = rows.some((row) => row.employer_amount !== undefined);
      for (const employee_id of ['emp-1', 'emp-2', 'emp-3', 'nobody']) {
        for (const deduction_id of ['a', 'b']) {
          const is = (one: { employee_id: string; deduction_id: string }) =>
            one.employee_id === employee_id && one.deduction_id === deduction_id;
          const here = lines.filter(is);
          const there = rows.filter(is);
          const member = [
            sum(here.map((one) => one.member_amount)),
            sum(there.map((one) => one.member_amount)),
          ];
          const given = there.filter((one) => one.employer_amount !== undefined);
          const employerHere = sum(here.map((one) => one.employer_amount));
          const employerThere = sum(given.map((one) => one.employer_amount));
          if (here.length === 0 && there.length === 0) continue;
          let category: number;
          if (there.length === 0)
            category = member[0] === 0n && (!givesEmployer || employerHere === 0n) ? 0 : 1;
          else if (here.length > 0)
            category =
              member[0] === member[1] && (given.length === 0 || employerHere === employerThere) ? 0 : 3;
          else category = member[1] === 0n && employerThere === 0n ? 0 : employee_id === 'nobody' ? 4 : 2;
          expected[category] = (expected[category] as number) + 1;
        }
      }
      deepStrictEqual(counts(audit), expected);
      const categories = [
        audit.matched,
        audit.only_here,
        audit.only_in_payroll,
        audit.amount_differs,
        audit.employee_unknown,
      ];
      const adds = (name: 'member_amount' | 'employer_amount') => {
        deepStrictEqual(sum(categories.map((each) => each[name])), sum(lines.map((line) => line[name])));
        const inFile = sum(categories.map((each) => each[`payroll_${name}`] ?? undefined));
        deepStrictEqual(inFile, sum(rows.map((row) => row[name])));
      };
      adds('member_amount');
      adds('employer_amount');
    }),
    { numRuns: 150 },
  );
});
