/** Reads a workbook in a process of its own, which has no secrets: its memory, its time and its output are bounded. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { extname } from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { unreadable, unreadableFor } from '../bytes.ts';
import type { Parsed } from '../csv-parser.ts';
import { memoryRule, SAVE_WORKBOOK, WORKBOOK_BOUNDS, type WorkbookBounds } from './bounds.ts';
import type { ChildLine, Wish } from './child.ts';
import type { Merged } from './sheet.ts';

/** How a workbook was read, for the person who sent it. */
export type WorkbookForm = {
  /** The name of the sheet. */
  sheet: string;
  /** Rows that Excel hides, which are read like the others. */
  hidden_rows: number;
  /** Whether its dates count from 1904. */
  is1904: boolean;
};

/** A row of a workbook. `broken`: cells without a value, by column, and why. */
export type WorkbookRow = Parsed & { readonly broken?: ReadonlyMap<number, string> };

/** Next to this file, as source and as built code. */
const CHILD = fileURLToPath(new URL(`./child${extname(import.meta.url)}`, import.meta.url));

const MIB = 1024 * 1024;
/** Of the memory, the file and the program need the rest. */
const HEAP_SHARE = 0.7;
const YOUNG_MIB = 16;

type Child = ChildProcessByStdio<Writable, Readable, null>;

/** The end of the reading that began last: one workbook is read at a time. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Yields the rows that have data. `form` is complete before the first one, but for the hidden rows, and `merged` after the last.
 * Waits until no other workbook is read. Throws UNREADABLE for a file that is no workbook, or above a bound.
 */
export async function* workbookRows(
  content: AsyncIterable<Uint8Array>,
  sheet: string | null,
  { form, merged }: { form(form: WorkbookForm): void; merged(cells: Merged): void },
  bounds: WorkbookBounds = WORKBOOK_BOUNDS,
): AsyncGenerator<WorkbookRow> {
  const ended = Promise.withResolvers<void>();
  const before = last;
  last = ended.promise;
  await before;
  const child = startChild(bounds);
  try {
    const read: WorkbookForm = { sheet: '', hidden_rows: 0, is1904: false };
    let width = 0;
    await send(child, { sheet, bounds }, content);
    for await (const line of linesOf(child, bounds)) {
      if (Array.isArray(line)) {
        const [at, record, broken] = line;
        // A row ends with its last value.
        width = Math.max(width, record.length);
        while (record.length < width) record.push('');
        yield broken.length === 0 ? { line: at, record } : { line: at, record, broken: new Map(broken) };
      } else if ('refused' in line) {
        const { rule, hint } = line.refused;
        throw unreadableFor([{ path: '', rule, ...(hint !== null && { hint }) }]);
      } else if ('end' in line) {
        read.hidden_rows = line.end.hiddenRows;
        if (line.end.merged !== null) merged(line.end.merged);
      } else form(Object.assign(read, line));
    }
  } finally {
    child.kill('SIGKILL');
    ended.resolve();
  }
}

function startChild({ memory }: WorkbookBounds): Child {
  const heap = Math.floor((memory / MIB) * HEAP_SHARE);
  const flags = [`--max-old-space-size=${heap}`, `--max-semi-space-size=${YOUNG_MIB}`];
  const child = spawn(process.execPath, [...flags, CHILD], {
    env: {},
    // An error may quote the file.
    stdio: ['pipe', 'pipe', 'ignore'],
    windowsHide: true,
  });
  // A process that does not start ends its output, which is an error below.
  child.on('error', () => {});
  return child;
}

/** Sends the whole file. A process that ended early has said why, or is missed below. */
async function send(child: Child, wish: Wish, content: AsyncIterable<Uint8Array>): Promise<void> {
  let failure: unknown = null;
  const bytesMax = wish.bounds.bytes;
  const input = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${JSON.stringify(wish)}\n`);
    let bytes = 0;
    try {
      for await (const part of content) {
        bytes += part.length;
        if (bytes > bytesMax) throw unreadable('', `must be at most ${bytesMax / MIB} MiB as a workbook`);
        yield part;
      }
    } catch (error) {
      failure = error;
      throw error;
    }
  };
  await pipeline(Readable.from(input(), { objectMode: false }), child.stdin).catch(() => {});
  if (failure !== null) throw failure;
}

/** Yields the lines that the process writes. Its time passes only while a line is awaited. */
async function* linesOf(child: Child, bounds: WorkbookBounds): AsyncGenerator<ChildLine> {
  const exited = new Promise<{ signal: string | null }>((resolve) => {
    child.on('close', (_code, signal) => resolve({ signal }));
  });
  let left = bounds.ms;
  let isLate = false;
  const end = (): void => {
    isLate = true;
    child.kill('SIGKILL');
  };
  const parts = child.stdout[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  let isEnded = false;
  for (;;) {
    const began = performance.now();
    const timer = setTimeout(end, left);
    const { done, value } = await parts.next().finally(() => clearTimeout(timer));
    left = Math.max(0, left - (performance.now() - began));
    if (done) break;
    const bytes: Buffer = Buffer.concat([rest, value as Buffer]);
    const after = bytes.lastIndexOf('\n') + 1;
    rest = bytes.subarray(after);
    for (const text of bytes.toString('utf8', 0, after).split('\n')) {
      if (text === '') continue;
      const line = JSON.parse(text) as ChildLine;
      isEnded = 'end' in line || 'refused' in line;
      yield line;
    }
  }
  if (isEnded) return;
  const { signal } = await exited;
  if (isLate) throw unreadable('', `took more than ${bounds.ms / 1_000} seconds to read: ${SAVE_WORKBOOK}`);
  // A process without memory aborts, or the system kills it.
  const rule = signal === null ? `cannot be read: ${SAVE_WORKBOOK}` : memoryRule(bounds);
  throw unreadable('', rule);
}
