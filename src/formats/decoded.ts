/** Reads text files as people have them: UTF-8, UTF-16 or Windows-1252, with any separator between the columns. */
import { isAscii } from 'node:buffer';
import { SAVE_AS, unreadable, utf16Of, withHead } from './bytes.ts';
import { refuseOtherFiles } from './csv.ts';

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** How a file was read, for the person who sent it. */
export type TextForm = { encoding: Encoding; separator: string };

/** Enough for titles above a header of 200 columns. */
const HEAD_BYTES = 64 * 1024;

const SEPARATORS = [',', ';', '\t', '|'];

/** Bytes that Windows-1252 does not define. */
const UNDEFINED = /[\u0081\u008d\u008f\u0090\u009d]/;

/** Returns the content in UTF-8, and how it was written. `isColumn` recognizes names of columns, which show the separator. */
export async function decoded(
  content: AsyncIterable<Uint8Array>,
  isColumn: (cell: string) => boolean,
): Promise<TextForm & { text: AsyncIterable<Uint8Array> }> {
  const form: TextForm = { encoding: 'utf-8', separator: ',' };
  const parts = inUtf8(content, form);
  const head: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < HEAD_BYTES) {
    const { done, value } = await parts.next();
    if (done) break;
    head.push(value);
    bytes += value.length;
  }
  form.separator = separatorOf(Buffer.concat(head).toString('utf8'), isColumn);
  const text = async function* (): AsyncGenerator<Uint8Array> {
    yield* head;
    yield* parts;
  };
  // Later parts may still change the encoding of this object.
  return Object.assign(form, { text: text() });
}

/** Returns the separator of a line `sep=;`, or that between the most names of columns. */
function separatorOf(head: string, isColumn: (cell: string) => boolean): string {
  const [, named] = /^"?sep=(.)/i.exec(head) ?? [];
  if (named !== undefined) return named;
  const lines = head.split(/[\r\n]+/);
  const columnsBy = (separator: string) =>
    Math.max(
      ...lines.map(
        (line) => line.split(separator).filter((cell) => isColumn(cell.replaceAll('"', ''))).length,
      ),
    );
  const counted = SEPARATORS.map((separator) => ({ separator, columns: columnsBy(separator) }));
  const [first] = counted.toSorted((a, b) => b.columns - a.columns);
  return (first as { separator: string }).separator;
}

/** Yields the content in UTF-8, and notes its encoding. */
async function* inUtf8(content: AsyncIterable<Uint8Array>, form: TextForm): AsyncGenerator<Uint8Array> {
  let decoder: TextDecoder | null = null;
  const decode = (part: Uint8Array | undefined): Buffer => {
    try {
      const text = (decoder as TextDecoder).decode(part, { stream: part !== undefined });
      if (form.encoding !== 'windows-1252' || !UNDEFINED.test(text)) return Buffer.from(text);
    } catch {}
    throw unreadable('', `has characters of several encodings: ${SAVE_AS}`);
  };
  // Four bytes show UTF-16, and are in one part.
  const whole = withHead(
    content,
    (head) => head.length >= 4,
    (head) => head,
  );
  let before: Buffer = Buffer.alloc(0);
  let isFirst = true;
  // Old Macs end lines with a return only, and have an encoding of their own.
  const seen = { return: false, newLine: false };
  const noteEnds = (ascii: Buffer): void => {
    seen.return ||= ascii.includes('\r');
    seen.newLine ||= ascii.includes('\n');
  };
  for await (const part of whole) {
    const bytes: Buffer = Buffer.concat([before, part]);
    before = Buffer.alloc(0);
    if (isFirst) {
      refuseOtherFiles(bytes);
      form.encoding = utf16Of(bytes) ?? form.encoding;
      isFirst = false;
    }
    if (decoder === null && form.encoding === 'utf-8') {
      if (isAscii(bytes)) {
        noteEnds(bytes);
        yield bytes;
        continue;
      }
      const at = bytes.findIndex((byte) => byte >= 0x80);
      noteEnds(bytes.subarray(0, at));
      // The character may continue in the next part.
      if (bytes.length - at < 4) {
        yield bytes.subarray(0, at);
        before = bytes.subarray(at);
        continue;
      }
      form.encoding = encodingOf(bytes.subarray(at));
      if (form.encoding !== 'utf-8' && seen.return && !seen.newLine)
        throw unreadable('', `is in the encoding of old Macs: ${SAVE_AS}`);
    }
    decoder ??= new TextDecoder(form.encoding, { fatal: true });
    yield decode(bytes);
  }
  if (before.length > 0) {
    form.encoding = encodingOf(before);
    decoder = new TextDecoder(form.encoding, { fatal: true });
    yield decode(before);
  }
  if (decoder !== null) yield decode(undefined);
}

/** Returns the encoding of a text that begins with a byte above 127: hardly any other text is UTF-8. */
function encodingOf(bytes: Buffer): Encoding {
  const first = bytes[0] as number;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
    return 'utf-8';
  } catch {
    return 'windows-1252';
  }
}
