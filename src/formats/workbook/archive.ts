/** Reads the XML parts of a workbook's ZIP archive within bounds. Runs in the process of one workbook. */
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl';
import { utf16Of } from '../bytes.ts';
import { memoryRule, type WorkbookBounds } from './bounds.ts';
import { DAMAGED, Refused } from './refused.ts';

/** A workbook has about 20 parts, and two for each sheet. */
const ENTRIES_MAX = 10_000;

/** The names of elements and attributes have no prefix. */
export type XmlEvents = {
  open(name: string, attributes: Readonly<Record<string, string>>): void;
  text(text: string): void;
  close(name: string): void;
  /** Runs after each piece of the part. False ends the reading. */
  afterPiece?(): Promise<boolean>;
};

export type Archive = {
  has(name: string): boolean;
  /** Reads a part to its end, unless `afterPiece` ends it. */
  read(name: string, events: XmlEvents): Promise<void>;
};

type Bounds = Pick<WorkbookBounds, 'inflated' | 'memory'>;

export async function openArchive(bytes: Buffer, bounds: Bounds): Promise<Archive> {
  const zip = await fromBufferPromise(bytes, { lazyEntries: true, autoClose: false });
  if (zip.entryCount > ENTRIES_MAX) throw new Refused(DAMAGED);
  const entries = new Map<string, Entry>();
  for await (const entry of zip.eachEntry()) {
    // Programs differ in which one of two they read.
    if (entries.has(entry.fileName)) throw new Refused(DAMAGED);
    entries.set(entry.fileName, entry);
  }
  let inflated = 0;
  const count = (length: number): void => {
    inflated += length;
    if (inflated > bounds.inflated)
      throw new Refused(`is larger than ${bounds.inflated / 1024 / 1024} MiB without its compression`);
    if (process.memoryUsage.rss() > bounds.memory) throw new Refused(memoryRule(bounds));
  };
  return {
    has: (name) => entries.has(name),
    async read(name, events) {
      const entry = entries.get(name);
      if (entry === undefined) throw new Refused(DAMAGED);
      if (entry.isEncrypted())
        throw new Refused('has a password: save it as .xlsx or CSV, without a password');
      await readPart(zip, entry, parserOf(events), events, count);
    },
  };
}

function parserOf({ open, text, close }: XmlEvents): SaxesParser {
  const parser = new SaxesParser();
  parser.on('opentag', ({ name, attributes }: SaxesTagPlain) => open(bare(name), attributes));
  parser.on('text', text);
  parser.on('cdata', text);
  parser.on('closetag', ({ name }) => close(bare(name)));
  // No workbook has one, and its entities could grow without end.
  parser.on('doctype', () => {
    throw new Refused(DAMAGED);
  });
  parser.on('error', () => {
    throw new Refused(DAMAGED);
  });
  return parser;
}

const bare = (name: string): string => name.slice(name.indexOf(':') + 1);

/** A part is checked against its checksum, so a file that changed while it was sent is refused. */
async function readPart(
  zip: ZipFile,
  entry: Entry,
  parser: SaxesParser,
  { afterPiece }: XmlEvents,
  count: (length: number) => void,
): Promise<void> {
  const part: Readable = await zip.openReadStreamPromise(entry);
  let decoder: TextDecoder | null = null;
  let checksum = 0;
  for await (const piece of part as AsyncIterable<Buffer>) {
    count(piece.length);
    checksum = crc32(piece, checksum);
    decoder ??= new TextDecoder(utf16Of(piece) ?? 'utf-8', { fatal: true });
    parser.write(decoder.decode(piece, { stream: true }));
    if (afterPiece !== undefined && !(await afterPiece())) return;
  }
  if (checksum !== entry.crc32) throw new Refused(DAMAGED);
  parser.write(decoder?.decode() ?? '').close();
  await afterPiece?.();
}
