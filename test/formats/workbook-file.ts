/** Builds small workbooks, also forged ones. */
import { crc32, deflateRawSync } from 'node:zlib';

/** A file of an archive: its content, and what its entry claims instead of the truth. */
export type ZipEntry = string | Buffer | { content: string | Buffer; size?: number; flags?: number };

/** Returns a ZIP archive of deflated files. */
export function zipOf(files: readonly (readonly [name: string, entry: ZipEntry])[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, entry] of files) {
    const {
      content,
      size,
      flags = 0,
    } = typeof entry === 'object' && 'content' in entry ? entry : { content: entry };
    const bytes = Buffer.from(content as Buffer);
    const packed = deflateRawSync(bytes);
    // The fields that both headers have, from the flags to the length of the extra field.
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(flags, 2);
    shared.writeUInt16LE(8, 4);
    shared.writeUInt32LE(crc32(bytes), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(size ?? bytes.length, 18);
    shared.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), shared, Buffer.from(name), packed]);
    const central = Buffer.alloc(14);
    central.writeUInt32LE(offset, 10);
    directory.push(
      Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), shared, central, Buffer.from(name)]),
    );
    parts.push(local);
    offset += local.length;
  }
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  const length = directory.reduce((sum, { length: bytes }) => sum + bytes, 0);
  end.writeUInt32LE(length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, ...directory, end]);
}

/** A cell: a text, a number, nothing, or the XML that follows `<c r="A1"`. */
export type Cell = string | number | null | { xml: string };

/** The styles of cells: 1 is a date, 2 a date and time, 3 five digits, 4 an SSN, 5 `d mmm yyyy`, 6 dollars, 7 hours. */
const FORMATS = [0, 14, 22, 164, 165, 166, 167, 168];
const STYLES = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="00000"/><numFmt numFmtId="165" formatCode="000\\-00\\-0000"/><numFmt numFmtId="166" formatCode="[$-409]d\\ mmm\\ yyyy;@"/><numFmt numFmtId="167" formatCode="&quot;$&quot;#,##0.00"/><numFmt numFmtId="168" formatCode="[h]:mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${FORMATS.map((id) => `<xf numFmtId="${id}"/>`).join('')}</cellXfs></styleSheet>`;

/** A number of a style. */
export const styled = (style: number, value: number | string): Cell => ({
  xml: ` s="${style}"><v>${value}</v></c>`,
});

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

const letters = (index: number): string =>
  (index >= 26 ? letters(Math.floor(index / 26) - 1) : '') + String.fromCharCode(65 + (index % 26));

function cellXml(cell: Cell, at: string): string {
  if (cell === null) return '';
  const open = `<c r="${at}"`;
  if (typeof cell === 'number') return `${open}><v>${cell}</v></c>`;
  if (typeof cell === 'object') return open + cell.xml;
  return `${open} t="inlineStr"><is><t xml:space="preserve">${escaped(cell)}</t></is></c>`;
}

/** Returns the rows of a sheet as XML. */
export const rowsXml = (rows: readonly (readonly Cell[])[], from = 1): string =>
  rows
    .map((cells, index) => {
      const line = from + index;
      return `<row r="${line}">${cells.map((cell, column) => cellXml(cell, `${letters(column)}${line}`)).join('')}</row>`;
    })
    .join('');

export type SheetParts = {
  name?: string;
  state?: string;
  rows?: readonly (readonly Cell[])[];
  /** Instead of `rows`. */
  xml?: string;
  /** After the rows. */
  after?: string;
};

type BookParts = {
  sheets: readonly SheetParts[];
  strings?: string;
  is1904?: boolean;
  /** Further files, or others of the same names. */
  files?: Readonly<Record<string, ZipEntry>>;
};

const RELATION = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const relations = (all: readonly (readonly [id: string, type: string, target: string])[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?><Relationships>${all.map(([id, type, target]) => `<Relationship Id="${id}" Type="${RELATION}/${type}" Target="${target}"/>`).join('')}</Relationships>`;

/** Returns a workbook of one sheet. */
export function sheetOf(parts: SheetParts): Buffer {
  return workbookOf({ sheets: [parts] });
}

/** Returns a workbook. */
export function workbookOf({ sheets, strings = '<sst/>', is1904 = false, files = {} }: BookParts): Buffer {
  const sheetTags = sheets.map(
    ({ name, state = 'visible' }, index) =>
      `<sheet name="${escaped(name ?? `Sheet${index + 1}`)}" sheetId="${index + 1}" state="${state}" r:id="r${index}"/>`,
  );
  const all = new Map<string, ZipEntry>([
    ['_rels/.rels', relations([['r1', 'officeDocument', 'xl/workbook.xml']])],
    [
      'xl/workbook.xml',
      `<workbook><workbookPr date1904="${is1904 ? 1 : 0}"/><sheets>${sheetTags.join('')}</sheets></workbook>`,
    ],
    [
      'xl/_rels/workbook.xml.rels',
      relations([
        ...sheets.map((_, index) => [`r${index}`, 'worksheet', `worksheets/sheet${index + 1}.xml`] as const),
        ['s', 'styles', '/xl/styles.xml'],
        ['t', 'sharedStrings', 'sharedStrings.xml'],
      ]),
    ],
    ['xl/styles.xml', STYLES],
    ['xl/sharedStrings.xml', strings],
    ...sheets.map(
      ({ rows = [], xml = rowsXml(rows), after = '' }, index) =>
        [
          `xl/worksheets/sheet${index + 1}.xml`,
          `<worksheet><sheetData>${xml}</sheetData>${after}</worksheet>`,
        ] as const,
    ),
    ...Object.entries(files),
  ]);
  return zipOf([...all]);
}
