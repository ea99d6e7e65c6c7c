/** Workbooks beyond a bound, and damaged ones, as an attacker may send them. */
import t from 'tap';
import type { WorkbookBounds } from '../../src/formats/workbook/bounds.ts';
import { readWorkbook } from '../formats/read-workbook.ts';
import { rowsXml, sheetOf, workbookOf, zipOf } from '../formats/workbook-file.ts';

const DAMAGED = /^is damaged, or is not a workbook: .* save it as \.xlsx or CSV$/;
const rowOf = (xml: string) => sheetOf({ xml });

t.test('a file beyond a bound, or that is no workbook, is refused by a sentence', async (t) => {
  const good = sheetOf({ rows: [['a', 'b']] });
  const wide = (columns: number) => sheetOf({ rows: [Array.from({ length: columns }, () => 'x')] });
  const book = { sheets: [{ rows: [['a']] }] };
  const cases: Record<string, [Buffer, RegExp, Partial<WorkbookBounds>?]> = {
    'a zip bomb': [
      sheetOf({ xml: ' '.repeat(3 * 2 ** 20) }),
      /larger than 2 MiB without/,
      { inflated: 2 ** 21 },
    ],
    'a bomb of empty sheets': [
      workbookOf({ sheets: Array.from({ length: 9 }, () => ({ xml: ' '.repeat(2 ** 18) })) }),
      /larger than 2 MiB without/,
      { inflated: 2 ** 21 },
    ],
    'a wrong size': [
      workbookOf({ ...book, files: { 'xl/worksheets/sheet1.xml': { content: ' '.repeat(9_000), size: 9 } } }),
      DAMAGED,
    ],
    'too many bytes': [
      Buffer.concat([good, Buffer.alloc(2 ** 20)]),
      /at most 1 MiB as a workbook/,
      { bytes: 2 ** 20 },
    ],
    'too many sheets': [workbookOf({ sheets: Array.from({ length: 51 }, () => ({})) }), /at most 50 sheets/],
    'too many columns': [wide(201), /at most 200 columns, and has a value in the cell GS1/],
    'too many rows': [sheetOf({ rows: [['a'], ['b'], ['c']] }), /at most 2 rows/, { rows: 2 }],
    'too much time': [good, /took more than 0.001 seconds to read: save it/, { ms: 1 }],
    'too much memory': [
      workbookOf({ ...book, strings: `<sst>${`<si><t>${'x'.repeat(2_000)}</t></si>`.repeat(60_000)}</sst>` }),
      /needs more than 96 MiB of memory: save it as CSV/,
      { memory: 96 * 2 ** 20 },
    ],
    'a file that was cut': [good.subarray(0, good.length - 30), DAMAGED],
    'a part that was changed': [Buffer.from(good).fill(0, 60, 90), DAMAGED],
    'two parts of a name': [
      zipOf([
        ['_rels/.rels', 'a'],
        ['_rels/.rels', 'b'],
      ]),
      DAMAGED,
    ],
    'an entity that grows': [
      workbookOf({
        ...book,
        strings: '<!DOCTYPE sst [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><sst><si><t>&b;</t></si></sst>',
      }),
      DAMAGED,
    ],
    'XML that is none': [rowOf('<row><c><v>1</c></row>'), DAMAGED],
    'a text that is missing': [rowOf('<row><c t="s"><v>7</v></c></row>'), DAMAGED],
    'rows out of order': [rowOf('<row r="2"><c><v>1</v></c></row><row r="1"><c><v>1</v></c></row>'), DAMAGED],
    'a cell twice': [rowOf('<row r="1"><c r="A1"><v>1</v></c><c r="A1"><v>2</v></c></row>'), DAMAGED],
    'an archive with a password': [
      workbookOf({ ...book, files: { 'xl/worksheets/sheet1.xml': { content: 'x', flags: 1 } } }),
      /has a password: save it as .xlsx or CSV, without/,
    ],
    'an .xlsb': [
      zipOf([
        [
          '_rels/.rels',
          '<Relationships><Relationship Id="a" Type="x/officeDocument" Target="xl/workbook.bin"/></Relationships>',
        ],
        ['xl/workbook.bin', 'x'],
      ]),
      /in another format \(\.xlsb, \.ods\): save it as \.xlsx or CSV/,
    ],
    'an .ods': [zipOf([['mimetype', 'application/vnd.oasis.opendocument.spreadsheet']]), /another format/],
  };
  for (const [name, [file, rule, bounds]] of Object.entries(cases)) {
    const { problem, rows } = await readWorkbook(file, bounds);
    t.match(problem?.rule ?? JSON.stringify(rows), rule, name);
  }
  t.match((await readWorkbook(wide(200))).rows, [{ length: 200 }]);
  t.match(
    await readWorkbook(sheetOf({ xml: `${'<row/>'.repeat(1_000_000)}${rowsXml([['a']], 1_000_001)}` })),
    { rows: [['a']], lines: [1_000_001] },
  );
});
