/** Opens a workbook: its sheets, and what their cells refer to. Runs in the process of one workbook. */
import { posix } from 'node:path';
import type { Archive } from './archive.ts';
import { type NumberStyle, numberStyle, unescaped } from './cell-text.ts';
import { Refused } from './refused.ts';

type Relation = { readonly type: string; readonly part: string };

export type Sheet = { readonly name: string; readonly part: string; readonly isHidden: boolean };

export type Workbook = {
  readonly sheets: readonly Sheet[];
  readonly is1904: boolean;
  readStrings(): Promise<string[]>;
  readStyles(): Promise<NumberStyle[]>;
};

const none = (): void => {};

export async function openWorkbook(archive: Archive, sheetsMax: number): Promise<Workbook> {
  if (!archive.has('_rels/.rels')) throw new Refused(NO_WORKBOOK);
  const main = [...(await relationsOf(archive, '')).values()].find(({ type }) => type === 'officeDocument');
  if (main === undefined || !/\/workbook[^/]*\.xml$/.test(`/${main.part}`)) throw new Refused(NO_WORKBOOK);
  const relations = await relationsOf(archive, main.part);
  const sheets: Sheet[] = [];
  let count = 0;
  let is1904 = false;
  await archive.read(main.part, {
    open(name, attributes) {
      if (name === 'workbookPr') is1904 = /^(?:1|true)$/.test(attributes.date1904 ?? '');
      if (name !== 'sheet') return;
      count += 1;
      if (count > sheetsMax)
        throw new Refused(
          `must have at most ${sheetsMax} sheets: copy the one with the employees into a new file`,
        );
      const [, id = ''] = Object.entries(attributes).find(([attribute]) => attribute.endsWith(':id')) ?? [];
      const relation = relations.get(id);
      // Others are charts and macros.
      if (relation?.type !== 'worksheet') return;
      const isHidden = (attributes.state ?? 'visible') !== 'visible';
      sheets.push({ name: unescaped(attributes.name ?? ''), part: relation.part, isHidden });
    },
    text: none,
    close: none,
  });
  const partOf = (wanted: string) => [...relations.values()].find(({ type }) => type === wanted)?.part;
  return {
    sheets,
    is1904,
    readStrings: async () => readStrings(archive, partOf('sharedStrings')),
    readStyles: async () => readStyles(archive, partOf('styles')),
  };
}

const NO_WORKBOOK = 'is not an .xlsx workbook, or in another format (.xlsb, .ods): save it as .xlsx or CSV';

/** Returns the relations of a part by id. The first part of the archive is ''. */
async function relationsOf(archive: Archive, part: string): Promise<Map<string, Relation>> {
  const { dir, base } = posix.parse(part);
  const relations = new Map<string, Relation>();
  await archive.read(posix.join(dir, '_rels', `${base}.rels`), {
    open(name, { Id: id, Type: type = '', Target: target = '', TargetMode: mode }) {
      if (name !== 'Relationship' || id === undefined || mode === 'External') return;
      const found = target.startsWith('/') ? target.slice(1) : posix.join(dir, target);
      relations.set(id, { type: type.slice(type.lastIndexOf('/') + 1), part: found });
    },
    text: none,
    close: none,
  });
  return relations;
}

/** Reads the texts that cells share. A text may have several parts, and phonetic ones that do not belong to it. */
async function readStrings(archive: Archive, part: string | undefined): Promise<string[]> {
  const strings: string[] = [];
  if (part === undefined) return strings;
  let string = '';
  let isReading = false;
  let isPhonetic = false;
  await archive.read(part, {
    open(name) {
      if (name === 'si') string = '';
      else if (name === 'rPh') isPhonetic = true;
      else if (name === 't') isReading = !isPhonetic;
    },
    text(text) {
      if (isReading) string += text;
    },
    close(name) {
      if (name === 't') isReading = false;
      else if (name === 'rPh') isPhonetic = false;
      else if (name === 'si') strings.push(unescaped(string));
    },
  });
  return strings;
}

/** Reads how the styles of cells show numbers. */
async function readStyles(archive: Archive, part: string | undefined): Promise<NumberStyle[]> {
  const codes = new Map<number, string>();
  const styles: NumberStyle[] = [];
  if (part === undefined) return styles;
  let isOfCells = false;
  await archive.read(part, {
    open(name, { numFmtId: id = '', formatCode: code }) {
      if (name === 'numFmt' && code !== undefined) codes.set(Number(id), code);
      else if (name === 'cellXfs') isOfCells = true;
      else if (name === 'xf' && isOfCells)
        styles.push(numberStyle(Number(id), codes.get(Number(id)) ?? null));
    },
    text: none,
    close(name) {
      if (name === 'cellXfs') isOfCells = false;
    },
  });
  return styles;
}
