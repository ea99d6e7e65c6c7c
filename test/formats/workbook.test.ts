/** Workbooks as people and programs write them. As an attacker may: test/faults/workbook-bounds.test.ts. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import t from 'tap';
import { columnName, numberStyle, numberText } from '../../src/formats/workbook/cell-text.ts';
import { workbookRows } from '../../src/formats/workbook/rows.ts';
import { parts } from './read.ts';
import { readWorkbook } from './read-workbook.ts';
import { type Cell, rowsXml, sheetOf, styled, workbookOf } from './workbook-file.ts';

const formula = (rest: string): Cell => ({ xml: rest });

t.test('a cell is read as the text that it means', async (t) => {
  const cells: readonly (readonly [Cell, string])[] = [
    ['0012', '0012'],
    [1001, '1001'],
    [{ xml: '><v>1001.0</v></c>' }, '1001'],
    [{ xml: '><v>1008.0700000000001</v></c>' }, '1008.07'],
    [{ xml: '><v>1.2E+9</v></c>' }, '1200000000'],
    [{ xml: '><v>123456789012345</v></c>' }, '123456789012345'],
    // More digits than a spreadsheet keeps: refused where digits matter.
    [{ xml: '><v>1.23456789012345E+18</v></c>' }, '1.23456789012345E+18'],
    [{ xml: '><v>4111111111111110</v></c>' }, '4.11111111111111E+15'],
    [{ xml: '><v>5.0000000000000001E-3</v></c>' }, '0.005'],
    [styled(1, 29_316), '1980-04-05'],
    [styled(5, 29_316), '1980-04-05'],
    [styled(2, 29_316.5), '1980-04-05 12:00:00'],
    [styled(2, '29315.999999999996'), '1980-04-05'],
    [styled(1, 59), '1900-02-28'],
    [styled(1, 60), '1900-02-29'],
    [styled(1, 61), '1900-03-01'],
    [styled(7, 0.5), '12:00:00'],
    [styled(6, 52_000), '52000'],
    [styled(3, 2108), '02108'],
    [styled(4, 12_345_678), '012-34-5678'],
    [{ xml: ' t="d"><v>1980-04-05T00:00:00Z</v></c>' }, '1980-04-05'],
    [{ xml: ' t="b"><v>1</v></c>' }, 'TRUE'],
    [{ xml: ' t="s"><v>1</v></c>' }, 'Peña & Co.'],
    [formula(' t="str"><f>A1&amp;A2</f><v>a_x000D_b</v></c>'), 'a\rb'],
    [formula('><f>1+1</f><v>2</v></c>'), '2'],
    [formula(' t="str"><f>IF(1,"","")</f><v></v></c>'), ''],
  ];
  const strings =
    '<sst><si><t>one</t></si><si><r><t>Peña</t></r><r><t xml:space="preserve"> &amp; Co.</t></r><rPh sb="0" eb="1"><t>no</t></rPh></si></sst>';
  const { rows, form } = await readWorkbook(
    workbookOf({ sheets: [{ rows: cells.map(([cell]) => [cell, 'end']) }], strings }),
  );
  t.strictSame(
    rows.map(([text]) => text),
    cells.map(([, text]) => text),
  );
  t.match(form, { sheet: 'Sheet1', is1904: false });
  const later = await readWorkbook(
    workbookOf({ sheets: [{ rows: [[styled(1, 27_854), 'x']] }], is1904: true }),
  );
  t.strictSame(later.rows, [['1980-04-05', 'x']], 'dates that count from 1904');
});

t.test('formats that only look like dates are none', async (t) => {
  const codes = ['General', '0.00E+00', '#,##0.00 "days"', '[Red]0.00', '\\d0', '@'];
  for (const code of codes) t.equal(numberStyle(200, code).isDate, false, code);
  for (const code of ['dd/mm/yyyy', '[$-409]mmm d, yyyy;@', 'yyyy\\-mm\\-dd', 'mm:ss.0', '[h]:mm'])
    t.equal(numberStyle(200, code).isDate, true, code);
  t.equal(numberText('12x'), null);
  t.strictSame([0, 25, 26, 701, 702].map(columnName), ['A', 'Z', 'AA', 'ZZ', 'AAA']);
});

t.test('an error, and a formula without a value, are named by their cell', async (t) => {
  const { broken, rows } = await readWorkbook(
    sheetOf({
      rows: [
        [{ xml: ' t="e"><v>#N/A</v></c>' }],
        ['x', formula('><f>VLOOKUP(A1,B:C,2)</f></c>')],
        [null, formula('><f>1+1</f><v/></c>')],
        [{ xml: ' t="e"><v>Maria</v></c>' }],
      ],
    }),
  );
  t.equal(rows.length, 4, 'a row of such cells is not blank');
  t.match(broken, [
    'has the error #N/A in the cell A1: correct it',
    /^has a formula without a value in the cell B2/,
    /in the cell B3/,
    'has an error in the cell A4: correct it',
  ]);
});

t.test('rows keep their numbers, and hidden and merged ones are counted', async (t) => {
  const file = sheetOf({
    xml: `${rowsXml([['a', 'b', 'c']], 3)}<row r="5" hidden="1"><c r="B5"><v>1</v></c></row><row r="6"><c r="A6" s="1"/></row><row><c><v>7</v></c><c r="C7"><v>9</v></c></row>`,
    after:
      '<mergeCells><mergeCell ref="A1:F1"/><mergeCell ref="A6:A7"/><mergeCell ref="A2:B3"/></mergeCells>',
  });
  const { rows, lines, form, merged } = await readWorkbook(file);
  t.strictSame(rows, [
    ['a', 'b', 'c'],
    ['', '1', ''],
    ['7', '', '9'],
  ]);
  t.strictSame(lines, [3, 5, 7]);
  t.match(form, { hidden_rows: 1 });
  t.strictSame(merged, { cells: 'A6:A7', from: 6, to: 7 });
});

t.test('the only visible sheet with data is read, or the one that the format names', async (t) => {
  const sheets = [
    { name: 'Notes' },
    { name: 'Census', rows: [['a']] },
    { name: 'Terminated', rows: [['b']], state: 'hidden' },
  ];
  t.match(await readWorkbook(workbookOf({ sheets })), { rows: [['a']], form: { sheet: 'Census' } });
  t.match(await readWorkbook(workbookOf({ sheets }), {}, 'terminated'), { rows: [['b']] });
  const two = workbookOf({ sheets: [...sheets, { name: 'Rates & codes', rows: [['c']] }] });
  t.strictSame((await readWorkbook(two)).problem, {
    path: '',
    rule: 'has several sheets with data: name one in the file format',
    hint: 'its sheets are "Census", "Rates & codes"',
  });
  const missing = await readWorkbook(two, {}, 'Employees');
  t.match(missing.problem, { rule: /has no sheet of the name/, hint: /"Notes", "Census", "Terminated"/ });
  const hidden = workbookOf({ sheets: [{ name: 'Notes' }, { rows: [['b']], state: 'veryHidden' }] });
  t.match((await readWorkbook(hidden)).problem, { rule: /no sheet with data: unhide/ });
});

t.test('macros are not run: a workbook with them is read like any other', async (t) => {
  const file = workbookOf({
    sheets: [{ rows: [['a']] }],
    files: { 'xl/vbaProject.bin': 'macro', '[Content_Types].xml': '<Types/>' },
  });
  t.strictSame((await readWorkbook(file)).rows, [['a']]);
});

t.test('its process has no environment, and its errors are not kept', async (t) => {
  /** Its process waits for the rest of the file. */
  const content = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from('PK\x03\x04', 'latin1');
    const [child, ...others] = readdirSync('/proc').filter(isChild);
    t.strictSame(others, []);
    t.equal(readFileSync(`/proc/${child}/environ`, 'utf8'), '');
    t.equal(readlinkSync(`/proc/${child}/fd/2`), '/dev/null');
  };
  await t.rejects(workbookRows(content(), null, { form: () => {}, merged: () => {} }).next(), {
    code: 'UNREADABLE',
  });
});

function isChild(pid: string): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return line.includes('workbook/child') && status.includes(`PPid:\t${process.pid}\n`);
  } catch {
    return false;
  }
}

t.test('one workbook is read at a time, and a second one waits', async (t) => {
  const notes = { form: () => {}, merged: () => {} };
  const open = () => workbookRows(parts(sheetOf({ rows: [['a'], ['b']] })), null, notes);
  const [first, second] = [open(), open()];
  const order: string[] = [];
  await first.next();
  const waiting = second.next().then(() => order.push('second'));
  await first.next();
  order.push('first');
  await first.return(undefined);
  await waiting;
  await second.return(undefined);
  t.strictSame(order, ['first', 'second']);
});
