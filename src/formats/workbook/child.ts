/**
 * The process that reads one workbook: a hostile file can only end it. Its input is a line of JSON with the wish, then the file.
 * It writes a line for each row, and one at the end. It has no environment, and nobody reads its errors.
 */
import { once } from 'node:events';
import { openArchive } from './archive.ts';
import { openWorkbook, type Sheet, type Workbook } from './book.ts';
import type { WorkbookBounds } from './bounds.ts';
import { DAMAGED, Refused } from './refused.ts';
import { type BrokenCell, readSheet, type SheetEnd, type SheetRow } from './sheet.ts';

/** `sheet`: the one to read. Null: the only one with data. */
export type Wish = { readonly sheet: string | null; readonly bounds: WorkbookBounds };

/** In this order: the sheet, its rows, and the end; `refused` may replace any. */
export type ChildLine =
  | { readonly sheet: string; readonly is1904: boolean }
  | readonly [line: number, cells: string[], broken: BrokenCell[]]
  | { readonly end: SheetEnd }
  | { readonly refused: { readonly rule: string; readonly hint: string | null } };

/** Reads the input into one piece of memory, whose pages the system provides as they are used. */
async function readInput(): Promise<{ wish: Wish; file: Buffer }> {
  let wish: Wish | null = null;
  let head = Buffer.alloc(0);
  let file = Buffer.alloc(0);
  let length = 0;
  const add = (part: Buffer): void => {
    length += part.copy(file, length);
  };
  for await (const part of process.stdin as AsyncIterable<Buffer>) {
    if (wish !== null) {
      add(part);
      continue;
    }
    head = Buffer.concat([head, part]);
    const end = head.indexOf('\n');
    if (end === -1) continue;
    wish = JSON.parse(head.toString('utf8', 0, end)) as Wish;
    file = Buffer.allocUnsafeSlow(wish.bounds.bytes);
    add(head.subarray(end + 1));
  }
  return { wish: wish as Wish, file: file.subarray(0, length) };
}

let lines: string[] = [];

function add(line: ChildLine): void {
  lines.push(JSON.stringify(line));
}

async function flush(): Promise<void> {
  if (lines.length === 0) return;
  const text = `${lines.join('\n')}\n`;
  lines = [];
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

async function readRows({ sheet: wanted, bounds }: Wish, file: Buffer): Promise<void> {
  const archive = await openArchive(file, bounds);
  const workbook = await openWorkbook(archive, bounds.sheets);
  const { is1904 } = workbook;
  const hasData = async ({ part }: Sheet): Promise<boolean> => {
    let isFilled = false;
    // Its texts are not needed to see that there are some.
    const book = { strings: FILLED, styles: PLAIN_STYLES, is1904 };
    const note = (): void => {
      isFilled = true;
    };
    await readSheet(archive, part, book, bounds, note, async () => !isFilled);
    return isFilled;
  };
  const { name, part } = await chosenSheet(workbook, wanted, hasData);
  const book = { strings: await workbook.readStrings(), styles: await workbook.readStyles(), is1904 };
  add({ sheet: name, is1904 });
  const onRow = ({ line, cells, broken }: SheetRow) => add([line, cells, broken]);
  const end = await readSheet(archive, part, book, bounds, onRow, async () => {
    await flush();
    return true;
  });
  add({ end });
}

/** Every index has an entry. */
const FILLED: readonly string[] = new Proxy([], { get: () => 'text' });
const PLAIN_STYLES = new Proxy([], { get: () => ({ isDate: false, zeros: null }) });

/** The most characters of a sheet's name that a hint repeats. */
const NAME_CHARACTERS_MAX = 64;

async function chosenSheet(
  { sheets }: Workbook,
  wanted: string | null,
  hasData: (sheet: Sheet) => Promise<boolean>,
): Promise<Sheet> {
  const hintOf = (named: readonly Sheet[]) =>
    `its sheets are ${named.map(({ name }) => `"${name.slice(0, NAME_CHARACTERS_MAX)}"`).join(', ')}`;
  if (wanted !== null) {
    const sheet = sheets.find(({ name }) => name.toLowerCase() === wanted.toLowerCase());
    if (sheet !== undefined) return sheet;
    throw new Refused('has no sheet of the name that the file format has', hintOf(sheets));
  }
  const filled: Sheet[] = [];
  for (const sheet of sheets) if (!sheet.isHidden && (await hasData(sheet))) filled.push(sheet);
  const [first, second] = filled;
  if (first === undefined) {
    const hidden = sheets.some(({ isHidden }) => isHidden)
      ? ': unhide the sheet, or name it in the file format'
      : '';
    throw new Refused(`has no sheet with data${hidden}`);
  }
  if (second === undefined) return first;
  throw new Refused('has several sheets with data: name one in the file format', hintOf(filled));
}

async function main(): Promise<void> {
  const { wish, file } = await readInput();
  try {
    await readRows(wish, file);
  } catch (error) {
    // Other errors may quote the file.
    const { message: rule, hint } = error instanceof Refused ? error : new Refused(DAMAGED);
    add({ refused: { rule, hint } });
  }
  await flush();
}

// The default prints the error.
process.on('uncaughtException', () => {
  process.exitCode = 1;
});
await main();
