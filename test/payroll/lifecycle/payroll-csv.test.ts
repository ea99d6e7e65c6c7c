/** A run written as payroll's file comes back as equal amounts, in any shape. */
import t from 'tap';
import { csvOf } from '../../../src/formats/csv.ts';
import { checkFormat, type FileFormat } from '../../../src/formats/file-format.ts';
import { fileReader, storedFormat } from '../../../src/formats/repair.ts';
import { readRows } from '../../../src/formats/rows.ts';
import { amountOf, centsOf } from '../../../src/money.ts';
import type { LineRecord } from '../../../src/payroll/calculation/line.ts';
import { payrollRows } from '../../../src/payroll/lifecycle/payroll-csv.ts';
import { AUDIT_COLUMNS } from '../../../src/payroll/reconciliation/audit.ts';
import { PAYROLL_FILE, payrollRecords } from '../../../src/payroll/settings/payroll-file.ts';
import fc from '../../support/seeded.ts';

const RUN = { run_id: 'r', pay_date: '2026-07-17', period_start: '2026-06-29', period_end: '2026-07-12' };
const CODES = (['medical', 'dental', 'vision'] as const).flatMap((line_of_coverage) =>
  (['employee', 'employer'] as const).map((side) => ({
    ...{ line_of_coverage, taxability: null, coverage_type: null, side, treatment: null },
    code: `${line_of_coverage} [${side}], "1"`,
  })),
);
const codeOf = (line_of_coverage: string, side: string): string =>
  CODES.find((code) => code.line_of_coverage === line_of_coverage && code.side === side)?.code as string;

const column = (header: string, field: string | null) => ({ header, field, rules: [] });
const SHAPES = [
  ['payroll_code', 'member_amount', 'employer_amount'],
  ['payroll_code', 'amount', 'kind'],
  CODES.map(({ code }) => `amount[${code}]`),
].map((fields) => [
  column('ID', 'employee_id'),
  column('-', null),
  ...fields.map((field) => column(field, field)),
]);

const cents = fc.bigInt({ min: -10_000_00n, max: 10_000_00n });
const line = fc.record({
  coverage: fc.constantFrom('medical', 'dental', 'vision'),
  kind: fc.constantFrom('regular', 'adjustment', 'arrears'),
  ...{ member: cents, employer: cents },
});
// Payroll's IDs, also such as a spreadsheet would compute, but not what marks a number or an ID as text: ="1", '1 and 'a-1.
const id = fc
  .stringMatching(/^[-=+@'0-9a-z,";]{1,12}$/)
  .filter((text) => !/^="|^'(?:[a-z][a-z-]*)?\d[\da-z-]*$|^\d+(\.\d+)?e\+?\d+$/i.test(text));
const employees = fc.uniqueArray(fc.tuple(id, fc.array(line, { minLength: 1, maxLength: 5 })), {
  selector: ([name]) => name,
  minLength: 1,
  maxLength: 5,
});

type Sums = Record<string, string>;

t.test('what goes out comes back as equal amounts', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...SHAPES),
      fc.constantFrom(null, 'acme-'),
      employees,
      async (columns, id_prefix, people) => {
        const checked = checkFormat({ columns, id_prefix }, PAYROLL_FILE);
        const format = (checked as { value: FileFormat }).value;
        const page = people.map(([name, lines]) => ({
          employeeId: `${id_prefix ?? ''}${name}`,
          lines: lines.map(({ coverage, kind, member, employer }) => ({
            ...{
              line_of_coverage: coverage,
              kind,
              member_amount: amountOf(member),
              employer_amount: amountOf(employer),
            },
            ...{
              payroll_code: codeOf(coverage, 'employee'),
              employer_payroll_code: codeOf(coverage, 'employer'),
            },
          })) as unknown as LineRecord[],
        }));
        const wanted: Map<string, bigint> = new Map();
        const add = (sums: Map<string, bigint>, key: string, amount: string) =>
          sums.set(key, (sums.get(key) ?? 0n) + centsOf(amount));
        for (const { employeeId, lines } of page)
          for (const { line_of_coverage, member_amount, employer_amount } of lines) {
            add(wanted, `${employeeId} ${line_of_coverage} employee`, member_amount);
            add(wanted, `${employeeId} ${line_of_coverage} employer`, employer_amount);
          }
        const rows = await payrollRows(RUN, [page] as never, format, CODES);
        const header = format.columns.map((column) => column.header);
        const csv = csvOf(header, [rows] as never, (row: string[]) => row);
        const reader = fileReader({
          kind: PAYROLL_FILE,
          find: storedFormat(format, PAYROLL_FILE),
          today: '2026-07-17',
        });
        const through = {
          records: (content: AsyncIterable<Uint8Array>) =>
            payrollRecords(reader.records(content), CODES, 'audit', RUN),
        };
        const read: Map<string, bigint> = new Map();
        for await (const row of readRows(csv, 'csv', AUDIT_COLUMNS, through)) {
          if ('problem' in row) throw new Error(JSON.stringify(row.problem));
          const {
            employee_id,
            payroll_code,
            member_amount = '0.00',
            employer_amount = '0.00',
          } = row.fields as Sums;
          const coverage = CODES.find(({ code }) => code === payroll_code)?.line_of_coverage;
          add(read, `${employee_id} ${coverage} employee`, member_amount);
          add(read, `${employee_id} ${coverage} employer`, employer_amount);
        }
        const shown = (sums: Map<string, bigint>) =>
          JSON.stringify(
            [...sums]
              .filter(([, sum]) => sum !== 0n)
              .map(([key, sum]) => [key, String(sum)])
              .sort(),
          );
        return shown(read) === shown(wanted);
      },
    ),
    { numRuns: 300 },
  );
});

t.test('a line whose amount has no code refuses the file, in any shape', async (t) => {
  const line = { ...{ line_of_coverage: 'medical', taxability: 'pre_tax' }, employer_payroll_code: 'E' };
  const rowsOf = (columns: (typeof SHAPES)[number], amounts: { member: string; employer: string }) => {
    const lines = [
      { ...line, payroll_code: null, member_amount: amounts.member, employer_amount: amounts.employer },
    ];
    const { value } = checkFormat({ columns, id_prefix: null }, PAYROLL_FILE) as { value: FileFormat };
    return payrollRows(RUN, [[{ employeeId: 'e', lines }]] as never, value, [
      ...CODES,
      { ...(CODES[1] as (typeof CODES)[number]), code: 'E' },
    ]);
  };
  const message =
    "Payroll would load only a part of the run, so no file is written. Lines of medical (pre_tax) without a payroll code of the employee's side: 1.";
  for (const columns of SHAPES)
    await t.rejects(rowsOf(columns, { member: '1.00', employer: '0.00' }), { message });
  const [bySide] = SHAPES as [(typeof SHAPES)[number]];
  t.strictSame(await rowsOf(bySide, { member: '0.00', employer: '0.00' }), []);
  await t.rejects(rowsOf(bySide, { member: '0.00', employer: '1.00' }), { message });
});
