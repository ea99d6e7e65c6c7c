import { deepStrictEqual } from 'node:assert/strict';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import t from 'tap';
import type { LineRecord } from '../../../src/payroll/calculation/line.ts';
import { CSV_COLUMNS, csvOfLines } from '../../../src/payroll/lifecycle/csv.ts';
import { recordOf } from '../lines.ts';

const RUN = {
  run_id: 'acme-07',
  period_start: '2026-06-29',
  period_end: '2026-07-12',
  pay_date: '2026-07-17',
};

async function* pagesOf(...pages: LineRecord[][]): AsyncGenerator<LineRecord[]> {
  yield* pages;
}

async function textOf(...pages: LineRecord[][]): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of csvOfLines(RUN, pagesOf(...pages))) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString('utf8');
}

/** Parses CSV as any RFC 4180 reader does. */
const records = (text: string): string[][] => parse(text, { record_delimiter: '\r\n' });

async function cellsOf(...lines: LineRecord[]): Promise<Record<string, string>[]> {
  const [header = [], ...rows] = records(await textOf(lines));
  return rows.map((cells) => Object.fromEntries(header.map((name, index) => [name, cells[index] as string])));
}

t.test('a CSV has a header and one record per line, each ending with CRLF, over all pages', async (t) => {
  const text = await textOf([recordOf({}), recordOf({ employee_id: 'emp-2' })], [], [recordOf({})]);
  t.equal(text.split('\r\n').length, 5);
  t.ok(text.endsWith('\r\n'));
  t.strictSame(records(text)[0], [...CSV_COLUMNS]);
  t.equal(await textOf(), `${CSV_COLUMNS.join()}\r\n`, 'a run without lines');
});

t.test('each column has the value of its name', async (t) => {
  const full = recordOf({
    payroll_code: 'MED',
    employer_payroll_code: 'MED-ER',
    employer_treatment: 'memo',
    coverage_type: 'member_family',
    description: 'Plan A',
    kind: 'adjustment',
    adjustment_for: 'acme-06',
    adjustment_pay_date: '2026-07-03',
    change: 'changed',
    replaces_deduction_id: 'ded-0',
    previous_amount: '60.00',
    item_id: 'adjustment:acme-06:emp-1:ded-1:medical:pre_tax',
    outstanding_after: '1.00',
    flags: ['retro_refund', 'missed_check'],
  });
  const arrears = recordOf({ version: null, period: null, member_contribution: null, kind: 'arrears' });
  const [first, second] = await cellsOf(full, arrears);
  t.strictSame(first, {
    ...RUN,
    ...{ employee_id: 'emp-1', deduction_id: 'ded-1', version: '3', kind: 'adjustment' },
    ...{ line_of_coverage: 'medical', coverage_type: 'member_family', taxability: 'pre_tax' },
    ...{ payroll_code: 'MED', employer_payroll_code: 'MED-ER', employer_treatment: 'memo' },
    ...{ description: 'Plan A', period: 'monthly', explanation: 'as computed' },
    ...{ member_contribution: '150.00', employer_contribution: '350' },
    ...{ member_amount: '69.24', employer_amount: '161.54', amount_change: '' },
    ...{ adjustment_for: 'acme-06', adjustment_pay_date: '2026-07-03', outstanding_after: '1.00' },
    ...{ change: 'changed', previous_amount: '60.00', member_difference: '', employer_difference: '' },
    ...{ flags: 'retro_refund missed_check', replaces_deduction_id: 'ded-0' },
    item_id: 'adjustment:acme-06:emp-1:ded-1:medical:pre_tax',
  });
  const { version, period, member_contribution } = second ?? {};
  t.strictSame([version, period, member_contribution], ['', '', '']);
});

t.test('a CSV is read back as any text that it was written from', async () => {
  const text = fc
    .array(fc.constantFrom('"', ',', '\r', '\n', ' ', ';', '\\', '\u2028', 'é'))
    .map((list) => `x${list.join('')}`);
  await fc.assert(
    fc.asyncProperty(text, text, async (description, explanation) => {
      const [read] = await cellsOf(recordOf({ description, explanation }));
      deepStrictEqual([read?.description, read?.explanation], [description, explanation]);
    }),
  );
});

t.test('a preview has no run id', async (t) => {
  const { run_id: _, ...run } = RUN;
  const parts: string[] = [];
  for await (const part of csvOfLines(run, pagesOf([recordOf({})]))) parts.push(String(part));
  t.match(records(parts.join(''))[1]?.slice(0, 2), ['', RUN.period_start]);
});

t.test('text that a spreadsheet would execute is escaped, and numbers stay numbers', async (t) => {
  const formulas = ['=1+1', '+1', '-1', '@sum', '\t=1', '\r=1', '\n=1', '＝1', "'=1"];
  for (const description of formulas) {
    const [cells] = await cellsOf(recordOf({ description, employee_id: description }));
    t.equal(cells?.description, `'${description}`);
    t.equal(cells?.employee_id, `'${description}`);
  }
  const numbers = {
    member_amount: '-12.34',
    employer_amount: '-0.01',
    previous_amount: '-5.00',
    member_contribution: '+150',
    employer_contribution: '-1',
  };
  const description = 'it\'s 1-1=0, "ä";\r\n😀';
  const [cells = {}] = await cellsOf(recordOf({ ...numbers, description }));
  const kept = Object.fromEntries(Object.keys(numbers).map((name) => [name, cells[name]]));
  t.strictSame(kept, numbers);
  t.equal(cells.description, description, 'other text stays, too');
});
